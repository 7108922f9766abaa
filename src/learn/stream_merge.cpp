#include "learn/stream_merge.hpp"

#include "base/text.hpp"
#include "ignd/error.hpp"
#include "learn/centring.hpp"
#include "learn/stream_model.hpp"
#include "learn/stream_state.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <variant>

#include <fmt/format.h>

namespace ignd {
namespace {

// What is merged here; all else must be equal.
bool is_merged(std::string_view name) {
  constexpr std::array<std::string_view, 12> names{"weights",
                                                   "metric.mean-square",
                                                   "metric.seen",
                                                   "centring.examples",
                                                   "centring.features",
                                                   "centring.index",
                                                   "centring.mean",
                                                   "centring.seen",
                                                   "steps",
                                                   "learner.only-label",
                                                   "stream.last-line",
                                                   "stream.predictions"};
  constexpr std::array<std::string_view, 4> prefixes{"statistics.", "learner.class.", "stream.class",
                                                     "stream.predictions."};
  return std::ranges::find(names, name) != names.end() ||
         std::ranges::any_of(prefixes, [&](std::string_view prefix) { return name.starts_with(prefix); });
}

// Of numbers the bits: a NaN equals itself.
bool are_equal(const Checkpoint::Entry& a, const Checkpoint::Entry& b) {
  if (a.index() != b.index()) return false;
  return std::visit(
      [&](const auto& one) {
        const auto& two = std::get<std::decay_t<decltype(one)>>(b);
        using Element = typename std::decay_t<decltype(one)>::value_type;
        return one.size() == two.size() &&
               (one.empty() || std::memcmp(one.data(), two.data(), one.size() * sizeof(Element)) == 0);
      },
      a);
}

void check_same_way(const StreamPart& base, const StreamPart& part) {
  for (const auto& [name, value] : base.saved.entries()) {
    if (is_merged(name)) continue;
    const auto there = part.saved.entries().find(name);
    if (there != part.saved.entries().end() && are_equal(there->second, value)) continue;
    throw InvalidArgument(fmt::format("{} and {} cannot be merged: they differ in '{}'", quoted_path(base.path),
                                      quoted_path(part.path), printable(name)));
  }
}

// Everything that is merged of a model. What a part has besides the base is the difference of the two.
struct State {
  explicit State(const StreamPart& part);

  struct Dense {
    double sum = 0;  // of the values; the mean is as if a zero had come first
    std::uint64_t seen = 0;
  };

  const StreamPart* of;
  std::span<const float> weights;  // the bias last
  std::span<const double> mean_square;
  std::span<const std::uint64_t> seen;  // each input, and last the 1 of the bias
  std::uint64_t steps = 0;
  std::uint64_t examples = 0;  // that the means have seen
  std::map<std::uint32_t, Dense> dense;
  StreamStatistics statistics;
  Classes classes;

