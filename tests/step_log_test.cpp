#include "learn/step_log.hpp"

#include "ignd/checkpoint.hpp"
#include "ignd/error.hpp"
#include "ignd/random.hpp"
#include "learn/recorded_run.hpp"
#include "learn/run.hpp"
#include "learn/table_dataset.hpp"
#include "run_tool.hpp"
#include "scratch_folder.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

// What the steps of a run were like, against the steps themselves.
namespace ignd {
namespace {

const std::atomic<bool> never = false;

const TableDataset& dataset() {
  static const Table table = [] {
    RandomStream stream(1, "table");
    std::vector<double> rows;
    for (int i = 0; i < 300; ++i) {
      const double a = stream.normal(), b = stream.normal();
      rows.insert(rows.end(), {a, b, a + std::abs(b) + 0.1 * stream.normal()});
    }
    return Table::of_numbers({"a", "b", "y"}, rows);
  }();
  static const TableDataset made(table, {.target = "y"});
  return made;
}

TrainingOptions options_with(const std::string& optimizer, double l2 = 0) {
  return {.model = "mlp:6,5", .optimizer = find_optimizer(optimizer), .rate = 0.01, .epochs = 3, .l2 = l2};
}

class Collector final : public StepObserver {
 public:
  void step(const StepInfo& info, double length) override {
    infos.push_back(info);
    lengths.push_back(length);
  }
  std::vector<StepInfo> infos;
  std::vector<double> lengths;
};

void finish(ignd::Run& run) {
  while (run.status() == RunStatus::running) run.learn_epoch(never, [] {});
}

std::string saved(const ignd::Run& run, const std::filesystem::path& path) {
  Checkpoint checkpoint;
  run.save(checkpoint);
  checkpoint.write(path);
  return testing::content_of(path);
}

TEST(StepLog, QuantilesLieBetweenTheValuesInOrder) {
  std::vector<double> values{3, 1, 2, 4, 5};
  EXPECT_EQ(quantile(values, 0), 1);
  EXPECT_EQ(quantile(values, 0.5), 3);
  EXPECT_EQ(quantile(values, 1), 5);
  EXPECT_NEAR(quantile(values, 0.05), 1.2, 1e-15);
  std::vector<double> one{7}, none;
  EXPECT_EQ(quantile(one, 0.95), 7);
  EXPECT_TRUE(std::isnan(quantile(none, 0.5)));
}

TEST(StepLog, WatchingChangesNoBitOfARun) {
  const testing::ScratchFolder scratch;
  for (const char* optimizer : {"ignd", "adam", "relative-ignd", "adam-ignd"}) {
    ignd::Run watched(dataset(), options_with(optimizer)), alone(dataset(), options_with(optimizer));
    Collector collector;
    watched.watch_steps(collector);
    finish(watched);
    finish(alone);
    EXPECT_EQ(saved(watched, scratch / "a"), saved(alone, scratch / "b")) << optimizer;
    EXPECT_EQ(collector.infos.size(), 720U);
    for (std::size_t k = 0; k < collector.infos.size(); ++k) EXPECT_EQ(collector.infos[k].step, k + 1);
  }
}

// A plain step without l2 is alpha c j.
TEST(StepLog, TheLengthOfAPlainStepIsThatOfItsFormula) {
  for (const char* optimizer : {"sgd", "ignd", "sps", "ngd"}) {
    ignd::Run run(dataset(), options_with(optimizer));
    Collector collector;
    run.watch_steps(collector);
    finish(run);
    for (std::size_t k = 0; k < collector.infos.size(); ++k) {
      const StepInfo& info = collector.infos[k];
      const double stated = info.rate * std::abs(info.coefficient) * std::sqrt(info.sensitivity);
      // Some 80 weights of about 1 in single precision.
      EXPECT_NEAR(collector.lengths[k], stated, 1e-6 + 1e-4 * stated) << optimizer << " " << k;
    }
  }
}

// Adam and l2 move all weights, too: the length is that of the way between the weights of two looks.
TEST(StepLog, TheLengthOfAnyStepIsThatOfTheWay) {
  for (const double l2 : {0.0, 0.01}) {
    ignd::Run run(dataset(), options_with(l2 == 0 ? "adam" : "ignd", l2));
    Collector collector;
    run.watch_steps(collector);
    for (std::uint64_t most = 1; most <= 100; ++most) {
      const auto before = run.last();
      run.learn_epoch(
          never, [] {}, most);
      const auto after = run.last();
      double square = 0;
      for (std::size_t k = 0; k < before->parameters().size(); ++k) {
        square += std::pow(static_cast<double>(after->parameters()[k]) - before->parameters()[k], 2);
      }
      ASSERT_EQ(collector.lengths.size(), most);
      EXPECT_NEAR(collector.lengths.back(), std::sqrt(square), 1e-12);
    }
  }
}

StepInfo made_up_step(RandomStream& stream) {
  StepInfo info;
  info.loss.d1 = stream.below(10) == 0 ? 0 : stream.normal();
  info.coefficient = 2 * info.loss.d1;
  info.sensitivity = std::exp(stream.normal());
  info.h = stream.normal();
  return info;
}

TEST(StepLog, EachRowHasTheQuantilesOfItsSteps) {
  RandomStream stream(1, "steps");
  constexpr std::size_t steps = 1010;  // 168 intervals of 6, and a rest of 2
  StepLog log(steps);
  std::vector<double> s, lengths;
  for (std::size_t k = 0; k < steps; ++k) {
    const StepInfo info = made_up_step(stream);
    s.push_back(info.sensitivity);
    lengths.push_back(std::exp(stream.normal()));
    log.step(info, lengths.back());
  }
  log.finish();
  log.finish();
  ASSERT_EQ(log.rows().size(), 169U);
  for (std::size_t r = 0; r < log.rows().size(); ++r) {
    const StepLog::Row& row = log.rows()[r];
    const std::size_t end = std::min(6 * (r + 1), steps);
    EXPECT_EQ(row.steps, end);
    std::vector<double> of_s(s.begin() + static_cast<std::ptrdiff_t>(6 * r),
                             s.begin() + static_cast<std::ptrdiff_t>(end));
    for (std::size_t k = 0; k < StepLog::levels.size(); ++k) {
      EXPECT_EQ(row.at[1][k], quantile(of_s, StepLog::levels[k]));
      if (!std::isnan(row.at[0][k])) {
        EXPECT_EQ(row.at[0][k], 2) << "xi, without the steps that have none";
      }
      EXPECT_GE(row.at[2][k], 0) << "the size of h";
    }
  }
  EXPECT_EQ(StepLog::rows_of(log.numbers()).size(), 169U);
  EXPECT_EQ(StepLog::rows_of(log.numbers())[168].steps, steps);
  EXPECT_EQ(StepLog::rows_of(log.numbers())[7].at, log.rows()[7].at);
  const std::string csv = log.csv();
  EXPECT_TRUE(csv.starts_with("steps,xi_5,xi_25,xi_50,xi_75,xi_95,s_5,"));
  EXPECT_EQ(std::ranges::count(csv, '\n'), 170);
}

TEST(StepLog, ASavedLogContinuesWithTheSameRows) {
  RandomStream stream(2, "steps");
  StepLog whole(1000), first(1000), second(1000);
  for (int k = 0; k < 1000; ++k) {
    const StepInfo info = made_up_step(stream);
    whole.step(info, 1);
    if (k == 333) {
      Checkpoint checkpoint;
      first.save(checkpoint);
      second.restore(checkpoint);
    }
    (k < 333 ? first : second).step(info, 1);
  }
  EXPECT_EQ(second.csv(), whole.csv());
}

TEST(StepLog, RecordedRunsHaveTheirStepsAndTheSameScores) {
  const RecordOptions plain, with_steps{.steps = true};
  const RunResult without = record_run(dataset(), options_with("ignd"), plain, never);
  RunResult with = record_run(dataset(), options_with("ignd"), with_steps, never);
  EXPECT_TRUE(without.steps.empty());
  const auto rows = StepLog::rows_of(with.steps);
  ASSERT_EQ(rows.size(), 180U) << "720 steps, four in an interval";
  EXPECT_EQ(rows.back().steps, 720U);
  with.steps.clear();
  EXPECT_EQ(with, without);
}

TEST(StepLog, BatchesAreRefused) {
  TrainingOptions batches = options_with("ignd");
  batches.batch = BatchOptions{.size = 4};
  ignd::Run run(dataset(), batches);
  Collector collector;
  EXPECT_THROW(run.watch_steps(collector), InvalidArgument);
}

}  // namespace
}  // namespace ignd
