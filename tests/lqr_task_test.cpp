#include "lab/task.hpp"
#include "support.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <map>
#include <set>
#include <string>

#include <gtest/gtest.h>

namespace ignd::testing {
namespace {

using Changes = std::map<std::string, std::string>;

Settings settings_with(const Changes& changes) {
  Changes values;
  for (const SettingKey& key : lqr_task().keys()) values[key.name] = key.default_value;
  for (const auto& [name, value] : changes) values[name] = value;
  return Settings(values);
}

RunResult run(const Changes& changes, const char* optimizer = "nlms", double rate = 1, std::uint64_t seed = 1) {
  const std::atomic<bool> stop = false;
  return lqr_task().run({"lqr", settings_with(changes), find_optimizer(optimizer), rate, seed}, stop);
}

double extra(const RunResult& result, const std::string& name) {
  return std::ranges::find(result.extras, name, [](const auto& pair) { return pair.first; })->second;
}

std::string fault(const Changes& changes) {
  const auto found = lqr_task().faults(settings_with(changes));
  return found.empty() ? "" : found[0];
}

TEST(LqrTask, ItsKeysAreWellFormed) {
  std::set<std::string> names;
  for (const SettingKey& key : lqr_task().keys()) {
    EXPECT_TRUE(names.insert(key.name).second) << key.name;
    EXPECT_FALSE(key.help.empty()) << key.name;
    if (key.kind != SettingKey::Kind::word) continue;
    EXPECT_EQ(std::ranges::count(key.choices, key.default_value), 1) << key.name;
  }
  EXPECT_EQ(fault({}), "");
}

TEST(LqrTask, RecordsThePolicyErrorFromTheInitialPolicyOn) {
  const RunResult result = run({{"improvements", "6"}});
  EXPECT_EQ(result.status, RunStatus::finished);
  ASSERT_EQ(result.x.size(), 7U);
  ASSERT_EQ(result.y.size(), 7U);
  EXPECT_EQ(result.x.back(), 6);
  EXPECT_NEAR(result.y[0], 1.21039015453, 1e-10);
  EXPECT_EQ(result.score, result.y.back());
  EXPECT_LT(*result.score, 1e-5);
  EXPECT_FALSE(result.validation);
  EXPECT_EQ(extra(result, "improvements"), 6);
  EXPECT_EQ(extra(result, "rejections"), 0);
}

double distance(const MatrixRows& a, const MatrixRows& b) {
  double square = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j < a[i].size(); ++j) square += std::pow(a[i][j] - b[i][j], 2);
  }
  return std::sqrt(square);
}

TEST(LqrTask, KeepsWhatItLearnedAndWhatIsBest) {
  const RunResult result = run({{"improvements", "3"}});
  ASSERT_EQ(result.matrices.size(), 2U);
  const auto& [learned_name, learned] = result.matrices[0];
  const auto& [best_name, best] = result.matrices[1];
  EXPECT_EQ(learned_name, "K");
  EXPECT_EQ(best_name, "best K");
  ASSERT_EQ(learned.size(), 3U);
  ASSERT_EQ(learned[0].size(), 5U);
  EXPECT_NEAR(distance(learned, best), *result.score, 1e-12);
  EXPECT_NEAR(distance(best, MatrixRows(3, std::vector<double>(5))), 1.21039015453, 1e-10);
}

TEST(LqrTask, EndsWhenThePolicyHasConverged) {
  const RunResult result = run({{"improvements", "30"}});
  EXPECT_EQ(result.status, RunStatus::finished);
  EXPECT_LT(result.x.size(), 12U);
  EXPECT_LT(*result.score, 1e-9);
  EXPECT_EQ(run({{"improvements", "12"}, {"tolerance", "0"}}).x.size(), 13U);
  EXPECT_EQ(run({{"improvements", "30"}, {"tolerance", "1"}}).x.size(), 2U);
}

// On HE1 the learned values are often not those of any policy.
TEST(LqrTask, RecordsAcceptedImprovementsAlone) {
  double rejections = 0;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const RunResult result = run({{"system", "he1"}}, "nlms", 1, seed);
    rejections += extra(result, "rejections");
    ASSERT_EQ(static_cast<double>(result.x.size()), extra(result, "improvements") + 1);
    for (std::size_t i = 0; i < result.x.size(); ++i) EXPECT_EQ(result.x[i], static_cast<double>(i));
  }
  EXPECT_GT(rejections, 0);
}

TEST(LqrTask, ThePapersConditionAcceptsMore) {
  const auto accepted = [](const char* condition) {
    double count = 0;
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      count += extra(run({{"system", "he1"}, {"accept", condition}}, "nlms", 1, seed), "improvements");
    }
    return count;
  };
  EXPECT_LT(accepted("whole"), accepted("actions"));
}

