#pragma once

#include "ignd/gradient_check.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

// What the checks of models and of losses share.
namespace ignd {

// What differences divide by is `step` times the larger of 1 and the variable's size. Values are exact to `rounding`
// times their size.
struct Accuracy {
  double step;
  double rounding;
  double tolerance;

  // The size below which a difference of values of size `values` cannot tell a derivative from zero.
  double noise(double values) const { return rounding * values / (step * tolerance); }
};

inline constexpr double terms = 32;  // a value is a sum of some terms, each with a rounding error of its own

inline Accuracy accuracy(double step, double epsilon, double usual, const DerivativeOptions& options) {
  return {step, terms * epsilon, options.tolerance > 0 ? options.tolerance : usual};
}

// Collects the largest error and the first fault.
class Findings {
 public:
  explicit Findings(double tolerance) : tolerance_(tolerance) {}

  bool faulty() const { return !fault_.empty(); }

  void add_fault(std::string where, std::string_view what) {
    if (faulty()) return;
    fault_ = fmt::format("{}: {}", where, what);
    where_ = std::move(where);
  }

  // `error` is relative; `where` and `what` are called only if needed.
  template <class Where, class What>
  void add(double error, Where where, What what) {
    if (std::isnan(error)) error = std::numeric_limits<double>::infinity();
    if (faulty() || error <= largest_) return;
    largest_ = error;
    where_ = where();
    if (error > tolerance_) fault_ = fmt::format("{}: {}", where_, what());
  }

  DerivativeReport report(std::string_view name, std::string_view compared) const {
    DerivativeReport made{.ok = !faulty(), .largest_error = largest_, .where = where_, .text = {}};
    if (faulty()) {
      made.text = fmt::format("{} is wrong: {}", name, fault_);
    } else {
      made.text = fmt::format("{} is right: {}, largest relative error {:.1e}", name, compared, largest_);
      if (!where_.empty()) made.text += fmt::format(" ({})", where_);
    }
    return made;
  }

 private:
  double tolerance_;
  double largest_ = 0;
  std::string where_;
  std::string fault_;
};

// A derivative by differences: from below, and from above.
struct Slopes {
  double below, above;

  double central() const { return (below + above) / 2; }
};

// How far a derivative is from the central difference, relative to `scale`. Zero at a kink, if it is between the sides.
inline double relative_error(double derivative, const Slopes& slopes, double scale, double tolerance) {
  const double difference = std::abs(derivative - slopes.central());
  if (difference == 0) return 0;
  const double error = difference / scale;
  const auto [low, high] = std::minmax(slopes.below, slopes.above);
  if (error > tolerance && derivative >= low - tolerance * scale && derivative <= high + tolerance * scale) return 0;
  return error;
}

}  // namespace ignd
