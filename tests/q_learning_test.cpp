#include "rl/q_learning.hpp"

#include "ignd/error.hpp"
#include "rl/frozen_lake.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace ignd {
namespace {

const Optimizer ql = find_optimizer("sgd");
const Optimizer igndq = find_optimizer("ignd");

std::size_t pairs(const FrozenLake& lake) { return std::size_t{lake.states()} * FrozenLake::action_count; }

struct OwnLakeEnvironment {
  FrozenLakeEnvironment environment;
};

// Q-learning on a lake, with the random streams of one seed.
class LakeLearning : private OwnLakeEnvironment, public QLearning {
 public:
  LakeLearning(const FrozenLake& lake, std::vector<double> scales, const QLearningOptions& options, std::uint64_t seed)
      : OwnLakeEnvironment{{lake, RandomStream(seed, "environment")}},
        QLearning(environment, std::move(scales), options, seed) {}
};

constexpr int seeds = 20;
constexpr int episodes = 600;

// ---------------------------------------------------------------------------------------------------------------------
// The values

TEST(ActionValues, MoveExactlyToTheTargetAtRateOne) {
  RandomStream stream(1, "targets");
  ActionValues values(4, std::vector<double>(8, 1.0), 0, ql, 1);
  for (int i = 0; i < 200; ++i) {
    const auto state = static_cast<std::uint32_t>(stream.below(2)),
               action = static_cast<std::uint32_t>(stream.below(4));
    const double target = static_cast<double>(stream.below(1024)) / 1024;  // differences of these are exact
    ASSERT_TRUE(values.learn(state, action, target));
    EXPECT_EQ(values.value(state, action), target);
  }
}

// The paper's update: a gradient step moves a value by alpha phi^2 of the way, a Gauss-Newton step by alpha of it, up
// to eps_LM / phi^2.
TEST(ActionValues, MoveAsTheRuleSays) {
  RandomStream stream(2, "values");
  for (int i = 0; i < 300; ++i) {
    const double scale = stream.uniform(0.5, 100) * (stream.below(2) == 0 ? -1 : 1);
    const double rate = stream.uniform(0.01, 1), start = stream.normal(), target = stream.normal();
    ActionValues gradient(4, std::vector<double>(4, scale), start, ql, rate);
    ActionValues normalized(4, std::vector<double>(4, scale), start, igndq, rate);
    EXPECT_NEAR(gradient.value(0, 2), start, 1e-14 * std::abs(start));
    ASSERT_TRUE(gradient.learn(0, 2, target));
    ASSERT_TRUE(normalized.learn(0, 2, target));
    const double squared = scale * scale;
    EXPECT_NEAR(gradient.value(0, 2), start + rate * squared * (target - start), 1e-12 * squared);
    EXPECT_NEAR(normalized.value(0, 2), start + rate * squared / (squared + 1e-5) * (target - start), 1e-12);
    for (const std::uint32_t other : {0U, 1U, 3U})
      EXPECT_NEAR(gradient.value(0, other), start, 1e-14 * std::abs(start));
  }
}

// Weights of untouched features drift with these transforms, and the values show it at once.
TEST(ActionValues, AreUpToDateWithEveryTransform) {
  for (const std::string transform : {"momentum", "nesterov", "adam", "rmsprop"}) {
    ActionValues values(4, std::vector<double>(8, 1.0), 0, {"gradient", transform}, 0.1);
    Linear<double> model(8, false);
    Trainer<double> trainer(model, {.optimizer = {"gradient", transform}, .schedule = Schedule::constant(0.1)});
    for (std::uint32_t i = 0; i < 40; ++i) {
      const std::uint32_t feature = i * 5 % 8;
      values.learn(feature / 4, feature % 4, 1);
      std::vector<double> x(8);
      x[feature] = 1;
      trainer.step({.x = {x}, .y = 1});
      for (std::uint32_t k = 0; k < 8; ++k) EXPECT_EQ(values.value(k / 4, k % 4), model.parameters()[k]) << transform;
    }
  }
}

using Actions = std::vector<std::uint32_t>;

TEST(ActionValues, AreTiedWithinTheTolerance) {
  ActionValues values(4, std::vector<double>(4, 1.0), 0, ql, 1);
  EXPECT_EQ(values.best_actions(0, 1e-3), (Actions{0, 1, 2, 3}));
  values.learn(0, 1, 1);
  EXPECT_EQ(values.best_actions(0, 1e-3), (Actions{1}));
  values.learn(0, 3, 0.9995);
  EXPECT_EQ(values.best_actions(0, 1e-3), (Actions{1, 3}));
  EXPECT_EQ(values.best_actions(0, 0), (Actions{1}));
  EXPECT_EQ(values.best_value(0), 1);
  values.learn(0, 3, 0.998);
  EXPECT_EQ(values.best_actions(0, 1e-3), (Actions{1}));
  for (std::uint32_t action = 0; action < 4; ++action) values.learn(0, action, -1 - 1e-4 * action);
  EXPECT_EQ(values.best_actions(0, 1e-3), (Actions{0, 1, 2, 3}));
  EXPECT_EQ(values.best_actions(0, 1.5e-4), (Actions{0, 1}));
}

TEST(ActionValues, SayWhenTheyAreOfNoUse) {
  ActionValues values(4, std::vector<double>(4, 1.0), 0, ql, 1);
  EXPECT_FALSE(values.learn(0, 0, std::numeric_limits<double>::infinity()));
  EXPECT_FALSE(values.learn(0, 0, std::numeric_limits<double>::quiet_NaN()));
  EXPECT_TRUE(values.learn(0, 0, 1));
  EXPECT_FALSE(values.learn(0, 0, 1e200));  // the square is not a number any more
  EXPECT_FALSE(values.learn(0, 0, 1));

  ActionValues fast(4, std::vector<double>(4, 1e4), 0, ql, 1e300);
  EXPECT_FALSE(fast.learn(0, 0, 1e5));
  ActionValues slow(4, std::vector<double>(4, 1.0), 0, ql, 1e-300);
  EXPECT_TRUE(slow.learn(0, 0, 1));
}

TEST(ActionValues, RefuseScalesOfNoUse) {
  for (const double bad : {0.0, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_THROW(ActionValues(4, {1, bad, 1, 1}, 0, ql, 1), InvalidArgument);
  }
  const FrozenLake lake("4x4", false);
  EXPECT_THROW(LakeLearning(lake, {1, 1, 1}, {}, 1), InvalidArgument);
  EXPECT_THROW(LakeLearning(lake, equal_scales(pairs(lake)), {.optimizer = {"no-such-rule", "plain"}}, 1),
               InvalidArgument);
}

TEST(Scales, AreNonzeroIntegersAllEquallyLikely) {
  const FrozenLake lake("8x8", false);
  EXPECT_EQ(random_scales(pairs(lake), 0), random_scales(pairs(lake), 0));
  EXPECT_NE(random_scales(pairs(lake), 0), random_scales(pairs(lake), 1));
  EXPECT_EQ(equal_scales(pairs(lake)), std::vector<double>(256, 1.0));
  double sum = 0, squares = 0, largest = 0, n = 0;
  for (std::uint64_t draw = 0; draw < 200; ++draw) {
    for (const double scale : random_scales(pairs(lake), draw)) {
      EXPECT_EQ(scale, std::round(scale));
      EXPECT_NE(scale, 0);
      EXPECT_LE(std::abs(scale), 1e4);
      largest = std::max(largest, std::abs(scale));
      sum += scale;
      squares += scale * scale;
      ++n;
    }
  }
  EXPECT_EQ(n, 200 * 256);
  EXPECT_NEAR(sum / n, 0, 5 * 1e4 / std::sqrt(3 * n));
  EXPECT_NEAR(squares / n, 1e8 / 3, 5 * 1e8 * std::sqrt(4 / 45.0 / n));
  EXPECT_GT(largest, 9990);
}

// ---------------------------------------------------------------------------------------------------------------------
// Learning

TEST(QLearning, BootstrapsUnlessTheLakeEndedTheEpisode) {
  const FrozenLake lake("4x4", false);
  LakeLearning learning(lake, equal_scales(pairs(lake)), {.optimizer = ql, .rate = 1, .gamma = 0.5, .initial_value = 1},
                        1);
  learning.learn(0, 1, {.state = 4, .reward = 0, .terminated = false, .truncated = false});
  EXPECT_EQ(learning.values().value(0, 1), 0.5);
  learning.learn(0, 2, {.state = 1, .reward = 0, .terminated = false, .truncated = true});
  EXPECT_EQ(learning.values().value(0, 2), 0.5);
  learning.learn(4, 2, {.state = 5, .reward = 0, .terminated = true, .truncated = false});
  EXPECT_EQ(learning.values().value(4, 2), 0);
  learning.learn(14, 2, {.state = 15, .reward = 1, .terminated = true, .truncated = true});
  EXPECT_EQ(learning.values().value(14, 2), 1);
}

// Plain tables and plain loops, nothing of the trainer.
std::vector<double> reference_returns(const FrozenLake& lake, double rate, std::uint64_t seed) {
  std::vector<std::array<double, 4>> q(lake.states());
  RandomStream agent(seed, "agent");
  FrozenLakeEnvironment walk(lake, RandomStream(seed, "environment"));
  std::vector<double> returns;
  for (int episode = 0; episode < episodes; ++episode) {
    const double epsilon = std::max(0.05, 1 - 0.95 * episode / 300);
    std::uint32_t state = walk.reset();
    double sum = 0;
    while (true) {
      std::vector<std::uint32_t> choices{0, 1, 2, 3};
      if (agent.uniform() >= epsilon) {
        const double best = *std::max_element(q[state].begin(), q[state].end());
        std::erase_if(choices, [&](std::uint32_t a) { return q[state][a] < best * (1 - 1e-3); });
      }
      const std::uint32_t action = choices.size() == 1 ? choices[0] : choices[agent.below(choices.size())];
      const Outcome outcome = walk.step(action);
      const double next = *std::max_element(q[outcome.state].begin(), q[outcome.state].end());
      const double target = outcome.reward + (outcome.terminated ? 0 : 0.99 * next);
      q[state][action] += rate * (target - q[state][action]);
      sum += outcome.reward;
      state = outcome.state;
      if (outcome.over()) break;
    }
    returns.push_back(sum);
  }
  return returns;
}

std::vector<double> returns_of(QLearning& learning) {
  std::vector<double> returns(episodes);
  for (double& value : returns) value = learning.run_episode();
  return returns;
}

TEST(QLearning, IsTheTextbooks) {
  for (const bool slippery : {false, true}) {
    const FrozenLake lake("4x4", slippery);
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
      const double rate = slippery ? 0.125 : 1;
      LakeLearning learning(lake, equal_scales(pairs(lake)), {.optimizer = ql, .rate = rate}, seed);
      EXPECT_EQ(returns_of(learning), reference_returns(lake, rate, seed)) << "seed " << seed;
    }
  }
}

TEST(QLearning, GivesTheSameBitsForTheSameSeed) {
  const FrozenLake lake("8x8", true);
  const auto run = [&](std::uint64_t seed) {
    LakeLearning learning(lake, random_scales(pairs(lake), 0), {.optimizer = igndq, .rate = 0.1}, seed);
    std::vector<double> all = returns_of(learning);
    for (std::uint32_t pair = 0; pair < 4 * lake.states(); ++pair) {
      all.push_back(learning.values().value(pair / 4, pair % 4));
    }
    return all;
  };
  EXPECT_EQ(run(1), run(1));
  EXPECT_NE(run(1), run(2));
}

std::vector<Actions> greedy_policy(const QLearning& learning, const FrozenLake& lake) {
  std::vector<Actions> policy;
  for (std::uint32_t state = 0; state < lake.states(); ++state) {
    policy.push_back(learning.values().best_actions(state, 1e-3));
  }
  return policy;
}

// The paper's figure 1 in the small. All three take whole steps, IGNDQ up to eps_LM / phi^2 <= 1e-5 and rounding. At
// rate 1 from zero every value is 0 or nearly a power of gamma, so two values differ by 1 % or should not differ at
// all: a tolerance of 1e-3 is far from both.
TEST(QLearning, IsTheSameWithGaussNewtonWhateverTheScales) {
  for (const std::string map : {"4x4", "8x8"}) {
    const FrozenLake lake(map, false);
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
      LakeLearning original(lake, equal_scales(pairs(lake)), {.optimizer = ql}, seed);
      LakeLearning normalized(lake, equal_scales(pairs(lake)), {.optimizer = igndq}, seed);
      LakeLearning scaled(lake, random_scales(pairs(lake), seed % 2 == 0 ? 0 : seed), {.optimizer = igndq}, seed);
      double learned = 0;
      for (int episode = 1; episode <= episodes; ++episode) {
        const double expected = original.run_episode();
        ASSERT_EQ(normalized.run_episode(), expected) << map << " seed " << seed << " episode " << episode;
        ASSERT_EQ(scaled.run_episode(), expected) << map << " seed " << seed << " episode " << episode;
        const auto policy = greedy_policy(original, lake);
        ASSERT_EQ(greedy_policy(normalized, lake), policy) << map << " seed " << seed << " episode " << episode;
        ASSERT_EQ(greedy_policy(scaled, lake), policy) << map << " seed " << seed << " episode " << episode;
        if (episode > episodes * 9 / 10) learned += expected;
      }
      if (map == "4x4") {
        EXPECT_GT(learned, 45) << "seed " << seed;
      }
    }
  }
}

