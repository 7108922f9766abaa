#include "rl/riccati.hpp"

#include "ignd/error.hpp"

#include <cmath>

#include <Eigen/LU>
#include <fmt/format.h>

namespace ignd {
namespace {

using Eigen::MatrixXd;

// Every kind of expression that Eigen multiplies or solves takes seconds to compile: there is one of each.
MatrixXd product(const MatrixXd& a, const MatrixXd& b) { return a * b; }
MatrixXd solve(const MatrixXd& a, const MatrixXd& b) { return Eigen::PartialPivLU<MatrixXd>(a).solve(b); }
MatrixXd symmetric(const MatrixXd& m) { return (m + m.transpose()) / 2; }

// The doubling algorithm: after k rounds, h is the cost of 2^k steps, so that a few rounds are enough for anything.
MatrixXd infinite_horizon_cost(MatrixXd a, const MatrixXd& b, const MatrixXd& q, const MatrixXd& r) {
  constexpr int most_rounds = 60;
  constexpr double rounding = 1e-16;
  MatrixXd g = product(b, solve(r, b.transpose()));
  MatrixXd h = q;
  for (int round = 0; round < most_rounds; ++round) {
    const MatrixXd w = MatrixXd::Identity(a.rows(), a.rows()) + product(g, h);
    const MatrixXd wa = solve(w, a);
    const MatrixXd more_g = product(product(a, solve(w, g)), a.transpose());
    const MatrixXd more_h = product(product(a.transpose(), h), wa);
    a = product(a, wa);
    g += symmetric(more_g);
    h += symmetric(more_h);
    if (!h.allFinite() || !g.allFinite() || !a.allFinite()) break;
    if (more_h.lpNorm<Eigen::Infinity>() <= rounding * h.lpNorm<Eigen::Infinity>()) return h;
  }
  throw InvalidArgument(
      "the linear system has no best policy: no actions keep the discounted sum of rewards finite; lower gamma");
}

}  // namespace

MatrixXd optimal_policy(const LinearSystem& system, double discount) {
  if (!(discount >= 0 && discount <= 1)) {
    throw InvalidArgument(fmt::format("the discount is {}, but must be between 0 and 1", discount));
  }
  // Discounting by gamma is the same as shrinking every signal by its root at every step.
  const MatrixXd a = std::sqrt(discount) * system.a;
  const MatrixXd b = std::sqrt(discount) * system.b;
  const MatrixXd cost = infinite_horizon_cost(a, b, system.q, system.r);
  const MatrixXd weighted = product(b.transpose(), cost);
  return -solve(system.r + product(weighted, b), product(weighted, a));
}

}  // namespace ignd
