#pragma once

#include "core/running_mean.hpp"
#include "ignd/loss.hpp"
#include "ignd/step_rule.hpp"

namespace ignd {

// The largest importance weight a sample may have.
inline constexpr double largest_weight = 1e6;
[[noreturn]] void refuse_weight(double weight);

struct WeightedStep {
  double coefficient = 0;  // sum of xi * l_f over the repetitions
  double decay = 0;        // replaces xi * lambda, for all repetitions together
};

// What `weight` repetitions of a sample add up to, followed in the output alone: f moves by -alpha xi l_f s each time,
// which is exact for a linear model with plain steps. Multiplying the loss by the weight would cancel in xi, and
// multiplying the step by it would overshoot; a fraction of a repetition is that fraction of its step. The mean of a
// rule with a memory follows the repetitions.
WeightedStep repeated_step(const Loss& loss, const StepRule& rule, double y, double f, const StepInput& first,
                           double alpha, double weight, RunningMean* usual);

// The same, with a shortcut for the common case.
inline WeightedStep weighted_step(const Loss& loss, const StepRule& rule, double y, double f, const StepInput& first,
                                  double alpha, double weight, RunningMean* usual) {
  if (weight == 1 && first.l2 == 0 && usual == nullptr) return {rule.coefficient(first), 0};
  return repeated_step(loss, rule, y, f, first, alpha, weight, usual);
}

}  // namespace ignd
