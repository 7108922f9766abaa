#pragma once

#include "cli/use_model.hpp"
#include "ignd/checkpoint.hpp"

// The commands that use a model, for one that was trained on texts.
namespace ignd::cli {

bool is_text_model(const Checkpoint& checkpoint);

int predict_texts(const UseOptions& options, const Checkpoint& checkpoint);
int evaluate_texts(const UseOptions& options, const Checkpoint& checkpoint);
int inspect_texts(const UseOptions& options, const Checkpoint& checkpoint);

}  // namespace ignd::cli
