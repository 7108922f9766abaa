#pragma once

#include "cli/class_columns.hpp"
#include "learn/trained_model.hpp"

#include <string>

namespace ignd::cli {

// Predictions of classes as comma-separated values, with a name in front of each.
class ClassPredictions {
 public:
  // The header has what is named in front: "file".
  ClassPredictions(const TrainedModel& model, const std::string& named);

  void add(const std::string& name, double output);

  // To a file, whole or not at all; an empty path is the standard output. Throws FileError.
  void write(const std::string& path) const;

 private:
  ClassColumns columns_;
  std::string text_;
};

}  // namespace ignd::cli
