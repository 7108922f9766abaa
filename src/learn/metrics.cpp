#include "learn/metrics.hpp"

#include "ignd/error.hpp"
#include "ignd/loss.hpp"
#include "learn/model_outputs.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <vector>

#include <fmt/format.h>

namespace ignd {
namespace {

void check_finite(double value, std::string_view what, std::size_t row) {
  if (!std::isfinite(value)) throw InvalidArgument(fmt::format("the {} of row {} is {}", what, row, value));
}

void check_weight(double weight, std::size_t row) {
  check_finite(weight, "weight", row);
  if (weight < 0) throw InvalidArgument(fmt::format("the weight of row {} is {}, which is negative", row, weight));
}

void check_not_empty(double weight) {
  if (weight <= 0) throw InvalidArgument("there is nothing to measure: no row has a weight above 0");
}

void check_sizes(std::span<const double> y, std::span<const double> prediction, std::span<const double> weight) {
  if (prediction.size() != y.size() || (!weight.empty() && weight.size() != y.size())) {
    throw InvalidArgument(fmt::format("there are {} targets, {} predictions and {} weights; give one of each per row",
                                      y.size(), prediction.size(), weight.size()));
  }
}

struct Scored {
  double logit = 0;
  double weight = 0;
  bool positive = false;
};

// The rows of one logit, by their weights.
struct Tied {
  double positive = 0;
  double negative = 0;
};

// By decreasing logit.
std::vector<Tied> ranked(std::vector<Scored>& rows) {
  std::ranges::sort(rows, std::ranges::greater{}, &Scored::logit);
  std::vector<Tied> groups;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i == 0 || rows[i].logit != rows[i - 1].logit) groups.emplace_back();
    (rows[i].positive ? groups.back().positive : groups.back().negative) += rows[i].weight;
  }
  return groups;
}

// The share of pairs of a positive and a negative row in which the positive one is ranked higher, ties counted half;
// and the mean over the positive rows of the precision at their logits.
void measure_ranking(std::span<const Tied> groups, ClassificationMetrics& metrics) {
  double positives = 0, negatives = 0, won = 0, precisions = 0;
  for (const Tied& tied : groups) {
    won += tied.negative * (positives + tied.positive / 2);
    positives += tied.positive;
    negatives += tied.negative;
    precisions += tied.positive * (positives / (positives + negatives));
  }
  if (positives > 0 && negatives > 0) metrics.auc = won / positives / negatives;
  if (positives > 0) metrics.average_precision = precisions / positives;
}

constexpr std::size_t reliability_bins = 10;

std::size_t bin_of(double probability) {
  return std::min(static_cast<std::size_t>(probability * reliability_bins), reliability_bins - 1);
}

double calibration_error_of(std::span<const Scored> rows, double total) {
  std::array<double, reliability_bins> gap{};  // sum of weight times (probability less label)
  for (const Scored& row : rows) {
    const double probability = sigmoid(row.logit);
    gap[bin_of(probability)] += row.weight * (probability - (row.positive ? 1 : 0));
  }
  double sum = 0;
  for (const double in_bin : gap) sum += std::abs(in_bin);
  return sum / total;
}

std::optional<double> share(double part, double whole) {
  return whole > 0 ? std::optional(part / whole) : std::nullopt;
}

}  // namespace

void MapeSum::add(double y, double prediction, double weight) {
  if (weight == 0) return;
  const double size = std::abs(y);
  weight_ += weight;
  sum_ += weight * std::abs(y - prediction) / std::max(size, least_divisor);
  size_ += weight * size;
  smallest_ = std::min(smallest_, size);
}

void RegressionSums::add(double y, double prediction, double weight) {
  ++rows_;
  check_finite(y, "target", rows_);
  check_finite(prediction, "prediction", rows_);
  check_weight(weight, rows_);
  if (weight == 0) return;
  const double error = std::abs(prediction - y);
  ++count_;
  weight_ += weight;
  absolute_error_ += weight * error;
  squared_error_ += weight * error * error;
  mape_.add(y, prediction, weight);
  // Around the running mean: sums of squares around zero would leave nothing of a small variance far from it. The mean
  // starts at the first target, so that equal targets have gaps of exactly 0.
  const double gap = y - mean_;
  mean_ += gap * (weight / weight_);
  squared_gap_ += weight * gap * (y - mean_);
}

RegressionMetrics RegressionSums::metrics() const {
  check_not_empty(weight_);
  constexpr double too_near_zero = 1e-3;
  RegressionMetrics metrics{.count = count_,
                            .mape = {},
                            .nearest_to_zero = mape_.nearest_to_zero(),
                            .rmse = std::sqrt(squared_error_ / weight_),
                            .mae = absolute_error_ / weight_,
                            .r2 = {}};
  if (metrics.nearest_to_zero >= too_near_zero) metrics.mape = mape_.mean();
  if (squared_gap_ > 0) metrics.r2 = 1 - squared_error_ / squared_gap_;
  return metrics;
}

RegressionMetrics regression_metrics(std::span<const double> y, std::span<const double> prediction,
                                     std::span<const double> weight) {
  check_sizes(y, prediction, weight);
  RegressionSums sums;
  for (std::size_t i = 0; i < y.size(); ++i) sums.add(y[i], prediction[i], weight.empty() ? 1 : weight[i]);
  return sums.metrics();
}

