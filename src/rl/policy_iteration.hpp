#pragma once

#include "ignd/optimizer.hpp"
#include "ignd/schedule.hpp"
#include "rl/linear_system.hpp"
#include "rl/transitions.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
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

// Recursive least squares: the w with which the errors r + gamma w.x' - w.x are uncorrelated to x over all that was
// seen of the policy. No rate, but a matrix: the work grows with the square of the number of features.
std::unique_ptr<PolicyEvaluation> make_rls_td(std::size_t features, double discount);

// How much RLS-TD trusts the weights it starts a policy with: as if each had been measured by features of this size.
inline constexpr double rls_td_prior = 1e-6;

// The greedy policy for the values z'Mz, or none: all of M must be negative definite, as it is for the values of any
// policy when every reward is negative. Checking the actions' part alone would accept values that have blown up.
std::optional<Eigen::MatrixXd> greedy_policy(const Eigen::MatrixXd& m, Eigen::Index states);

// Policy iteration on a linear system: learn the values of a = K s from transitions, then make K greedy.
class PolicyIteration {
 public:
  // The evaluation must have as many weights as the transitions have features.
  PolicyIteration(Transitions& transitions, PolicyEvaluation& evaluation, Eigen::MatrixXd policy);

  // False once a number is not finite: the run has diverged.
  bool evaluate(std::uint64_t updates);

  // Makes the policy greedy. If the values do not allow that, the policy and the weights stay, learning continues and
  // the rejection is counted. False if the run has diverged: at the third rejection in a row with growing weights, or
  // at a number that is not finite.
  bool improve();

  const Eigen::MatrixXd& policy() const { return policy_; }
  std::uint64_t rejections() const { return rejections_; }
  bool last_was_rejected() const { return growing_rejections_ > 0; }

 private:
  bool reject(double size);

  Transitions& transitions_;
  PolicyEvaluation& evaluation_;
  Eigen::MatrixXd policy_;
  std::uint64_t rejections_ = 0;
  std::uint64_t growing_rejections_ = 0;  // in a row
  double rejected_size_ = 0;              // of the weights at the last of them
};

}  // namespace ignd
