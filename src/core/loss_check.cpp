#include "ignd/loss_check.hpp"

#include "base/text.hpp"
#include "core/saved_run.hpp"
#include "ignd/error.hpp"
#include "ignd/step_rule.hpp"
#include "ignd/vector_loss.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <mutex>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace ignd {
namespace {

// A loss of one output, or the first output of several with the others at their targets.
struct Probe {
  std::function<LossAt(double y, double f)> at;
  std::function<void(double y)> check_target;
  double curvature_floor = 0;
  std::string spec;
};

struct Pulls {
  double gradient = 0;  // l_f of two targets, summed
  double size = 0;      // the same of |l_f|
  double step = 0;      // c of two targets, summed
};

struct Pair {
  double low, high;
};

std::optional<Pulls> pulls_at(const Probe& loss, const StepRule& rule, Pair y, double f) {
  Pulls sum;
  for (const double target : {y.low, y.high}) {
    const LossAt at = loss.at(target, f);
    if (!(at.d2 >= 0)) return std::nullopt;
    sum.gradient += at.d1;
    sum.size += std::abs(at.d1);
    sum.step += rule.coefficient({.loss = at, .minimum = 0, .curvature_floor = loss.curvature_floor, .s = 1, .l2 = 0});
  }
  if (!std::isfinite(sum.size) || !std::isfinite(sum.step)) return std::nullopt;
  return sum;
}

// Where `pull` turns from negative to positive, as narrow as numbers allow.
template <class Pull>
std::optional<Pair> turning_point(const Pull& pull) {
  constexpr double far = 40;
  constexpr int halvings = 50;
  Pair f{-far, far};
  const auto first = pull(f.low), last = pull(f.high);
  if (!first || !last || !(*first < 0) || !(*last > 0)) return std::nullopt;
  for (int i = 0; i < halvings; ++i) {
    const double middle = (f.low + f.high) / 2;
    const auto here = pull(middle);
    if (!here) return std::nullopt;
    (*here < 0 ? f.low : f.high) = middle;
  }
  return f;
}

struct Finding {
  Pair y{};
  double asked = 0, settled = 0;  // outputs
  double imbalance = 0;           // |sum of l_f| over sum of |l_f|, where the steps come to rest
};

Finding finding_for(const Probe& loss, const StepRule& rule, Pair y) {
  const auto step = [&](double f) -> std::optional<double> {
    const auto pulls = pulls_at(loss, rule, y, f);
    return pulls ? std::optional(pulls->step) : std::nullopt;
  };
  const auto gradient = [&](double f) -> std::optional<double> {
    const auto pulls = pulls_at(loss, rule, y, f);
    return pulls ? std::optional(pulls->gradient) : std::nullopt;
  };
  const auto rest = turning_point(step), minimum = turning_point(gradient);
  if (!rest || !minimum) return {};
  const auto below = pulls_at(loss, rule, y, rest->low), above = pulls_at(loss, rule, y, rest->high);
  // At a kink the loss may rest where the steps do, with l_f on both sides of zero.
  if (!below || !above || (below->gradient <= 0 && above->gradient >= 0)) return {};
  const Pulls& nearer = std::abs(below->gradient) < std::abs(above->gradient) ? *below : *above;
  return {y, minimum->high, rest->high, std::abs(nearer.gradient) / nearer.size};
}

// A loss decides which targets it accepts; most accept some of these.
std::vector<double> targets_of(const Probe& loss) {
  std::vector<double> targets;
  for (const double y : {-1.0, 0.0, 1.0, 2.0, 5.0}) {
    try {
      loss.check_target(y);
      targets.push_back(y);
    } catch (const BadSample&) {
    }
  }
  return targets;
}

std::string advice_on(const Probe& loss, const StepRule& rule) {
  // Where this share of the gradients does not cancel, an expectile of 0.475 would be taken for the mean.
  constexpr double least_imbalance = 0.05;
  const std::vector<double> targets = targets_of(loss);
  Finding worst;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    for (std::size_t k = i + 1; k < targets.size(); ++k) {
      const Finding found = finding_for(loss, rule, {targets[i], targets[k]});
      if (found.imbalance > worst.imbalance) worst = found;
    }
  }
  if (worst.imbalance < least_imbalance) return "";
  return fmt::format(
      "Gauss-Newton steps do not minimise the loss {}: its l_ff depends on the target, and what it has in common with "
      "l_f cancels. For the targets {} and {} in equal shares the loss asks for the output {:.3g}, but the steps "
      "settle "
      "on {:.3g}. Return the same l_ff for all targets of an output, such as the largest, or use the rule 'gradient' "
      "(docs/extending.md)",
      in_quotes(loss.spec), worst.y.low, worst.y.high, worst.asked, worst.settled);
}

// A loss may throw or return anything for numbers it was not made for.
std::string advice_if_asked(const Probe& loss, const StepRule& rule) {
  if (!rule.damping()) return "";
  try {
    return advice_on(loss, rule);
  } catch (const std::exception&) {
    return "";
  }
}

void print_advice(const std::string& advice) { std::fputs(("ignd: warning: " + advice + "\n").c_str(), stderr); }

struct AdviceState {
  std::mutex mutex;
  AdviceHandler handler = print_advice;
  std::set<std::string> given;
};

AdviceState& advice_state() {
  static AdviceState state;
  return state;
}

}  // namespace

std::string loss_advice(const Loss& loss, const StepRule& rule) {
  return advice_if_asked({[&](double y, double f) { return loss.at(y, f); }, [&](double y) { loss.check_target(y); },
                          loss.curvature_floor(), loss.spec()},
                         rule);
}

std::string loss_advice(const VectorLoss& loss, const StepRule& rule, std::size_t outputs) {
  if (loss.targets(outputs) != outputs) return "";  // the number of a class: no output has a target of its own
  std::vector<double> y(outputs), f(outputs), d1(outputs), d2(outputs * outputs);
  const auto at = [&](double target, double output) {
    y[0] = target;
    f[0] = output;
    const double value = loss.at(y, f, d1, d2);
    return LossAt{value, d1[0], d2[0]};
  };
  const auto check_target = [&](double target) {
    y[0] = target;
    loss.check_target(y, outputs);
  };
  return advice_if_asked({at, check_target, loss.curvature_floor(), loss.spec()}, rule);
}

AdviceHandler set_advice_handler(AdviceHandler handler) {
  AdviceState& state = advice_state();
  const std::lock_guard lock(state.mutex);
  return std::exchange(state.handler, std::move(handler));
}

void give_advice(const std::string& advice) {
  if (advice.empty()) return;
  AdviceState& state = advice_state();
  AdviceHandler handler;
  {
    const std::lock_guard lock(state.mutex);
    if (state.given.insert(advice).second) handler = state.handler;
  }
  if (handler) handler(advice);
}

}  // namespace ignd
