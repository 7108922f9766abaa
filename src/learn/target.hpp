#pragma once

#include "data/table.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace ignd {

class Checkpoint;

// The text that a label stands for. Empty: labels are numbers.
using LabelName = std::function<std::string(double)>;

// Which one of two classes is the negative one unless the user chooses: the smaller number, or the text that comes
// first in the order of bytes.
bool is_negative_of(double label, double other, const LabelName& name);

// What is to be predicted: a number, or which of two or more classes.
struct Target {
  std::string name;
  // In increasing order, texts in that of their bytes; none for numbers. Of two, the negative and the positive one,
  // which may be chosen.
  std::vector<std::string> classes;
  bool text = false;                                   // the classes are texts, not numbers
  double positive = 0;                                 // of two classes: the positive one as it stands in a table
  std::map<double, std::uint32_t> class_numbers = {};  // of more than two: by how they stand in a table
  // Numbers are learned as (y - mean) / deviation, or, with the Poisson loss, as the logarithm of what is expected.
  bool logarithm = false;
  double mean = 0;
  double deviation = 1;
  CellFormat format = {};  // how its numbers are written in a file
  // If the column could also be learned otherwise: why it is not, and the option that asks for it. It is not saved.
  std::string choice = {};

  bool is_class() const { return !classes.empty(); }
  bool is_multiclass() const { return classes.size() > 2; }
  // Of a model for it: two classes need a single logit.
  std::size_t outputs() const { return is_multiclass() ? classes.size() : 1; }

  // What the model learns for a value of the column; for classes their number. Throws BadSample where there are more
  // than two, and this is not one of them.
  double learned(double value) const;
  // What an output means in the units of a column of numbers.
  double in_units(double output) const { return logarithm ? std::exp(output) : mean + deviation * output; }
  // The output that predicts this as the learned number.
  double output_for(double learned_number) const;

  void save(Checkpoint& checkpoint) const;
  static Target load(const Checkpoint& checkpoint);
};

inline constexpr std::size_t most_classes = 1000;
inline constexpr const char* softmax_loss = "softmax";  // of more than two classes: targets are class numbers

// Decides from some rows of a column what it is: texts and two different values are classes, more numbers are numbers,
// or counts; `loss` (empty: not given) may ask for one or the other. The scale of numbers comes from the training rows,
// where the loss allows one. Throws InvalidArgument where the loss cannot learn such a column, and BadSample, with the
// row, for a value: that of a class which no training row has, too. `positive` (empty: the larger one) chooses the
// positive of two classes; InvalidArgument if it is not one of them.
Target fit_target(const Table& table, std::size_t column, std::span<const std::uint32_t> rows,
                  std::span<const std::uint32_t> training_rows, const std::string& loss,
                  const std::string& positive = {});

// The loss that learns a target unless the user asks for another one.
std::string default_loss(const Target& target);

// The number, 0 or 1, of a class among the two of a target, of which `name` names one; numbers may be written in any
// way. Throws InvalidArgument if it names neither.
std::size_t find_positive(std::span<const std::string> classes, const std::string& name, bool text);

// Whether the texts of a column are numbers but for a few.
bool are_mostly_numbers(const Labels& labels);

// What is wrong with the target of a row: it is missing or infinite. Empty: nothing.
std::string missing_target(const Table& table, std::size_t column, std::size_t row);

// The same for a target that a model has learned from another table: this may be something else.
std::string unknown_target(const Table& table, std::size_t column, std::size_t row, const Target& target);

// What a target is, in a few words: "number, mean 3945, deviation 4002".
std::string describe(const Target& target);

// Names for a message: "'a', 'b' and 'c'", or the first few and how many more there are.
std::string list_classes(std::span<const std::string> classes);

}  // namespace ignd
