
#include "base/atomic_file.hpp"
#include "base/text.hpp"
#include "ignd/error.hpp"
#include "ignd/random.hpp"
#include "lab/store.hpp"
#include "lab/sweep.hpp"
#include "scratch_folder.hpp"

#include <atomic>
#include <cmath>
#include <fstream>
#include <limits>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace ignd {
namespace {

namespace fs = std::filesystem;
using testing::ScratchFolder;

// Adds up so many numbers that its seed draws; what it keeps is how many there were, and their sum.
class AddingTask final : public Task {
 public:
  explicit AddingTask(bool resumes = true) : resumes_(resumes) {}

  std::string name() const override { return "adding"; }
  std::string meaning() const override { return ""; }
  std::span<const SettingKey> keys() const override { return {}; }
  std::vector<std::string> faults(const Settings& /*settings*/) const override { return {}; }
  double cost(const RunConfig& config) const override { return config.rate; }
  bool resumes() const override { return resumes_; }

  RunResult run(const RunConfig& config, const RunControl& control) const override {
    EXPECT_EQ(control.unfinished().empty(), !resumes_);
    RandomStream numbers(config.seed, "numbers");
    const auto length = static_cast<std::uint64_t>(config.rate);
    std::uint64_t sum = 0;
    std::uint64_t count = 0;
    std::ifstream(control.unfinished()) >> count >> sum;
    for (std::uint64_t skipped = 0; skipped < count; ++skipped) numbers.below(1000);
    while (count < length) {
      control.set_share(static_cast<double>(count) / static_cast<double>(length));
      before_step(config, count, control);
      if (control.stop()) {
        if (resumes_) write_file_atomically(control.unfinished(), fmt::format("{} {}", count, sum));
        throw Stopped();
      }
      sum += numbers.below(1000);
      ++count;
      ++steps;
    }
    RunResult result;
    result.score = static_cast<double>(sum);
    return result;
  }

  std::function<void(const RunConfig&, std::uint64_t count, const RunControl&)> before_step =
      [](const RunConfig&, std::uint64_t, const RunControl&) {};
  mutable std::atomic<std::uint64_t> steps = 0;

 private:
  bool resumes_;
};

RunConfig run_of(std::uint64_t length, std::uint64_t seed) {
  return {"adding", {}, {"gradient", "plain"}, static_cast<double>(length), seed};
}

double sum_of(const RunConfig& config) {
  RandomStream numbers(config.seed, "numbers");
  double sum = 0;
  for (double k = 0; k < config.rate; ++k) sum += static_cast<double>(numbers.below(1000));
  return sum;
}

std::vector<RunConfig> random_runs(RandomStream& stream) {
  std::vector<RunConfig> runs;
  const std::uint64_t count = 1 + stream.below(8);
  for (std::uint64_t seed = 1; seed <= count; ++seed) runs.push_back(run_of(1 + stream.below(50), seed));
  return runs;
}

// The sweep as the tool makes it, with this one task.
void sweep(
    const AddingTask& task, const std::vector<RunConfig>& runs, Store& store, unsigned jobs,
    const std::atomic<bool>& stop, const std::function<void(const SweepProgress&)>& progress = [](const auto&) {}) {
  make_runs(runs, store, {.jobs = jobs, .task_named = [&](std::string_view) -> const Task& { return task; }}, stop,
            progress);
}

const std::atomic<bool> never = false;

void wait_for_stop(const RunControl& control) {
  while (!control.stop()) std::this_thread::yield();
}

TEST(RunControl, AShareIsBetweenNoneAndAll) {
  std::atomic<double> share = 0;
  const RunControl control(never, "file", &share);
  for (const auto& [told, kept] : std::vector<std::pair<double, double>>{
           {0.25, 0.25}, {1, 1}, {2, 1}, {-1, 0}, {0, 0}, {std::numeric_limits<double>::infinity(), 1}}) {
    control.set_share(told);
    EXPECT_EQ(share, kept) << told;
  }
  control.set_share(std::nan(""));
  EXPECT_EQ(share, 0);
  const RunControl plain = never;
  plain.set_share(0.5);
  EXPECT_TRUE(plain.unfinished().empty());
  EXPECT_EQ(&plain.stop(), &never);
}

TEST(UnfinishedRuns, EveryRunHasAFileOfItsOwn) {
  const ScratchFolder scratch;
  const UnfinishedRuns unfinished(scratch / "r");
  std::set<fs::path> paths;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const fs::path path = unfinished.path_of(run_of(7, seed));
    EXPECT_EQ(path.parent_path(), scratch / "r/unfinished");
    EXPECT_EQ(path.extension(), ".ignd");
    EXPECT_EQ(path.stem().string().size(), 16U);
    EXPECT_EQ(path.stem().string().find_first_not_of("0123456789abcdef"), std::string::npos);
    EXPECT_EQ(path, UnfinishedRuns(scratch / "r").path_of(run_of(7, seed)));
    paths.insert(path);
  }
  EXPECT_EQ(paths.size(), 100U);
}

