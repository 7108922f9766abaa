#pragma once

#include <cstddef>
#include <span>
#include <vector>

// How good predictions of more than two classes are. Weights and faults are as in metrics.hpp.
namespace ignd {

struct MulticlassMetrics {
  std::size_t count = 0;    // rows with a weight above 0
  std::size_t classes = 0;  // C
  double accuracy = 0;      // of equal logits the first one is the prediction
  double log_loss = 0;
  double macro_f1 = 0;            // the mean over the classes that occur among the labels or the predictions
  std::vector<double> confusion;  // C x C sums of weights: a row for each true class, a column for each predicted one

  double confused(std::size_t truth, std::size_t predicted) const { return confusion[truth * classes + predicted]; }
};

// Metrics of rows that come one at a time; nothing is kept of a row.
class MulticlassSums {
 public:
  explicit MulticlassSums(std::size_t classes);  // throws InvalidArgument for less than two

  // A label is the number of a class, 0 to C - 1; there is a logit for each class.
  void add(double label, std::span<const double> logits, double weight = 1);

  MulticlassMetrics metrics() const;  // throws InvalidArgument if no row had a weight above 0

 private:
  void check(double label, std::span<const double> logits, double weight) const;
  double macro_f1() const;

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
