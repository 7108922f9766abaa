#include "sweep/sweep.hpp"

#include "ignd/error.hpp"
#include "scratch_folder.hpp"
#include "sweep/plan.hpp"
#include "sweep/store.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace ignd {
namespace {

using testing::ScratchFolder;

const std::atomic<bool> never = false;

Experiment experiment_of() {
  return parse_experiment(R"(
title = "t"
question = "q"
task = "frozen-lake"
seeds = 3
x-label = "episode"
metric = { label = "return", better = "higher" }
[settings]
episodes = 40
[search]
rates = [1e-8, 0.5, 1]
choose-by = "tuning-seeds"
tuning-seeds = 2
[[panel]]
name = "p"
title = "P"
[[panel.method]]
name = "given"
optimizer = "ignd"
rate = 1
[[panel.method]]
name = "searched"
optimizer = "sgd"
)",
                          "test", {});
}

// A store that holds made-up results for a search.
void fake_search(Store& store, const Experiment& experiment, const std::vector<std::vector<double>>& scores,
                 RunStatus last = RunStatus::finished) {
  const Method& method = experiment.panels[0].methods[1];
  for (std::size_t r = 0; r < scores.size(); ++r) {
    const auto runs = search_runs(experiment, method, experiment.search.rates[r]);
    for (std::size_t k = 0; k < scores[r].size(); ++k) {
      RunResult result;
      const bool is_last = r + 1 == scores.size() && k + 1 == scores[r].size();
      result.status = is_last ? last : RunStatus::finished;
      result.score = scores[r][k];
      if (experiment.search.by_validation) {
        result.validation = scores[r][k];
        result.score = 1 - scores[r][k];  // what is reported says the opposite, and must not be asked
      }
      store.add(runs[k], {result, 0.5, "1", "h"});
    }
  }
}

const MethodResults& searched(const ExperimentResults& results) { return results.panels.at(0).methods.at(1); }

TEST(Sweep, MakesTheSameResultsWithAnyNumberOfJobs) {
  const Experiment experiment = experiment_of();
  std::vector<std::vector<RunResult>> made;
  for (const unsigned jobs : {1U, 2U, 7U}) {
    const ScratchFolder scratch;
    Store store(scratch / "r", Store::Access::write);
    const auto runs = runs_so_far(experiment, store);
    std::uint64_t calls = 0;
    make_runs(runs, store, jobs, never, [&](const SweepProgress& now) { calls = now.done; });
    EXPECT_EQ(calls, runs.size());
    made.emplace_back();
    for (const RunConfig& config : runs) made.back().push_back(store.find(config)->result);
  }
  EXPECT_EQ(made[0], made[1]);
  EXPECT_EQ(made[0], made[2]);
}

TEST(Sweep, TheLongestRunsComeFirstAndEqualOnesBySeed) {
  const ScratchFolder scratch;
  const Experiment experiment = experiment_of();
  Store store(scratch / "r", Store::Access::write);
  const auto runs = runs_so_far(experiment, store);
  std::vector<const RunConfig*> order;
  make_runs(runs, store, 1, never, [&](const SweepProgress&) {
    for (const RunConfig& config : runs) {
      if (store.contains(config) && std::ranges::find(order, &config) == order.end()) order.push_back(&config);
    }
  });
  ASSERT_EQ(order.size(), runs.size());
  const auto place = [](const RunConfig* config) {
    return std::pair(-find_task(config->task).cost(*config), config->seed);
  };
  EXPECT_TRUE(std::ranges::is_sorted(order, {}, place));
  EXPECT_FALSE(std::ranges::is_sorted(runs, {}, [&](const RunConfig& config) { return place(&config); }));
}

TEST(Sweep, MakesOnlyWhatIsMissing) {
  const ScratchFolder scratch;
  const Experiment experiment = experiment_of();
  Store store(scratch / "r", Store::Access::write);
  auto runs = runs_so_far(experiment, store);
  const auto made = [&](const std::vector<RunConfig>& wanted) {
    std::uint64_t count = 0;
    make_runs(wanted, store, 2, never, [&](const SweepProgress& now) { count = now.done; });
    return count;
  };
  const std::vector<RunConfig> some(runs.begin(), runs.begin() + 4);
  EXPECT_EQ(made(some), 4U);
  EXPECT_EQ(made(runs), runs.size() - 4);
  EXPECT_EQ(made(runs), 0U);
}