TEST(QLearning, DivergesOnScaledFeaturesWithTheGradient) {
  const FrozenLake lake("4x4", false);
  double sum = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    LakeLearning learning(lake, random_scales(pairs(lake), 0), {.optimizer = ql}, seed);
    while (!learning.diverged() && learning.episodes() < episodes) learning.run_episode();
    ASSERT_TRUE(learning.diverged()) << "seed " << seed;
    sum += static_cast<double>(learning.episodes());
    for (int episode = 0; episode < 10; ++episode) EXPECT_EQ(learning.run_episode(), 0);
  }
  EXPECT_NEAR(sum / seeds, 122, 30);  // where an independent program has it
}

TEST(QLearning, ExploresAsAsked) {
  // No value ever changes at rate 0, so that a greedy choice is a tie of all four, and the walk is random throughout.
  const FrozenLake lake("SFFFFFFG", false);
  LakeLearning still(lake, equal_scales(pairs(lake)), {.optimizer = ql, .rate = 0}, 1);
  returns_of(still);
  EXPECT_EQ(still.values().best_value(0), 0);

  // Without random actions an optimistic learner is at the goal by the shortest way in the end.
  LakeLearning greedy(lake, equal_scales(pairs(lake)),
                      {.optimizer = ql, .epsilon_from = 0, .epsilon_to = 0, .epsilon_episodes = 0, .initial_value = 1},
                      1);
  const auto returns = returns_of(greedy);
  EXPECT_TRUE(std::all_of(returns.begin() + 100, returns.end(), [](double r) { return r == 1; }));
  for (std::uint32_t state = 0; state < 7; ++state) {
    EXPECT_NEAR(greedy.values().best_value(state), std::pow(0.99, 6 - state), 1e-12);
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// Another environment

// States 0, 1, 2. The last action goes one further, which behind state 2 ends the episode with reward 1; the others go
// back to state 0.
class Chain final : public DiscreteEnvironment {
 public:
  explicit Chain(std::uint32_t actions, int step_limit = 1'000'000) : actions_(actions), step_limit_(step_limit) {}

  std::uint32_t states() const override { return 3; }
  std::uint32_t actions() const override { return actions_; }
  std::uint32_t reset() override {
    steps_ = 0;
    return state_ = 0;
  }
  Outcome step(std::uint32_t action) override {
    const bool truncated = ++steps_ == step_limit_;
    if (action + 1 < actions_) return {.state = state_ = 0, .reward = 0, .terminated = false, .truncated = truncated};
    const bool ends = state_ == 2;
    if (!ends) ++state_;
    return {.state = state_, .reward = ends ? 1.0 : 0.0, .terminated = ends, .truncated = truncated};
  }

 private:
  std::uint32_t actions_;
  int step_limit_;
  std::uint32_t state_ = 0;
  int steps_ = 0;
};

// With one action: q(s) += (r + q(s + 1) / 2 - q(s)) / 2, by hand. All of it is exact in binary.
TEST(QLearning, FollowsAChainAsByHand) {
  Chain chain(1);
  QLearning learning(chain, equal_scales(chain.pairs()), {.optimizer = ql, .rate = 0.5, .gamma = 0.5}, 1);
  const std::vector<std::array<double, 3>> expected{
      {0, 0, 0.5},
      {0, 0.125, 0.75},
      {0.03125, 0.25, 0.875},
  };
  for (const auto& values : expected) {
    EXPECT_EQ(learning.run_episode(), 1);
    for (std::uint32_t state = 0; state < 3; ++state) EXPECT_EQ(learning.values().value(state, 0), values[state]);
  }
}

TEST(QLearning, BootstrapsWhereAStepLimitCutsAChainShort) {
  Chain chain(1, 2);
  QLearning learning(chain, equal_scales(3), {.optimizer = ql, .rate = 1, .gamma = 0.5, .initial_value = 1}, 1);
  EXPECT_EQ(learning.run_episode(), 0);
  EXPECT_EQ(learning.values().value(0, 0), 0.5);
  EXPECT_EQ(learning.values().value(1, 0), 0.5);
  EXPECT_EQ(learning.values().value(2, 0), 1) << "never left";
}

// At rate 1 the values of a deterministic environment are exact once every pair was tried often enough.
TEST(QLearning, FindsTheBestActionsOfAnyNumber) {
  for (const std::uint32_t actions : {2U, 3U, 5U}) {
    Chain chain(actions);
    QLearning learning(chain, equal_scales(chain.pairs()), {.optimizer = ql, .gamma = 0.5, .epsilon_to = 1}, 1);
    for (int episode = 0; episode < 100; ++episode) EXPECT_EQ(learning.run_episode(), 1);
    for (std::uint32_t state = 0; state < 3; ++state) {
      EXPECT_EQ(learning.values().best_value(state), std::pow(0.5, 2 - state));
      EXPECT_EQ(learning.values().best_actions(state, 1e-3), Actions{actions - 1});
      EXPECT_EQ(learning.values().value(state, 0), 0.125) << "back to state 0";
    }
  }
}

TEST(QLearning, RefusesAnEnvironmentWithoutActions) {
  Chain nothing(0);
  EXPECT_THROW(QLearning(nothing, {}, {}, 1), InvalidArgument);
}

}  // namespace
}  // namespace ignd
