#pragma once

#include "data/table.hpp"

#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace ignd {

class Checkpoint;

// What is to be predicted: a number, or which of two classes.
struct Target {
  std::string name;
  std::vector<std::string> classes;  // the negative and the positive one; none for numbers
  bool text = false;                 // the classes are texts, not numbers
  double positive = 0;               // the positive one as it stands in a table
  // Numbers are learned as (y - mean) / deviation, or, with the Poisson loss, as the logarithm of what is expected.
  bool logarithm = false;
  double mean = 0;
  double deviation = 1;

  bool is_class() const { return !classes.empty(); }

  // What the model learns for a value of the column.
  double learned(double value) const;
  // What an output means in the units of a column of numbers.
  double in_units(double output) const { return logarithm ? std::exp(output) : mean + deviation * output; }
  // The output that predicts this as the learned number.
  double output_for(double learned_number) const;

  void save(Checkpoint& checkpoint) const;
  static Target load(const Checkpoint& checkpoint);
};

// Decides from a column what it is: two different values are classes, more are numbers; `loss` (empty: not given) may
// ask for one or the other. The scale of numbers comes from the training rows, where the loss allows one. Throws
// InvalidArgument where the loss cannot learn such a column, and BadSample, with the row, for a value.
Target fit_target(const Table& table, std::size_t column, std::span<const std::uint32_t> training_rows,
                  const std::string& loss);

// Throws BadSample, with the row, where a column of another table holds something that is no such target.
void check_target(const Table& table, std::size_t column, const Target& target);

}  // namespace ignd
