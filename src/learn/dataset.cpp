#include "learn/dataset.hpp"

#include "base/stopped.hpp"
#include "ignd/random.hpp"
#include "ignd/vector_loss.hpp"
#include "learn/model_outputs.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace ignd {
namespace {

double deviation_of(std::span<const double> values) {
  double mean = 0;
  for (const double value : values) mean += value / static_cast<double>(values.size());
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / static_cast<double>(values.size()));
}

// The deviation of numbers that are not kept.
class RunningDeviation {
 public:
  void add(double value) {
    const double gap = value - mean_;
    mean_ += gap / ++count_;
    squares_ += gap * (value - mean_);
  }
  double deviation() const { return std::sqrt(squares_ / count_); }

 private:
  double count_ = 0;
  double mean_ = 0;
  double squares_ = 0;
};

}  // namespace

std::vector<std::string> DatasetOptions::columns() const {
  std::vector<std::string> named{target};
  for (const auto& column : {weight, split_by, split_time}) {
    if (column) named.push_back(*column);
  }
  return named;
}

std::size_t Dataset::samples_at_a_time() const {
  constexpr std::size_t most = 64;
  constexpr std::size_t most_numbers = std::size_t{1} << 16;
  return std::clamp<std::size_t>(most_numbers / std::max<std::size_t>(scratch_size(), 1), 1, most);
}

void keep_some(std::vector<std::uint32_t>& rows, std::uint64_t count, std::uint64_t seed, const char* name) {
  if (count == 0 || count >= rows.size()) return;
  RandomStream(seed, name).shuffle(rows);
  rows.resize(count);
}

void Dataset::limit_parts() {
  keep_some(split_.train, options_.most_training, options_.seed, "some to learn from");
  keep_some(split_.validation, options_.most_validation, options_.seed, "some to choose by");
  keep_some(split_.test, options_.most_test, options_.seed, "some to be measured on");
}

bool is_collapsed(const Dataset& dataset, const Scores& scores) {
  constexpr double same = 1e-6;
  return scores.is_measured() && scores.deviation <= same * dataset.target_deviation();
}

std::vector<double> outputs_on(const Dataset& dataset, std::span<const std::uint32_t> rows, const Model<float>& model,
                               const std::atomic<bool>* stop) {
  ModelOutputs outputs_of(model);
  const std::size_t count = outputs_of.count(), together = outputs_of.together(), width = dataset.scratch_size();
  std::vector<double> outputs(rows.size() * count);
  std::vector<float> scratch(together * width);
  std::vector<Input<float>> inputs;
  for (std::size_t first = 0; first < rows.size(); first += together) {
    const std::size_t end = std::min(first + together, rows.size());
    if (stop != nullptr && stop->load(std::memory_order_relaxed)) throw Stopped();
    inputs.clear();
    for (std::size_t i = first; i < end; ++i) {
      inputs.push_back(dataset.sample(rows[i], std::span(scratch).subspan((i - first) * width, width)).x);
    }
    outputs_of(inputs, std::span(outputs).subspan(first * count, (end - first) * count));
  }
  return outputs;
}

Scores evaluate(const Dataset& dataset, std::span<const std::uint32_t> rows, const OutputOf& output,
                JudgedSamples* judged) {
  const auto loss = make_loss(dataset.loss());
  const Target& target = dataset.target();
  std::vector<float> scratch(dataset.scratch_size());
  JudgedSamples made{.classes = target.classes.size()};
  double sum = 0;
  double total = 0;
  for (const std::uint32_t row : rows) {
    const Sample<float> sample = dataset.sample(row, scratch);
    const double f = output(sample.x);
    made.truth.push_back(dataset.target_in_units(row));
    made.predicted.push_back(target.is_class() ? f : target.in_units(f));
    made.weight.push_back(dataset.row_weight(row));
    made.loss.push_back(loss->at(sample.y, f).value);
    made.loss_weight.push_back(sample.weight);
    sum += sample.weight * made.loss.back();
    total += sample.weight;
    if (!std::isfinite(made.predicted.back()) || !std::isfinite(sum)) {
      return {.loss = std::numeric_limits<double>::infinity(), .regression = {}, .classification = {}};
    }
  }
  Scores scores{.loss = sum / total, .regression = {}, .classification = {}, .deviation = deviation_of(made.predicted)};
  if (target.is_class()) {
    scores.classification = classification_metrics(made.truth, made.predicted, made.weight);
  } else {
    scores.regression = regression_metrics(made.truth, made.predicted, made.weight);
  }
  if (judged == nullptr) return scores;
  made.group = dataset.groups_of(rows);
  *judged = std::move(made);
  return scores;
}

Scores evaluate(const Dataset& dataset, std::span<const std::uint32_t> rows, const OutputsOf& outputs,
                JudgedSamples* judged) {
  if (!dataset.target().is_multiclass()) {
    const OutputOf single = [&](const Input<float>& x) {
      double output = 0;
      outputs(x, {&output, 1});
      return output;
    };
    return evaluate(dataset, rows, single, judged);
  }
  const std::size_t classes = dataset.target().outputs();
  std::vector<float> scratch(dataset.scratch_size());
  std::vector<double> logits(classes);
  std::vector<RunningDeviation> deviations(classes);
  MulticlassSums sums(classes);
  JudgedSamples made{.classes = classes};
  double sum = 0;
  double total = 0;
  for (const std::uint32_t row : rows) {
    const Sample<float> sample = dataset.sample(row, scratch);
    outputs(sample.x, logits);
    const bool finite = std::ranges::all_of(logits, [](double logit) { return std::isfinite(logit); });
    const double loss = finite ? cross_entropy(static_cast<std::size_t>(sample.y), logits) : 0;
    sum += sample.weight * loss;
    if (!finite || !std::isfinite(sum)) {
      return {.loss = std::numeric_limits<double>::infinity(), .regression = {}, .classification = {}};
    }
    total += sample.weight;
    sums.add(sample.y, logits, dataset.row_weight(row));
    for (std::size_t k = 0; k < classes; ++k) deviations[k].add(logits[k]);
    if (judged == nullptr) continue;
    made.truth.push_back(sample.y);
    made.predicted.push_back(static_cast<double>(most_probable(logits)));
    made.weight.push_back(dataset.row_weight(row));
    made.loss.push_back(loss);
    made.loss_weight.push_back(sample.weight);
  }
  Scores scores{.loss = sum / total, .regression = {}, .classification = {}, .multiclass = sums.metrics()};
  for (const RunningDeviation& logit : deviations) scores.deviation = std::max(scores.deviation, logit.deviation());
  if (judged == nullptr) return scores;
  made.group = dataset.groups_of(rows);
  *judged = std::move(made);
  return scores;
}

Scores evaluate(const Dataset& dataset, std::span<const std::uint32_t> rows, std::span<const double> outputs,
                JudgedSamples* judged) {
  auto next = outputs.begin();
  const OutputsOf given = [&](const Input<float>&, std::span<double> out) {
    std::copy_n(next, out.size(), out.begin());
    next += static_cast<std::ptrdiff_t>(out.size());
  };
  return evaluate(dataset, rows, given, judged);
}

}  // namespace ignd