  double mean(std::uint32_t input) const { return dense.at(input).sum / static_cast<double>(examples + 1); }
};

template <class T>
std::span<const T> array_in(const Checkpoint& saved, const char* name) {
  const auto found = saved.entries().find(name);
  const auto* const values = found == saved.entries().end() ? nullptr : std::get_if<std::vector<T>>(&found->second);
  return values == nullptr ? std::span<const T>() : std::span<const T>(*values);
}

State::State(const StreamPart& part)
    : of(&part),
      weights(array_in<float>(part.saved, "weights")),
      mean_square(array_in<double>(part.saved, "metric.mean-square")),
      seen(array_in<std::uint64_t>(part.saved, "metric.seen")),
      steps(part.saved.number("steps")),
      examples(part.saved.number("centring.examples")),
      statistics(load_statistics(part.saved)),
      classes(Classes::load(part.saved)) {
  const auto index = array_in<std::uint32_t>(part.saved, "centring.index");
  const auto means = array_in<double>(part.saved, "centring.mean");
  const auto times = array_in<std::uint64_t>(part.saved, "centring.seen");
  for (std::size_t k = 0; k < index.size(); ++k) {
    dense[index[k]] = {means[k] * static_cast<double>(examples + 1), times[k]};
  }
}

// Reads it as the model that it claims to be, and returns it.
const StreamPart& checked(const StreamPart& part) {
  const std::string where = quoted_path(part.path);
  const bool is_stream = part.saved.has("kind") && part.saved.text("kind") == stream_model_kind;
  if (!is_stream) throw InvalidArgument(fmt::format("{} is no model of a stream", where));
  const StreamModel model = StreamModel::load(part.path, part.saved);
  const StreamOptions& options = model.learner().options();
  if (model.learner().learns_many_classes()) {
    throw InvalidArgument(
        fmt::format("{} tells {} classes apart: only models of numbers and of two classes can be merged", where,
                    model.learner().seen_classes().size()));
  }
  if (!part.saved.has("weights") || part.saved.number("held.examples") > 0) {
    throw InvalidArgument(
        fmt::format("{} has not chosen a loss yet: it holds examples back; begin with more of them", where));
  }
  if (!options.optimizer.has_plain_transform() || options.l2 > 0) {
    throw InvalidArgument(fmt::format("{} was learned with {}: only plain steps without L2 can be merged", where,
                                      options.l2 > 0 ? "L2" : in_quotes(options.optimizer.transform)));
  }
  if (!part.saved.has("metric.seen")) {
    throw InvalidArgument(fmt::format("{} has no counts of its inputs, which say how to weigh the parts", where));
  }
  return part;
}

void check_base(const State& base) {
  const bool looks = base.of->saved.number("learner.centre") != 0 && base.examples < first_look;
  const bool settles = base.steps < first_look;
  if (!looks && !settles) return;
  throw InvalidArgument(fmt::format(
      "the base {} has learned from {} examples; it needs {} with a label, which settle the units of the target and "
      "what is centred",
      quoted_path(base.of->path), base.steps, first_look));
}

// What a part must have in common with its base: counts never fall, and what was not seen since has not changed.
bool has_base(const State& part, const State& base) {
  if (part.steps < base.steps || part.examples < base.examples) return false;
  if (part.statistics.rows < base.statistics.rows || part.statistics.weight < base.statistics.weight) return false;
  if (part.statistics.largest_error < base.statistics.largest_error) return false;
  const auto is_known = [&](const auto& feature) { return base.dense.contains(feature.first); };
  if (!std::ranges::all_of(part.dense, is_known)) return false;
  for (std::size_t i = 0; i < base.seen.size(); ++i) {
    if (part.seen[i] < base.seen[i]) return false;
    const bool same = part.weights[i] == base.weights[i] && part.mean_square[i] == base.mean_square[i];
    if (part.seen[i] == base.seen[i] && !same) return false;
  }
  return true;
}

class Merge {
 public:
  Merge(const State& base, const std::vector<State>& parts) : base_(base), parts_(parts) {}

  Checkpoint merged() {
    merge_means();
    merge_weights();
    Checkpoint merged = base_.of->saved;
    merged.set("weights", std::span<const float>(weights_));
    merged.set("metric.mean-square", std::span<const double>(mean_square_));
    merged.set("metric.seen", std::span<const std::uint64_t>(seen_));
    merged.set("steps", added(base_.steps, [](const State& part) { return part.steps; }));
    save_means(merged);
    save_statistics(merged_statistics(), merged);
    merge_classes(merged);
    merged.set("stream.last-line", std::uint64_t{0});
    merged.set("stream.predictions", std::uint64_t{0});
    return merged;
  }

 private:
  // The base's and what each part has besides.
  template <class Number, class Count>
  Number added(Number base, Count count) const {
    Number sum = base;
    for (const State& part : parts_) sum += count(part) - base;
    return sum;
  }

