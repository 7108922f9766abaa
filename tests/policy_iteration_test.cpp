#include "rl/policy_iteration.hpp"

#include "dense_algebra.hpp"
#include "linear_control.hpp"
#include "support.hpp"

#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace ignd::testing {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

// zz' of the signals whose products x are: without the sign of z, which products do not know.
MatrixXd outer_of(const QuadraticFeatures& features, std::span<const double> x) {
  MatrixXd m = 2 * features.matrix(x);
  m.diagonal() /= 2;
  return m;
}

TEST(QuadraticFeatures, AreTheQuadraticForm) {
  RandomStream stream(1, "features");
  for (std::size_t n = 1; n <= 20; ++n) {
    for (const bool constant : {false, true}) {
      const QuadraticFeatures features(n, constant);
      ASSERT_EQ(features.size(), n * (n + 1) / 2 + (constant ? 1 : 0));
      auto z = normal_vector(stream, n + 3);
      std::vector<double> x(features.size() + 3);
      features.write(z.data(), 0, x.data());
      x.resize(features.size());
      const auto w = normal_vector(stream, features.size());
      const MatrixXd m = features.matrix(w);
      const VectorXd signals = to_eigen(std::span(z).first(n));
      const double expected = signals.dot(m * signals) + (constant ? w.back() : 0);
      EXPECT_NEAR(to_eigen(w).dot(to_eigen(x)), expected, 1e-12 * (1 + std::abs(expected)));
      EXPECT_EQ(m, m.transpose());
      if (constant) {
        EXPECT_EQ(x.back(), 1);
      }

      std::vector<double> back(features.size());
      features.set_weights(m, back);
      if (constant) back.back() = w.back();
      EXPECT_EQ(back, w);
    }
  }
}

TEST(QuadraticFeatures, ANewActionChangesOnlyTheEnd) {
  RandomStream stream(2, "features");
  for (std::size_t n = 1; n <= 20; ++n) {
    const QuadraticFeatures features(n, n % 2 == 0);
    auto z = normal_vector(stream, n + 3);
    std::vector<double> x(features.size() + 3);
    features.write(z.data(), 0, x.data());
    const std::size_t states = stream.below(n);
    for (std::size_t i = states; i < n; ++i) z[i] = stream.normal();
    features.write(z.data(), states, x.data());
    std::vector<double> whole(features.size() + 3);
    features.write(z.data(), 0, whole.data());
    for (std::size_t k = 0; k < features.size(); ++k) EXPECT_EQ(x[k], whole[k]);
  }
}

TEST(Transitions, FollowTheSystemAndThePolicy) {
  RandomStream stream(3, "transitions");
  for (int trial = 0; trial < 50; ++trial) {
    const Index n = 1 + static_cast<Index>(stream.below(12));
    const Index m = 1 + static_cast<Index>(stream.below(4));
    const auto system = random_system(stream, n, m);
    const MatrixXd policy = random_matrix(stream, m, n, 0.1);
    const auto sampling = trial % 2 == 0 ? Sampling::episodes : Sampling::independent;
    Transitions transitions(system, {.sampling = sampling, .episode_steps = 7}, static_cast<std::uint64_t>(trial));
    transitions.follow(policy);
    const auto& features = transitions.features();

    MatrixXd step(n + m, n + m);
    step << system.a, system.b, policy * system.a, policy * system.b;
    std::vector<double> before;
    for (int t = 0; t < 30; ++t) {
      const Transition seen = transitions.next();
      const MatrixXd here = outer_of(features, seen.x);
      const MatrixXd there = outer_of(features, seen.next_x);
      EXPECT_LT((there - quadratic_form(here, step.transpose())).norm(), 1e-11 * (1 + there.norm()));
      const double cost =
          (system.q * here.topLeftCorner(n, n)).trace() + (system.r * here.bottomRightCorner(m, m)).trace();
      EXPECT_NEAR(seen.reward, -cost, 1e-11 * (1 + cost));
      const std::vector<double> states(seen.x.begin(), seen.x.begin() + n * (n + 1) / 2);
      const bool goes_on = sampling == Sampling::episodes && t % 7 != 0;
      if (t > 0) {
        EXPECT_EQ(states == before, goes_on);
      }
      before.assign(seen.next_x.begin(), seen.next_x.begin() + n * (n + 1) / 2);
    }
  }
}

