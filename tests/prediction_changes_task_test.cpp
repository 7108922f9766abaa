#include "base/stopped.hpp"
#include "lab/task.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <map>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

// The study of the paper's table 1.
namespace ignd {
namespace {

Settings settings_with(const std::map<std::string, std::string>& changes) {
  std::map<std::string, std::string> values;
  for (const SettingKey& key : prediction_changes_task().keys()) values[key.name] = key.default_value;
  for (const auto& [name, value] : changes) values[name] = value;
  return Settings(values);
}

RunResult run_of(const std::string& optimizer, const std::map<std::string, std::string>& changes, double rate = 1,
                 std::uint64_t seed = 1) {
  const std::atomic<bool> never = false;
  return prediction_changes_task().run(
      {"prediction-changes", settings_with(changes), find_optimizer(optimizer), rate, seed}, never);
}

double extra(const RunResult& result, const std::string& name) {
  return std::ranges::find(result.extras, name, [](const auto& pair) { return pair.first; })->second;
}

// Rounding of h, which is a sum over the parameters of a network, beside the formula.
constexpr double rounding = 1e-9;

TEST(PredictionChanges, AreThoseOfTheFormulas) {
  for (const auto& [optimizer, formula] : {std::pair("sgd", "gradient"),
                                           {"ngd", "normalized"},
                                           {"sps", "polyak"},
                                           {"nlms", "undamped"},
                                           {"ignd", "damped"},
                                           {"relative-ignd", "relative"}}) {
    for (const char* loss : {"squared", "logistic"}) {
      for (const char* features : {"one-hot", "network"}) {
        for (const double rate : {1.0, 0.3}) {
          const RunResult result =
              run_of(optimizer, {{"formula", formula}, {"loss", loss}, {"features", features}}, rate);
          EXPECT_EQ(result.status, RunStatus::finished);
          EXPECT_LT(extra(result, "difference"), rounding) << optimizer << " " << loss << " " << features;
        }
      }
    }
  }
  EXPECT_LT(extra(run_of("nlms", {{"formula", "nlms"}}), "difference"), rounding);
}

TEST(PredictionChanges, AnotherFormulaIsFoundOut) {
  EXPECT_GT(extra(run_of("ignd", {{"formula", "gradient"}}), "difference"), 0.9);
  EXPECT_GT(extra(run_of("ignd", {{"formula", "undamped"}}), "difference"), 0.9) << "where phi is small";
  EXPECT_GT(extra(run_of("ngd", {{"formula", "polyak"}}), "difference"), 0.9);
}

// With one-hot features s is phi^2.
TEST(PredictionChanges, GrowWithTheScaleOrDoNot) {
  const auto growth = [](const char* optimizer) {
    const RunResult result = run_of(optimizer, {});
    EXPECT_EQ(result.x.size(), 13U);
    EXPECT_EQ(result.x.front(), -3);
    EXPECT_EQ(result.x.back(), 3);
    EXPECT_EQ(result.score, result.y[6]);
    return extra(result, "large") / extra(result, "small");
  };
  EXPECT_NEAR(growth("sgd") / 1e12, 1, 1e-9);
  EXPECT_NEAR(growth("ngd") / 1e6, 1, 1e-3) << "its eps is seen where phi is small";
  EXPECT_NEAR(growth("sps"), 1, 1e-9);
  EXPECT_NEAR(growth("nlms"), 1, 1e-9);
  EXPECT_NEAR(growth("relative-ignd"), 1, 1e-9);
  // eps_LM = 1e-5 beside s = 1e-6.
  EXPECT_NEAR(growth("ignd"), (1e-6 + 1e-5) / 1e-6, 1e-3);
}

TEST(PredictionChanges, ArePureFunctionsOfTheirSeed) {
  EXPECT_EQ(run_of("ignd", {}), run_of("ignd", {}));
  EXPECT_NE(run_of("ignd", {}), run_of("ignd", {}, 1, 2));
}

TEST(PredictionChanges, StopAndRefuse) {
  const std::atomic<bool> stop = true;
  EXPECT_THROW(
      prediction_changes_task().run({"prediction-changes", settings_with({}), find_optimizer("ignd"), 1, 1}, stop),
      Stopped);
  EXPECT_TRUE(prediction_changes_task().faults(settings_with({})).empty());
  EXPECT_EQ(prediction_changes_task().faults(settings_with({{"loss", "sqared"}})).size(), 1U);
}

}  // namespace
}  // namespace ignd