TEST(UnfinishedRuns, StoppedAnywhereNoStepIsMadeTwiceAndTheResultsAreTheSame) {
  RandomStream stream(1, "stops");
  for (int round = 0; round < 60; ++round) {
    const ScratchFolder scratch;
    Store store(scratch / "r", Store::Access::write);
    const auto runs = random_runs(stream);
    const unsigned jobs = 1 + static_cast<unsigned>(stream.below(3));
    std::uint64_t all_steps = 0;
    for (const RunConfig& run : runs) all_steps += static_cast<std::uint64_t>(run.rate);
    std::uint64_t made = 0;
    for (bool done = false; !done;) {
      AddingTask task;
      std::atomic<bool> stop = false;
      const std::uint64_t steps = 1 + stream.below(all_steps);
      task.before_step = [&](const RunConfig&, std::uint64_t, const RunControl& control) {
        if (task.steps < steps) return;
        stop = true;
        wait_for_stop(control);
      };
      sweep(task, runs, store, jobs, stop);
      made += task.steps;
      done = std::ranges::all_of(runs, [&](const RunConfig& run) { return store.contains(run); });
      EXPECT_EQ(fs::exists(scratch / "r/unfinished"), !done);
    }
    EXPECT_EQ(made, all_steps);
    for (const RunConfig& run : runs) EXPECT_EQ(store.find(run)->result.score, sum_of(run));
  }
}

TEST(UnfinishedRuns, AFileOfAStoredRunIsRemoved) {
  const ScratchFolder scratch;
  Store store(scratch / "r", Store::Access::write);
  const AddingTask task;
  const RunConfig stored = run_of(5, 1);
  const RunConfig elsewhere = run_of(5, 2);  // of an experiment that is not being made
  sweep(task, {stored}, store, 1, never);
  {
    const UnfinishedRuns unfinished(scratch / "r");
    unfinished.make_folder();
    for (const RunConfig& run : {stored, elsewhere}) std::ofstream(unfinished.path_of(run)) << "3 7";
    std::ofstream(unfinished.path_of(stored).string() + ".tmp.1.2") << "half";
  }
  sweep(task, {stored}, store, 1, never);
  const UnfinishedRuns unfinished(scratch / "r");
  std::vector<fs::path> left;
  for (const auto& file : fs::directory_iterator(scratch / "r/unfinished")) left.push_back(file.path());
  EXPECT_EQ(left, std::vector{unfinished.path_of(elsewhere)});
}

TEST(UnfinishedRuns, TasksThatDoNotResumeHaveNoFolder) {
  const ScratchFolder scratch;
  Store store(scratch / "r", Store::Access::write);
  AddingTask task(false);
  std::atomic<bool> stop = false;
  task.before_step = [&](const RunConfig& run, std::uint64_t count, const RunControl& control) {
    EXPECT_FALSE(fs::exists(scratch / "r/unfinished"));
    if (run.seed != 2 || count != 3) return;
    stop = true;
    wait_for_stop(control);
  };
  sweep(task, {run_of(5, 1), run_of(5, 2)}, store, 1, stop);
  EXPECT_TRUE(store.contains(run_of(5, 1)));
  EXPECT_FALSE(store.contains(run_of(5, 2)));
  EXPECT_FALSE(fs::exists(scratch / "r/unfinished"));
}

TEST(UnfinishedRuns, AFolderThatCannotBeMadeIsNamed) {
  const ScratchFolder scratch;
  Store store(scratch / "r", Store::Access::write);
  std::ofstream(scratch / "r/unfinished") << "somebody's file";
  try {
    sweep(AddingTask(), {run_of(5, 1)}, store, 1, never);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const FileError& fault) {
    EXPECT_NE(std::string(fault.what()).find("unfinished"), std::string::npos) << fault.what();
  }
  EXPECT_TRUE(fs::is_regular_file(scratch / "r/unfinished"));
}

