#include "rl/linear_system.hpp"

#include "base/text.hpp"
#include "ignd/error.hpp"

#include <cmath>

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <Eigen/LU>
#include <fmt/format.h>
#include <unsupported/Eigen/MatrixFunctions>

namespace ignd {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;

void check_weight(std::vector<std::string>& found, const MatrixXd& weight, Index size, const char* name) {
  if (weight.rows() != size || weight.cols() != size) {
    found.push_back(fmt::format("{} is {} x {}, but must be {} x {}", name, weight.rows(), weight.cols(), size, size));
  } else if (!weight.allFinite()) {
    found.push_back(fmt::format("{} has a number that is not finite", name));
  } else if (weight != weight.transpose()) {
    found.push_back(fmt::format("{} is not symmetric", name));
  } else if (weight.llt().info() != Eigen::Success) {
    found.push_back(fmt::format("{} is not positive definite", name));
  }
}

}  // namespace

std::vector<std::string> faults(const SystemMatrices& system) {
  const auto& [a, b, q, r] = system;
  if (a.rows() == 0 || a.rows() != a.cols()) {
    return {fmt::format("a is {} x {}, but must be square and have a row for each state", a.rows(), a.cols())};
  }
  if (b.rows() != a.rows() || b.cols() == 0) {
    return {fmt::format("b is {} x {}, but must have {} rows, one for each state, and a column for each action",
                        b.rows(), b.cols(), a.rows())};
  }
  if (a.rows() + b.cols() > most_signals) {
    return {fmt::format("there are {} states and actions; {} are possible", a.rows() + b.cols(), most_signals)};
  }
  std::vector<std::string> found;
  if (!a.allFinite()) found.emplace_back("a has a number that is not finite");
  if (!b.allFinite()) found.emplace_back("b has a number that is not finite");
  check_weight(found, q, a.rows(), "q");
  check_weight(found, r, b.cols(), "r");
  return found;
}

LinearSystem hold_actions(const ContinuousSystem& system, double period) {
  std::vector<std::string> found = faults(system);
  if (!std::isfinite(period) || period <= 0) {
    found.push_back(fmt::format("the period is {}, but must be a positive number of seconds", period));
  }
  if (!found.empty()) throw InvalidArgument("the linear system cannot be used: " + list_faults(found));

  const Index states = system.a.rows();
  const Index actions = system.b.cols();
  MatrixXd joint = MatrixXd::Zero(states + actions, states + actions);
  joint.topLeftCorner(states, states) = system.a * period;
  joint.topRightCorner(states, actions) = system.b * period;
  MatrixXd step;
  if (joint.allFinite()) step = joint.exp();
  if (step.size() == 0 || !step.allFinite()) {
    throw InvalidArgument(
        fmt::format("the linear system overflows within a period of {} s; choose a shorter one", period));
  }
  return {{step.topLeftCorner(states, states), step.topRightCorner(states, actions), system.q, system.r}};
}

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

double discounted_radius(const LinearSystem& system, double discount, const MatrixXd& policy) {
  return std::sqrt(discount) * spectrum(system.a + product(system.b, policy)).cwiseAbs().maxCoeff();
}

Eigen::VectorXcd spectrum(const MatrixXd& matrix) { return Eigen::EigenSolver<MatrixXd>(matrix, false).eigenvalues(); }

}  // namespace ignd
