#include "ignd/step_rule.hpp"

#include "base/spec.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include <fmt/format.h>

namespace ignd {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// 1/denominator, and the zero step where there is nothing to divide by.
double reciprocal_or_zero(double denominator) { return denominator == 0 ? 0 : 1 / denominator; }

class Gradient final : public StepRule {
 public:
  double scale(const StepInput& /*in*/) const override { return 1; }
  bool allows_l2() const override { return true; }
  bool uses_minimum() const override { return false; }
  bool is_gradient() const override { return true; }
  std::string spec() const override { return "gradient"; }
};

class Normalized final : public StepRule {
 public:
  explicit Normalized(double eps) : eps_(eps) {}
  double scale(const StepInput& in) const override {
    return reciprocal_or_zero(std::abs(in.loss.d1) * std::sqrt(in.s) + eps_);
  }
  std::string spec() const override { return fmt::format("normalized:eps={}", eps_); }

 private:
  double eps_;
};

class Polyak final : public StepRule {
 public:
  Polyak(double k, double cap) : k_(k), cap_(cap) {}
  double scale(const StepInput& in) const override { return in.loss.d1 == 0 ? 0 : coefficient(in) / in.loss.d1; }
  // Computes c directly: where the loss is almost flat, xi may overflow though c does not.
  double coefficient(const StepInput& in) const override {
    const double excess = in.loss.value - in.minimum;
    if (in.loss.d1 == 0 || in.s == 0 || excess <= 0) return 0;
    const double slope = std::abs(in.loss.d1);
    return std::copysign(std::min(excess / slope / in.s / k_, cap_ * slope), in.loss.d1);
  }
  std::string spec() const override { return fmt::format("polyak:k={},cap={}", k_, cap_); }

 private:
  double k_, cap_;
};

class GaussNewton final : public StepRule {
 public:
  GaussNewton(std::optional<double> eps_c, double eps_lm) : eps_c_(eps_c), eps_lm_(eps_lm) {}
  double scale(const StepInput& in) const override {
    const double curvature = in.loss.d2 + eps_c_.value_or(in.curvature_floor);
    return reciprocal_or_zero(curvature * in.s + eps_lm_ + in.l2);
  }
  bool allows_l2() const override { return true; }
  bool uses_minimum() const override { return false; }
  std::optional<Damping> damping() const override { return Damping{eps_c_, eps_lm_}; }
  std::string spec() const override {
    return fmt::format("gauss-newton:eps_c={},eps_lm={}", eps_c_ ? format_number(*eps_c_) : "auto", eps_lm_);
  }

 private:
  std::optional<double> eps_c_;  // empty: the loss's default
  double eps_lm_;
};

// Levenberg-Marquardt damping relative to the usual curvature: scaling the sensitivities of all samples by one factor
// changes no prediction, and no sample with a small sensitivity moves the weights far.
class Relative final : public StepRule {
 public:
  Relative(std::optional<double> eps_c, double rho, double memory) : eps_c_(eps_c), rho_(rho), memory_(memory) {}
  double scale(const StepInput& in) const override {
    return reciprocal_or_zero(curvature(in) + rho_ * in.usual_curvature + in.l2);
  }
  double curvature(const StepInput& in) const override {
    return (in.loss.d2 + eps_c_.value_or(in.curvature_floor)) * in.s;
  }
  double memory() const override { return memory_; }
  bool allows_l2() const override { return true; }
  bool uses_minimum() const override { return false; }
  std::optional<Damping> damping() const override { return Damping{eps_c_, 0, rho_}; }
  std::string spec() const override {
    return fmt::format("relative:eps_c={},rho={},memory={}", eps_c_ ? format_number(*eps_c_) : "auto", rho_, memory_);
  }

 private:
  std::optional<double> eps_c_;  // empty: the loss's default
  double rho_, memory_;
};

}  // namespace

std::vector<std::string> step_rule_names() { return {"gradient", "normalized", "polyak", "gauss-newton", "relative"}; }

std::shared_ptr<const StepRule> make_step_rule(std::string_view text) {
  constexpr double largest = std::numeric_limits<double>::max();
  Spec spec("step rule", text);
  std::shared_ptr<const StepRule> rule;
  if (spec.name() == "gradient") {
    rule = std::make_shared<Gradient>();
  } else if (spec.name() == "normalized") {
    rule = std::make_shared<Normalized>(spec.number("eps", 1e-8, 0, largest));
  } else if (spec.name() == "polyak") {
    const double k = spec.number("k", 0.5, 1e-12, 1e12);
    rule = std::make_shared<Polyak>(k, spec.number("cap", infinity, 0, infinity));
  } else if (spec.name() == "gauss-newton") {
    const std::optional<double> eps_c = spec.number_or_auto("eps_c", 0, largest);
    rule = std::make_shared<GaussNewton>(eps_c, spec.number("eps_lm", 1e-5, 0, largest));
  } else if (spec.name() == "relative") {
    const std::optional<double> eps_c = spec.number_or_auto("eps_c", 0, largest);
    const double rho = spec.number("rho", 1, 0, 1e12);
    rule = std::make_shared<Relative>(eps_c, rho, spec.number("memory", 1000, 1, 1e15));
  } else {
    spec.refuse_name(step_rule_names());
  }
  spec.finish();
  return rule;
}

}  // namespace ignd
