#pragma once

#include "lab/task.hpp"

namespace ignd {

// "training": a model trained on a table, on images or on texts, as `ignd train` does it with the same options and
// seed, with its learning curves.
const Task& training_task();

}  // namespace ignd
