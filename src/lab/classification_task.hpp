#pragma once

#include "lab/task.hpp"

namespace ignd {

// The paper's classification tasks: a network that tells photographs of cats from those of dogs, or reviews that like a
// film from those that do not.
const Task& classification_task();

}  // namespace ignd
