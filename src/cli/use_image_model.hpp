#pragma once

#include "cli/use_model.hpp"
#include "ignd/checkpoint.hpp"

// The commands that use a model, for one that was trained on images.
namespace ignd::cli {

bool is_image_model(const Checkpoint& checkpoint);

int predict_images(const UseOptions& options, const Checkpoint& checkpoint);
int evaluate_images(const UseOptions& options, const Checkpoint& checkpoint);
int inspect_images(const UseOptions& options, const Checkpoint& checkpoint);

}  // namespace ignd::cli
