#include "rl/policy_iteration.hpp"

#include <utility>

#include <Eigen/Cholesky>
#include <Eigen/LU>

namespace ignd {
namespace {

constexpr std::uint64_t most_growing_rejections = 3;

}  // namespace

std::optional<Eigen::MatrixXd> greedy_policy(const Eigen::MatrixXd& m, Eigen::Index states, Acceptance acceptance) {
  const Eigen::Index actions = m.rows() - states;
  const Eigen::Index first = acceptance == Acceptance::whole ? 0 : states;
  const Eigen::MatrixXd cost = -m.bottomRightCorner(m.rows() - first, m.rows() - first);
  if (!m.allFinite() || cost.llt().info() != Eigen::Success) return std::nullopt;
  // By what optimal_policy solves with: a factorization for symmetric matrices alone would take seconds to compile.
  const Eigen::MatrixXd right = m.bottomLeftCorner(actions, states);
  Eigen::MatrixXd policy = -Eigen::PartialPivLU<Eigen::MatrixXd>(m.bottomRightCorner(actions, actions)).solve(right);
  if (!policy.allFinite()) return std::nullopt;
  return policy;
}

PolicyIteration::PolicyIteration(Transitions& transitions, PolicyEvaluation& evaluation, Eigen::MatrixXd policy,
                                 Acceptance acceptance)
    : transitions_(transitions), evaluation_(evaluation), policy_(std::move(policy)), acceptance_(acceptance) {
  transitions_.follow(policy_);
}

bool PolicyIteration::evaluate(std::uint64_t updates) {
  for (std::uint64_t i = 0; i < updates; ++i) {
    if (!evaluation_.update(transitions_.next())) return false;
  }
  return true;
}

bool PolicyIteration::improve() {
  const Eigen::MatrixXd m = transitions_.features().matrix(evaluation_.weights());
  if (!m.allFinite()) return false;
  auto greedy = greedy_policy(m, policy_.cols(), acceptance_);
  if (!greedy) return reject(m.norm());
  const double change = (*greedy - policy_).norm();
  last_change_ = change == 0 ? 0 : change / greedy->norm();
  policy_ = std::move(*greedy);
  ++improvements_;
  growing_rejections_ = 0;
  transitions_.follow(policy_);
  evaluation_.begin_policy();
  return true;
}

bool PolicyIteration::reject(double size) {
  ++rejections_;
  growing_rejections_ = growing_rejections_ > 0 && size <= rejected_size_ ? 1 : growing_rejections_ + 1;
  rejected_size_ = size;
  return growing_rejections_ < most_growing_rejections;
}

}  // namespace ignd
