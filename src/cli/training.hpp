#pragma once

#include "cli/save_model.hpp"
#include "cli/training_data.hpp"
#include "ignd/checkpoint.hpp"

#include <optional>

namespace ignd::cli {

// Trains on the data as the options say, or resumes a saved run, and prints how good the model is. Returns the
// exit code.
int train_on(const TrainingData& data, TrainOptions options, OutputFile& file, const std::optional<Checkpoint>& saved);

}  // namespace ignd::cli