ClassificationMetrics classification_metrics(std::span<const double> y, std::span<const double> logit,
                                             std::span<const double> weight) {
  check_sizes(y, logit, weight);
  const auto loss = make_loss("logistic");
  std::vector<Scored> rows;
  rows.reserve(y.size());
  ClassificationMetrics metrics;
  double total = 0, log_loss = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double w = weight.empty() ? 1 : weight[i];
    if (y[i] != 0 && y[i] != 1) {
      throw InvalidArgument(fmt::format("the label of row {} is {}; it must be 0 or 1", i + 1, y[i]));
    }
    check_finite(logit[i], "logit", i + 1);
    check_weight(w, i + 1);
    if (w == 0) continue;
    const bool positive = y[i] == 1;
    total += w;
    metrics.confusion[(positive ? 2 : 0) + (logit[i] >= 0 ? 1 : 0)] += w;
    log_loss += w * loss->at(y[i], logit[i]).value;
    rows.push_back({logit[i], w, positive});
  }
  check_not_empty(total);
  const auto& [true_negatives, false_positives, false_negatives, true_positives] = metrics.confusion;
  metrics.count = rows.size();
  metrics.accuracy = (true_negatives + true_positives) / total;
  metrics.log_loss = log_loss / total;
  metrics.precision = share(true_positives, true_positives + false_positives);
  metrics.recall = share(true_positives, true_positives + false_negatives);
  metrics.f1 = share(2 * true_positives, 2 * true_positives + false_positives + false_negatives);
  metrics.calibration_error = calibration_error_of(rows, total);
  measure_ranking(ranked(rows), metrics);
  return metrics;
}

std::vector<ReliabilityBin> reliability_of(std::span<const double> probability, std::span<const double> hit,
                                           std::span<const double> weight) {
  std::vector<ReliabilityBin> bins(reliability_bins);
  for (std::size_t i = 0; i < probability.size(); ++i) {
    const double w = weight.empty() ? 1 : weight[i];
    ReliabilityBin& bin = bins[bin_of(probability[i])];
    bin.weight += w;
    bin.probability += w * probability[i];
    bin.share += w * hit[i];
  }
  for (ReliabilityBin& bin : bins) {
    if (!(bin.weight > 0)) continue;
    bin.probability /= bin.weight;
    bin.share /= bin.weight;
  }
  return bins;
}

double calibration_error(std::span<const ReliabilityBin> bins) {
  double sum = 0, total = 0;
  for (const ReliabilityBin& bin : bins) {
    sum += bin.weight * std::abs(bin.probability - bin.share);
    total += bin.weight;
  }
  return total > 0 ? sum / total : 0;
}

MulticlassSums::MulticlassSums(std::size_t classes) {
  if (classes < 2) throw InvalidArgument(fmt::format("there are {} classes to tell apart; two are the least", classes));
  sums_.classes = classes;
  sums_.confusion.resize(classes * classes);
}

void MulticlassSums::check(double label, std::span<const double> logits, double weight) const {
  if (logits.size() != sums_.classes) {
    throw InvalidArgument(
        fmt::format("row {} has {} logits; give one for each of {} classes", rows_, logits.size(), sums_.classes));
  }
  if (!(label >= 0 && label < static_cast<double>(sums_.classes) && label == std::floor(label))) {
    throw InvalidArgument(fmt::format("the label of row {} is {}; it must be the number of a class, 0 to {}", rows_,
                                      label, sums_.classes - 1));
  }
  for (const double logit : logits) check_finite(logit, "logit", rows_);
  check_weight(weight, rows_);
}

void MulticlassSums::add(double label, std::span<const double> logits, double weight) {
  ++rows_;
  check(label, logits, weight);
  if (weight == 0) return;
  const auto truth = static_cast<std::size_t>(label);
  const std::size_t predicted = most_probable(logits);
  ++sums_.count;
  weight_ += weight;
  if (truth == predicted) right_ += weight;
  log_loss_ += weight * cross_entropy(truth, logits);
  sums_.confusion[truth * sums_.classes + predicted] += weight;
}

double MulticlassSums::macro_f1() const {
  const std::size_t classes = sums_.classes;
  std::vector<double> labelled(classes), predicted(classes);
  for (std::size_t i = 0; i < classes; ++i) {
    for (std::size_t k = 0; k < classes; ++k) {
      labelled[i] += sums_.confused(i, k);
      predicted[k] += sums_.confused(i, k);
    }
  }
  double sum = 0, occurring = 0;
  for (std::size_t k = 0; k < classes; ++k) {
    if (labelled[k] + predicted[k] == 0) continue;
    sum += 2 * sums_.confused(k, k) / (labelled[k] + predicted[k]);
    ++occurring;
  }
  return sum / occurring;
}

MulticlassMetrics MulticlassSums::metrics() const {
  check_not_empty(weight_);
  MulticlassMetrics metrics = sums_;
  metrics.accuracy = right_ / weight_;
  metrics.log_loss = log_loss_ / weight_;
  metrics.macro_f1 = macro_f1();
  return metrics;
}

MulticlassMetrics multiclass_metrics(std::span<const double> labels, std::span<const double> logits,
                                     std::span<const double> weights, std::size_t classes) {
  const std::size_t n = labels.size();
  MulticlassSums sums(classes);
  if (logits.size() / classes != n || logits.size() % classes != 0 || (!weights.empty() && weights.size() != n)) {
    throw InvalidArgument(
        fmt::format("there are {} labels, {} logits of {} classes and {} weights; give one of each "
                    "per row, and a logit for each class",
                    n, logits.size(), classes, weights.size()));
  }
  for (std::size_t i = 0; i < n; ++i) {
    sums.add(labels[i], logits.subspan(i * classes, classes), weights.empty() ? 1 : weights[i]);
  }
  return sums.metrics();
}

}  // namespace ignd
