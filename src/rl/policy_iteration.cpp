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

PolicyImprovement::PolicyImprovement(const QuadraticFeatures& features, PolicyEvaluation& evaluation,
                                     Eigen::MatrixXd policy, Acceptance acceptance)
    : features_(features), evaluation_(evaluation), policy_(std::move(policy)), acceptance_(acceptance) {}

bool PolicyImprovement::improve() {
  const Eigen::MatrixXd m = values();
  if (!m.allFinite()) return false;
  auto greedy = greedy_policy(m, policy_.cols(), acceptance_);
  if (!greedy) return reject(m.norm());
  const double change = (*greedy - policy_).norm();
  last_change_ = change == 0 ? 0 : change / greedy->norm();
  policy_ = std::move(*greedy);
  ++improvements_;
  growing_rejections_ = 0;
  evaluation_.begin_policy();
  return true;
}

bool PolicyImprovement::reject(double size) {
  ++rejections_;
  growing_rejections_ = growing_rejections_ > 0 && size <= rejected_size_ ? 1 : growing_rejections_ + 1;
  rejected_size_ = size;
  return growing_rejections_ < most_growing_rejections;
}

PolicyIteration::PolicyIteration(Transitions& transitions, PolicyEvaluation& evaluation, Eigen::MatrixXd policy,
                                 Acceptance acceptance)
    : PolicyImprovement(transitions.features(), evaluation, std::move(policy), acceptance), transitions_(transitions) {
  transitions_.follow(this->policy());
}

bool PolicyIteration::evaluate(std::uint64_t updates) {
  for (std::uint64_t i = 0; i < updates; ++i) {
    if (!evaluation().update(transitions_.next())) return false;
  }
  return true;
}

bool PolicyIteration::improve() {
  const std::uint64_t before = improvements();
  if (!PolicyImprovement::improve()) return false;
  if (improvements() > before) transitions_.follow(policy());
  return true;
}

}  // namespace ignd
