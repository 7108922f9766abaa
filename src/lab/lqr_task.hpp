#pragma once

#include "lab/task.hpp"

namespace ignd {

// "lqr": policy iteration on a linear system with quadratic rewards. The metric is the policy error ||K* - K||_F,
// recorded after each improvement (0: the initial policy).
//
// A run has diverged, and has no score, where a number is not finite any more, where three improvements in a row are
// rejected while the weights grow, or where the last improvement is rejected: its policy is then not the outcome of its
// values, and a run that never improves would be scored by its initial policy. Rejections that the run recovers from
// are no failure; the extra "rejections" counts them.
const Task& lqr_task();

}  // namespace ignd
