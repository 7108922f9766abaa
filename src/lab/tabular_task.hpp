#pragma once

#include "lab/task.hpp"

namespace ignd {

// The paper's regression tasks: a network on California Housing or Diamonds, and what it is compared with.
const Task& tabular_task();

}  // namespace ignd