// One run's fault ends the sweep, and costs the others nothing.
TEST(UnfinishedRuns, WhereARunThrowsTheOthersKeepWhatTheyHave) {
  const ScratchFolder scratch;
  Store store(scratch / "r", Store::Access::write);
  AddingTask task;
  std::atomic<bool> other_is_there = false;
  task.before_step = [&](const RunConfig& run, std::uint64_t count, const RunControl& control) {
    if (run.seed == 1 && count == 4) {
      other_is_there = true;
      wait_for_stop(control);
    }
    if (run.seed != 2) return;
    while (!other_is_there) std::this_thread::yield();
    throw InvalidArgument("no good");
  };
  const std::vector runs{run_of(50, 1), run_of(50, 2)};
  EXPECT_THROW(sweep(task, runs, store, 2, never), InvalidArgument);
  task.before_step = [](const RunConfig& run, std::uint64_t count, const RunControl&) {
    EXPECT_GE(count, run.seed == 1 ? 4U : 0U);
  };
  sweep(task, runs, store, 2, never);
  EXPECT_EQ(task.steps, 100U);
  for (const RunConfig& run : runs) EXPECT_EQ(store.find(run)->result.score, sum_of(run));
}

TEST(SweepProgress, NeverGoesBack) {
  RandomStream stream(1, "progress");
  for (int round = 0; round < 20; ++round) {
    const ScratchFolder scratch;
    Store store(scratch / "r", Store::Access::write);
    const auto runs = random_runs(stream);
    const AddingTask task;
    double last = 0;
    sweep(task, runs, store, 1 + static_cast<unsigned>(stream.below(3)), never, [&](const SweepProgress& now) {
      const double made = static_cast<double>(now.done) + now.under_way;
      EXPECT_GE(made, last - 1e-9);
      EXPECT_LE(made, static_cast<double>(runs.size()) + 1e-9);
      EXPECT_EQ(now.resumed, 0);
      last = made;
    });
    EXPECT_NEAR(last, static_cast<double>(runs.size()), 1e-9);
  }
}

// A run of ten steps that is taken up at the fourth and waits at the fifth to be seen there.
TEST(SweepProgress, IsToldWhileNoRunEnds) {
  const ScratchFolder scratch;
  Store store(scratch / "r", Store::Access::write);
  const RunConfig run = run_of(10, 1);
  {
    const UnfinishedRuns unfinished(scratch / "r");
    unfinished.make_folder();
    std::ofstream(unfinished.path_of(run)) << "4 100";
  }
  AddingTask task;
  std::atomic<double> seen = -1;
  task.before_step = [&](const RunConfig&, std::uint64_t count, const RunControl&) {
    if (count > 5) return;
    while (seen != static_cast<double>(count) / 10) std::this_thread::yield();
  };
  SweepProgress last;
  const auto caller = std::this_thread::get_id();
  sweep(task, {run}, store, 1, never, [&](const SweepProgress& now) {
    EXPECT_EQ(std::this_thread::get_id(), caller);
    last = now;
    seen = now.under_way;
  });
  EXPECT_EQ(last.done, 1U);
  EXPECT_EQ(last.under_way, 0);
  EXPECT_EQ(last.resumed, 0.4);
  EXPECT_EQ(task.steps, 6U);
}

TEST(SweepWork, IsThatOfTheRunsThatAreMissing) {
  const ScratchFolder scratch;
  Store store(scratch / "r", Store::Access::write);
  const AddingTask task;
  const FindTask find = [&](std::string_view) -> const Task& { return task; };
  const std::vector runs{run_of(10, 1), run_of(30, 2), run_of(20, 3), run_of(200, 4)};
  sweep(task, {runs[3]}, store, 1, never);
  EXPECT_EQ(work_left(runs, store, 1, find).runs, 3U);
  EXPECT_DOUBLE_EQ(work_left(runs, store, 1, find).seconds, 60);
  EXPECT_DOUBLE_EQ(work_left(runs, store, 2, find).seconds, 30);
  EXPECT_DOUBLE_EQ(work_left(runs, store, 8, find).seconds, 30) << "a run is made by one job";
  sweep(task, runs, store, 2, never);
  EXPECT_EQ(work_left(runs, store, 2, find).runs, 0U);
  EXPECT_EQ(work_left(runs, store, 2, find).seconds, 0);
}

}  // namespace
}  // namespace ignd