  // Inputs that are centred in all parts, and still often enough.
  void merge_means() {
    examples_ = added(base_.examples, [](const State& part) { return part.examples; });
    for (const auto& [input, base] : base_.dense) {
      const auto has = [input = input](const State& part) { return part.dense.contains(input); };
      if (!std::ranges::all_of(parts_, has)) continue;
      State::Dense sum;
      sum.seen = added(base.seen, [input = input](const State& part) { return part.dense.at(input).seen; });
      sum.sum = added(base.sum, [input = input](const State& part) { return part.dense.at(input).sum; });
      if (2 * sum.seen >= examples_) dense_[input] = sum;
    }
  }

  double merged_mean(const State::Dense& dense) const { return dense.sum / static_cast<double>(examples_ + 1); }

  void merge_weights() {
    const std::size_t inputs = base_.seen.size(), last = base_.weights.size() - 1;
    weights_.assign(base_.weights.begin(), base_.weights.end());
    mean_square_.resize(inputs);
    seen_.resize(inputs);
    for (std::size_t i = 0; i < inputs; ++i) {
      const auto seen_since = [&](const State& part) { return part.seen[i] - base_.seen[i]; };
      const auto weight = [&](const State& part) { return static_cast<double>(part.weights[i]); };
      if (i < last) weights_[i] = static_cast<float>(mean_of(seen_since, weight).value_or(weight(base_)));
      merge_moment(i);
    }
    const auto steps_since = [&](const State& part) { return part.steps - base_.steps; };
    if (const auto bias = mean_of(steps_since, [&](const State& part) { return output_at_mean(part); })) {
      weights_[last] = static_cast<float>(*bias);
    }
  }

  void merge_moment(std::size_t i) {
    seen_[i] = added(base_.seen[i], [&](const State& part) { return part.seen[i]; });
    const auto squares = [&](const State& of) { return of.mean_square[i] * static_cast<double>(of.seen[i]); };
    const State* const only = only_one([&](const State& part) { return part.seen[i] > base_.seen[i]; });
    if (only != nullptr || seen_[i] == base_.seen[i]) {
      mean_square_[i] = only != nullptr ? only->mean_square[i] : base_.mean_square[i];
    } else {
      mean_square_[i] = std::max(0.0, added(squares(base_), squares)) / static_cast<double>(seen_[i]);
    }
  }

  // The part that fulfils the condition, if exactly one does: it keeps its bits.
  template <class Condition>
  const State* only_one(Condition condition) const {
    const State* found = nullptr;
    for (const State& part : parts_) {
      if (!condition(part)) continue;
      if (found != nullptr) return nullptr;
      found = &part;
    }
    return found;
  }

  // Weighted by counts; no value if all of them are 0.
  template <class Count, class Value>
  std::optional<double> mean_of(Count count, Value value) const {
    double sum = 0, total = 0;
    if (const State* const only = only_one([&](const State& part) { return count(part) > 0; })) return value(*only);
    for (const State& part : parts_) {
      const auto times = static_cast<double>(count(part));
      sum += times * value(part);
      total += times;
    }
    return total > 0 ? std::optional(sum / total) : std::nullopt;
  }

  // What a part says of the merged mean input: the bias that it would have if its inputs were centred there.
  double output_at_mean(const State& part) const {
    double bias = static_cast<double>(part.weights.back());
    const auto weight = [&](std::uint32_t input) { return static_cast<double>(part.weights[input]); };
    for (const auto& [input, dense] : part.dense) {
      const auto here = dense_.find(input);
      const double mean = here == dense_.end() ? 0 : merged_mean(here->second);
      bias += weight(input) * (mean - part.mean(input));
    }
    return bias;
  }

  void save_means(Checkpoint& merged) const {
    std::vector<std::uint32_t> index;
    std::vector<double> mean;
    std::vector<std::uint64_t> seen;
    for (const auto& [input, dense] : dense_) {
      index.push_back(input);
      mean.push_back(merged_mean(dense));
      seen.push_back(dense.seen);
    }
    merged.set("centring.examples", examples_);
    merged.set("centring.features", std::uint64_t{index.size()});
    merged.set("centring.index", std::span<const std::uint32_t>(index));
    merged.set("centring.mean", std::span<const double>(mean));
    merged.set("centring.seen", std::span<const std::uint64_t>(seen));
  }

