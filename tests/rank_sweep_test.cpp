#include "lab/rank_sweep.hpp"

#include "base/atomic_file.hpp"
#include "ignd/error.hpp"
#include "lab/plan.hpp"
#include "lab/run_messages.hpp"
#include "lab/store.hpp"
#include "local_ranks.hpp"
#include "scratch_folder.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace ignd {
namespace {

using testing::LocalRanks;
using testing::ScratchFolder;

const std::atomic<bool> never = false;

// A run's score says which run it was; what it does besides is up to the test.
class ScriptedTask final : public Task {
 public:
  std::string name() const override { return "scripted"; }
  std::string meaning() const override { return ""; }
  std::span<const SettingKey> keys() const override { return {}; }
  std::vector<std::string> faults(const Settings& /*settings*/) const override { return {}; }
  double cost(const RunConfig& config) const override { return config.rate; }
  bool resumes() const override { return true; }
  RunResult run(const RunConfig& config, const RunControl& control) const override {
    RunResult result;
    result.score = static_cast<double>(config.seed) + (std::filesystem::exists(control.unfinished()) ? 0.5 : 0);
    while_running(config, control);
    return result;
  }

  std::function<void(const RunConfig&, const RunControl&)> while_running = [](const RunConfig&, const RunControl&) {};
};

void wait_for_stop(const RunControl& control) {
  while (!control.stop()) std::this_thread::yield();
  throw Stopped();
}

RunConfig run_of(std::uint64_t seed, double cost = 0.001) {
  const std::map<std::string, std::string> settings{{"text", "two\nlines = 1"}};
  return {"scripted", Settings(settings), {"gradient", "plain"}, cost, seed};
}

std::vector<RunConfig> runs_of(std::uint64_t count, double cost = 0.001) {
  std::vector<RunConfig> runs;
  for (std::uint64_t seed = 1; seed <= count; ++seed) runs.push_back(run_of(seed, cost));
  return runs;
}

// A sweep over ranks, each with `jobs` threads. `stops` are the stop flags of the ranks.
class RankSweep : public ::testing::Test {
 protected:
  bool sweep(
      int ranks, const std::vector<RunConfig>& runs, Store& store, unsigned jobs,
      const std::vector<std::atomic<bool>>& stops,
      const std::function<void(const SweepProgress&)>& progress = [](const SweepProgress&) {}) {
    LocalRanks all(ranks);
    std::vector<std::jthread> others;
    for (int rank = 1; rank < ranks; ++rank) {
      others.emplace_back([this, &all, rank, jobs, &stops] {
        serve_runs(all[rank], jobs, cpu_engine(), stops[static_cast<std::size_t>(rank)], find_);
      });
    }
    RankPool pool(all[0]);
    return make_runs(runs, store, {.jobs = jobs, .task_named = find_, .ranks = &pool}, stops[0], progress);
  }
  bool sweep(int ranks, const std::vector<RunConfig>& runs, Store& store, unsigned jobs = 1) {
    const std::vector<std::atomic<bool>> stops(static_cast<std::size_t>(ranks));
    return sweep(ranks, runs, store, jobs, stops);
  }

