#include "rl/linear_system.hpp"

#include "dense_algebra.hpp"
#include "rl/control_systems.hpp"
#include "support.hpp"

#include <limits>
#include <string>
#include <utility>

#include <gtest/gtest.h>

namespace ignd::testing {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;

ContinuousSystem random_system(RandomStream& stream, Index states, Index actions) {
  return {{random_matrix(stream, states, states), random_matrix(stream, states, actions),
           random_definite(stream, states), random_definite(stream, actions)}};
}

// exp(A t) = sum (A t)^k / k! and what an input held for t adds, sum A^k t^(k+1) / (k+1)! B, term by term.
std::pair<MatrixXd, MatrixXd> held_by_series(const ContinuousSystem& system, double period) {
  MatrixXd term = MatrixXd::Identity(system.a.rows(), system.a.rows());
  MatrixXd state = term;
  MatrixXd input = term * period;
  for (int k = 1; k < 200; ++k) {
    term = (term * system.a * (period / k)).eval();
    state += term;
    input += term * (period / (k + 1));
  }
  return {state, input * system.b};
}

std::string refusal(const ContinuousSystem& system, double period = 0.1) {
  return message_of([&] { hold_actions(system, period); });
}

TEST(LinearSystem, HoldingAnActionIsTheSeriesOfTheExponential) {
  RandomStream stream(1, "linear system");
  for (int trial = 0; trial < 100; ++trial) {
    const auto system =
        random_system(stream, 1 + static_cast<Index>(stream.below(8)), 1 + static_cast<Index>(stream.below(4)));
    const double period = stream.uniform(0.001, 2);
    const auto held = hold_actions(system, period);
    const auto [a, b] = held_by_series(system, period);
    EXPECT_LT((held.a - a).norm(), 1e-12 * (1 + a.norm()));
    EXPECT_LT((held.b - b).norm(), 1e-12 * (1 + b.norm()));
    EXPECT_EQ(held.q, system.q);
    EXPECT_EQ(held.r, system.r);
  }
}

TEST(LinearSystem, HoldingAnActionIsTheLimitOfManySmallSteps) {
  for (const auto& system : {uav_system(), bdt_system()}) {
    constexpr int steps = 1 << 20;
    constexpr double period = 0.1;
    MatrixXd a = MatrixXd::Identity(system.a.rows(), system.a.rows()) + system.a * (period / steps);
    MatrixXd b = system.b * (period / steps);
    for (int done = 1; done < steps; done *= 2) {  // two runs of equal length make one of twice the length
      b = (a * b + b).eval();
      a = (a * a).eval();
    }
    const auto held = hold_actions(system, period);
    EXPECT_LT((held.a - a).norm(), 1e-6);
    EXPECT_LT((held.b - b).norm(), 1e-6);
  }
}

TEST(LinearSystem, AnIntegratorIsKnownInClosedForm) {
  const MatrixXd one = MatrixXd::Identity(1, 1);
  const auto held = hold_actions({{MatrixXd::Zero(1, 1), 3 * one, one, one}}, 0.5);
  EXPECT_DOUBLE_EQ(held.a(0, 0), 1);
  EXPECT_DOUBLE_EQ(held.b(0, 0), 1.5);
  const auto decay = hold_actions({{-2 * one, one, one, one}}, 0.5);
  EXPECT_NEAR(decay.a(0, 0), std::exp(-1), 1e-15);
  EXPECT_NEAR(decay.b(0, 0), (1 - std::exp(-1)) / 2, 1e-15);
}

TEST(LinearSystem, ThePaperSystemsHaveTheirPublishedShapesAndEntries) {
  const auto uav = uav_system();
  EXPECT_EQ(uav.a.rows(), 5);
  EXPECT_EQ(uav.b.cols(), 3);
  EXPECT_EQ(uav.a(4, 3), 1.0532);
  EXPECT_EQ(uav.b(3, 0), 4.419);
  const auto bdt = bdt_system();
  EXPECT_EQ(bdt.a.rows(), 11);
  EXPECT_EQ(bdt.b.cols(), 3);
  EXPECT_EQ((bdt.a.array() != 0).count(), 11 + 10 + 10 + 5);
  EXPECT_EQ(bdt.a(10, 0), 0.0255);
  EXPECT_TRUE(faults(uav).empty());
  EXPECT_TRUE(faults(bdt).empty());
}

TEST(LinearSystem, WrongShapesAreRefusedByName) {
  auto system = uav_system();
  system.a = MatrixXd::Zero(5, 4);
  EXPECT_NE(refusal(system).find("a is 5 x 4"), std::string::npos) << refusal(system);
  system = uav_system();
  system.a.resize(0, 0);
  EXPECT_NE(refusal(system).find("a is 0 x 0"), std::string::npos);
  system = uav_system();
  system.b = MatrixXd::Zero(4, 3);
  EXPECT_NE(refusal(system).find("b is 4 x 3"), std::string::npos);
  system = uav_system();
  system.b = MatrixXd::Zero(5, 0);
  EXPECT_NE(refusal(system).find("b is 5 x 0"), std::string::npos);
  system = uav_system();
  system.q = MatrixXd::Identity(3, 3);
  EXPECT_NE(refusal(system).find("q is 3 x 3"), std::string::npos);
  system.q.resize(0, 0);
  EXPECT_NE(refusal(system).find("q is 0 x 0"), std::string::npos);
  RandomStream stream(2, "linear system");
  EXPECT_NE(refusal(random_system(stream, 60, 5)).find("65 states and actions"), std::string::npos);
}

TEST(LinearSystem, WeightsMustBeSymmetricAndPositiveDefinite) {
  auto system = uav_system();
  system.q(0, 1) = 0.5;
  EXPECT_NE(refusal(system).find("q is not symmetric"), std::string::npos);
  system.q(1, 0) = 0.5;
  EXPECT_TRUE(faults(system).empty());
  system.q(2, 2) = 0;
  EXPECT_NE(refusal(system).find("q is not positive definite"), std::string::npos);
  system = uav_system();
  system.r = -system.r;
  EXPECT_NE(refusal(system).find("r is not positive definite"), std::string::npos);
}

TEST(LinearSystem, NumbersThatAreNotFiniteAreRefusedAndAllFaultsListed) {
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    auto system = bdt_system();
    system.a(3, 4) = bad;
    system.b(0, 2) = bad;
    system.q(1, 1) = bad;
    system.r(1, 1) = bad;
    const std::string message = refusal(system);
    for (const char* name : {"a has", "b has", "q has", "r has"}) {
      EXPECT_NE(message.find(name), std::string::npos) << message;
    }
    EXPECT_NE(refusal(uav_system(), bad).find("the period is"), std::string::npos);
  }
  for (const double period : {0.0, -1.0})
    EXPECT_NE(refusal(uav_system(), period).find("the period is"), std::string::npos);
}

TEST(LinearSystem, GrowthPastAllNumbersIsRefused) {
  const MatrixXd one = MatrixXd::Identity(1, 1);
  EXPECT_NE(refusal({{1e6 * one, one, one, one}}, 1e6).find("shorter"), std::string::npos);
  EXPECT_NE(refusal({{1e300 * one, one, one, one}}, 1e300).find("shorter"), std::string::npos);
}

}  // namespace
}  // namespace ignd::testing
