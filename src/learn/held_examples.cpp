#include "learn/held_examples.hpp"

#include "ignd/checkpoint.hpp"
#include "ignd/error.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace ignd {

void LabelSurvey::note(double label) {
  if (!std::isfinite(label)) return;
  ++labels_;
  const auto place = std::ranges::lower_bound(distinct_, label);
  const bool known = place != distinct_.end() && *place == label;
  if (!known && distinct_.size() < 3) distinct_.insert(place, label);
}

std::string LabelSurvey::text(const LabelName& name) const {
  switch (distinct_.size()) {
    case 0:
      return "missing";
    case 1:
      return "all " + Classes::shown(distinct_[0], name);
    case 2: {
      const Classes classes(distinct_, name);
      return Classes::shown(classes.negative(), name) + " and " + Classes::shown(classes.positive(), name);
    }
    default:
      return name ? "more than two texts" : "more than two numbers";
  }
}

void HeldExamples::add(const ExampleBlock& block, std::size_t i) {
  const auto index = block.indices(i);
  const auto values = block.values(i);
  examples_.index.insert(examples_.index.end(), index.begin(), index.end());
  examples_.value.insert(examples_.value.end(), values.begin(), values.end());
  examples_.finish(block.target[i], block.weight[i], block.line[i]);
  labels_.note(block.target[i]);
}

ExampleBlock HeldExamples::take() { return std::exchange(examples_, {}); }

void HeldExamples::save(Checkpoint& checkpoint) const {
  const std::vector<std::uint64_t> end(examples_.end.begin(), examples_.end.end());
  checkpoint.set("held.examples", std::uint64_t{examples_.size()});
  checkpoint.set("held.features", std::uint64_t{examples_.index.size()});
  checkpoint.set("held.target", std::span<const double>(examples_.target));
  checkpoint.set("held.weight", std::span<const double>(examples_.weight));
  checkpoint.set("held.line", std::span<const std::uint64_t>(examples_.line));
  checkpoint.set("held.end", std::span<const std::uint64_t>(end));
  checkpoint.set("held.index", std::span<const std::uint32_t>(examples_.index));
  checkpoint.set("held.value", std::span<const float>(examples_.value));
}

void HeldExamples::restore(const Checkpoint& checkpoint) {
  const std::size_t examples = checkpoint.number("held.examples");
  const std::size_t features = checkpoint.number("held.features");
  const auto& end = checkpoint.array<std::uint64_t>("held.end", examples);
  if (!std::ranges::is_sorted(end) || (examples > 0 ? end.back() : 0) != features) {
    throw FileError("the examples that the checkpoint holds do not fit together: it is damaged");
  }
  examples_.target = checkpoint.array<double>("held.target", examples);
  examples_.weight = checkpoint.array<double>("held.weight", examples);
  examples_.line = checkpoint.array<std::uint64_t>("held.line", examples);
  examples_.end.assign(end.begin(), end.end());
  examples_.index = checkpoint.array<std::uint32_t>("held.index", features);
  examples_.value = checkpoint.array<float>("held.value", features);
  for (const double label : examples_.target) labels_.note(label);
}

}  // namespace ignd
