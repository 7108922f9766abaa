#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

// How good predictions are. A weight of 2 is two rows, a weight of 0 means that the row does not count; without weights
// every row has weight 1. What is not a finite number, or not a label, is an InvalidArgument that names the row,
// counted from 1.
namespace ignd {

// The paper's mean absolute percentage error, as a fraction: the mean of |p - y| / max(|y|, 1e-15).
class MapeSum {
 public:
  void add(double y, double prediction, double weight = 1);
  double mean() const { return sum_ / weight_; }

  // The smallest |y| as a share of the mean |y|, or 0 where it is below 1e-15. Where this is tiny, few rows decide the
  // mean.
  double nearest_to_zero() const { return smallest_ >= least_divisor ? smallest_ / (size_ / weight_) : 0; }

 private:
  static constexpr double least_divisor = 1e-15;

  double sum_ = 0;
  double weight_ = 0;
  double size_ = 0;  // sum of |y|
  double smallest_ = std::numeric_limits<double>::infinity();
};

struct RegressionMetrics {
  std::size_t count = 0;  // rows with a weight above 0
  // As MapeSum has it. Not there if a target is nearer to zero than a thousandth of the mean |y|: an error of ordinary
  // size in that one row counts as much as a thousand others, and the mean says nothing of those.
  std::optional<double> mape;
  double nearest_to_zero = 0;  // of the targets, as a share of the mean |y|
  double rmse = 0;
  double mae = 0;
  std::optional<double> r2;  // not there if all targets are the same: there is no variance to explain
};

// Of class 1, the positive one. A metric with a zero denominator has no value.
struct ClassificationMetrics {
  std::size_t count = 0;  // rows with a weight above 0
  double accuracy = 0;    // at probability 0.5; exactly there the prediction is class 1
  double log_loss = 0;
  std::optional<double> auc;                // not there if only one class is
  std::optional<double> precision, recall;  // at probability 0.5
  std::optional<double> f1;                 // 2 TP / (2 TP + FP + FN)
  // The mean of the precision over the positive rows, each at its own logit as the threshold; equal logits are one
  // threshold.
  std::optional<double> average_precision;
  // Expected calibration error: probabilities in ten bins of equal width, and in each the distance between their mean
  // and the share of positive rows, averaged by weight.
  double calibration_error = 0;
  // Sums of weights: negative rows predicted as negative and as positive, then positive rows likewise.
  std::array<double, 4> confusion = {};
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
  MapeSum mape_;
  double mean_ = 0;         // of y
  double squared_gap_ = 0;  // sum of (y - mean)^2
};

RegressionMetrics regression_metrics(std::span<const double> y, std::span<const double> prediction,
                                     std::span<const double> weight = {});

// Labels are 0 or 1. Logits and not probabilities: those are 1 to the last digit long before a prediction is certain,
// which would tie what is not tied and make the log loss infinite.
ClassificationMetrics classification_metrics(std::span<const double> y, std::span<const double> logit,
                                             std::span<const double> weight = {});

// One of ten bins of equal width that probabilities fall into.
struct ReliabilityBin {
  double weight = 0;       // of its rows; the others are 0 if it has none
  double probability = 0;  // their mean
  double share = 0;        // of those where it was so
};

// How often what was predicted with a probability was so: a reliability curve. The hits are 0 or 1.
std::vector<ReliabilityBin> reliability_of(std::span<const double> probability, std::span<const double> hit,
                                           std::span<const double> weight = {});

// The distance between the two of each bin, averaged by weight.
double calibration_error(std::span<const ReliabilityBin> bins);

// Rows of two classes that are measured again and again with other weights, as the bootstrap does: what the weights do
// not change is computed once.
class TwoClassRows {
 public:
  TwoClassRows(std::span<const double> y, std::span<const double> logit);  // as classification_metrics

  ClassificationMetrics metrics(std::span<const double> weight) const;  // one for each row

 private:
  struct Row {
    double logit = 0, log_loss = 0;
    double gap = 0;        // probability less label
    std::size_t bin = 0;   // of the probability
    std::size_t cell = 0;  // of the confusion
    bool positive = false;
  };
  void measure_ranking(std::span<const double> weight, ClassificationMetrics& metrics) const;

  std::vector<Row> rows_;
  std::vector<std::uint32_t> ranked_;  // rows by decreasing logit
};

// Of more than two classes.
struct MulticlassMetrics {
  std::size_t count = 0;    // rows with a weight above 0
  std::size_t classes = 0;  // C
  double accuracy = 0;      // of equal logits the first one is the prediction
  double log_loss = 0;
  double macro_f1 = 0;  // the mean over the classes that occur among the labels or the predictions
  std::vector<double> confusion =
      {};  // C x C sums of weights: a row for each true class, a column for each predicted one

  double confused(std::size_t truth, std::size_t predicted) const { return confusion[truth * classes + predicted]; }
};

// The mean F1 over the classes that occur, from how many rows each class has, how often it is predicted, and how often
// that is right.
double macro_f1(std::span<const double> labelled, std::span<const double> predicted, std::span<const double> right);

// Metrics of rows that come one at a time; nothing is kept of a row.
class MulticlassSums {
 public:
  explicit MulticlassSums(std::size_t classes);  // throws InvalidArgument for less than two

  // A label is the number of a class, 0 to C - 1; there is a logit for each class.
  void add(double label, std::span<const double> logits, double weight = 1);

  MulticlassMetrics metrics() const;  // throws InvalidArgument if no row had a weight above 0

 private:
  void check(double label, std::span<const double> logits, double weight) const;

  std::size_t rows_ = 0;  // all that were given, for messages
  double weight_ = 0;
  double right_ = 0;
  double log_loss_ = 0;
  MulticlassMetrics sums_;  // counts and the confusion
};

// The logits of a row follow those of the row before.
MulticlassMetrics multiclass_metrics(std::span<const double> labels, std::span<const double> logits,
                                     std::span<const double> weights, std::size_t classes);

}  // namespace ignd