TEST(Sweep, StopsInGoodOrder) {
  const ScratchFolder scratch;
  Experiment experiment = experiment_of();
  experiment.seeds = 500;
  Store store(scratch / "r", Store::Access::write);
  const auto runs = runs_so_far(experiment, store);
  std::atomic<bool> stop = false;
  std::uint64_t done = 0;
  make_runs(runs, store, 2, stop, [&](const SweepProgress& now) {
    done = now.done;
    if (done == 3) stop = true;
  });
  EXPECT_GE(done, 3U);
  EXPECT_LT(done, runs.size());
  std::uint64_t stored = 0;
  for (const RunConfig& config : runs) stored += store.contains(config) ? 1 : 0;
  EXPECT_EQ(stored, done);

  std::atomic<bool> already = true;
  make_runs(runs, store, 2, already, [&](const SweepProgress& now) { EXPECT_EQ(now.done, 0U); });
}

TEST(Sweep, PassesOnWhatARunThrowsAndKeepsTheOthers) {
  const ScratchFolder scratch;
  const Experiment experiment = experiment_of();
  Store store(scratch / "r", Store::Access::write);
  auto runs = runs_so_far(experiment, store);
  runs.resize(3);
  runs[1].optimizer.rule = "no such rule";
  EXPECT_THROW(make_runs(runs, store, 1, never, [](const SweepProgress&) {}), InvalidArgument);
  EXPECT_TRUE(store.contains(runs[0]));
  EXPECT_FALSE(store.contains(runs[1]));
}

TEST(Plan, TheSearchComesBeforeTheRunsAtItsRate) {
  const ScratchFolder scratch;
  const Experiment experiment = experiment_of();
  Store store(scratch / "r", Store::Access::write);
  EXPECT_EQ(runs_so_far(experiment, store).size(), 3U + 6U);
  EXPECT_FALSE(searched(collect_results(experiment, store)).rate);
  fake_search(store, experiment, {{0.1, 0.2}, {0.5, 0.6}, {0.3, 0.9}});
  EXPECT_EQ(runs_so_far(experiment, store).size(), 3U + 6U + 3U);
  const auto results = collect_results(experiment, store);
  EXPECT_EQ(results.planned, 12U);
  EXPECT_EQ(results.done, 6U);
  EXPECT_EQ(results.run_seconds, 3);
  EXPECT_EQ(searched(results).planned, 3U);
  EXPECT_TRUE(searched(results).runs.empty());
}

TEST(Plan, ChoosesTheBestMean) {
  const ScratchFolder scratch;
  const Experiment experiment = experiment_of();
  Store store(scratch / "r", Store::Access::write);
  fake_search(store, experiment, {{0.1, 0.2}, {0.5, 0.6}, {0.3, 0.7}});
  const auto results = collect_results(experiment, store);
  EXPECT_EQ(searched(results).rate, 0.5);
  EXPECT_FALSE(searched(results).at_edge);
  ASSERT_EQ(searched(results).search.size(), 3U);
  EXPECT_DOUBLE_EQ(searched(results).search[1].mean.value(), 0.55);
  EXPECT_TRUE(results.warnings.empty());
}

TEST(Plan, WarnsOfAChoiceAtTheEdge) {
  const ScratchFolder scratch;
  const Experiment experiment = experiment_of();
  Store store(scratch / "r", Store::Access::write);
  fake_search(store, experiment, {{0.1, 0.2}, {0.5, 0.6}, {0.8, 0.7}});
  const auto results = collect_results(experiment, store);
  EXPECT_EQ(searched(results).rate, 1);
  EXPECT_TRUE(searched(results).at_edge);
  ASSERT_EQ(results.warnings.size(), 1U);
  EXPECT_NE(results.warnings[0].find("at the edge"), std::string::npos);
}

TEST(Plan, ARateWithAFailedRunLoses) {
  const ScratchFolder scratch;
  const Experiment experiment = experiment_of();
  Store store(scratch / "r", Store::Access::write);
  fake_search(store, experiment, {{0.1, 0.2}, {0.5, 0.6}, {0.9, 0.9}}, RunStatus::collapsed);
  const auto results = collect_results(experiment, store);
  EXPECT_EQ(searched(results).rate, 0.5);
  EXPECT_EQ(searched(results).search[2].failed, 1U);
  EXPECT_FALSE(searched(results).search[2].mean);
}

TEST(Plan, NoRateIsChosenWhereNoneFinished) {
  const ScratchFolder scratch;
  const Experiment experiment = experiment_of();
  Store store(scratch / "r", Store::Access::write);
  const Method& method = experiment.panels[0].methods[1];
  for (const double rate : experiment.search.rates) {
    for (const RunConfig& config : search_runs(experiment, method, rate)) {
      RunResult failed;
      failed.status = RunStatus::diverged;
      store.add(config, {failed, 0, "1", "h"});
    }
  }
  const auto results = collect_results(experiment, store);
  EXPECT_FALSE(searched(results).rate);
  ASSERT_EQ(results.warnings.size(), 1U);
  EXPECT_NE(results.warnings[0].find("failed at every rate"), std::string::npos);
  EXPECT_EQ(runs_so_far(experiment, store).size(), 3U + 6U);
  EXPECT_EQ(results.planned, 3U + 6U);  // nothing can be made at a rate that is not there
  EXPECT_EQ(searched(results).planned, 0U);
}