  ScriptedTask task_;
  FindTask find_ = [this](std::string_view) -> const Task& { return task_; };
  ScratchFolder scratch_;
};

TEST(RunMessages, ResultsArriveAsTheyWere) {
  FinishedRun full{.number = 7, .result = {}, .seconds = 0.1, .host = "a host"};
  full.result = {.status = RunStatus::diverged,
                 .failed_at = 12,
                 .score = 0.1 + 0.2,
                 .validation = std::numeric_limits<double>::infinity(),
                 .x = {1, 2},
                 .y = {-0.0, 1e-310},
                 .validation_y = {3, 4},
                 .steps = {5},
                 .extras = {{"b", 1.0}, {"a", -2.5}, {"b", 3.0}},
                 .matrices = {{"K", {{1, 2}, {3, 4}}}, {"empty", {}}}};
  const FinishedRun empty{.number = 0, .result = {}, .seconds = 0, .host = ""};
  Checkpoint message = new_message(RunMessage::report);
  put_results(message, {full, empty});
  const auto read = results_in(Checkpoint::from_bytes(message.to_bytes()));
  ASSERT_EQ(read.size(), 2U);
  EXPECT_EQ(read[0].result, full.result);
  EXPECT_TRUE(std::signbit(read[0].result.y[0]));
  EXPECT_EQ(read[0].number, 7U);
  EXPECT_EQ(read[0].seconds, 0.1);
  EXPECT_EQ(read[0].host, "a host");
  EXPECT_EQ(read[1].result, empty.result);
}

TEST(RunMessages, RunsArriveAsTheyWere) {
  const ScriptedTask task;
  std::vector<RunConfig> configs{run_of(1, 0.1), run_of(2), run_of(UINT64_MAX)};
  configs[1].settings = Settings(std::map<std::string, std::string>{{"other", ""}});
  std::vector<RunGroup> groups(2);
  for (std::size_t i = 0; i < configs.size(); ++i) {
    groups[i / 2].push_back({.config = &configs[i], .task = &task, .cost = 0.1, .number = i, .unfinished = "a/b"});
  }
  Checkpoint message = new_message(RunMessage::runs);
  put_groups(message, groups);
  const auto read = runs_in(Checkpoint::from_bytes(message.to_bytes()));
  ASSERT_EQ(read.size(), 3U);
  for (std::size_t i = 0; i < read.size(); ++i) {
    EXPECT_EQ(read[i].config.text(), configs[i].text());
    EXPECT_EQ(read[i].group, i / 2);
    EXPECT_EQ(read[i].number, i);
    EXPECT_EQ(read[i].unfinished, "a/b");
  }
}

TEST_F(RankSweep, AnyNumberOfRanksMakesTheSameResults) {
  const auto runs = runs_of(200);
  for (const int ranks : {1, 2, 4}) {
    for (const unsigned jobs : {1U, 3U}) {
      Store store(scratch_ / fmt::format("{}-{}", ranks, jobs).c_str(), Store::Access::write);
      EXPECT_TRUE(sweep(ranks, runs, store, jobs));
      for (const RunConfig& config : runs) {
        const auto made = store.find(config);
        ASSERT_TRUE(made) << config.seed;
        EXPECT_EQ(made->result.score, static_cast<double>(config.seed));
      }
    }
  }
}

TEST_F(RankSweep, TheRealTasksRunOnOtherRanks) {
  const Experiment experiment = parse_experiment(R"(
title = "t"
question = "q"
task = "frozen-lake"
seeds = 30
x-label = "episode"
metric = { label = "return", better = "higher" }
[settings]
episodes = 40
[[panel]]
name = "p"
title = "P"
[[panel.method]]
name = "given"
optimizer = "ignd"
rate = 1
)",
                                                 "test", {});
  std::vector<std::vector<RunResult>> made;
  find_ = find_task;
  for (const int ranks : {1, 3}) {
    Store store(scratch_ / std::to_string(ranks).c_str(), Store::Access::write);
    const auto runs = runs_so_far(experiment, store);
    EXPECT_TRUE(sweep(ranks, runs, store));
    made.emplace_back();
    for (const RunConfig& config : runs) made.back().push_back(store.find(config)->result);
  }
  EXPECT_EQ(made[0], made[1]);
}

TEST_F(RankSweep, WhatARunThrowsOnAnotherRankIsThrownHere) {
  std::atomic<int> begun = 0;
  for (const bool usage : {true, false}) {
    begun = 0;
    // The first run waits: the others are those of the other rank.
    task_.while_running = [&](const RunConfig& config, const RunControl& control) {
      if (begun++ == 0) wait_for_stop(control);
      if (config.seed < 5) return;
      if (usage) throw InvalidArgument("bad options");
      throw FileError("no such file");
    };
    Store store(scratch_ / (usage ? "usage" : "file"), Store::Access::write);
    try {
      sweep(2, runs_of(20), store);
      FAIL() << "nothing was thrown";
    } catch (const InvalidArgument& fault) {
      EXPECT_TRUE(usage);
      EXPECT_STREQ(fault.what(), "bad options");
    } catch (const Error& fault) {
      EXPECT_FALSE(usage);
      EXPECT_STREQ(fault.what(), "no such file");
    }
  }
}

TEST_F(RankSweep, ASignalToAnyRankStopsAllAndTheirRunsAreResumed) {
  for (const std::size_t stopped : {0U, 2U}) {
    Store store(scratch_ / std::to_string(stopped).c_str(), Store::Access::write);
    std::vector<std::atomic<bool>> stops(3);
    std::atomic<int> begun = 0;
    task_.while_running = [&](const RunConfig& config, const RunControl& control) {
      if (config.seed % 4 != 0) return;
      if (++begun == 3) stops[stopped] = true;  // each rank is in the middle of one
      while (!control.stop()) std::this_thread::yield();
      write_file_atomically(control.unfinished(), "half");
      throw Stopped();
    };
    const auto runs = runs_of(40);
    EXPECT_FALSE(sweep(3, runs, store, 1, stops));
    std::size_t there = 0;
    for (const RunConfig& config : runs) there += store.contains(config) ? 1 : 0;
    EXPECT_LT(there, 38U);
    EXPECT_EQ(begun, 3);
    task_.while_running = [](const RunConfig&, const RunControl&) {};
    EXPECT_TRUE(sweep(3, runs, store));
    int resumed = 0;
    for (const RunConfig& config : runs) {
      const double score = store.find(config)->result.score.value();
      resumed += score == static_cast<double>(config.seed) + 0.5 ? 1 : 0;
    }
    EXPECT_EQ(resumed, 3) << "by whichever rank";
  }
}

