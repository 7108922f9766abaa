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

// What images and texts have in common: defaults of networks, and options of tables that they do not have; `what` is
// "images". Throws InvalidArgument.
void complete_class_options(TrainOptions& options, const std::string& default_model, const std::string& what);

// How the samples are split.
ClassDatasetOptions class_task_options(const TrainOptions& options);

}  // namespace ignd::cli