TEST(Plan, OfEqualRatesTheSmallestIsChosen) {
  const ScratchFolder scratch;
  const Experiment experiment = experiment_of();
  Store store(scratch / "r", Store::Access::write);
  fake_search(store, experiment, {{0.1, 0.2}, {0.5, 0.6}, {0.6, 0.5}});
  EXPECT_EQ(searched(collect_results(experiment, store)).rate, 0.5);
}

TEST(Plan, ByValidationTheSearchIsWhatIsReported) {
  const ScratchFolder scratch;
  Experiment experiment = experiment_of();
  experiment.search.by_validation = true;
  Store store(scratch / "r", Store::Access::write);
  fake_search(store, experiment, {{0.1, 0.2, 0.1}, {0.5, 0.6, 0.5}, {0.3, 0.7, 0.3}});
  const auto results = collect_results(experiment, store);
  EXPECT_EQ(searched(results).rate, 0.5);
  EXPECT_EQ(searched(results).search[1].scores, (std::vector{0.5, 1 - 0.6, 0.5}));
  EXPECT_EQ(searched(results).runs.size(), 3U);
  EXPECT_EQ(results.planned, 3U + 9U);
  EXPECT_EQ(results.done, 9U);
}

TEST(Plan, OnALogScaleRatesAreJudgedByLogarithms) {
  const ScratchFolder scratch;
  Experiment experiment = experiment_of();
  experiment.metric = {"error", false, true};
  Store store(scratch / "r", Store::Access::write);
  // The second has the smaller mean, the third the smaller geometric mean.
  fake_search(store, experiment, {{10, 10}, {0.4, 0.5}, {1, 1e-6}});
  const auto results = collect_results(experiment, store);
  EXPECT_EQ(searched(results).rate, 1);
  EXPECT_NEAR(searched(results).search[2].mean.value(), 1e-3, 1e-12);
}

TEST(Plan, OnALogScaleNothingAtAllIsNoWinner) {
  const ScratchFolder scratch;
  Experiment experiment = experiment_of();
  experiment.metric = {"error", false, true};
  Store store(scratch / "r", Store::Access::write);
  fake_search(store, experiment, {{10, 10}, {0.4, 0.5}, {1, 0}});
  EXPECT_EQ(searched(collect_results(experiment, store)).rate, 0.5);
}

// A method of given rate and a searched one may ask for the same runs.
TEST(Plan, SharedRunsAreCountedOnce) {
  for (const double given : {1e-8, 0.5}) {
    const ScratchFolder scratch;
    Experiment experiment = experiment_of();
    experiment.panels[0].methods[0].optimizer = experiment.panels[0].methods[1].optimizer;
    experiment.panels[0].methods[0].rate = given;
    Store store(scratch / "r", Store::Access::write);
    fake_search(store, experiment, {{0.1, 0.2}, {0.5, 0.6}, {0.3, 0.7}});  // chooses 0.5
    for (const RunConfig& config : runs_so_far(experiment, store)) {
      if (!store.contains(config)) store.add(config, {});
    }
    const auto results = collect_results(experiment, store);
    EXPECT_EQ(results.planned, given == 0.5 ? 9U : 12U);
    EXPECT_EQ(results.done, results.planned);
  }
}

TEST(Plan, VersionsOfTheSearchCount) {
  const ScratchFolder scratch;
  const Experiment experiment = experiment_of();
  Store store(scratch / "r", Store::Access::write);
  fake_search(store, experiment, {{0.1, 0.2}, {0.5, 0.6}, {0.3, 0.7}});
  store.add(reported_runs(experiment, experiment.panels[0].methods[0], 1)[0], {{}, 0, "2", "h"});
  EXPECT_EQ(collect_results(experiment, store).versions, (std::vector<std::string>{"1", "2"}));
}

TEST(Plan, WarnsOfSeveralVersions) {
  const ScratchFolder scratch;
  const Experiment experiment = experiment_of();
  Store store(scratch / "r", Store::Access::write);
  const auto runs = reported_runs(experiment, experiment.panels[0].methods[0], 1);
  store.add(runs[0], {{}, 0, "1.0", "h"});
  store.add(runs[1], {{}, 0, "1.1", "h"});
  const auto results = collect_results(experiment, store);
  EXPECT_EQ(results.versions, (std::vector<std::string>{"1.0", "1.1"}));
  ASSERT_EQ(results.warnings.size(), 1U);
  EXPECT_NE(results.warnings[0].find("several versions"), std::string::npos);
}

}  // namespace
}  // namespace ignd
