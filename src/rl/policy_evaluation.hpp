#pragma once

#include "ignd/optimizer.hpp"
#include "ignd/schedule.hpp"
#include "rl/transitions.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace ignd {

// Learns the values q(s, a) = w.x of a policy from transitions, one at a time.
class PolicyEvaluation {
 public:
  virtual ~PolicyEvaluation() = default;

  // False from the first number that is not finite.
  virtual bool update(const Transition& seen) = 0;

  // The policy has changed: drop what was measured of the old one, but keep the weights.
  virtual void begin_policy() {}

  virtual std::span<const double> weights() const = 0;
};

// Q-learning's semi-gradient step towards r + gamma w.x', which is held fixed: a step of a trainer on a linear model.
// The rule "gradient" is the paper's QL; the undamped "gauss-newton" is its IGNDQ.
std::unique_ptr<PolicyEvaluation> make_semi_gradient(std::size_t features, double discount, const Optimizer& optimizer,
                                                     const Schedule& schedule);

// The same steps towards r + gamma v.x', where v are the weights as they were at the last multiple of `hold` updates.
// For so many updates the targets are those of a regression, which every step rule can solve; from one phase to the
// next the values follow the policy for one more step. Converges for every policy of finite cost if `hold` is long
// enough for the regression (docs/math.md). With a hold of 1 it is the semi-gradient.
std::unique_ptr<PolicyEvaluation> make_held_targets(std::size_t features, double discount, const Optimizer& optimizer,
                                                    const Schedule& schedule, std::uint64_t hold);

// Recursive least squares: the w with which the errors r + gamma w.x' - w.x are uncorrelated to x over all that was
// seen of the policy. No rate, but a matrix: the work grows with the square of the number of features.
std::unique_ptr<PolicyEvaluation> make_rls_td(std::size_t features, double discount);

// How much RLS-TD trusts the weights it starts a policy with: as if each had been measured by features of this size.
inline constexpr double rls_td_prior = 1e-6;

}  // namespace ignd
