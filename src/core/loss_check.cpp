#include "ignd/loss_check.hpp"

#include "base/text.hpp"
#include "core/finite_differences.hpp"
#include "core/saved_run.hpp"
#include "ignd/error.hpp"
#include "ignd/loss.hpp"
#include "ignd/random.hpp"
#include "ignd/step_rule.hpp"
#include "ignd/vector_loss.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
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
std::vector<double> accepted_targets(const std::function<void(double y)>& check_target) {
  std::vector<double> targets;
  for (const double y : {-1.0, 0.0, 1.0, 2.0, 5.0}) {
    try {
      check_target(y);
      targets.push_back(y);
    } catch (const BadSample&) {
    }
  }
  return targets;
}

std::string advice_on(const Probe& loss, const StepRule& rule) {
  // Where this share of the gradients does not cancel, an expectile of 0.475 would be taken for the mean.
  constexpr double least_imbalance = 0.05;
  const std::vector<double> targets = accepted_targets(loss.check_target);
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

namespace {

// Compares the derivatives at one point after the other.
class LossCheck {
 public:
  LossCheck(const Loss& loss, const DerivativeOptions& options)
      : loss_(loss),
        bound_(options.curvature_is_bound),
        accuracy_(accuracy(1e-5, std::numeric_limits<double>::epsilon(), 1e-5, options)),
        findings_(accuracy_.tolerance) {}

  void check(double y, double f) {
    if (findings_.faulty()) return;
    const double step = accuracy_.step * std::max(1.0, std::abs(f));
    const double low = f - step, high = f + step;
    const LossAt at = loss_.at(y, f), below = loss_.at(y, low), above = loss_.at(y, high);
    const auto where = [&] { return fmt::format("y = {:.6g}, f = {:.6g}", y, f); };
    if (!std::isfinite(at.value) || !std::isfinite(at.d1) || !std::isfinite(at.d2)) {
      return findings_.add_fault(where(), fmt::format("value {}, l_f {}, l_ff {}", at.value, at.d1, at.d2));
    }
    const Slopes first{(at.value - below.value) / (f - low), (above.value - at.value) / (high - f)};
    const Slopes second{(at.d1 - below.d1) / (f - low), (above.d1 - at.d1) / (high - f)};
    // A value may be the difference of terms as large as these.
    const double terms_size = std::abs(at.value) + std::abs(at.d1 * f) + std::abs(y * f) + f * f;
    const double noise = accuracy_.noise(terms_size) * accuracy_.step / step;
    compare("l_f", at.d1, first, noise, where);
    const bool may_be_larger = bound_ && at.d2 >= second.central();
    if (!may_be_larger && !slope_jumps(y, f, step)) {
      compare("l_ff", at.d2, second, accuracy_.noise(std::abs(at.d1) + std::abs(y) + std::abs(f)), where);
    }
    if (at.d2 < 0) findings_.add_fault(where(), fmt::format("l_ff is {:g}: the loss must be convex in f", at.d2));
    const double slack = accuracy_.tolerance * (1 + noise + std::abs(first.above));
    if (first.below > first.above + slack) {
      findings_.add_fault(where(), "the slope falls: the loss must be convex in f");
    }
    const double minimum = loss_.minimum(y);
    if (at.value < minimum - accuracy_.rounding * (terms_size + std::abs(minimum))) {
      findings_.add_fault(where(), fmt::format("the value {:g} is below minimum(), {:g}", at.value, minimum));
    }
    ++compared_;
  }

  DerivativeReport report() const {
    return findings_.report(fmt::format("the loss '{}'", loss_.spec()),
                            fmt::format("l_f and l_ff at {} points", compared_));
  }

 private:
  // Whether l_f changes by as much over a much shorter interval. Differences then say nothing of l_ff.
  bool slope_jumps(double y, double f, double step) const {
    constexpr double shorter = 0.01;
    const auto change = [&](double h) { return std::abs(loss_.at(y, f + h).d1 - loss_.at(y, f - h).d1); };
    const double jump = change(step * shorter);
    return jump > accuracy_.tolerance && jump > change(step) / 2;
  }

  template <class Where>
  void compare(std::string_view name, double is, const Slopes& should, double noise, Where where) {
    const double scale = std::max({std::abs(is), std::abs(should.central())}) + noise;
    const double error = relative_error(is, should, scale, accuracy_.tolerance);
    const auto what = [&] {
      return fmt::format("{} is {:.6g}, but differences say {:.6g}", name, is, should.central());
    };
    findings_.add(error, where, what);
  }

  const Loss& loss_;
  bool bound_;
  Accuracy accuracy_;
  Findings findings_;
  std::size_t compared_ = 0;
};

}  // namespace

DerivativeReport check_loss(const Loss& loss, std::span<const double> targets, const DerivativeOptions& options) {
  RandomStream stream(options.seed, "outputs");
  std::vector<double> usual;
  if (targets.empty()) {
    usual = accepted_targets([&](double y) { loss.check_target(y); });
    if (usual.empty()) throw InvalidArgument("the loss accepts none of the targets -1, 0, 1, 2, 5: give it some");
    targets = usual;
  }
  LossCheck check(loss, options);
  for (const double y : targets) {
    // Kinks are most often where the output is the target, zero, or one away from them.
    for (const double f : {y, y - 1, y + 1, 0.0, -1.0, 1.0}) check.check(y, f);
    for (std::size_t i = 0; i < options.samples; ++i) {
      check.check(y, y + stream.normal());
      check.check(y, 3 * stream.normal());
    }
  }
  return check.report();
}

}  // namespace ignd
