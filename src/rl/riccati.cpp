#include "rl/riccati.hpp"

#include "ignd/error.hpp"

#include <cmath>

#include <Eigen/Cholesky>
#include <Eigen/LU>
#include <fmt/format.h>

namespace ignd {
namespace {

using Eigen::MatrixXd;

// The doubling algorithm: after k rounds, h is the cost of 2^k steps, so that a few rounds are enough for anything.
MatrixXd infinite_horizon_cost(MatrixXd a, const MatrixXd& b, const MatrixXd& q, const MatrixXd& r) {
  constexpr int most_rounds = 60;
  constexpr double rounding = 1e-16;
  MatrixXd g = b * r.llt().solve(b.transpose());
  MatrixXd h = q;
  for (int round = 0; round < most_rounds; ++round) {
    const Eigen::PartialPivLU<MatrixXd> w(MatrixXd::Identity(a.rows(), a.rows()) + g * h);
    const MatrixXd wa = w.solve(a);
    const MatrixXd more_g = a * w.solve(g) * a.transpose();
    const MatrixXd more_h = a.transpose() * h * wa;
    a = (a * wa).eval();
    g += (more_g + more_g.transpose()) / 2;
    h += (more_h + more_h.transpose()) / 2;
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
  return -(system.r + b.transpose() * cost * b).llt().solve(b.transpose() * cost * a);
}

}  // namespace ignd