// On which semi-gradient steps fail, with the settings that a user gets.
TEST(LqrTask, HeldTargetsSolveWhatSemiGradientsDoNot) {
  for (const char* system : {"ac3", "he1", "he2"}) {
    for (const std::uint64_t seed : {1U, 2U, 3U}) {
      const RunResult held = run({{"system", system}, {"evaluation", "held-targets"}}, "nlms", 1, seed);
      ASSERT_TRUE(held.score) << system;
      EXPECT_LT(*held.score, 1e-5 * held.y[0]) << system;
    }
    EXPECT_EQ(run({{"system", system}}, "nlms", 1, 1).score.value_or(1) < 1e-5, false) << system;
  }
}

TEST(LqrTask, AnInitialPolicyOfOnesOwnIsWhereARunBegins) {
  const Changes reactor{{"system", "rea1"}, {"initial-policy", "own"}, {"k0", "[[0,0,0,0],[2,0,0,0]]"}};
  const RunResult result = run(reactor);
  EXPECT_EQ(result.status, RunStatus::finished);
  EXPECT_LT(*result.score, 1e-8);
  EXPECT_NEAR(result.y[0], distance(result.matrices[1].second, {{0, 0, 0, 0}, {2, 0, 0, 0}}), 1e-12);
}

TEST(LqrTask, ASystemInDiscreteTimeIsNotHeld) {
  const RunResult result = run({{"system", "own"},
                                {"a", "[[1]]"},
                                {"b", "[[1]]"},
                                {"time", "discrete"},
                                {"gamma", "1"},
                                {"initial-policy", "own"},
                                {"k0", "[[-0.5]]"},
                                {"evaluation", "rls-td"}});
  // p = 1 + p - p^2 / (1 + p): the golden ratio.
  const double p = (1 + std::sqrt(5.0)) / 2;
  EXPECT_NEAR(result.matrices[1].second[0][0], -p / (1 + p), 1e-12);
  EXPECT_NEAR(result.matrices[0].second[0][0], -p / (1 + p), 1e-9);
}

TEST(LqrTask, TheWeightsOfARewardAreForEverySystem) {
  const RunResult plain = run({{"updates", "100"}});
  const RunResult dear = run({{"updates", "100"}, {"r", "[[9,0,0],[0,9,0],[0,0,9]]"}});
  EXPECT_LT(dear.y[0], plain.y[0]);  // actions cost more: the best policy is closer to none
  EXPECT_NE(fault({{"q", "[[1]]"}}).find("q is 1 x 1, but must be 5 x 5"), std::string::npos);
}

std::string advice(const Changes& changes) {
  std::string all;
  for (const std::string& sentence : lqr_task().advice(settings_with(changes))) all += sentence + "\n";
  return all;
}

TEST(LqrTask, SaysBeforehandWhatCannotBeLearned) {
  EXPECT_EQ(advice({}), "");
  const std::string reactor = advice({{"system", "rea1"}});
  EXPECT_NE(reactor.find("no finite cost"), std::string::npos) << reactor;
  EXPECT_NE(reactor.find("1.158"), std::string::npos) << reactor;
  EXPECT_NE(reactor.find("gamma below 0.672"), std::string::npos) << reactor;
  EXPECT_EQ(advice({{"system", "rea1"}, {"gamma", "0.6"}}).find("no finite cost"), std::string::npos);

  const std::string helicopter = advice({{"system", "he2"}});
  EXPECT_NE(helicopter.find("initial policy is stable for plain steps (QL) and unstable"), std::string::npos)
      << helicopter;
  EXPECT_NE(helicopter.find("episode-steps = 1"), std::string::npos) << helicopter;
  EXPECT_EQ(advice({{"system", "he2"}, {"episode-steps", "1"}}), "");
  EXPECT_EQ(advice({{"system", "he2"}, {"gamma", "0.8"}}), "");
  for (const char* evaluation : {"held-targets", "rls-td"}) {
    EXPECT_EQ(advice({{"system", "he2"}, {"evaluation", evaluation}}), "");
  }
  EXPECT_NE(advice({{"gamma", "0.97"}}).find("initial policy is unstable"), std::string::npos);
}

TEST(LqrTask, IsAFunctionOfItsConfigurationAndSeed) {
  const Changes changes{{"system", "bdt"},  {"initial-policy", "random"}, {"noise", "0.001"},
                        {"horizon", "500"}, {"updates", "500"},           {"improvements", "3"}};
  EXPECT_EQ(run(changes), run(changes));
  EXPECT_NE(run(changes).y[0], run(changes, "nlms", 1, 2).y[0]);
}

