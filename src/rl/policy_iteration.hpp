#pragma once

#include "rl/policy_evaluation.hpp"
#include "rl/transitions.hpp"

#include <cstdint>
#include <limits>
#include <optional>

#include <Eigen/Core>

namespace ignd {

// Which part of the values z'Mz must be negative definite for an improvement of the policy.
enum class Acceptance {
  whole,   // all of M, as it is for the values of any policy when every reward is negative
  actions  // the actions' part, so that there is a best action: the paper's condition. Values that have blown up pass
};

// The greedy policy for the values z'Mz, or none if they are not accepted.
std::optional<Eigen::MatrixXd> greedy_policy(const Eigen::MatrixXd& m, Eigen::Index states,
                                             Acceptance acceptance = Acceptance::whole);

// Makes a policy a = K s greedy for its learned values, wherever these were learned from.
class PolicyImprovement {
 public:
  // The evaluation must have as many weights as there are features.
  PolicyImprovement(const QuadraticFeatures& features, PolicyEvaluation& evaluation, Eigen::MatrixXd policy,
                    Acceptance acceptance = Acceptance::whole);

  // Makes the policy greedy. If the values do not allow that, the policy and the weights stay, learning continues and
  // the rejection is counted. False if the run has diverged: at the third rejection in a row with growing weights, or
  // at a number that is not finite.
  bool improve();

  const QuadraticFeatures& features() const { return features_; }
  Eigen::MatrixXd values() const { return features_.matrix(evaluation_.weights()); }  // M of z'Mz
  const Eigen::MatrixXd& policy() const { return policy_; }
  std::uint64_t improvements() const { return improvements_; }
  std::uint64_t rejections() const { return rejections_; }
  bool last_was_rejected() const { return growing_rejections_ > 0; }

  // The size of the last improvement's change of the policy, ||K' - K|| / ||K'||; a rejection changes nothing about it.
  // Infinite before the first improvement.
  double last_change() const { return last_change_; }

 protected:
  PolicyEvaluation& evaluation() { return evaluation_; }

 private:
  bool reject(double size);

  QuadraticFeatures features_;
  PolicyEvaluation& evaluation_;
  Eigen::MatrixXd policy_;
  Acceptance acceptance_;
  std::uint64_t improvements_ = 0;
  double last_change_ = std::numeric_limits<double>::infinity();
  std::uint64_t rejections_ = 0;
  std::uint64_t growing_rejections_ = 0;  // in a row
  double rejected_size_ = 0;              // of the weights at the last of them
};

// Policy iteration on a linear system: learn the values of a = K s from transitions, then make K greedy.
class PolicyIteration : public PolicyImprovement {
 public:
  // The evaluation must have as many weights as the transitions have features.
  PolicyIteration(Transitions& transitions, PolicyEvaluation& evaluation, Eigen::MatrixXd policy,
                  Acceptance acceptance = Acceptance::whole);

  // False once a number is not finite: the run has diverged.
  bool evaluate(std::uint64_t updates);

  // Transitions follow the improved policy.
  bool improve();

 private:
  Transitions& transitions_;
};

}  // namespace ignd
