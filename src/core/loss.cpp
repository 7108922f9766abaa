#include "ignd/loss.hpp"

#include "base/spec.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include <fmt/format.h>

namespace ignd {

namespace {

// A function of its own, so that the fast path of a check saves no registers for it.
[[noreturn, gnu::noinline]] void refuse_target(double y, const Loss& loss) {
  throw BadSample(fmt::format("the target is {}; {} needs a finite number", y, loss.spec()));
}

constexpr double infinity = std::numeric_limits<double>::infinity();

class Squared final : public Loss {
 public:
  LossAt at(double y, double f) const override {
    const double e = f - y;
    return {e * e / 2, e, 1};
  }
  bool is_squared_error() const override { return true; }
  std::string spec() const override { return "squared"; }
};

// 1 / (1 + exp(-z)), with full relative precision in both tails.
double sigmoid(double z) {
  if (z >= 0) return 1 / (1 + std::exp(-z));
  const double e = std::exp(z);
  return e / (1 + e);
}

class Logistic final : public Loss {
 public:
  LossAt at(double y, double f) const override {
    // With the margin m = f for y = 1 and -f for y = 0 the loss is log(1 + exp(-m)): no difference of large numbers.
    const double sign = y > 0.5 ? 1 : -1;
    const double margin = sign * f;
    const double value = std::max(-margin, 0.0) + std::log1p(std::exp(-std::abs(margin)));
    return {value, -sign * sigmoid(-margin), sigmoid(f) * sigmoid(-f)};
  }
  double curvature_floor() const override { return 1e-2; }
  void check_target(double y) const override {
    if (y != 0 && y != 1) throw BadSample(fmt::format("the target is {}; the logistic loss needs 0 or 1", y));
  }
  Link link() const override { return Link::logit; }
  std::string spec() const override { return "logistic"; }
};

class Poisson final : public Loss {
 public:
  explicit Poisson(double largest) : largest_(largest) {}
  LossAt at(double y, double f) const override {
    const double rate = std::exp(f);
    if (y == 0) return {rate, rate, rate};
    // u is the distance past the target. Near it, a difference of large numbers would cancel a small loss.
    const double u = f - std::log(y);
    if (std::abs(u) < 1) return {y * (std::expm1(u) - u), y * std::expm1(u), rate};
    return {rate - y - y * u, rate - y, rate};
  }
  // A Newton step from u below the target log(y) stays below it if eps_c >= y ((1 - e^-u) / u - e^-u), and the factor
  // of y is at most 0.2985.
  double curvature_floor() const override { return 0.3 * largest_; }
  void check_target(double y) const override {
    if (!(y >= 0) || y == infinity) {
      throw BadSample(fmt::format("the target is {}; the Poisson loss needs a number of at least 0", y));
    }
  }
  Link link() const override { return Link::log; }
  std::string spec() const override { return fmt::format("poisson:largest={}", largest_); }

 private:
  double largest_;
};

class Huber final : public Loss {
 public:
  explicit Huber(double delta) : delta_(delta) {}
  LossAt at(double y, double f) const override {
    const double e = f - y;
    if (std::abs(e) <= delta_) return {e * e / 2, e, 1};
    return {delta_ * (std::abs(e) - delta_ / 2), std::copysign(delta_, e), 0};
  }
  // Beyond delta the step is delta / eps_c and the way to the target longer than delta.
  double curvature_floor() const override { return 1; }
  std::string spec() const override { return fmt::format("huber:delta={}", delta_); }

 private:
  double delta_;
};

class LogCosh final : public Loss {
 public:
  LossAt at(double y, double f) const override {
    const double e = f - y;
    const double size = std::abs(e);
    const double half_sinh = std::sinh(std::min(size, 1.0) / 2);
    const double tail = std::exp(-2 * size);
    // Near the target log(cosh e) = log(1 + 2 sinh^2(e/2)) keeps its relative precision; far away cosh overflows.
    const double value = size < 1 ? std::log1p(2 * half_sinh * half_sinh) : size + std::log1p(tail) - std::numbers::ln2;
    return {value, std::tanh(e), 4 * tail / ((1 + tail) * (1 + tail))};
  }
  // max over e of tanh(e)/e - sech^2(e) is 0.42574: with more than that no step passes the target.
  double curvature_floor() const override { return 0.5; }
  std::string spec() const override { return "log-cosh"; }
};

class Pinball final : public Loss {
 public:
  explicit Pinball(double tau) : tau_(tau) {}
  LossAt at(double y, double f) const override {
    const double r = y - f;
    if (r == 0) return {0, 0, 0};
    return r > 0 ? LossAt{tau_ * r, -tau_, 0} : LossAt{(tau_ - 1) * r, 1 - tau_, 0};
  }
  // The loss has no curvature anywhere: with 1, rate alpha moves the prediction by alpha tau or alpha (1 - tau).
  double curvature_floor() const override { return 1; }
  std::string spec() const override { return fmt::format("pinball:tau={}", tau_); }

 private:
  double tau_;
};

}  // namespace

void Loss::check_target(double y) const {
  if (!std::isfinite(y)) refuse_target(y, *this);
}

std::vector<std::string> loss_names() { return {"squared", "logistic", "poisson", "huber", "log-cosh", "pinball"}; }

std::shared_ptr<const Loss> make_loss(std::string_view text) {
  Spec spec("loss", text);
  std::shared_ptr<const Loss> loss;
  if (spec.name() == "squared") {
    loss = std::make_shared<Squared>();
  } else if (spec.name() == "logistic") {
    loss = std::make_shared<Logistic>();
  } else if (spec.name() == "poisson") {
    loss = std::make_shared<Poisson>(spec.number("largest", 1000, 0, 1e12));
  } else if (spec.name() == "huber") {
    loss = std::make_shared<Huber>(spec.number("delta", 1, 1e-12, 1e12));
  } else if (spec.name() == "log-cosh") {
    loss = std::make_shared<LogCosh>();
  } else if (spec.name() == "pinball") {
    loss = std::make_shared<Pinball>(spec.number("tau", 0.5, 0, 1));
  } else {
    spec.refuse_name(loss_names());
  }
  spec.finish();
  return loss;
}

}  // namespace ignd
