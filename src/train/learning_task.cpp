#include "train/learning_task.hpp"

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

}  // namespace

Quality judge(const LearningTask& task, std::span<const std::uint32_t> rows, const OutputOf& output) {
  const auto loss = make_loss(task.loss());
  const Target& target = task.target();
  std::vector<float> room(task.room());
  std::vector<double> truth, predicted, weights;
  double sum = 0;
  double total = 0;
  for (const std::uint32_t row : rows) {
    const Sample<float> sample = task.sample(row, room);
    const double f = output(sample.x);
    truth.push_back(task.target_in_units(row));
    predicted.push_back(target.is_class() ? f : target.in_units(f));
    weights.push_back(task.row_weight(row));
    sum += sample.weight * loss->at(sample.y, f).value;
    total += sample.weight;
    if (!std::isfinite(predicted.back()) || !std::isfinite(sum)) {
      return {.loss = std::numeric_limits<double>::infinity(), .regression = {}, .classification = {}};
    }
  }
  Quality quality{.loss = sum / total, .regression = {}, .classification = {}, .deviation = deviation_of(predicted)};
  if (target.is_class()) {
    quality.classification = classification_metrics(truth, predicted, weights);
  } else {
    quality.regression = regression_metrics(truth, predicted, weights);
  }
  return quality;
}

}  // namespace ignd