TEST(LqrTask, AnOwnSystemWithTheSameMatricesIsTheSameRun) {
  const Changes own{{"system", "own"},
                    {"a",
                     "[[0,0,1.132,0,-1],[0,-0.0538,-0.1712,0,0.0705],[0,0,0,1,0],[0,0.0485,0,-0.8556,-1.013],"
                     "[0,-0.2909,0,1.0532,-0.6859]]"},
                    {"b", "[[0,0,0],[-0.12,1,0],[0,0,0],[4.419,0,-1.665],[1.575,0,-0.0732]]"},
                    {"updates", "100"}};
  EXPECT_EQ(run(own), run({{"updates", "100"}}));
  Changes weighted = own;
  weighted["r"] = "[[2,0,0],[0,2,0],[0,0,2]]";
  EXPECT_NE(run(weighted).y[0], run(own).y[0]);
}

TEST(LqrTask, ARateThatIsTooLargeHasDiverged) {
  const RunResult result = run({}, "sgd", 0.1);
  EXPECT_EQ(result.status, RunStatus::diverged);
  EXPECT_EQ(result.failed_at, 1U);
  EXPECT_FALSE(result.score);
  EXPECT_EQ(result.y.size(), 1U);
}

TEST(LqrTask, ARunThatNeverImprovesIsNotScoredByItsInitialPolicy) {
  const RunResult result = run({{"improvements", "2"}}, "sgd", 1e-3);
  EXPECT_EQ(result.status, RunStatus::diverged);
  EXPECT_EQ(result.failed_at, 2U);
  EXPECT_FALSE(result.score);
  EXPECT_EQ(extra(result, "rejections"), 2);
  EXPECT_EQ(extra(result, "improvements"), 0);
  EXPECT_EQ(result.y.size(), 1U);
}

TEST(LqrTask, AllSamplingsAndEvaluationsRun) {
  for (const char* sampling : {"episodes", "iid"}) {
    for (const char* evaluation : {"td", "held-targets", "rls-td"}) {
      const RunResult result = run({{"sampling", sampling}, {"evaluation", evaluation}, {"improvements", "20"}});
      ASSERT_TRUE(result.score) << sampling << evaluation;
      EXPECT_LT(*result.score, 1e-9) << sampling << evaluation;
    }
  }
}

TEST(LqrTask, StopsWhenAsked) {
  const std::atomic<bool> stop = true;
  EXPECT_THROW(lqr_task().run({"lqr", settings_with({}), {}, 1, 1}, stop), Stopped);
}

TEST(LqrTask, CostGrowsWithTheWork) {
  const auto cost = [](const Changes& changes) { return lqr_task().cost({"lqr", settings_with(changes), {}, 1, 1}); };
  EXPECT_GT(cost({{"system", "bdt"}}), cost({}));
  EXPECT_GT(cost({{"updates", "10000"}}), cost({}));
  EXPECT_GT(cost({{"evaluation", "rls-td"}}), cost({}));
}

TEST(LqrTask, FindsTheFaultsOfSettingsTogether) {
  EXPECT_NE(fault({{"a", "[[1]]"}}).find("system = \"own\""), std::string::npos);
  EXPECT_NE(fault({{"system", "own"}}).find("needs the matrix a"), std::string::npos);
  const Changes own{{"system", "own"}, {"a", "[[0]]"}, {"b", "[[1]]"}};
  EXPECT_EQ(fault(own), "");
  const auto own_with = [&](const Changes& more) {
    Changes changes = more;
    changes.insert(own.begin(), own.end());
    return fault(changes);
  };
  EXPECT_NE(own_with({{"a", "[[0,1],[2]]"}}).find("different lengths"), std::string::npos);
  EXPECT_NE(own_with({{"b", "[[0],[1]]"}}).find("b is 2 x 1"), std::string::npos);
  EXPECT_NE(own_with({{"q", "[[-1]]"}}).find("q is not positive definite"), std::string::npos);
  EXPECT_NE(own_with({{"a", "[[50]]"}, {"b", "[[0]]"}}).find("no best policy"), std::string::npos);
  EXPECT_NE(own_with({{"a", "[[1e9]]"}}).find("shorter"), std::string::npos);
  EXPECT_NE(fault({{"time", "discrete"}}).find("system = \"own\""), std::string::npos);
  EXPECT_NE(fault({{"k0", "[[1]]"}}).find("initial-policy = \"own\""), std::string::npos);
  EXPECT_NE(fault({{"initial-policy", "own"}}).find("needs the matrix k0"), std::string::npos);
  EXPECT_NE(fault({{"initial-policy", "own"}, {"k0", "[[1]]"}}).find("k0 is 1 x 1, but must be 3 x 5"),
            std::string::npos);
  EXPECT_NE(fault({{"initial-policy", "own"}, {"k0", "[[1,2],[3]]"}}).find("different lengths"), std::string::npos);
  EXPECT_NE(fault({{"exploration-low", "1"}}).find("above exploration-high"), std::string::npos);
}

}  // namespace
}  // namespace ignd::testing
