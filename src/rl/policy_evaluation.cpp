#include "rl/policy_evaluation.hpp"

#include "ignd/aligned.hpp"
#include "ignd/error.hpp"
#include "ignd/linear.hpp"
#include "ignd/trainer.hpp"
#include "kernels/kernels.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace ignd {
namespace {

class SemiGradient : public PolicyEvaluation {
 public:
  SemiGradient(std::size_t features, double discount, const Optimizer& optimizer, const Schedule& schedule)
      : discount_(discount),
        model_(features, false),
        trainer_(model_, TrainerOptions{.optimizer = optimizer, .schedule = schedule}) {}

  bool update(const Transition& seen) override {
    const auto v = target_weights();
    const double next_value = kernels::table<double>().dot(v.data(), seen.next_x.data(), v.size());
    const double target = seen.reward + discount_ * next_value;
    if (!std::isfinite(target)) return false;
    return trainer_.step({{seen.x}, target}).status == StepStatus::learned;
  }

  std::span<const double> weights() const override { return static_cast<const Model<double>&>(model_).parameters(); }

 private:
  virtual std::span<const double> target_weights() { return weights(); }

  double discount_;
  Linear<double> model_;
  Trainer<double> trainer_;
};

class HeldTargets final : public SemiGradient {
 public:
  HeldTargets(std::size_t features, double discount, const Optimizer& optimizer, const Schedule& schedule,
              std::uint64_t hold)
      : SemiGradient(features, discount, optimizer, schedule), hold_(hold), held_(features) {}

  void begin_policy() override { left_ = 0; }

 private:
  std::span<const double> target_weights() override {
    if (left_ == 0) {
      std::ranges::copy(weights(), held_.begin());
      left_ = hold_;
    }
    --left_;
    return held_;
  }

  std::uint64_t hold_;
  std::uint64_t left_ = 0;  // updates of the phase
  std::vector<double> held_;
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

std::unique_ptr<PolicyEvaluation> make_held_targets(std::size_t features, double discount, const Optimizer& optimizer,
                                                    const Schedule& schedule, std::uint64_t hold) {
  if (hold == 0) throw InvalidArgument("targets must be held for at least one update");
  return std::make_unique<HeldTargets>(features, discount, optimizer, schedule, hold);
}

std::unique_ptr<PolicyEvaluation> make_rls_td(std::size_t features, double discount) {
  return std::make_unique<RlsTd>(features, discount);
}

}  // namespace ignd
