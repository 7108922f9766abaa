#include "lab/sweep.hpp"

#include "ignd/error.hpp"
#include "ignd/random.hpp"
#include "lab/plan.hpp"
#include "lab/store.hpp"
#include "scratch_folder.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <set>

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
    make_runs(runs, store, {.jobs = jobs}, never, [&](const SweepProgress& now) { calls = now.done; });
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
  make_runs(runs, store, {.jobs = 1}, never, [&](const SweepProgress&) {
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
    make_runs(wanted, store, {.jobs = 2}, never, [&](const SweepProgress& now) { count = now.done; });
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
  make_runs(runs, store, {.jobs = 2}, stop, [&](const SweepProgress& now) {
    done = now.done;
    if (done == 3) stop = true;
  });
  EXPECT_GE(done, 3U);
  EXPECT_LT(done, runs.size());
  std::uint64_t stored = 0;
  for (const RunConfig& config : runs) stored += store.contains(config) ? 1 : 0;
  EXPECT_EQ(stored, done);

  std::atomic<bool> already = true;
  make_runs(runs, store, {.jobs = 2}, already, [&](const SweepProgress& now) { EXPECT_EQ(now.done, 0U); });
}

TEST(Sweep, PassesOnWhatARunThrowsAndKeepsTheOthers) {
  const ScratchFolder scratch;
  const Experiment experiment = experiment_of();
  Store store(scratch / "r", Store::Access::write);
  auto runs = runs_so_far(experiment, store);
  runs.resize(3);
  runs[1].optimizer.rule = "no such rule";
  EXPECT_THROW(make_runs(runs, store, {.jobs = 1}, never, [](const SweepProgress&) {}), InvalidArgument);
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
  EXPECT_TRUE(searched(results).edges.empty());
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
  EXPECT_EQ(searched(results).edges, std::vector<std::string>{"rate 1, of 1e-08 to 1"});
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

Experiment experiment_in_rungs(std::vector<double> rates, std::vector<std::uint64_t> keep) {
  Experiment experiment = experiment_of();
  experiment.search.rates = std::move(rates);
  experiment.search.keep = std::move(keep);
  Method& method = experiment.panels[0].methods[1];
  for (std::size_t rung = 0; rung < experiment.search.keep.size(); ++rung) {
    auto values = method.settings.values();
    values["episodes"] = std::to_string(rung + 1);
    method.rungs.emplace_back(values);
  }
  return experiment;
}

// What a run of a made-up search gives: one of a few scores, so that there are ties, or a failure now and then.
RunResult made_up_result(const RunConfig& config, double failing) {
  RandomStream stream(config.seed, fmt::format("{} {}", config.rate, config.settings.word("episodes")));
  RunResult result;
  result.status = stream.uniform() < failing ? RunStatus::diverged : RunStatus::finished;
  result.score = static_cast<double>(1 + stream.below(4));
  result.validation = static_cast<double>(1 + stream.below(4));
  return result;
}

// What each rung leaves, from the made-up results alone: the rates by mean and size, cut off.
struct Rungs {
  std::vector<std::vector<double>> reached;                 // the rates of each rung
  std::vector<std::map<double, std::optional<double>>> of;  // their means
  std::vector<double> left;
};

Rungs independent_rungs(const Experiment& experiment, double failing) {
  Rungs rungs;
  rungs.left = experiment.search.rates;
  for (std::size_t rung = 0; rung < experiment.search.keep.size(); ++rung) {
    rungs.reached.push_back(rungs.left);
    rungs.of.emplace_back();
    std::set<std::pair<double, double>> ranking;
    for (const double rate : rungs.left) {
      double total = 0;
      bool failed = false;
      for (std::uint64_t k = 0; k < experiment.search.tuning_seeds; ++k) {
        const Method& method = experiment.panels[0].methods[1];
        const RunConfig config{"frozen-lake", method.rungs[rung], method.optimizer, rate, 1'000'000'001 + k};
        const RunResult result = made_up_result(config, failing);
        const double value = experiment.search.by_validation ? *result.validation : *result.score;
        total += experiment.metric.log_scale ? std::log10(value) : value;
        failed = failed || result.status != RunStatus::finished;
      }
      const double mean = total / static_cast<double>(experiment.search.tuning_seeds);
      rungs.of.back()[rate] =
          failed ? std::nullopt : std::optional(experiment.metric.log_scale ? std::pow(10, mean) : mean);
      if (!failed) ranking.emplace(experiment.metric.higher_is_better ? -mean : mean, rate);
    }
    rungs.left.clear();
    for (const auto& [mean, rate] : ranking) {
      if (rungs.left.size() < experiment.search.keep[rung]) rungs.left.push_back(rate);
    }
    std::ranges::sort(rungs.left);
  }
  return rungs;
}

Experiment random_experiment_in_rungs(RandomStream& stream) {
  std::vector<double> rates(1 + stream.below(12));
  for (std::size_t k = 0; k < rates.size(); ++k) rates[k] = std::pow(2, k);
  std::vector<std::uint64_t> keep(1 + stream.below(4));
  for (auto& count : keep) count = 1 + stream.below(rates.size() + 2);
  std::ranges::sort(keep, std::greater());
  keep.back() = 1;
  Experiment experiment = experiment_in_rungs(rates, keep);
  experiment.search.by_validation = stream.below(2) == 0;
  experiment.search.tuning_seeds = 1 + stream.below(3);
  experiment.metric.higher_is_better = stream.below(2) == 0;
  experiment.metric.log_scale = stream.below(2) == 0;
  return experiment;
}

TEST(Rungs, LeaveWhatAnIndependentComputationLeaves) {
  RandomStream stream(1, "rungs");
  for (int round = 0; round < 60; ++round) {
    const double failing = round % 3 == 0 ? 0 : round % 3 == 1 ? 0.2 : 0.9;
    const ScratchFolder scratch;
    const Experiment experiment = random_experiment_in_rungs(stream);
    const Rungs want = independent_rungs(experiment, failing);
    Store store(scratch / "r", Store::Access::write);
    const std::uint64_t at_first = count_runs(experiment);
    EXPECT_EQ(count_runs(experiment, &store), at_first);
    std::set<std::string> made;
    for (bool more = true; more;) {  // as the tool does: until there is nothing new
      more = false;
      for (const RunConfig& config : runs_so_far(experiment, store)) {
        if (!made.insert(config.text()).second) continue;
        more = true;
        store.add(config, {made_up_result(config, failing), 0, "1", "h"});
      }
      EXPECT_LE(count_runs(experiment, &store), at_first);
      EXPECT_GE(count_runs(experiment, &store), made.size());
    }
    const ExperimentResults results = collect_results(experiment, store);
    const MethodResults& method = searched(results);
    ASSERT_EQ(method.search.size(), experiment.search.rates.size());
    std::uint64_t runs = experiment.seeds;  // of the method with a given rate
    for (std::size_t rung = 0; rung < want.reached.size(); ++rung) {
      runs += want.reached[rung].size() * experiment.search.tuning_seeds;
      for (const double rate : want.reached[rung]) {
        const auto& judged = *std::ranges::find(method.search, rate, &RateResult::rate);
        ASSERT_GE(judged.rung, rung + 1);
        if (judged.rung != rung + 1) continue;
        const auto mean = want.of[rung].at(rate);
        ASSERT_EQ(judged.mean.has_value(), mean.has_value());
        if (mean) {
          EXPECT_DOUBLE_EQ(*judged.mean, *mean);
        }
        EXPECT_EQ(judged.planned, experiment.search.tuning_seeds);
        EXPECT_EQ(judged.done, judged.planned);
      }
    }
    if (want.left.empty()) {
      EXPECT_FALSE(method.rate);
      EXPECT_EQ(method.planned, 0U);
    } else {
      EXPECT_EQ(method.rate, want.left.at(0));
      runs += experiment.seeds;
      const auto& rates = experiment.search.rates;
      EXPECT_EQ(!method.edges.empty(),
                rates.size() > 1 && (method.rate == rates.front() || method.rate == rates.back()));
    }
    EXPECT_EQ(made.size(), runs);
    EXPECT_EQ(results.planned, runs);
    EXPECT_EQ(results.done, runs);
  }
}

TEST(Variants, AreSearchedForWithTheRate) {
  const ScratchFolder scratch;
  for (int i = 0; i < 6; ++i) {
    const bool rate_given = i % 2 == 1;
    const double best = std::array{0.5, 0.75, 0.9}[static_cast<std::size_t>(i) / 2];
    const Experiment experiment = parse_experiment(fmt::format(R"(
title = "T"
question = "Q"
task = "frozen-lake"
seeds = 3
x-label = "episode"
metric = {{ label = "return", better = "higher" }}
[search]
rates = [1, 2]
choose-by = "tuning-seeds"
tuning-seeds = 1
[[panel]]
name = "p"
title = "P"
[[panel.method]]
name = "varied"
optimizer = "ignd"
{}
vary = {{ gamma = [0.5, 0.75, 0.9] }}
)",
                                                               rate_given ? "rate = 2" : ""),
                                                   "test", {});
    const Method& method = experiment.panels[0].methods[0];
    Store store(scratch / std::to_string(i).c_str(), Store::Access::write);
    const std::size_t tried = rate_given ? 3 : 6;
    EXPECT_EQ(count_runs(experiment), tried + 3);
    double score = 0;
    for (const Method& variant : method.variants) {
      for (const double rate : rate_given ? std::vector<double>{2} : std::vector<double>{1, 2}) {
        RunResult result;
        score += 1;
        result.score = variant.settings.number("gamma") == best && rate == 2 ? 100 : score;
        store.add(search_runs(experiment, variant, rate).at(0), {result, 0, "1", "h"});
      }
    }
    const auto results = collect_results(experiment, store);
    const MethodResults& found = results.panels[0].methods[0];
    EXPECT_EQ(found.rate, 2);
    EXPECT_EQ(found.setting, fmt::format("gamma {}", best));
    std::vector<std::string> edges;
    if (!rate_given) edges.emplace_back("rate 2, of 1 to 2");
    if (best != 0.75) edges.push_back(fmt::format("gamma {}, of 0.5 to 0.9", best));
    EXPECT_EQ(found.edges, edges);
    EXPECT_EQ(results.warnings.size(), edges.size());
    EXPECT_EQ(found.search.size(), tried);
    EXPECT_EQ(std::ranges::count_if(found.search, [&](const RateResult& rate) { return is_chosen(found, rate); }), 1);
    std::size_t reported = 0;
    for (const RunConfig& config : runs_so_far(experiment, store)) {
      if (config.seed > most_seeds) continue;
      EXPECT_EQ(config.settings.number("gamma"), best);
      ++reported;
    }
    EXPECT_EQ(reported, 3U);
  }
}

TEST(Rungs, ComeOneAfterTheOther) {
  const ScratchFolder scratch;
  const Experiment experiment = experiment_in_rungs({1, 2, 3, 4}, {2, 1});
  const Method& method = experiment.panels[0].methods[1];
  Store store(scratch / "r", Store::Access::write);
  const auto add = [&](double rate, std::size_t rung, std::size_t seed, double score) {
    RunResult result;
    result.score = score;
    store.add(search_runs(experiment, method, rate, rung).at(seed), {result, 0, "1", "h"});
  };
  // 3 given; 4 rates, then 2, of 2 seeds each; 3 at the one that is chosen.
  EXPECT_EQ(count_runs(experiment), 3U + 8U + 4U + 3U);
  EXPECT_EQ(runs_so_far(experiment, store).size(), 3U + 8U);
  for (const double rate : {1, 2, 3, 4}) add(rate, 0, 0, rate);
  for (const double rate : {1, 2, 3}) add(rate, 0, 1, rate);
  EXPECT_EQ(runs_so_far(experiment, store).size(), 3U + 8U) << "the first rung is not through";
  add(4, 0, 1, 4);
  EXPECT_EQ(runs_so_far(experiment, store).size(), 3U + 8U + 4U);
  EXPECT_EQ(count_runs(experiment, &store), 3U + 8U + 4U + 3U);
  const auto half_way = collect_results(experiment, store);
  EXPECT_FALSE(searched(half_way).rate);
  EXPECT_TRUE(half_way.warnings.empty());
  EXPECT_EQ(searched(half_way).search[2].rung, 2U);
  EXPECT_EQ(searched(half_way).search[2].done, 0U);
  for (const std::size_t seed : {0U, 1U}) {
    add(3, 1, seed, 9);
    add(4, 1, seed, 8);
  }
  const auto results = collect_results(experiment, store);
  EXPECT_EQ(searched(results).rate, 3);
  EXPECT_TRUE(searched(results).edges.empty());
  EXPECT_EQ(searched(results).search[1].mean, 2);
  EXPECT_EQ(searched(results).search[1].rung, 1U);
  EXPECT_EQ(searched(results).search[3].mean, 8);
  EXPECT_EQ(runs_so_far(experiment, store).size(), 3U + 8U + 4U + 3U);
}

TEST(Rungs, AreRunWithTheirOwnSettingsOnSeedsOfTheirOwn) {
  const Experiment experiment = experiment_in_rungs({1, 2}, {2, 1});
  const Method& method = experiment.panels[0].methods[1];
  for (const std::size_t rung : {0U, 1U}) {
    for (const RunConfig& config : search_runs(experiment, method, 1, rung)) {
      EXPECT_EQ(config.settings.count("episodes"), rung + 1);
      EXPECT_GT(config.seed, most_seeds);
    }
  }
  for (const RunConfig& config : reported_runs(experiment, method, 1)) {
    EXPECT_EQ(config.settings.count("episodes"), 40U);
    EXPECT_LE(config.seed, experiment.seeds);
  }
}

}  // namespace
}  // namespace ignd
