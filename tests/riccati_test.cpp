#include "dense_algebra.hpp"
#include "rl/control_systems.hpp"
#include "support.hpp"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace ignd::testing {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;

// A sampled system whose largest eigenvalue is about of the given size.
LinearSystem random_system(RandomStream& stream, double size) {
  const Index states = 1 + static_cast<Index>(stream.below(7));
  const Index actions = 1 + static_cast<Index>(stream.below(4));
  return {{random_matrix(stream, states, states, size / std::sqrt(static_cast<double>(states))),
           random_matrix(stream, states, actions), random_definite(stream, states), random_definite(stream, actions)}};
}

// The cost of a horizon that is one step longer, and the first action that is best for it.
struct Stage {
  MatrixXd cost, policy;
};

Stage one_step_longer(const LinearSystem& system, double discount, const MatrixXd& cost) {
  const MatrixXd onwards = discount * system.b.transpose() * cost;
  const MatrixXd policy = -solve(system.r + onwards * system.b, onwards * system.a);
  const MatrixXd closed = system.a + system.b * policy;
  return {system.q + quadratic_form(system.r, policy) + discount * quadratic_form(cost, closed), policy};
}

MatrixXd by_value_iteration(const LinearSystem& system, double discount, int steps) {
  MatrixXd cost = MatrixXd::Zero(system.states(), system.states());
  for (int i = 1; i < steps; ++i) cost = one_step_longer(system, discount, cost).cost;
  return one_step_longer(system, discount, cost).policy;
}

// The cost of following a policy for ever, from its linear equations.
MatrixXd cost_of(const LinearSystem& system, double discount, const MatrixXd& policy) {
  const MatrixXd closed = system.a + system.b * policy;
  const MatrixXd rewards = system.q + quadratic_form(system.r, policy);
  const Index n = system.states();
  MatrixXd equations = MatrixXd::Identity(n * n, n * n);
  for (Index i = 0; i < n; ++i) {
    for (Index j = 0; j < n; ++j) {
      const MatrixXd carried = discount * closed.col(i) * closed.col(j).transpose();
      equations.row(i + j * n) -= carried.reshaped().transpose();
    }
  }
  const MatrixXd cost = solve(equations, rewards.reshaped());
  return cost.reshaped(n, n);
}

TEST(Riccati, ThePaperSystemsHaveKnownBestPolicies) {
  const auto uav = hold_actions(uav_system(), 0.1);
  const auto bdt = hold_actions(bdt_system(), 0.1);
  EXPECT_NEAR(optimal_policy(uav, 0.9).norm(), 1.21039015453, 1e-11);
  EXPECT_NEAR(optimal_policy(uav, 0.99).norm(), 3.17980, 5e-6);
  EXPECT_NEAR(optimal_policy(bdt, 0.9).norm(), 0.01169629471, 1e-11);
  EXPECT_NEAR(optimal_policy(bdt, 0.99).norm(), 0.127207, 5e-7);
}

TEST(Riccati, AgreesWithValueIteration) {
  RandomStream stream(1, "riccati");
  for (int trial = 0; trial < 100; ++trial) {
    const auto system = random_system(stream, stream.uniform(0, 1.5));
    const double discount = stream.uniform(0, 0.95);
    const MatrixXd expected = by_value_iteration(system, discount, 2000);
    EXPECT_LT((optimal_policy(system, discount) - expected).norm(), 1e-10 * (1 + expected.norm()));
  }
}

TEST(Riccati, IsItsOwnImprovement) {
  RandomStream stream(2, "riccati");
  for (int trial = 0; trial < 100; ++trial) {
    const auto system = random_system(stream, stream.uniform(0, 1.5));
    const double discount = stream.uniform(0, 1);
    const MatrixXd policy = optimal_policy(system, discount);
    const MatrixXd cost = cost_of(system, discount, policy);
    const Stage again = one_step_longer(system, discount, cost);
    EXPECT_LT((again.policy - policy).norm(), 1e-9 * (1 + policy.norm()));
    EXPECT_LT((again.cost - cost).norm(), 1e-9 * (1 + cost.norm()));
  }
}

TEST(Riccati, WithoutAFutureTheBestActionIsNone) {
  RandomStream stream(3, "riccati");
  EXPECT_EQ(optimal_policy(random_system(stream, 1), 0).norm(), 0);
}

// s' = a s + b u with the reward -(s^2 + u^2).
LinearSystem scalar_system(double a, double b) {
  return {{MatrixXd::Constant(1, 1, a), MatrixXd::Constant(1, 1, b), MatrixXd::Ones(1, 1), MatrixXd::Ones(1, 1)}};
}

TEST(Riccati, AScalarSystemIsSolvedByAQuadraticEquation) {
  // p = 1 + p - p^2 / (1 + p): the golden ratio.
  const double p = (1 + std::sqrt(5.0)) / 2;
  EXPECT_NEAR(optimal_policy(scalar_system(1, 1), 1)(0, 0), -p / (1 + p), 1e-15);
}

TEST(Riccati, RefusesWhatHasNoBestPolicy) {
  for (const double growth : {1.1, 2.0, 1e3, 1e200}) {  // whatever is done
    const auto runaway = scalar_system(growth, 0);
    EXPECT_NE(message_of([&] { optimal_policy(runaway, 0.9); }).find("no best policy"), std::string::npos) << growth;
  }
  EXPECT_NO_THROW(optimal_policy(scalar_system(2, 0), 0.2));
  for (const double discount : {-0.1, 1.1, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_NE(message_of([&] { optimal_policy(scalar_system(1, 1), discount); }).find("the discount is"),
              std::string::npos);
  }
}

}  // namespace
}  // namespace ignd::testing
