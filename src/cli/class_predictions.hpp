#pragma once

#include "train/trained_model.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace ignd::cli {

// Predictions of classes as comma-separated values, with a name in front of each.
class ClassPredictions {
 public:
  // The header has what is named in front: "file". The model must outlive this.
  ClassPredictions(const TrainedModel& model, const std::string& named);

  void add(const std::string& name, double output);

  // To a file, whole or not at all; an empty path is the standard output. Throws FileError.
  void write(const std::string& path) const;

 private:
  const TrainedModel& model_;
  std::string text_;
};

}  // namespace ignd::cli
