#include "lab/task.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace ignd {
namespace {

// All settings at what they are if none is given, but for those given.
Settings settings(const std::map<std::string, std::string>& given = {}) {
  std::map<std::string, std::string> values;
  for (const SettingKey& key : frozen_lake_task().keys()) values[key.name] = key.default_value;
  for (const auto& [name, value] : given) values.at(name) = value;
  return Settings(values);
}

RunResult run(const std::map<std::string, std::string>& given, const std::string& optimizer, double rate,
              std::uint64_t seed = 1) {
  const std::atomic<bool> stop = false;
  return frozen_lake_task().run({"frozen-lake", settings(given), find_optimizer(optimizer), rate, seed}, stop);
}

TEST(FrozenLakeTask, LearnsAndKeepsItsBits) {
  const RunResult result = run({}, "ignd", 1);
  EXPECT_EQ(result.status, RunStatus::finished);
  ASSERT_TRUE(result.score);
  EXPECT_GT(*result.score, 0.8);
  EXPECT_EQ(result, run({}, "ignd", 1));
  EXPECT_NE(result, run({}, "ignd", 1, 2));
  EXPECT_EQ(result, run({{"scales", "random"}}, "ignd", 1));
  EXPECT_EQ(result, run({{"scales", "random-per-seed"}}, "ignd", 1));
  EXPECT_EQ(result, run({{"map", "SFFF/FHFH/FFFH/HFFG"}}, "ignd", 1));
  EXPECT_NE(result, run({{"gamma", "0.5"}, {"initial-value", "1"}}, "ignd", 1));
}

// With a window of one episode and a point at each of them the curve is the returns themselves.
TEST(FrozenLakeTask, ScoresTheReturns) {
  const std::map<std::string, std::string> given{{"episodes", "200"}, {"window", "1"}, {"epsilon-to", "0.2"}};
  const RunResult raw = run(given, "ignd", 1);
  ASSERT_EQ(raw.x.size(), 200);
  ASSERT_EQ(raw.y.size(), 200);
  const auto mean = [&](std::size_t from, std::size_t to) {
    double sum = 0;
    for (std::size_t i = from; i < to; ++i) sum += raw.y[i];
    return sum / static_cast<double>(to - from);
  };
  for (std::size_t i = 0; i < 200; ++i) {
    EXPECT_EQ(raw.x[i], i + 1);
    EXPECT_TRUE(raw.y[i] == 0 || raw.y[i] == 1);
  }
  EXPECT_NEAR(*raw.score, mean(180, 200), 1e-12);
  ASSERT_EQ(raw.extras.size(), 1);
  EXPECT_EQ(raw.extras[0].first, "early");
  EXPECT_NEAR(raw.extras[0].second, mean(0, 100), 1e-12);

  auto smooth = given;
  smooth["window"] = "30";
  const RunResult curve = run(smooth, "ignd", 1);
  for (std::size_t i = 0; i < 200; ++i) EXPECT_NEAR(curve.y[i], mean(i < 29 ? 0 : i - 29, i + 1), 1e-12);
}

TEST(FrozenLakeTask, ThinsLongCurvesAndTakesShortOnes) {
  const RunResult result = run({{"episodes", "1000"}}, "ignd", 1);
  EXPECT_EQ(result.x.size(), 250);
  EXPECT_EQ(result.x.front(), 4);
  EXPECT_EQ(result.x.back(), 1000);
  const RunResult odd = run({{"episodes", "1001"}}, "ignd", 1);
  EXPECT_LE(odd.x.size(), 300);
  EXPECT_EQ(odd.x.back(), 1001);
  const RunResult one = run({{"episodes", "1"}}, "ignd", 1);
  EXPECT_EQ(one.x, std::vector<double>{1});
  EXPECT_TRUE(one.score);
}

TEST(FrozenLakeTask, CountsADivergedRunAsZeroFromThereOn) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const RunResult result = run({{"scales", "random"}, {"window", "1"}}, "sgd", 1, seed);
    EXPECT_EQ(result.status, RunStatus::diverged);
    EXPECT_GE(result.failed_at, 1);
    EXPECT_LT(result.failed_at, 600);
    EXPECT_EQ(result.score, 0.0);
    EXPECT_LT(result.extras[0].second, 0.1);
    for (std::size_t i = 0; i < result.x.size(); ++i) {
      if (result.x[i] >= static_cast<double>(result.failed_at)) {
        EXPECT_EQ(result.y[i], 0);
      }
    }
  }
}

// The tiny rate's story, in the small: it makes up for the scales from zero, and not from an optimistic start.
TEST(FrozenLakeTask, ShowsWhereATinyRateHelps) {
  const auto mean_score = [](std::map<std::string, std::string> given, const std::string& optimizer, double rate) {
    given["scales"] = "random-per-seed";
    double sum = 0;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) sum += *run(given, optimizer, rate, seed).score;
    return sum / 20;
  };
  EXPECT_NEAR(mean_score({}, "sgd", 1e-8), mean_score({}, "ignd", 1), 0.05);
  const std::map<std::string, std::string> optimistic{{"initial-value", "1"}};
  EXPECT_LT(mean_score(optimistic, "sgd", 1e-8), mean_score(optimistic, "ignd", 1) - 0.1);
}

TEST(FrozenLakeTask, StopsWhenAsked) {
  const std::atomic<bool> stop = true;
  EXPECT_THROW(frozen_lake_task().run({"frozen-lake", settings(), find_optimizer("ignd"), 1, 1}, stop), Stopped);
}

TEST(FrozenLakeTask, SaysWhatIsWrong) {
  const Task& task = frozen_lake_task();
  EXPECT_EQ(task.name(), "frozen-lake");
  EXPECT_TRUE(task.faults(settings()).empty());
  EXPECT_TRUE(task.faults(settings({{"map", "8x8"}, {"slippery", "true"}})).empty());
  EXPECT_EQ(task.faults(settings({{"map", "SHG"}})).size(), 1);
  EXPECT_EQ(task.faults(settings({{"map", ""}})).size(), 1);
}

TEST(FrozenLakeTask, HasUsableDefaultsAndCosts) {
  for (const SettingKey& key : frozen_lake_task().keys()) {
    EXPECT_FALSE(key.help.empty()) << key.name;
    EXPECT_FALSE(key.default_value.empty()) << key.name;
    if (key.kind != SettingKey::Kind::number && key.kind != SettingKey::Kind::count) continue;
    EXPECT_GE(std::stod(key.default_value), key.low) << key.name;
    EXPECT_LE(std::stod(key.default_value), key.high) << key.name;
  }
  const auto cost = [](const std::map<std::string, std::string>& given) {
    return frozen_lake_task().cost({"frozen-lake", settings(given), {}, 1, 1});
  };
  EXPECT_GT(cost({}), 0);
  EXPECT_GT(cost({{"episodes", "6000"}}), cost({}));
  EXPECT_GT(cost({{"map", "8x8"}}), cost({}));
}

}  // namespace
}  // namespace ignd
