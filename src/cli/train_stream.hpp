#pragma once

#include "cli/train.hpp"

namespace ignd::cli {

// Learns from a stream in one pass. Options that are empty, or not given, are left to the learner. Returns the exit
// code.
int train_stream(const TrainOptions& options);

}  // namespace ignd::cli
