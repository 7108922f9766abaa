#include "learn/dataset.hpp"

#include "ignd/random.hpp"
#include "ignd/vector_loss.hpp"
#include "learn/model_outputs.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

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

Scores evaluate(const Dataset& dataset, std::span<const std::uint32_t> rows, const OutputOf& output) {
  const auto loss = make_loss(dataset.loss());
  const Target& target = dataset.target();
  std::vector<float> scratch(dataset.scratch_size());
  std::vector<double> truth, predicted, weights;
  double sum = 0;
  double total = 0;
  for (const std::uint32_t row : rows) {
    const Sample<float> sample = dataset.sample(row, scratch);
    const double f = output(sample.x);
    truth.push_back(dataset.target_in_units(row));
    predicted.push_back(target.is_class() ? f : target.in_units(f));
    weights.push_back(dataset.row_weight(row));
    sum += sample.weight * loss->at(sample.y, f).value;
    total += sample.weight;
    if (!std::isfinite(predicted.back()) || !std::isfinite(sum)) {
      return {.loss = std::numeric_limits<double>::infinity(), .regression = {}, .classification = {}};
    }
  }
  Scores scores{.loss = sum / total, .regression = {}, .classification = {}, .deviation = deviation_of(predicted)};
  if (target.is_class()) {
    scores.classification = classification_metrics(truth, predicted, weights);
  } else {
    scores.regression = regression_metrics(truth, predicted, weights);
  }
  return scores;
}

Scores evaluate(const Dataset& dataset, std::span<const std::uint32_t> rows, const OutputsOf& outputs) {
  if (!dataset.target().is_multiclass()) {
    return evaluate(dataset, rows, [&](const Input<float>& x) {
      double output = 0;
      outputs(x, {&output, 1});
      return output;
    });
  }
  const std::size_t classes = dataset.target().outputs();
  std::vector<float> scratch(dataset.scratch_size());
  std::vector<double> logits(classes);
  std::vector<RunningDeviation> deviations(classes);
  MulticlassSums sums(classes);
  double sum = 0;
  double total = 0;
  for (const std::uint32_t row : rows) {
    const Sample<float> sample = dataset.sample(row, scratch);
    outputs(sample.x, logits);
    const bool finite = std::ranges::all_of(logits, [](double logit) { return std::isfinite(logit); });
    const auto label = static_cast<std::size_t>(sample.y);
    if (finite) sum += sample.weight * cross_entropy(label, logits);
    if (!finite || !std::isfinite(sum)) {
      return {.loss = std::numeric_limits<double>::infinity(), .regression = {}, .classification = {}};
    }
    total += sample.weight;
    sums.add(sample.y, logits, dataset.row_weight(row));
    for (std::size_t k = 0; k < classes; ++k) deviations[k].add(logits[k]);
  }
  Scores scores{.loss = sum / total, .regression = {}, .classification = {}, .multiclass = sums.metrics()};
  for (const RunningDeviation& logit : deviations) scores.deviation = std::max(scores.deviation, logit.deviation());
  return scores;
}

Scores evaluate(const Dataset& dataset, std::span<const std::uint32_t> rows, std::span<const double> outputs) {
  auto next = outputs.begin();
  return evaluate(dataset, rows, [&](const Input<float>&, std::span<double> out) {
    std::copy_n(next, out.size(), out.begin());
    next += static_cast<std::ptrdiff_t>(out.size());
  });
}

}  // namespace ignd