TEST(Transitions, HaveTheScalesThatWereAskedFor) {
  const auto system = uav();
  constexpr int episodes = 40'000;
  Transitions transitions(system, {.episode_steps = 1}, 1);
  Transitions independent(system, {.sampling = Sampling::independent}, 1);
  MatrixXd mean = MatrixXd::Zero(8, 8);
  MatrixXd independent_mean = mean;
  for (int i = 0; i < episodes; ++i) {
    mean += outer_of(transitions.features(), transitions.next().x) / episodes;
    independent_mean += outer_of(independent.features(), independent.next().x) / episodes;
  }
  // The mean of rho^2 = 10^(2u), u uniform in (-1/2, 1/2).
  const double expected = (10 - 0.1) / (2 * std::log(10));
  EXPECT_LT((mean - expected * MatrixXd::Identity(8, 8)).cwiseAbs().maxCoeff(), 0.15);
  EXPECT_LT((independent_mean - MatrixXd::Identity(8, 8)).cwiseAbs().maxCoeff(), 0.04);
}

TEST(Transitions, NoiseIsAddedToEachStateAndBringsAConstant) {
  auto system = uav();
  system.a.setZero();  // what comes is the noise alone
  system.b.setZero();
  Transitions transitions(system, {.noise = 0.5}, 1);
  EXPECT_EQ(transitions.features().size(), 37U);
  MatrixXd mean = MatrixXd::Zero(8, 8);
  constexpr int count = 40'000;
  for (int i = 0; i < count; ++i) {
    const Transition seen = transitions.next();
    ASSERT_EQ(seen.x.back(), 1);
    ASSERT_EQ(seen.next_x.back(), 1);
    mean += outer_of(transitions.features(), seen.next_x) / count;
  }
  EXPECT_LT((mean.topLeftCorner(5, 5) - 0.25 * MatrixXd::Identity(5, 5)).cwiseAbs().maxCoeff(), 0.01);
}

TEST(Transitions, RefuseOptionsThatCannotBe) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  const auto refusal = [](const TransitionOptions& options) {
    return message_of([&] { Transitions(uav(), options, 1); });
  };
  EXPECT_NE(refusal({.episode_steps = 0}).find("at least one step"), std::string::npos);
  EXPECT_NE(refusal({.exploration_low = 1, .exploration_high = 0}).find("exploration"), std::string::npos);
  EXPECT_NE(refusal({.exploration_low = nan}).find("exploration"), std::string::npos);
  EXPECT_NE(refusal({.exploration_high = 1e9}).find("exploration"), std::string::npos);
  EXPECT_NE(refusal({.noise = -1}).find("noise"), std::string::npos);
  EXPECT_NE(refusal({.noise = nan}).find("noise"), std::string::npos);
  Transitions transitions(uav(), {}, 1);
  EXPECT_NE(message_of([&] { transitions.follow(MatrixXd::Zero(5, 3)); }).find("the policy is 5 x 3"),
            std::string::npos);
}

TEST(GreedyPolicy, OfTheTrueValuesIsTheNextPolicyOfPolicyIteration) {
  RandomStream stream(10, "greedy");
  for (int trial = 0; trial < 50; ++trial) {
    const auto system =
        random_system(stream, 1 + static_cast<Index>(stream.below(6)), 1 + static_cast<Index>(stream.below(3)));
    const double discount = 0.3;
    const MatrixXd policy = random_matrix(stream, system.actions(), system.states(), 0.1);
    const MatrixXd m = true_values(system, discount, policy);
    if (!m.allFinite()) continue;
    // The cost of the policy, a = K s put into the values.
    MatrixXd act(system.states() + system.actions(), system.states());
    act << MatrixXd::Identity(system.states(), system.states()), policy;
    const MatrixXd cost = -quadratic_form(m, act);
    const MatrixXd onwards = discount * system.b.transpose() * cost;
    const MatrixXd expected = -solve(system.r + onwards * system.b, onwards * system.a);
    const auto greedy = greedy_policy(m, system.states());
    ASSERT_TRUE(greedy);
    EXPECT_LT((*greedy - expected).norm(), 1e-10 * (1 + expected.norm()));
  }
}

