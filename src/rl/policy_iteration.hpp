#pragma once

#include "rl/linear_system.hpp"
#include "rl/policy_evaluation.hpp"
#include "rl/transitions.hpp"

#include <cstdint>
#include <memory>
#include <optional>

namespace ignd {

// The policy that is best if the values are z'Mz, or none: the whole of M must be negative definite, as it is for the
// values of any policy, where every reward is negative. Looking at the actions' part alone would take values that
// have blown up for good ones.
std::optional<Eigen::MatrixXd> greedy_policy(const Eigen::MatrixXd& m, Eigen::Index states);

// Policy iteration on a linear system: learn the values of a = K s from transitions, then make K greedy.
class PolicyIteration {
 public:
  // The evaluation must have as many weights as the transitions have features.
  PolicyIteration(Transitions& transitions, PolicyEvaluation& evaluation, Eigen::MatrixXd policy);

  // False where a number is not finite any more: the run has diverged.
  bool evaluate(std::uint64_t updates);

  // Makes the policy greedy. Where the values do not allow it, the policy and the weights stay, learning goes on from
  // them, and that is counted. False where the run has diverged: at the third refusal in a row with larger weights
  // each time, or at a number that is not finite.
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
