#pragma once

#include "learn/target.hpp"

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

// The labels of a stream: which two of them are the classes, and how numbers are scaled.
//
// A table's Target answers the same questions from all training rows at once. A stream cannot look ahead: a class may
// turn up late, offset and scale come from the first few labels, and both must be saved half-way. The two share what
// does not depend on that: the order of two classes (is_negative_of) and the link (sigmoid).
namespace ignd {

class Checkpoint;

// Two labels as the classes 0 and 1. A class that has not been seen yet is open: NaN.
class Classes {
 public:
  Classes() = default;
  // From two labels in class order, or from one: negative if it is at most 0.
  explicit Classes(const std::vector<double>& labels, const LabelName& name = {});

  double negative() const { return negative_; }
  double positive() const { return positive_; }

  // The label of a class; as long as it is open, that of the other one.
  double label_of(bool positive) const;

  bool complete() const;  // both have been seen

  // "-1", or "'no'" of a text, for messages.
  static std::string shown(double label, const LabelName& name);

  // 0 or 1; fills an open class if the label fits, as any text does. Throws BadSample for a third label.
  double number_of(double label, const LabelName& name = {});

  void save(Checkpoint& checkpoint) const;
  static Classes load(const Checkpoint& checkpoint);

 private:
  double negative_ = std::numeric_limits<double>::quiet_NaN();
  double positive_ = std::numeric_limits<double>::quiet_NaN();
};

// Offset and scale of a stream's targets, from its first few: the mean, and a power of two so that numbers of any unit
// fit into a float. Then both stay fixed, and the bias learns what is left of the offset.
struct TargetRange {
  bool moves = false;      // the loss is the same wherever zero is
  bool stretches = false;  // and whatever the unit is
  double offset = 0;
  double scale = 1;
  bool has_scale = false;
  std::uint64_t seen = 0;

  double to_model(double y) const { return (y - offset) / scale; }
  double from_model(double f) const { return f * scale + offset; }

  // After another target.
  TargetRange with(double y) const;

  void save(Checkpoint& checkpoint) const;
  void restore(const Checkpoint& checkpoint);  // throws FileError; leaves `moves` and `stretches`, which the loss knows
};

}  // namespace ignd