TEST(GreedyPolicy, OfTheBestPolicyIsItself) {
  const auto system = uav();
  const MatrixXd best = optimal_policy(system, 0.9);
  EXPECT_LT((*greedy_policy(true_values(system, 0.9, best), 5) - best).norm(), 1e-12);
}

TEST(GreedyPolicy, NeedsTheWholeMatrixNegativeDefinite) {
  MatrixXd m = -MatrixXd::Identity(4, 4);
  EXPECT_TRUE(greedy_policy(m, 2));
  m(0, 0) = 1;  // the actions' part alone would do
  EXPECT_FALSE(greedy_policy(m, 2));
  m(0, 0) = -1;
  m(3, 3) = 1;
  EXPECT_FALSE(greedy_policy(m, 2));
  EXPECT_FALSE(greedy_policy(MatrixXd::Zero(4, 4), 2));
  m(3, 3) = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(greedy_policy(m, 2));
}

TEST(GreedyPolicy, OfThePapersConditionLooksAtTheActionsAlone) {
  MatrixXd m = -MatrixXd::Identity(4, 4);
  m(0, 0) = 1;
  EXPECT_TRUE(greedy_policy(m, 2, Acceptance::actions));
  m(3, 3) = 1;
  EXPECT_FALSE(greedy_policy(m, 2, Acceptance::actions));
  RandomStream stream(11, "acceptance");
  for (int trial = 0; trial < 20; ++trial) {
    const MatrixXd valid = -random_definite(stream, 5);
    EXPECT_EQ(*greedy_policy(valid, 3, Acceptance::actions), *greedy_policy(valid, 3));
  }
}

// Has the weights it is told to have.
class Told final : public PolicyEvaluation {
 public:
  explicit Told(const QuadraticFeatures& features) : features_(features), w_(features.size()) {}
  void set(const MatrixXd& m) { features_.set_weights(m, w_); }
  void poison() { w_[0] = std::numeric_limits<double>::infinity(); }
  bool update(const Transition& /*seen*/) override { return true; }
  std::span<const double> weights() const override { return w_; }

 private:
  const QuadraticFeatures& features_;
  std::vector<double> w_;
};

TEST(PolicyIteration, KeepsThePolicyWhereTheValuesAllowNoBetterOne) {
  Transitions transitions(uav(), {}, 1);
  Told told(transitions.features());
  PolicyIteration iteration(transitions, told, MatrixXd::Ones(3, 5));
  const MatrixXd positive = MatrixXd::Identity(8, 8);
  for (const double size : {8.0, 4.0, 2.0, 1.0}) {  // weights that come down: it may yet recover
    told.set(size * positive);
    EXPECT_TRUE(iteration.improve());
    EXPECT_TRUE(iteration.last_was_rejected());
    EXPECT_EQ(iteration.policy(), MatrixXd(MatrixXd::Ones(3, 5)));
  }
  EXPECT_EQ(iteration.rejections(), 4U);
  told.set(-positive);
  EXPECT_TRUE(iteration.improve());
  EXPECT_FALSE(iteration.last_was_rejected());
  EXPECT_EQ(iteration.policy(), MatrixXd(MatrixXd::Zero(3, 5)));
  EXPECT_EQ(iteration.rejections(), 4U);
}

