#include "learn/search.hpp"

#include "ignd/error.hpp"
#include "ignd/random.hpp"
#include "learn/table_dataset.hpp"

#include <algorithm>
#include <atomic>
#include <limits>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

// Successive halving, and the observers that engines tell of runs.
namespace ignd {
namespace {

using Candidates = std::vector<std::size_t>;

// What each rung was asked to try; every candidate is worth its entry of `scores`.
struct Tried {
  std::vector<Candidates> rungs;
  std::vector<Trial> scores;

  TryRung with_rungs_known(std::size_t known) {
    return [this, known](std::size_t rung, std::span<const std::size_t> candidates) {
      std::vector<Trial> trials;
      if (rung >= known) return std::optional<std::vector<Trial>>();
      rungs.emplace_back(candidates.begin(), candidates.end());
      for (const std::size_t k : candidates) trials.push_back(scores[k]);
      return std::optional(trials);
    };
  }
};

constexpr std::size_t all_known = 100;

Tried tried(std::initializer_list<double> scores) {
  Tried made;
  for (const double score : scores) made.scores.push_back({.score = score});
  return made;
}

TEST(Search, KeepsTheBestOfEachRung) {
  Tried trial = tried({5, 2, 9, 1, 4, 3});
  const auto result = successive_halving(6, std::vector<std::uint64_t>{4, 2, 1}, trial.with_rungs_known(all_known));
  EXPECT_EQ(trial.rungs, (std::vector<Candidates>{{0, 1, 2, 3, 4, 5}, {1, 3, 4, 5}, {1, 3}}));
  EXPECT_TRUE(result.complete);
  EXPECT_EQ(result.rungs, 3U);
  EXPECT_EQ(result.chosen(), 3U);
}

TEST(Search, ChoosesByItsLastRungAlone) {
  Tried trial = tried({1, 2, 3});
  const auto result = successive_halving(3, std::vector<std::uint64_t>{2, 1}, [&](std::size_t rung, auto candidates) {
    if (rung == 1) trial.scores = {{.score = 8}, {.score = 7}, {.score = 0}};
    return trial.with_rungs_known(all_known)(rung, candidates);
  });
  EXPECT_EQ(result.chosen(), 1U) << "the third was out by then";
}

TEST(Search, StopsAtARungThatIsNotKnown) {
  for (const std::size_t known : {0U, 1U}) {
    Tried trial = tried({3, 1, 2});
    const auto result = successive_halving(3, std::vector<std::uint64_t>{2, 1}, trial.with_rungs_known(known));
    EXPECT_FALSE(result.complete);
    EXPECT_FALSE(result.chosen());
    EXPECT_EQ(result.rungs, known);
    EXPECT_EQ(result.candidates, known == 0 ? (Candidates{0, 1, 2}) : (Candidates{1, 2}));
  }
}

TEST(Search, LeavesOutWhatFailed) {
  Tried trial = tried({3, 1, 2});
  trial.scores[1].score.reset();
  EXPECT_EQ(successive_halving(3, {}, trial.with_rungs_known(all_known)).chosen(), 2U);
  trial.scores[0].score.reset();
  trial.scores[2].score.reset();
  const auto none = successive_halving(3, {}, trial.with_rungs_known(all_known));
  EXPECT_TRUE(none.complete);
  EXPECT_FALSE(none.chosen());
}

TEST(Search, TakesWhatCollapsedOnlyWhereNothingElseIsLeft) {
  Tried trial = tried({3, 1, 2});
  trial.scores[1].collapsed = trial.scores[2].collapsed = true;
  EXPECT_EQ(successive_halving(3, {}, trial.with_rungs_known(all_known)).chosen(), 0U);
  trial.scores[0].score.reset();
  EXPECT_EQ(successive_halving(3, {}, trial.with_rungs_known(all_known)).chosen(), 1U);
}

TEST(Search, OfEqualOnesTheFirstIsBetter) {
  Tried trial = tried({2, 1, 1, 1});
  EXPECT_EQ(successive_halving(4, {}, trial.with_rungs_known(all_known)).chosen(), 1U);
  const auto rung = successive_halving(4, std::vector<std::uint64_t>{2, 1}, trial.with_rungs_known(1));
  EXPECT_EQ(rung.candidates, (Candidates{1, 2}));
}

// A share of the score's size, whatever its sign.
TEST(Search, TakesTheFirstWithinItsTolerance) {
  Tried trial = tried({1.2, 1.04, 1, 1.01});
  EXPECT_EQ(successive_halving(4, {}, trial.with_rungs_known(all_known), 0.05).chosen(), 1U);
  EXPECT_EQ(successive_halving(4, {}, trial.with_rungs_known(all_known), 0.03).chosen(), 2U);
  trial = tried({-8, -9.6, -10});
  EXPECT_EQ(successive_halving(3, {}, trial.with_rungs_known(all_known), 0.05).chosen(), 1U);
}

class ObservedRuns : public ::testing::Test {
 protected:
  ObservedRuns() : table_(Table::parse_csv(rows(), {.dialect = {.delimiter = ',', .header = true}})) {}

  static std::string rows() {
    RandomStream stream(1, "rows");
    std::string csv = "a,b,y\n";
    for (int i = 0; i < 120; ++i) {
      const double a = stream.normal(), b = stream.normal();
      csv += fmt::format("{},{},{}\n", a, b, 3 * a - b * b);
    }
    return csv;
  }