  StreamStatistics merged_statistics() const {
    const StreamStatistics& base = base_.statistics;
    StreamStatistics sum = base;
    for (const State& part : parts_) {
      sum.rows += part.statistics.rows - base.rows;
      sum.examples += part.statistics.examples - base.examples;
      sum.skipped += part.statistics.skipped - base.skipped;
      sum.weight += part.statistics.weight - base.weight;
      sum.loss += part.statistics.loss - base.loss;
      sum.correct += part.statistics.correct - base.correct;
      sum.largest_error = std::max(sum.largest_error, part.statistics.largest_error);
    }
    sum.recent_weight = sum.recent_loss = 0;  // a progress line is about examples in a row
    return sum;
  }

  // Two labels at most, whoever has seen them, and the texts that they stand for.
  void merge_classes(Checkpoint& merged) const {
    std::optional<double> only;
    bool one_label = true;
    const StreamPart* most = base_.of;
    std::array<double, 2> classes{base_.classes.negative(), base_.classes.positive()};
    for (const State& part : parts_) {
      for (const bool positive : {false, true}) {
        const double label = positive ? part.classes.positive() : part.classes.negative();
        double& ours = classes[positive ? 1 : 0];
        if (std::isnan(label)) continue;
        if (!std::isnan(ours) && ours != label) refuse_classes(part);
        ours = label;
      }
      if (part.of->saved.number("stream.classes") > most->saved.number("stream.classes")) most = part.of;
      const double its_only = part.of->saved.array<double>("learner.only-label", 1)[0];
      if (part.statistics.examples == 0) continue;
      one_label = one_label && !std::isnan(its_only) && (!only || *only == its_only);
      only = its_only;
    }
    if (classes[0] == classes[1]) refuse_classes(parts_.front());
    merged.set("learner.class.negative", std::span<const double>(&classes[0], 1));
    merged.set("learner.class.positive", std::span<const double>(&classes[1], 1));
    const double none = std::nan("");
    merged.set("learner.only-label", std::span<const double>(one_label && only ? &*only : &none, 1));
    for (const auto& [name, value] : most->saved.entries()) {
      if (!name.starts_with("stream.class")) continue;
      if (const auto* text = std::get_if<std::string>(&value)) merged.set(name, *text);
    }
    merged.set("stream.classes", most->saved.number("stream.classes"));
  }

  [[noreturn]] void refuse_classes(const State& part) const {
    throw InvalidArgument(fmt::format("{} has learned other classes than the parts before it: two can be told apart",
                                      quoted_path(part.of->path)));
  }

  const State& base_;
  const std::vector<State>& parts_;
  std::uint64_t examples_ = 0;
  std::map<std::uint32_t, State::Dense> dense_;
  std::vector<float> weights_;
  std::vector<double> mean_square_;
  std::vector<std::uint64_t> seen_;
};

}  // namespace

Checkpoint merge_streams(const StreamPart& base, const std::vector<StreamPart>& parts) {
  if (parts.empty()) throw InvalidArgument("there is nothing to merge");
  const State start(checked(base));
  check_base(start);
  std::vector<State> states;
  for (const StreamPart& part : parts) {
    check_same_way(base, checked(part));
    if (has_base(states.emplace_back(part), start)) continue;
    throw InvalidArgument(fmt::format("{} was not resumed from {}: what it has counted does not begin with that",
                                      quoted_path(part.path), quoted_path(base.path)));
  }
  // One part that has learned anything is the result, bit by bit.
  const auto has_learned = [&](const State& part) { return part.statistics.rows > start.statistics.rows; };
  if (std::ranges::count_if(states, has_learned) == 1) return std::ranges::find_if(states, has_learned)->of->saved;
  Checkpoint merged = Merge(start, states).merged();
  const StreamModel usable = StreamModel::load("the merged model", merged);
  return merged;
}

}  // namespace ignd