TEST(PolicyIteration, KnowsHowMuchTheLastImprovementChanged) {
  Transitions transitions(uav(), {}, 1);
  Told told(transitions.features());
  PolicyIteration iteration(transitions, told, MatrixXd::Zero(3, 5));
  EXPECT_EQ(iteration.last_change(), std::numeric_limits<double>::infinity());
  MatrixXd m = -MatrixXd::Identity(8, 8);
  m(5, 0) = m(0, 5) = 0.25;  // K(0, 0) = 0.25
  told.set(m);
  EXPECT_TRUE(iteration.improve());
  EXPECT_EQ(iteration.last_change(), 1);
  EXPECT_EQ(iteration.improvements(), 1U);
  m(5, 0) = m(0, 5) = 0.5;
  told.set(m);
  EXPECT_TRUE(iteration.improve());
  EXPECT_EQ(iteration.last_change(), 0.5);
  told.set(MatrixXd::Identity(8, 8));
  EXPECT_TRUE(iteration.improve());  // rejected
  EXPECT_EQ(iteration.last_change(), 0.5);
  EXPECT_EQ(iteration.improvements(), 2U);
  told.set(m);
  EXPECT_TRUE(iteration.improve());
  EXPECT_EQ(iteration.last_change(), 0);
  EXPECT_EQ(iteration.improvements(), 3U);
}

TEST(PolicyIteration, HasDivergedAtTheThirdRejectionWithGrowingWeights) {
  Transitions transitions(uav(), {}, 1);
  Told told(transitions.features());
  PolicyIteration iteration(transitions, told, MatrixXd::Zero(3, 5));
  const auto improve_with = [&](double size) {
    told.set(size * MatrixXd::Identity(8, 8));
    return iteration.improve();
  };
  EXPECT_TRUE(improve_with(1));
  EXPECT_TRUE(improve_with(2));
  EXPECT_TRUE(improve_with(-2));  // accepted: from the beginning
  EXPECT_TRUE(improve_with(3));
  EXPECT_TRUE(improve_with(4));
  EXPECT_FALSE(improve_with(5));
  EXPECT_EQ(iteration.rejections(), 5U);
}

TEST(PolicyIteration, HasDivergedWhereAWeightIsNotFinite) {
  Transitions transitions(uav(), {}, 1);
  Told told(transitions.features());
  PolicyIteration iteration(transitions, told, MatrixXd::Zero(3, 5));
  told.poison();
  EXPECT_FALSE(iteration.improve());
}

// The paper's deterministic panel, one system and method.
std::pair<MatrixXd, std::vector<double>> iterate(const LinearSystem& system, PolicyEvaluation& evaluation,
                                                 Transitions& transitions, std::uint64_t updates, int improvements) {
  PolicyIteration iteration(transitions, evaluation, MatrixXd::Zero(system.actions(), system.states()));
  for (int i = 0; i < improvements; ++i) {
    EXPECT_TRUE(iteration.evaluate(updates));
    EXPECT_TRUE(iteration.improve());
  }
  const auto w = evaluation.weights();
  return {iteration.policy(), {w.begin(), w.end()}};
}

std::pair<MatrixXd, std::vector<double>> uav_run(std::uint64_t seed) {
  Transitions transitions(uav(), {}, seed);
  const auto evaluation =
      make_semi_gradient(transitions.features().size(), 0.9, find_optimizer("nlms"), Schedule::constant(1));
  return iterate(uav(), *evaluation, transitions, 5000, 10);
}

TEST(PolicyIteration, FindsTheBestPolicyOfTheAircraft) {
  const MatrixXd best = optimal_policy(uav(), 0.9);
  for (const std::uint64_t seed : {1U, 2U}) EXPECT_LT((uav_run(seed).first - best).norm(), 1e-10);
}

TEST(PolicyIteration, ByLeastSquaresNeedsFarFewerUpdates) {
  const MatrixXd best = optimal_policy(uav(), 0.9);
  for (const std::uint64_t seed : {1U, 2U}) {
    Transitions transitions(uav(), {}, seed);
    const auto evaluation = make_rls_td(transitions.features().size(), 0.9);
    EXPECT_LT((iterate(uav(), *evaluation, transitions, 100, 10).first - best).norm(), 1e-10);
  }
}

TEST(PolicyIteration, TheSameSeedGivesTheSameBits) {
  EXPECT_EQ(uav_run(3), uav_run(3));
  EXPECT_NE(uav_run(3).second, uav_run(4).second);
}

}  // namespace
}  // namespace ignd::testing
