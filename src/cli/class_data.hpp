#pragma once

#include "cli/training_data.hpp"
#include "data/class_files.hpp"
#include "learn/class_dataset.hpp"

#include <span>

namespace ignd::cli {

// Images or texts to train on.
struct ClassDataParts {
  std::unique_ptr<ClassDataset> task;
  Shape shape;
  std::string samples;   // "images"
  std::string size_key;  // of `size` among the events: "pixels"
  std::uint64_t size_value = 0;
  std::vector<std::string> details;  // what is read of a sample, and how
  std::vector<SkippedFile> skipped;  // by name
};

// One line, if any were left out.
void warn_of_skipped(std::span<const SkippedFile> files);

std::unique_ptr<TrainingData> make_class_data(ClassDataParts parts);

// Throws InvalidArgument for a loss that does not learn two classes; `what` is "images".
void check_class_options(const TrainOptions& options, const std::string& what);

}  // namespace ignd::cli
