#include "learn/stream_state.hpp"

#include "base/text.hpp"
#include "ignd/checkpoint.hpp"
#include "ignd/error.hpp"
#include "learn/centring.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <utility>

#include <fmt/format.h>

namespace ignd {
namespace {

double number_in(const Checkpoint& checkpoint, const char* name) { return checkpoint.array<double>(name, 1)[0]; }

void set_number(Checkpoint& checkpoint, const char* name, double value) {
  checkpoint.set(name, std::span<const double>(&value, 1));
}

// The entries of the statistics by name, in one place for saving and loading.
template <class Statistics, class Count, class Number>
void for_each_entry(Statistics& of, Count count, Number number) {
  count("statistics.rows", of.rows);
  count("statistics.examples", of.examples);
  count("statistics.skipped", of.skipped);
  number("statistics.weight", of.weight);
  number("statistics.loss", of.loss);
  number("statistics.correct", of.correct);
  number("statistics.recent-weight", of.recent_weight);
  number("statistics.recent-loss", of.recent_loss);
  number("statistics.largest-error", of.largest_error);
}

}  // namespace

Classes::Classes(const std::vector<double>& labels, const LabelName& name) {
  if (labels.size() > 1) {
    negative_ = labels[0];
    positive_ = labels[1];
    if (!is_negative_of(negative_, positive_, name)) std::swap(negative_, positive_);
  } else if (labels.size() == 1) {
    (labels[0] <= 0 ? negative_ : positive_) = labels[0];
  }
}

std::string Classes::shown(double label, const LabelName& name) {
  return name ? in_quotes(name(label)) : format_number(label);
}

double Classes::label_of(bool positive) const {
  const double label = positive ? positive_ : negative_;
  return std::isnan(label) ? positive ? negative_ : positive_ : label;
}

bool Classes::complete() const { return !std::isnan(negative_) && !std::isnan(positive_); }

double Classes::number_of(double label, const LabelName& name) {
  if (label == negative_) return 0;
  if (label == positive_) return 1;
  const bool finite = std::isfinite(label);
  if (finite && std::isnan(negative_) && (name || !(label >= positive_))) {
    negative_ = label;
    return 0;
  }
  if (finite && std::isnan(positive_) && (name || label > negative_)) {
    positive_ = label;
    return 1;
  }
  throw BadSample(fmt::format("the label is {}, but the classes are {} and {}; {}", shown(label, name),
                              shown(negative_, name), shown(positive_, name),
                              name ? "the softmax loss learns more than two, with plain steps"
                                   : "correct it, or give the squared loss, or softmax for more classes"));
}

void Classes::save(Checkpoint& checkpoint) const {
  set_number(checkpoint, "learner.class.negative", negative_);
  set_number(checkpoint, "learner.class.positive", positive_);
}

Classes Classes::load(const Checkpoint& checkpoint) {
  Classes loaded;
  loaded.negative_ = number_in(checkpoint, "learner.class.negative");
  loaded.positive_ = number_in(checkpoint, "learner.class.positive");
  return loaded;
}

TargetRange TargetRange::with(double y) const {
  TargetRange next = *this;
  if (seen >= first_look) return next;
  ++next.seen;
  if (moves) next.offset += (y - offset) / static_cast<double>(next.seen);
  // Until the first target that differs from the offset all weights are zero: no prediction changes.
  const double distance = std::abs(y - next.offset);
  if (stretches && !has_scale && distance > 0 && std::isfinite(distance)) {
    next.has_scale = true;
    next.scale = std::exp2(std::floor(std::log2(distance)));
  }
  return next;
}

void TargetRange::save(Checkpoint& checkpoint) const {
  set_number(checkpoint, "learner.target.offset", offset);
  set_number(checkpoint, "learner.target.scale", scale);
  checkpoint.set("learner.target.has-scale", std::uint64_t{has_scale});
  checkpoint.set("learner.target.seen", seen);
}

void TargetRange::restore(const Checkpoint& checkpoint) {
  const double saved_offset = number_in(checkpoint, "learner.target.offset");
  const double saved_scale = number_in(checkpoint, "learner.target.scale");
  if (!std::isfinite(saved_offset) || !std::isfinite(saved_scale)) {
    throw FileError("the scale of its target is not finite");
  }
  offset = saved_offset;
  scale = saved_scale;
  has_scale = checkpoint.number("learner.target.has-scale") != 0;
  seen = checkpoint.number("learner.target.seen");
}

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

void save_statistics(const StreamStatistics& statistics, Checkpoint& checkpoint) {
  for_each_entry(
      statistics, [&](const char* name, std::uint64_t value) { checkpoint.set(name, value); },
      [&](const char* name, double value) { set_number(checkpoint, name, value); });
}

StreamStatistics load_statistics(const Checkpoint& checkpoint) {
  StreamStatistics loaded;
  for_each_entry(
      loaded, [&](const char* name, std::uint64_t& value) { value = checkpoint.number(name); },
      [&](const char* name, double& value) { value = number_in(checkpoint, name); });
  return loaded;
}

Checkpoint named_state(const Checkpoint& old) {
  constexpr std::array numbers{"learner.class.negative", "learner.class.positive",   "learner.target.offset",
                               "learner.target.scale",   "statistics.weight",        "statistics.loss",
                               "statistics.correct",     "statistics.recent-weight", "statistics.recent-loss"};
  constexpr std::array counts{"learner.target.seen", "learner.target.has-scale", "statistics.rows",
                              "statistics.examples", "statistics.skipped"};
  const auto& packed_numbers = old.array<double>("learner.numbers", numbers.size());
  const auto& packed_counts = old.array<std::uint64_t>("learner.counts", counts.size());
  Checkpoint named;
  for (std::size_t k = 0; k < numbers.size(); ++k) {
    set_number(named, numbers[k], packed_numbers[k]);
  }
  for (std::size_t k = 0; k < counts.size(); ++k) named.set(counts[k], packed_counts[k]);
  set_number(named, "learner.only-label", number_in(old, "learner.only-label"));
  // The first such files had no largest error.
  constexpr const char* error = "learner.largest-error";
  const double largest_error = old.has(error) ? number_in(old, error) : 0;
  set_number(named, "statistics.largest-error", largest_error);
  return named;
}

void count_example(StreamStatistics& statistics, double error, double loss, double weight, bool correct) {
  ++statistics.examples;
  if (weight == 0) return;
  statistics.largest_error = std::max(statistics.largest_error, std::abs(error));
  statistics.weight += weight;
  statistics.loss += weight * loss;
  statistics.recent_weight += weight;
  statistics.recent_loss += weight * loss;
  if (correct) statistics.correct += weight;
}

std::optional<double> StreamStatistics::average(double sum, double over) const {
  constexpr double smallest_square_root = 1e-150;  // of numbers whose squares keep all their digits
  const bool too_small = largest_error > 0 && (largest_error < smallest_square_root || over < smallest_square_root) &&
                         sum < std::numeric_limits<double>::min();
  if (over <= 0 || too_small || !std::isfinite(sum / over)) return std::nullopt;
  return sum / over;
}

}  // namespace ignd
