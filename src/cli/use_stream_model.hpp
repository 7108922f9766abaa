#pragma once

#include "cli/use_model.hpp"
#include "ignd/checkpoint.hpp"

// The commands that use a trained model, for one that was learned from a stream.
namespace ignd::cli {

int predict_stream(const UseOptions& options, const Checkpoint& checkpoint);
int evaluate_stream(const UseOptions& options, const Checkpoint& checkpoint);
int inspect_stream(const UseOptions& options, const Checkpoint& checkpoint);

}  // namespace ignd::cli