TEST_F(RankSweep, TellsHowFarTheRunsOfOtherRanksAre) {
  Store store(scratch_ / "r", Store::Access::write);
  const std::vector<std::atomic<bool>> stops(2);
  std::atomic<bool> seen = false;
  task_.while_running = [&](const RunConfig&, const RunControl& control) {
    control.set_share(0.75);
    while (!seen && !control.stop()) std::this_thread::yield();
  };
  sweep(2, runs_of(2), store, 1, stops, [&](const SweepProgress& now) { seen = seen || now.under_way == 1.5; });
  EXPECT_TRUE(seen);
}

// What rank 0 hands out, with the test as rank 1.
class HandingOut : public RankSweep {
 protected:
  void plan(const std::vector<double>& costs) {
    for (std::size_t i = 0; i < costs.size(); ++i) configs_.push_back(run_of(i + 1, costs[i]));
    std::vector<RunGroup> groups;
    for (std::size_t i = 0; i < costs.size(); ++i) {
      groups.push_back({{.config = &configs_[i], .task = &task_, .cost = costs[i], .number = i}});
    }
    queue_.add(std::move(groups));
  }
  // Reports, and returns the numbers of the runs that it is given.
  std::vector<std::size_t> report(const RankState& state, const std::vector<FinishedRun>& results = {}) {
    Checkpoint message = new_message(RunMessage::report);
    put_state(message, state);
    put_results(message, results);
    ranks_[1].send(0, message.to_bytes());
    pool_.exchange(queue_);
    std::vector<std::size_t> numbers;
    while (const auto got = ranks_[1].receive()) {
      for (const ReceivedRun& run : runs_in(Checkpoint::from_bytes(got->bytes))) numbers.push_back(run.number);
    }
    return numbers;
  }

  std::vector<RunConfig> configs_;
  LocalRanks ranks_{2};
  RankPool pool_{ranks_[0]};
  RunQueue queue_{cpu_engine(), 0};
};

using Numbers = std::vector<std::size_t>;

TEST_F(HandingOut, LongRunsGoOnlyToThreadsThatAreFree) {
  plan({100, 90, 80, 70});
  EXPECT_EQ(report({.idle = 2}), (Numbers{0, 1}));
  EXPECT_EQ(report({.idle = 2}), Numbers{}) << "it did not know of its runs yet";
  EXPECT_EQ(report({.idle = 0, .received = 1}), Numbers{}) << "nothing long ahead of time";
  EXPECT_EQ(report({.idle = 1, .received = 1}), Numbers{2});
}

TEST_F(HandingOut, ShortRunsGoManyAtATimeAndAheadOfTime) {
  plan(std::vector<double>(10'000, 0.001));
  EXPECT_EQ(report({.idle = 1}), Numbers{0}) << "first it has to find out how long they take";
  EXPECT_EQ(report({.idle = 0, .received = 1}), Numbers{1}) << "one more, so that the rank need not wait";
  pool_.note_pace(0.001, 0.002);  // twice as long as estimated
  const Numbers many = report({.idle = 0, .received = 2});
  EXPECT_NEAR(static_cast<double>(many.size()), 0.25 / 0.002, 1.01);
  EXPECT_EQ(many.front(), 2U);
  EXPECT_TRUE(std::ranges::is_sorted(many));
  EXPECT_EQ(report({.idle = 0, .waiting = 5, .received = 3}), Numbers{}) << "it has enough";
}

TEST_F(HandingOut, TheLastRunsAreGivenInSmallParcels) {
  plan(std::vector<double>(16, 0.001));
  pool_.note_pace(1, 1);
  Numbers sizes;
  for (std::size_t k = 0; std::accumulate(sizes.begin(), sizes.end(), std::size_t{0}) < 16; ++k) {
    ASSERT_LT(k, 16U);
    sizes.push_back(report({.idle = 1, .received = k}).size());
  }
  EXPECT_LE(sizes.front(), 4U);
  EXPECT_EQ(sizes.back(), 1U);
  EXPECT_TRUE(std::ranges::is_sorted(sizes, std::greater<>()));
}

}  // namespace
}  // namespace ignd
