#pragma once

#include "base/settings.hpp"
#include "ignd/optimizer.hpp"
#include "rl/linear_system.hpp"
#include "rl/policy_iteration.hpp"
#include "rl/transitions.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ignd {

// The settings of the task lqr.
const std::vector<SettingKey>& lqr_keys();

// What they describe: a system, what is best for it, and how its values are sampled and learned.
class LqrProblem {
 public:
  enum class Evaluation { semi_gradient, held_targets, least_squares };

  // Throws InvalidArgument for settings that have faults.
  explicit LqrProblem(const Settings& settings);

  // Everything that is wrong with the settings together, one text each.
  static std::vector<std::string> faults(const Settings& settings);

  const LinearSystem& system() const { return system_; }
  double discount() const { return discount_; }
  Evaluation evaluation() const { return evaluation_; }
  Acceptance acceptance() const { return acceptance_; }
  const TransitionOptions& sampling() const { return sampling_; }
  std::uint64_t updates() const { return updates_; }
  std::uint64_t improvements() const { return improvements_; }
  double tolerance() const { return tolerance_; }

  Eigen::MatrixXd best_policy() const { return optimal_policy(system_, discount_); }
  Eigen::MatrixXd initial_policy(std::uint64_t seed) const;

  std::unique_ptr<PolicyEvaluation> make_evaluation(std::size_t features, const Optimizer& optimizer,
                                                    double rate) const;

  // An estimate, with one thread.
  double update_seconds() const;

 private:
  LinearSystem system_;
  double discount_;
  Evaluation evaluation_;
  Acceptance acceptance_;
  TransitionOptions sampling_;
  std::optional<Eigen::MatrixXd> given_policy_;
  double initial_scale_ = 0;  // of a random initial policy
  double horizon_;
  std::uint64_t hold_, updates_, improvements_;
  double tolerance_;
};

MatrixRows rows_of(const Eigen::MatrixXd& matrix);

}  // namespace ignd
