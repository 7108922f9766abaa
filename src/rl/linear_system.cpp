#include "rl/linear_system.hpp"

#include "base/text.hpp"
#include "ignd/error.hpp"

#include <cmath>

#include <Eigen/Cholesky>
#include <Eigen/LU>
#include <fmt/format.h>
#include <unsupported/Eigen/MatrixFunctions>

namespace ignd {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;

ContinuousSystem with_unit_weights(MatrixXd a, MatrixXd b) {
  const Index states = a.rows();
  const Index actions = b.cols();
  return {std::move(a), std::move(b), MatrixXd::Identity(states, states), MatrixXd::Identity(actions, actions)};
}

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

ContinuousSystem uav_system() {
  MatrixXd a(5, 5);
  a << 0, 0, 1.132, 0, -1,             //
      0, -0.0538, -0.1712, 0, 0.0705,  //
      0, 0, 0, 1, 0,                   //
      0, 0.0485, 0, -0.8556, -1.013,   //
      0, -0.2909, 0, 1.0532, -0.6859;
  MatrixXd b(5, 3);
  b << 0, 0, 0,          //
      -0.12, 1, 0,       //
      0, 0, 0,           //
      4.419, 0, -1.665,  //
      1.575, 0, -0.0732;
  return with_unit_weights(std::move(a), std::move(b));
}

ContinuousSystem bdt_system() {
  MatrixXd a = MatrixXd::Zero(11, 11);
  a.diagonal() << -0.014, -0.0138, -0.0141, -0.0158, -0.0312, -0.0352, -0.0422, -0.0482, -0.0572, -0.0483, -0.0185;
  a.diagonal(1) << 0.0043, 0.0046, 0.0063, 0.011, 0.015, 0.022, 0.028, 0.037, 0.042, 0.0005;
  a.diagonal(-1) << 0.0095, 0.0095, 0.0095, 0.0095, 0.0202, 0.0202, 0.0202, 0.0202, 0.0202, 0.0255;
  a(1, 10) = 0.0005;
  a(2, 10) = 0.0002;
  a(7, 10) = 0.0002;
  a(8, 10) = 0.0005;
  a(10, 0) = 0.0255;
  MatrixXd b(11, 3);
  b << 0, 0, 0,             //
      5e-6, -4e-5, 0.0025,  //
      2e-6, -2e-5, 0.005,   //
      1e-6, -1e-5, 0.005,   //
      0, 0, 0.005,          //
      0, 0, 0.005,          //
      -5e-6, 1e-5, 0.005,   //
      -1e-5, 3e-5, 0.005,   //
      -4e-5, 5e-6, 0.0025,  //
      -2e-5, 2e-6, 0.0025,  //
      4.6e-4, 4.6e-4, 0;
  return with_unit_weights(std::move(a), std::move(b));
}

std::vector<std::string> faults(const ContinuousSystem& system) {
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
  return {step.topLeftCorner(states, states), step.topRightCorner(states, actions), system.q, system.r};
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

}  // namespace ignd
