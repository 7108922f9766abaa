#pragma once

#include "lab/task.hpp"

namespace ignd {

// Q-learning on FrozenLake. The curve is the trailing mean of the returns, the score their mean over the last tenth of
// the episodes, and the extra "early" that over the first half. Failing is worth a return of 0 from there to the end.
const Task& frozen_lake_task();

}  // namespace ignd
