#pragma once

#include "base/text.hpp"
#include "cli/json_line.hpp"
#include "cli/use_model.hpp"
#include "ignd/checkpoint.hpp"
#include "ignd/error.hpp"
#include "learn/dataset.hpp"
#include "learn/trained_model.hpp"

#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>

// What the commands that use a model have in common, whatever it was trained on.
namespace ignd::cli {

// A model of one kind in a checkpoint. Throws FileError, with the file.
template <class Kind>
Kind load_model(const std::string& path, const Checkpoint& checkpoint) {
  try {
    return Kind::load(checkpoint);
  } catch (const FileError& fault) {
    throw FileError(fmt::format("{} cannot be used: {}", quoted_path(path), fault.what()));
  }
}

// How good a model is on so many samples, which are called "rows", say. Throws Error where it predicts no numbers.
void print_evaluation(const UseOptions& options, const TrainedModel& model, const Scores& quality, std::uint64_t count,
                      const std::string& samples, std::uint64_t left_out = 0);

// What is in a model file, but for how it reads its data.
void print_summary(const TrainedModel& model, const Checkpoint& checkpoint);
JsonLine summary_line(const TrainedModel& model, const Checkpoint& checkpoint);

// Samples that are files have none of the options of tables. Throws InvalidArgument.
void refuse_table_options(const UseOptions& options, const std::string& samples);

// Throws FileError unless data have the classes of a model.
void check_classes(const UseOptions& options, const std::vector<std::string>& classes, const Target& target);

}  // namespace ignd::cli