  static TrainingOptions options(double rate) {
    return {.model = "mlp:4", .optimizer = find_optimizer("adam"), .rate = rate, .epochs = 3};
  }

  // Counts what it is told, and may throw.
  struct Counter : RunObserver {
    void begin(RunView& run) override {
      EXPECT_EQ(run.learned(), 0U);
      ++begun;
    }
    std::uint64_t next_look(const RunView& run) override { return run.learned() + 50; }
    void look(RunView& run, const std::optional<EpochReport>& epoch) override {
      looks.push_back(run.learned());
      if (epoch) ++epochs;
      if (epochs == throws_after) throw std::runtime_error("the disk is full");
      if (stop != nullptr && epochs == stops_after) *stop = true;
    }
    void end(RunView& run) override {
      ++ended;
      status = run.status();
      const auto kept = run.kept();
      weights.assign(kept->parameters().begin(), kept->parameters().end());
    }

    int begun = 0, epochs = 0, ended = 0, throws_after = -1, stops_after = -1;
    std::atomic<bool>* stop = nullptr;
    std::vector<std::uint64_t> looks;
    RunStatus status = RunStatus::running;
    std::vector<float> weights;
  };

  Table table_;
  TableDataset dataset_{table_, {.target = "y"}};
  std::atomic<bool> stop_ = false;
};

TEST_F(ObservedRuns, AreLookedAtWhereTheObserverWants) {
  Counter counter;
  const TrainingOptions one = options(0.01);
  const RunSlot slot{&one, &counter};
  cpu_engine().train({&slot, 1}, dataset_, stop_);
  EXPECT_EQ(counter.begun, 1);
  EXPECT_EQ(counter.ended, 1);
  EXPECT_EQ(counter.epochs, 3);
  EXPECT_EQ(counter.looks, (std::vector<std::uint64_t>{50, 96, 146, 192, 242, 288}));
  EXPECT_EQ(counter.status, RunStatus::finished);
}

TEST_F(ObservedRuns, HaveTheSameBitsOneByOneAndAllAtOnce) {
  constexpr std::size_t count = 7;
  std::vector<TrainingOptions> all;
  for (std::size_t i = 0; i < count; ++i) all.push_back(options(1e-3 * static_cast<double>(i + 1)));
  std::vector<std::vector<std::vector<float>>> weights;
  for (const Engine* engine : {&cpu_engine(), &parallel_cpu_engine()}) {
    std::vector<Counter> counters(count);
    std::vector<RunSlot> slots;
    for (std::size_t i = 0; i < count; ++i) slots.push_back({&all[i], &counters[i]});
    engine->train(slots, dataset_, stop_);
    auto& made = weights.emplace_back();
    for (const Counter& counter : counters) made.push_back(counter.weights);
  }
  EXPECT_EQ(weights[0], weights[1]);
  EXPECT_EQ(std::set(weights[0].begin(), weights[0].end()).size(), count);
}

TEST_F(ObservedRuns, EndWhenStoppedAndTheOthersDoNotBegin) {
  std::vector<Counter> counters(3);
  counters[0].stop = &stop_;
  counters[0].stops_after = 1;
  const TrainingOptions one = options(0.01);
  std::vector<RunSlot> slots;
  for (Counter& counter : counters) slots.push_back({&one, &counter});
  cpu_engine().train(slots, dataset_, stop_);
  EXPECT_EQ(counters[0].ended, 1);
  EXPECT_EQ(counters[0].epochs, 1);
  EXPECT_EQ(counters[0].status, RunStatus::running) << "to be saved";
  EXPECT_EQ(counters[1].begun + counters[2].begun, 0);
}

TEST_F(ObservedRuns, AFailureIsThrownToTheCaller) {
  for (const Engine* engine : {&cpu_engine(), &parallel_cpu_engine()}) {
    std::vector<Counter> counters(4);
    counters[1].throws_after = 2;
    const TrainingOptions one = options(0.01);
    std::vector<RunSlot> slots;
    for (Counter& counter : counters) slots.push_back({&one, &counter});
    EXPECT_THROW(engine->train(slots, dataset_, stop_), std::runtime_error);
    EXPECT_EQ(counters[1].ended, 0);
  }
}

TEST_F(ObservedRuns, WhatCannotBeIsRefusedBeforeItBegins) {
  TrainingOptions bad = options(0.01);
  bad.batch = BatchOptions{.size = 97};
  EXPECT_THROW(check_run(dataset_, bad), InvalidArgument);
  bad.batch->size = 96;
  check_run(dataset_, bad);
}

TEST_F(ObservedRuns, TheSearchForARateIsTheSameOnOneCoreAndOnAll) {
  std::uint64_t last = 0, total = 0;
  const auto progress = [&](std::uint64_t done, std::uint64_t all) {
    last = done;
    total = all;
  };
  const SearchBudget budget{.samples = 500, .judged = 5};
  const auto serial = search_rate(cpu_engine(), dataset_, options(0), budget, stop_, progress);
  EXPECT_EQ(last, total);
  const auto parallel = search_rate(parallel_cpu_engine(), dataset_, options(0), budget, stop_);
  EXPECT_EQ(serial.best, parallel.best);
  ASSERT_EQ(serial.rates.size(), parallel.rates.size());
  for (std::size_t i = 0; i < serial.rates.size(); ++i) {
    EXPECT_EQ(serial.rates[i].rate, parallel.rates[i].rate);
    EXPECT_EQ(serial.rates[i].loss, parallel.rates[i].loss);
  }
}

}  // namespace
}  // namespace ignd
