#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <span>

// How good predictions are. A weight of 2 is two rows, a weight of 0 is none; without weights every row has weight 1.
// What is not a finite number, or not a label, is an InvalidArgument that names the row, counted from 1.
namespace ignd {

struct RegressionMetrics {
  std::size_t count = 0;  // rows with a weight above 0
  // Mean |p - y| / |y|, as a fraction. Not there if a target is nearer to zero than 1e-6 times the mean |y|: an error
  // of ordinary size in that one row would then count a million times, and the mean would say nothing of the others.
  std::optional<double> mape;
  double rmse = 0;
  double mae = 0;
  std::optional<double> r2;  // not there if all targets are the same: there is no variance to explain
};

struct ClassificationMetrics {
  std::size_t count = 0;  // rows with a weight above 0
  double accuracy = 0;    // at probability 0.5; exactly there the prediction is class 1
  double log_loss = 0;
  std::optional<double> auc;  // not there if only one class is
};

// Regression metrics of rows that come one at a time; nothing is kept of a row.
class RegressionSums {
 public:
  void add(double y, double prediction, double weight = 1);

  RegressionMetrics metrics() const;  // throws InvalidArgument if no row had a weight above 0

 private:
  std::size_t rows_ = 0;  // all that were given, for messages
  std::size_t count_ = 0;
  double weight_ = 0;
  double absolute_error_ = 0;
  double squared_error_ = 0;
  double relative_error_ = 0;
  double size_ = 0;         // sum of |y|
  double mean_ = 0;         // of y
  double squared_gap_ = 0;  // sum of (y - mean)^2
  double smallest_size_ = std::numeric_limits<double>::infinity();
};

RegressionMetrics regression_metrics(std::span<const double> y, std::span<const double> prediction,
                                     std::span<const double> weight = {});

// Labels are 0 or 1. Logits and not probabilities: those are 1 to the last digit long before a prediction is certain,
// which would tie what is not tied and make the log loss infinite.
ClassificationMetrics classification_metrics(std::span<const double> y, std::span<const double> logit,
                                             std::span<const double> weight = {});

}  // namespace ignd
