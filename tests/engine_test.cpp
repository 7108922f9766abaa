#include "learn/engine.hpp"

#include "base/stopped.hpp"
#include "data/archive.hpp"
#include "ignd/error.hpp"
#include "ignd/random.hpp"
#include "lab/store.hpp"
#include "lab/sweep.hpp"
#include "learn/open_dataset.hpp"
#include "learn/search.hpp"
#include "scratch_folder.hpp"

#include <atomic>
#include <fstream>
#include <mutex>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

// Nothing but the engine itself may depend on which engine trained a run.
namespace ignd {
namespace {

const std::atomic<bool> never = false;
const auto ignore = [](const SweepProgress&) {};

// Trains on the CPU in groups, and keeps count. May refuse an optimizer, and may fail.
class TestEngine : public Engine {
 public:
  std::string name() const override { return "test"; }
  std::string refusal(const Dataset& /*dataset*/, const TrainingOptions& options) const override {
    return options.optimizer.transform == refused ? "it does not know this transform" : "";
  }
  std::size_t group_size() const override { return size; }

  void train(std::span<const RunSlot> group, const Dataset& dataset, const std::atomic<bool>& stop) const override {
    const std::lock_guard lock(mutex_);
    ++groups;
    largest = std::max(largest, group.size());
    for (std::size_t i = group.size(); i-- > 0;) {  // from the last to the first: no order is promised
      EXPECT_EQ(refusal(dataset, *group[i].options), "");
      EXPECT_EQ(group[i].options->model, group[0].options->model) << "one architecture";
      if (fails_at > 0 && runs + 1 == fails_at) throw Error("the device is gone");
      cpu_engine().train(group.subspan(i, 1), dataset, stop);
      ++runs;
    }
  }

  std::size_t size = 4;
  std::string refused;
  std::size_t fails_at = 0;
  mutable std::size_t groups = 0, runs = 0, largest = 0;

 private:
  mutable std::mutex mutex_;
};

class EngineTest : public ::testing::Test {
 protected:
  EngineTest() {
    std::ofstream file(path());
    RandomStream stream(1, "rows");
    file << "a,b,y\n";
    for (int i = 0; i < 150; ++i) {
      const double a = stream.normal(), b = stream.normal();
      file << fmt::format("{},{},{}\n", a, b, 5 + 3 * a - b * b);
    }
  }

  std::string path() const { return (scratch_ / "t.csv").string(); }

  // Two seeds and two architectures: four groups of six runs, and two baselines of their own.
  std::vector<RunConfig> runs() const {
    std::vector<RunConfig> made;
    for (const std::uint64_t seed : {1, 2}) {
      for (const char* model : {"mlp:4", "linear", best_linear_model}) {
        RunSpec spec;
        spec.data.path = path();
        spec.checksum = sha256_of_file(path());
        spec.dataset.target = "y";
        spec.model = model;
        spec.epochs = 2;
        const Settings settings = settings_of(spec);
        for (const char* optimizer : {"sgd", "ignd", "adam"}) {
          for (const double rate : {0.01, 0.1}) {
            made.push_back({"training", settings, find_optimizer(optimizer), rate, seed});
            if (spec.is_baseline()) break;
          }
          if (spec.is_baseline()) break;
        }
      }
    }
    return made;
  }

  Store store(const char* name) const { return {scratch_ / name, Store::Access::write}; }

  void expect_same(const Store& a, const Store& b) const {
    for (const RunConfig& config : runs()) {
      ASSERT_TRUE(a.contains(config) && b.contains(config)) << config.text();
      EXPECT_EQ(a.find(config)->result, b.find(config)->result) << config.text();
    }
  }

  testing::ScratchFolder scratch_;
};

TEST_F(EngineTest, ResultsDependNeitherOnTheEngineNorOnTheGroups) {
  Store plain = store("cpu");
  make_runs(runs(), plain, {.jobs = 1}, never, ignore);
  for (const std::size_t size : {1U, 4U, 100U}) {
    for (const unsigned jobs : {1U, 3U}) {
      TestEngine engine;
      engine.size = size;
      Store other = store(fmt::format("{}-{}", size, jobs).c_str());
      make_runs(runs(), other, {.jobs = jobs, .engine = &engine}, never, ignore);
      expect_same(plain, other);
      EXPECT_EQ(engine.runs, 24U) << "all but the baselines";
      EXPECT_EQ(engine.largest, std::min<std::size_t>(size, 6));
      EXPECT_EQ(engine.groups, size == 1 ? 24U : size == 4 ? 8U : 4U);
    }
  }
}

TEST_F(EngineTest, WhatItRefusesIsTrainedByTheCpu) {
  Store plain = store("cpu");
  make_runs(runs(), plain, {.jobs = 2}, never, ignore);
  TestEngine engine;
  engine.refused = "adam";
  Store other = store("other");
  make_runs(runs(), other, {.jobs = 2, .engine = &engine}, never, ignore);
  expect_same(plain, other);
  EXPECT_EQ(engine.runs, 16U) << "a third of the runs are Adam's";
}

TEST_F(EngineTest, WhatASearchIsRefusedIsTrainedByTheCpu) {
  const auto config = runs().front();
  const RunSpec spec = spec_of(config.settings);
  const auto dataset = open_dataset(spec);
  TrainingOptions options = spec.training;
  options.model = "mlp:4";
  options.optimizer = find_optimizer("adam");
  TestEngine engine;
  engine.refused = options.optimizer.transform;
  const auto refused = search_rate(engine, *dataset, options, {.samples = 100}, never);
  EXPECT_EQ(engine.runs, 0U);
  const auto plain = search_rate(cpu_engine(), *dataset, options, {.samples = 100}, never);
  ASSERT_EQ(refused.rates.size(), plain.rates.size());
  for (std::size_t k = 0; k < plain.rates.size(); ++k) EXPECT_EQ(refused.rates[k].loss, plain.rates[k].loss);
}

TEST_F(EngineTest, WhatHadEndedBeforeAFailureIsStoredAndTheRestMadeLater) {
  TestEngine engine;
  engine.fails_at = 9;
  Store made = store("made");
  EXPECT_THROW(make_runs(runs(), made, {.jobs = 1, .engine = &engine}, never, ignore), Error);
  std::size_t there = 0;
  for (const RunConfig& config : runs()) there += made.contains(config) ? 1 : 0;
  EXPECT_GE(there, 4U) << "the groups before the one that failed, at least";
  EXPECT_LT(there, 26U);
  TestEngine again;
  make_runs(runs(), made, {.jobs = 1, .engine = &again}, never, ignore);
  EXPECT_LE(again.runs, 26 - there);
  Store plain = store("cpu");
  make_runs(runs(), plain, {.jobs = 1}, never, ignore);
  expect_same(plain, made);
}

TEST_F(EngineTest, AStopEndsGroups) {
  std::atomic<bool> stop = false;
  TestEngine engine;
  Store made = store("made");
  make_runs(runs(), made, {.jobs = 1, .engine = &engine}, stop, [&](const SweepProgress& now) {
    if (now.done > 0) stop = true;
  });
  make_runs(runs(), made, {.jobs = 1, .engine = &engine}, never, ignore);
  Store plain = store("cpu");
  make_runs(runs(), plain, {.jobs = 1}, never, ignore);
  expect_same(plain, made);
}

}  // namespace
}  // namespace ignd
