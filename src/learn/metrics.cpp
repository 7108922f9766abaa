#include "learn/metrics.hpp"

#include "ignd/error.hpp"
#include "ignd/loss.hpp"
#include "learn/model_outputs.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>
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

constexpr std::size_t reliability_bins = 10;

std::size_t bin_of(double probability) {
  return std::min(static_cast<std::size_t>(probability * reliability_bins), reliability_bins - 1);
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
  const TwoClassRows rows(y, logit);
  if (!weight.empty()) return rows.metrics(weight);
  return rows.metrics(std::vector<double>(y.size(), 1.0));
}

TwoClassRows::TwoClassRows(std::span<const double> y, std::span<const double> logit) {
  check_sizes(y, logit, {});
  const auto loss = make_loss("logistic");
  rows_.reserve(y.size());
  for (std::size_t i = 0; i < y.size(); ++i) {
    if (y[i] != 0 && y[i] != 1) {
      throw InvalidArgument(fmt::format("the label of row {} is {}; it must be 0 or 1", i + 1, y[i]));
    }
    check_finite(logit[i], "logit", i + 1);
    const bool positive = y[i] == 1;
    const double probability = sigmoid(logit[i]);
    rows_.push_back({.logit = logit[i],
                     .log_loss = loss->at(y[i], logit[i]).value,
                     .gap = probability - y[i],
                     .bin = bin_of(probability),
                     .cell = (positive ? std::size_t{2} : 0) + (logit[i] >= 0 ? 1 : 0),
                     .positive = positive});
  }
  ranked_.resize(rows_.size());
  std::iota(ranked_.begin(), ranked_.end(), 0U);
  std::ranges::stable_sort(ranked_, std::ranges::greater{}, [&](std::uint32_t row) { return rows_[row].logit; });
}

ClassificationMetrics TwoClassRows::metrics(std::span<const double> weight) const {
  ClassificationMetrics metrics;
  std::array<double, reliability_bins> gap{};
  double total = 0, log_loss = 0;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const double w = weight[i];
    check_weight(w, i + 1);
    if (w == 0) continue;
    const Row& row = rows_[i];
    ++metrics.count;
    total += w;
    metrics.confusion[row.cell] += w;
    log_loss += w * row.log_loss;
    gap[row.bin] += w * row.gap;
  }
  check_not_empty(total);
  const auto& [true_negatives, false_positives, false_negatives, true_positives] = metrics.confusion;
  metrics.accuracy = (true_negatives + true_positives) / total;
  metrics.log_loss = log_loss / total;
  metrics.precision = share(true_positives, true_positives + false_positives);
  metrics.recall = share(true_positives, true_positives + false_negatives);
  metrics.f1 = share(2 * true_positives, 2 * true_positives + false_positives + false_negatives);
  for (const double in_bin : gap) metrics.calibration_error += std::abs(in_bin);
  metrics.calibration_error /= total;
  measure_ranking(weight, metrics);
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

// The share of pairs of a positive and a negative row in which the positive one is ranked higher, ties counted half;
// and the mean over the positive rows of the precision at their logits.
void TwoClassRows::measure_ranking(std::span<const double> weight, ClassificationMetrics& metrics) const {
  double positives = 0, negatives = 0, won = 0, precisions = 0;
  for (std::size_t first = 0; first < ranked_.size();) {
    double tied_positive = 0, tied_negative = 0;
    const double logit = rows_[ranked_[first]].logit;
    for (; first < ranked_.size() && rows_[ranked_[first]].logit == logit; ++first) {
      const std::uint32_t row = ranked_[first];
      (rows_[row].positive ? tied_positive : tied_negative) += weight[row];
    }
    if (tied_positive + tied_negative == 0) continue;
    won += tied_negative * (positives + tied_positive / 2);
    positives += tied_positive;
    negatives += tied_negative;
    precisions += tied_positive * (positives / (positives + negatives));
  }
  if (positives > 0 && negatives > 0) metrics.auc = won / positives / negatives;
  if (positives > 0) metrics.average_precision = precisions / positives;
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

double macro_f1(std::span<const double> labelled, std::span<const double> predicted, std::span<const double> right) {
  double sum = 0, occurring = 0;
  for (std::size_t k = 0; k < labelled.size(); ++k) {
    if (labelled[k] + predicted[k] == 0) continue;
    sum += 2 * right[k] / (labelled[k] + predicted[k]);
    ++occurring;
  }
  return sum / occurring;
}

MulticlassMetrics MulticlassSums::metrics() const {
  check_not_empty(weight_);
  MulticlassMetrics metrics = sums_;
  const std::size_t classes = sums_.classes;
  std::vector<double> labelled(classes), predicted(classes), right(classes);
  for (std::size_t i = 0; i < classes; ++i) {
    for (std::size_t k = 0; k < classes; ++k) {
      labelled[i] += sums_.confused(i, k);
      predicted[k] += sums_.confused(i, k);
    }
    right[i] = sums_.confused(i, i);
  }
  metrics.accuracy = right_ / weight_;
  metrics.log_loss = log_loss_ / weight_;
  metrics.macro_f1 = macro_f1(labelled, predicted, right);
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
