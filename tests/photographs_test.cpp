#include "environment.hpp"
#include "ignd/checkpoint.hpp"
#include "ignd/error.hpp"
#include "lab/task.hpp"
#include "scratch_folder.hpp"
#include "support.hpp"

#include <atomic>
#include <cmath>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace ignd::testing {
namespace {

Settings settings_with(const std::map<std::string, std::string>& changes) {
  std::map<std::string, std::string> values;
  for (const SettingKey& key : training_task().keys()) values[key.name] = key.default_value;
  for (const auto& [name, value] : changes) values[name] = value;
  return Settings(values);
}

// A few photographs, very small.
Settings small_settings() {
  return settings_with({{"data", "cats-vs-dogs-3000"},
                        {"model", "cnn:4,6/8"},
                        {"size", "16"},
                        {"training-samples", "240"},
                        {"validation-samples", "60"},
                        {"test-samples", "50"},
                        {"epochs", "2"},
                        {"points", "3"},
                        {"last", "true"},
                        {"schedule", "constant"},
                        {"score", "accuracy"}});
}

RunConfig config_with(const Settings& settings, double rate = 1e-3, std::uint64_t seed = 4) {
  return {"training", settings, find_optimizer("adam-ignd"), rate, seed};
}

TEST(TrainingTask, DefaultsAreThePapersNetworks) {
  EXPECT_TRUE(training_task().faults(settings_with({{"data", "imdb"}})).empty());
  EXPECT_TRUE(training_task().faults(settings_with({{"data", "cats-vs-dogs"}})).empty());
  EXPECT_TRUE(training_task().resumes());
  EXPECT_TRUE(training_task().measures_cost(settings_with({{"data", "imdb"}})));
  EXPECT_FALSE(training_task().measures_cost(settings_with({{"data", "diamonds"}})));
}

TEST(TrainingTask, NetworksThatDoNotFitAreFaults) {
  for (const auto& [data, model] : std::map<std::string, std::string>{
           {"imdb", "cnn:3/4"}, {"cats-vs-dogs", "lstm:4x4"}, {"cats-vs-dogs-3000", "network:dense 1"}}) {
    EXPECT_EQ(training_task().faults(settings_with({{"data", data}, {"model", model}})).size(), 1U) << model;
  }
  EXPECT_EQ(training_task().faults(settings_with({{"data", "cats-vs-dogs"}, {"size", "4"}})).size(), 1U)
      << "three poolings leave nothing of four pixels";
}

TEST(TrainingTask, CostGrowsWithTheWork) {
  if (!has_convolutions) GTEST_SKIP() << no_convolutions;
  Settings more =
      settings_with({{"data", "cats-vs-dogs-3000"}, {"model", "cnn:4/4"}, {"size", "16"}, {"epochs", "20"}});
  Settings less = settings_with({{"data", "cats-vs-dogs-3000"}, {"model", "cnn:4/4"}, {"size", "16"}, {"epochs", "2"}});
  EXPECT_GT(training_task().cost(config_with(less)), 0);
  EXPECT_GT(training_task().cost(config_with(more)), 5 * training_task().cost(config_with(less)));
}

// Sets a flag as soon as a run has come so far.
class StopsAt final : public RunObserver {
 public:
  StopsAt(RunObserver& inner, double share, std::atomic<bool>& stop) : inner_(inner), share_(share), stop_(stop) {}
  void begin(RunView& run) override { inner_.begin(run); }
  std::uint64_t next_look(const RunView& run) override { return inner_.next_look(run); }
  void look(RunView& run, const std::optional<EpochReport>& epoch) override { inner_.look(run, epoch); }
  void progress(const RunView& run) override {
    inner_.progress(run);
    if (static_cast<double>(run.learned()) >= share_ * static_cast<double>(run.to_learn())) stop_ = true;
  }
  void end(RunView& run) override { inner_.end(run); }

 private:
  RunObserver& inner_;
  double share_;
  std::atomic<bool>& stop_;
};

// The CPU, with runs that are stopped on their way.
class InterruptedEngine final : public Engine {
 public:
  InterruptedEngine(double share, std::atomic<bool>& stop) : share_(share), stop_(stop) {}
  std::string name() const override { return "interrupted"; }
  std::string refusal(const Dataset& /*dataset*/, const TrainingOptions& /*options*/) const override { return ""; }
  std::size_t group_size() const override { return 1; }
  void train(std::span<const RunSlot> group, const Dataset& dataset, const std::atomic<bool>& stop) const override {
    StopsAt observer(*group[0].observer, share_, stop_);
    const RunSlot slot{group[0].options, &observer};
    cpu_engine().train({&slot, 1}, dataset, stop);
  }

 private:
  double share_;
  std::atomic<bool>& stop_;
};

// Nothing if the run was stopped.
std::optional<RunResult> run_until(double share, const RunConfig& config, const std::filesystem::path& unfinished) {
  std::atomic<bool> stop = false;
  const RunControl control(stop, unfinished, nullptr);
  const TaskRun run{&config, &control};
  std::optional<RunResult> made;
  try {
    training_task().run_group({&run, 1}, InterruptedEngine(share, stop),
                              [&](std::size_t, RunResult result) { made = std::move(result); });
  } catch (const Stopped&) {
  }
  return made;
}

class Photographs : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!has_convolutions) GTEST_SKIP() << no_convolutions;
    const std::string lacking = training_task().missing(small_settings()).fault;
    if (!lacking.empty()) GTEST_SKIP() << lacking;
  }

  ScratchFolder folder_;
  Variable cache_{"XDG_CACHE_HOME", (folder_ / "cache").string()};
};

