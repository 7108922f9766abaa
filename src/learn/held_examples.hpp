#pragma once

#include "data/example_parser.hpp"
#include "learn/stream_targets.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace ignd {

class Checkpoint;

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

}  // namespace ignd
