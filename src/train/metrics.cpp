#include "train/metrics.hpp"

#include "ignd/error.hpp"
#include "ignd/loss.hpp"
#include "train/metric_checks.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

namespace ignd {
namespace {

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

// The share of pairs of a positive and a negative row in which the positive one is ranked higher, ties counted half.
std::optional<double> area_under_curve(std::vector<Scored>& rows) {
  std::ranges::sort(rows, {}, &Scored::logit);
  double positives = 0, negatives = 0, won = 0;
  for (auto at = rows.begin(); at != rows.end();) {
    double tied_positives = 0, tied_negatives = 0;
    for (const double logit = at->logit; at != rows.end() && at->logit == logit; ++at) {
      (at->positive ? tied_positives : tied_negatives) += at->weight;
    }
    won += tied_positives * (negatives + tied_negatives / 2);
    positives += tied_positives;
    negatives += tied_negatives;
  }
  if (positives == 0 || negatives == 0) return {};
  return won / positives / negatives;
}

}  // namespace

void RegressionSums::add(double y, double prediction, double weight) {
  ++rows_;
  check_finite(y, "target", rows_);
  check_finite(prediction, "prediction", rows_);
  check_weight(weight, rows_);
  if (weight == 0) return;
  const double error = std::abs(prediction - y), size = std::abs(y);
  ++count_;
  weight_ += weight;
  absolute_error_ += weight * error;
  squared_error_ += weight * error * error;
  relative_error_ += weight * error / size;
  size_ += weight * size;
  smallest_size_ = std::min(smallest_size_, size);
  // Around the running mean: sums of squares around zero would leave nothing of a small variance far from it. The mean
  // starts at the first target, so that equal targets have gaps of exactly 0.
  const double gap = y - mean_;
  mean_ += gap * (weight / weight_);
  squared_gap_ += weight * gap * (y - mean_);
}

RegressionMetrics RegressionSums::metrics() const {
  check_not_empty(weight_);
  constexpr double too_near_zero = 1e-6;
  RegressionMetrics metrics{.count = count_,
                            .mape = {},
                            .rmse = std::sqrt(squared_error_ / weight_),
                            .mae = absolute_error_ / weight_,
                            .r2 = {}};
  if (smallest_size_ > 0 && smallest_size_ >= too_near_zero * (size_ / weight_)) {
    metrics.mape = relative_error_ / weight_;
  }
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
  double total = 0, right = 0, log_loss = 0;
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
    if ((logit[i] >= 0) == positive) right += w;
    log_loss += w * loss->at(y[i], logit[i]).value;
    rows.push_back({logit[i], w, positive});
  }
  check_not_empty(total);
  return {.count = rows.size(), .accuracy = right / total, .log_loss = log_loss / total, .auc = area_under_curve(rows)};
}

}  // namespace ignd
