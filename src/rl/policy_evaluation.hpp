#pragma once

#include "ignd/optimizer.hpp"
#include "ignd/schedule.hpp"
#include "rl/transitions.hpp"

#include <cstddef>
#include <memory>
#include <span>

namespace ignd {

// Learns the values q(s, a) = w.x of a policy from transitions, one at a time.
class PolicyEvaluation {
 public:
  virtual ~PolicyEvaluation() = default;

  // False, once and for all, where a number is not finite any more.
  virtual bool update(const Transition& seen) = 0;

  // The policy has changed: forget what was measured of the old one, but go on from the weights.
  virtual void begin_policy() {}

  virtual std::span<const double> weights() const = 0;
};

// Q-learning's semi-gradient step towards r + gamma w.x', which is held fixed: a step of a trainer on a linear model.
// The rule "gradient" is the paper's QL; the undamped "gauss-newton" is its IGNDQ.
std::unique_ptr<PolicyEvaluation> make_semi_gradient(std::size_t features, double discount, const Optimizer& optimizer,
                                                     const Schedule& schedule);

// Recursive least squares: the w with which the errors r + gamma w.x' - w.x are uncorrelated to x over all that was
// seen of the policy. No rate, but a matrix: the work grows with the square of the number of features.
std::unique_ptr<PolicyEvaluation> make_rls_td(std::size_t features, double discount);

// What RLS-TD trusts the weights it begins a policy with: as if each had been measured by features of this size.
inline constexpr double rls_td_prior = 1e-6;

}  // namespace ignd
