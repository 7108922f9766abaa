#pragma once

#include "ignd/api.hpp"
#include "ignd/loss.hpp"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ignd {

// What a rule may look at: one sample's loss and the size of its sensitivity.
struct StepInput {
  LossAt loss;
  double minimum = 0;          // of the loss over f
  double curvature_floor = 0;  // the loss's default eps_c
  double s = 0;                // ||j||^2, or j^T P j under a preconditioner
  double l2 = 0;               // lambda of the objective l + lambda/2 ||w||^2
  double usual_curvature = 0;  // for rules with a memory: the running mean of their curvature, this sample included
};

// A step rule decides one scalar, xi: the direction is xi * (l_f j + lambda w). It is a pure function and the
// learning rate is not in it. What a rule remembers of earlier samples, the trainer keeps for it.
class IGND_API StepRule {
 public:
  virtual ~StepRule() = default;

  virtual double scale(const StepInput& in) const = 0;

  // c = xi * l_f, the number that multiplies the sensitivity.
  virtual double coefficient(const StepInput& in) const { return in.loss.d1 == 0 ? 0 : scale(in) * in.loss.d1; }

  // Whether xi is a sensible scale for the l2 term too. The normalized and the Polyak rule measure the sample's own
  // gradient: where that vanishes they would multiply the l2 term without bound.
  virtual bool allows_l2() const { return false; }

  // Whether the rule uses the loss's minimum. If not, the trainer does not compute it.
  virtual bool uses_minimum() const { return true; }

  // Whether xi is always 1: plain gradient steps.
  virtual bool is_gradient() const { return false; }

  // The sample's Gauss-Newton curvature along j, q = (l_ff + eps_c) s, for rules that compare it with what is usual.
  virtual double curvature(const StepInput& /*in*/) const { return 0; }

  // Over how many samples the running mean of that curvature goes; 0: the rule has no memory.
  virtual double memory() const { return 0; }

  // The damping of Gauss-Newton rules, for trainers that solve the same system for several samples or outputs: eps_LM,
  // plus rho times the usual curvature.
  struct Damping {
    std::optional<double> eps_c;  // empty: the loss's default
    double eps_lm = 0;
    double rho = 0;
  };
  virtual std::optional<Damping> damping() const { return std::nullopt; }

  virtual std::string spec() const = 0;
};

// The rows of the paper's comparison table:
//   gradient                                xi = 1
//   normalized:eps=1e-8                     xi = 1 / (|l_f| sqrt(s) + eps)
//   polyak:k=0.5,cap=inf                    xi = min((l - l*) / (k l_f^2 s), cap)
//   gauss-newton:eps_c=auto,eps_lm=1e-5     xi = 1 / ((l_ff + eps_c) s + eps_LM + lambda)
// and beyond the paper, damped in the problem's own units (docs/math.md):
//   relative:eps_c=auto,rho=1,memory=1000   xi = 1 / (q + rho m + lambda), q = (l_ff + eps_c) s, m its running mean
// eps_c=auto takes the loss's default. Both eps zero gives the undamped Moore-Penrose step. Wherever a quotient is
// 0/0 the step is zero.
IGND_API std::shared_ptr<const StepRule> make_step_rule(std::string_view spec);

IGND_API std::vector<std::string> step_rule_names();

}  // namespace ignd
