#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace ignd {

// The text that a label stands for. Empty: labels are numbers.
using LabelName = std::function<std::string(double)>;

// Looks at the first labels of a stream to find out whether they are classes.
class LabelSurvey {
 public:
  void note(double label);  // NaN and infinity say nothing

  std::size_t labels() const { return labels_; }
  const std::vector<double>& distinct() const { return distinct_; }  // in increasing order, three at the most

  std::string text(const LabelName& name = {}) const;  // "-1 and 1", for a message

 private:
  std::size_t labels_ = 0;
  std::vector<double> distinct_;
};

// Two labels as the classes 0 and 1. A class that has not been seen yet is open: NaN.
class Classes {
 public:
  Classes() = default;
  Classes(double negative, double positive) : negative_(negative), positive_(positive) {}
  // From two labels, the smaller one negative (of texts: the first in the alphabet), or from one: negative if it is at
  // most 0.
  explicit Classes(const std::vector<double>& labels, const LabelName& name = {});

  double negative() const { return negative_; }
  double positive() const { return positive_; }

  // The label of a class; as long as it is open, that of the other one.
  double label_of(bool positive) const;

  bool complete() const;  // both have been seen

  // 0 or 1; fills an open class where the label fits, as any text does. Throws BadSample for a third label.
  double number_of(double label, const LabelName& name = {});

 private:
  double negative_ = std::numeric_limits<double>::quiet_NaN();
  double positive_ = std::numeric_limits<double>::quiet_NaN();
};

}  // namespace ignd