TEST_F(Photographs, ARunHasACurveAndScores) {
  const std::atomic<bool> never = false;
  const RunResult result = training_task().run(config_with(small_settings()), never);
  EXPECT_EQ(result.status, RunStatus::finished);
  ASSERT_EQ(result.x.size(), 7U);
  for (std::size_t k = 0; k < 7; ++k) EXPECT_NEAR(result.x[k], static_cast<double>(k) / 3, 1e-9);
  EXPECT_EQ(result.validation_y.size(), 7U);
  EXPECT_EQ(result.validation_y.back(), result.validation);
  EXPECT_EQ(result.y.back(), result.score) << "the curve that stands beside the table is that of the test samples";
  EXPECT_TRUE(result.score && *result.score >= 0 && *result.score <= 1);
  for (const double accuracy : result.y) EXPECT_NEAR(accuracy * 50, std::round(accuracy * 50), 1e-9) << "of 50";
  for (const double accuracy : result.validation_y) EXPECT_NEAR(accuracy * 60, std::round(accuracy * 60), 1e-9);
  EXPECT_EQ(result, training_task().run(config_with(small_settings()), never)) << "a run is a pure function";
}

// Until the end no more test samples than validation samples, which keeps large test sets cheap.
TEST_F(Photographs, OfALargeTestSetTheCurveSeesAPartUntilTheEnd) {
  const std::atomic<bool> never = false;
  auto values = small_settings().values();
  values["validation-samples"] = "20";
  const RunResult result = training_task().run(config_with(Settings(values)), never);
  ASSERT_EQ(result.y.size(), 7U);
  for (std::size_t k = 0; k < 6; ++k) EXPECT_NEAR(result.y[k] * 20, std::round(result.y[k] * 20), 1e-9);
  EXPECT_EQ(result.y.back(), result.score);
  EXPECT_NEAR(*result.score * 50, std::round(*result.score * 50), 1e-9) << "all 50";
}

TEST_F(Photographs, MeasuredOnTheValidationSamplesThereIsOneCurve) {
  const std::atomic<bool> never = false;
  auto values = small_settings().values();
  values["measured-on"] = "validation";
  const RunResult result = training_task().run(config_with(Settings(values)), never);
  EXPECT_EQ(result.y.size(), 7U);
  EXPECT_TRUE(result.validation_y.empty());
  EXPECT_EQ(result.y.back(), result.validation);
  EXPECT_EQ(result.score, result.validation);
}

// The versions before kept one curve, that of the validation samples.
TEST_F(Photographs, AnUnfinishedRunOfAnEarlierVersionIsRefused) {
  const std::filesystem::path file = folder_ / "unfinished.ignd";
  const std::vector<double> curve{0.5};
  Checkpoint before;
  before.set("curve.points", std::uint64_t{1});
  before.set("curve.x", std::span<const double>(curve));
  before.set("curve.y", std::span<const double>(curve));
  before.write(file);
  const std::atomic<bool> never = false;
  try {
    training_task().run(config_with(small_settings()), RunControl(never, file, nullptr));
    FAIL() << "it was taken for a run with a test curve";
  } catch (const FileError& fault) {
    EXPECT_NE(std::string(fault.what()).find("remove the file to begin it anew"), std::string::npos) << fault.what();
  }
}

TEST_F(Photographs, ARunThatIsStoppedAgainAndAgainEndsTheSame) {
  const std::atomic<bool> never = false;
  const RunConfig config = config_with(small_settings());
  const RunResult whole = training_task().run(config, never);
  const std::filesystem::path file = folder_ / "unfinished.ignd";
  int stops = 0;
  for (;;) {
    // Stopped a little further each time.
    const auto resumed = run_until(0.07 * ++stops, config, file);
    if (resumed) {
      EXPECT_EQ(*resumed, whole) << "after " << stops << " stops";
      break;
    }
    ASSERT_TRUE(std::filesystem::exists(file));
    ASSERT_LT(stops, 100);
  }
  EXPECT_GT(stops, 3);
}

TEST_F(Photographs, AFileOfAnotherRunIsRefused) {
  const std::filesystem::path file = folder_ / "unfinished.ignd";
  EXPECT_FALSE(run_until(0, config_with(small_settings()), file));
  const std::atomic<bool> never = false;
  EXPECT_THROW(training_task().run(config_with(small_settings(), 1e-3, 5), RunControl(never, file, nullptr)),
               FileError);
}

TEST_F(Photographs, ARateThatIsFarTooLargeDiverges) {
  const std::atomic<bool> never = false;
  RunConfig config = config_with(small_settings(), 1e9);
  config.optimizer = find_optimizer("sgd");
  const RunResult result = training_task().run(config, never);
  EXPECT_EQ(result.status, RunStatus::diverged);
  EXPECT_GT(result.failed_at, 0U);
  EXPECT_FALSE(result.score.has_value());
}

}  // namespace
}  // namespace ignd::testing
