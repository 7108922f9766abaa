#pragma once

#include "data/example_parser.hpp"
#include "ignd/stream.hpp"
#include "learn/target.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

// What a stream learner carries along besides its weights, and saves: the classes and the scale of its labels, the
// examples that it holds back, and its statistics.
//
// A table's Target answers the same questions about labels from all training rows at once. A stream cannot look ahead:
// a class may turn up late, offset and scale come from the first few labels, and both must be saved half-way. The two
// share what does not depend on that: the order of two classes (is_negative_of) and the link (sigmoid).
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

// Looks at the first labels of a stream to find out whether they are classes.
class LabelSurvey {
 public:
  void note(double label);  // ignores NaN and infinity

  std::size_t labels() const { return labels_; }
  const std::vector<double>& distinct() const { return distinct_; }  // in increasing order, at most three

  std::string text(const LabelName& name = {}) const;  // "-1 and 1", for a message

 private:
  std::size_t labels_ = 0;
  std::vector<double> distinct_;
};

// The first examples of a stream, kept until their labels have shown which loss to use.
class HeldExamples {
 public:
  // Example `i` of a block.
  void add(const ExampleBlock& block, std::size_t i);

  std::size_t size() const { return examples_.size(); }
  const LabelSurvey& labels() const { return labels_; }  // of all examples so far, also of those taken

  ExampleBlock take();  // leaves none behind

  void save(Checkpoint& checkpoint) const;
  void restore(const Checkpoint& checkpoint);  // throws FileError

 private:
  ExampleBlock examples_;
  LabelSurvey labels_;
};

// Counts a labelled example; `error` is f - y. One of weight 0 adds to nothing else, however large its loss.
void count_example(StreamStatistics& statistics, double error, double loss, double weight, bool correct);

void save_statistics(const StreamStatistics& statistics, Checkpoint& checkpoint);
StreamStatistics load_statistics(const Checkpoint& checkpoint);  // throws FileError

// The state of a learner of version 1, which packed the statistics and the range of the targets into two arrays, under
// the names of version 2. Throws FileError.
Checkpoint named_state(const Checkpoint& old);

}  // namespace ignd
