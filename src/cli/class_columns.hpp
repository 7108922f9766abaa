#pragma once

#include "learn/target.hpp"

#include <span>
#include <string>
#include <vector>

namespace ignd::cli {

// What predictions of classes are as comma-separated values: the class, and the probability of the positive one; of
// more than two classes, that of each. What stands before, and the line end, are the caller's.
class ClassColumns {
 public:
  explicit ClassColumns(const Target& target);

  std::string header() const;  // ",prediction,probability"

  // ",no,0.25", of the outputs of a model.
  void append(std::string& line, std::span<const double> outputs);

 private:
  std::vector<std::string> names_, fields_;  // of the classes, as they are and as fields
  std::vector<double> probabilities_;
};

}  // namespace ignd::cli
