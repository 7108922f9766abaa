#include "lab/task.hpp"
#include "support.hpp"

#include <algorithm>
#include <atomic>
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
  ASSERT_EQ(result.extras.size(), 1U);
  EXPECT_EQ(result.extras[0].first, "rejections");
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
  EXPECT_EQ(result.extras[0].second, 2);
  ASSERT_EQ(result.y.size(), 3U);
  EXPECT_EQ(result.y[0], result.y[2]);
}

TEST(LqrTask, BothSamplingsAndBothEvaluationsRun) {
  for (const char* sampling : {"episodes", "iid"}) {
    for (const char* evaluation : {"td", "rls-td"}) {
      const RunResult result = run({{"sampling", sampling}, {"evaluation", evaluation}});
      ASSERT_TRUE(result.score) << sampling << evaluation;
      EXPECT_LT(*result.score, 1e-10) << sampling << evaluation;
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
  EXPECT_NE(fault({{"exploration-low", "1"}}).find("above exploration-high"), std::string::npos);
}

}  // namespace
}  // namespace ignd::testing
