#include "rl/policy_iteration.hpp"

#include "ignd/aligned.hpp"
#include "ignd/linear.hpp"
#include "ignd/trainer.hpp"
#include "kernels/kernels.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include <Eigen/Cholesky>
#include <Eigen/LU>

namespace ignd {
namespace {

class SemiGradient final : public PolicyEvaluation {
 public:
  SemiGradient(std::size_t features, double discount, const Optimizer& optimizer, const Schedule& schedule)
      : discount_(discount),
        model_(features, false),
        trainer_(model_, TrainerOptions{.optimizer = optimizer, .schedule = schedule}) {}

  bool update(const Transition& seen) override {
    const auto w = weights();
    const double next_value = kernels::table<double>().dot(w.data(), seen.next_x.data(), w.size());
    const double target = seen.reward + discount_ * next_value;
    if (!std::isfinite(target)) return false;
    return trainer_.step({{seen.x}, target}).status == StepStatus::learned;
  }

  std::span<const double> weights() const override { return static_cast<const Model<double>&>(model_).parameters(); }

 private:
  double discount_;
  Linear<double> model_;
  Trainer<double> trainer_;
};

class RlsTd final : public PolicyEvaluation {
 public:
  RlsTd(std::size_t features, double discount)
      : discount_(discount), n_(features), w_(n_), p_(n_ * n_), difference_(n_), gain_(n_), measured_(n_), all_(n_) {
    std::iota(all_.begin(), all_.end(), 0U);
    begin_policy();
  }

  void begin_policy() override {
    std::ranges::fill(p_, 0.0);
    for (std::size_t i = 0; i < n_; ++i) p_[i * n_ + i] = 1 / rls_td_prior;
  }

  // By Sherman and Morrison: p is the inverse of (prior + the sum of x d'), d = x - gamma x'.
  bool update(const Transition& seen) override {
    const auto& kernel = kernels::table<double>();
    for (std::size_t i = 0; i < n_; ++i) difference_[i] = seen.x[i] - discount_ * seen.next_x[i];
    kernel.layer_backward(p_.data(), seen.x.data(), all_, n_, gain_.data());
    kernel.layer_forward(p_.data(), difference_.data(), all_, n_, measured_.data());
    const double pivot = 1 + kernel.dot(difference_.data(), gain_.data(), n_);
    const double error = seen.reward - kernel.dot(difference_.data(), w_.data(), n_);
    const double step = error / pivot;
    if (!std::isfinite(step) || !std::isfinite(1 / pivot)) return false;
    kernel.add(w_.data(), gain_.data(), n_, step);
    kernel.add_outer(p_.data(), gain_.data(), all_, measured_.data(), n_, -1 / pivot);
    return true;
  }

  std::span<const double> weights() const override { return w_; }

 private:
  double discount_;
  std::size_t n_;
  std::vector<double> w_;
  AlignedVector<double> p_;
  std::vector<double> difference_, gain_, measured_;
  std::vector<std::uint32_t> all_;
};

}  // namespace

std::unique_ptr<PolicyEvaluation> make_semi_gradient(std::size_t features, double discount, const Optimizer& optimizer,
                                                     const Schedule& schedule) {
  return std::make_unique<SemiGradient>(features, discount, optimizer, schedule);
}

std::unique_ptr<PolicyEvaluation> make_rls_td(std::size_t features, double discount) {
  return std::make_unique<RlsTd>(features, discount);
}

namespace {

constexpr std::uint64_t most_growing_rejections = 3;

}  // namespace

std::optional<Eigen::MatrixXd> greedy_policy(const Eigen::MatrixXd& m, Eigen::Index states) {
  const Eigen::Index actions = m.rows() - states;
  if (!m.allFinite() || (-m).llt().info() != Eigen::Success) return std::nullopt;
  // By what optimal_policy solves with: a factorization for symmetric matrices alone would take seconds to compile.
  const Eigen::MatrixXd right = m.bottomLeftCorner(actions, states);
  Eigen::MatrixXd policy = -Eigen::PartialPivLU<Eigen::MatrixXd>(m.bottomRightCorner(actions, actions)).solve(right);
  if (!policy.allFinite()) return std::nullopt;
  return policy;
}

PolicyIteration::PolicyIteration(Transitions& transitions, PolicyEvaluation& evaluation, Eigen::MatrixXd policy)
    : transitions_(transitions), evaluation_(evaluation), policy_(std::move(policy)) {
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
  auto greedy = greedy_policy(m, policy_.cols());
  if (!greedy) return reject(m.norm());
  policy_ = std::move(*greedy);
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
