#include "cli/sweep_experiments.hpp"

#include "cli/output.hpp"
#include "cli/progress.hpp"
#include "cli/stop_signal.hpp"
#include "core/text.hpp"
#include "sweep/plan.hpp"
#include "sweep/sweep.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <thread>

#include <fmt/format.h>
#include <unistd.h>

namespace ignd::cli {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// How far an experiment is: a bar on a terminal, and otherwise a line now and then.
class SweepReporter {
 public:
  SweepReporter(const std::string& name, std::uint64_t there, std::uint64_t total)
      : name_(name),
        there_(there),
        total_(total),
        bar_(name, total, "runs", false),
        lines_(isatty(STDERR_FILENO) == 0) {
    if (lines_) print_error("{}: {} runs, {} of them there already\n", name, total, there);
  }

  void update(const SweepProgress& now) {
    const std::string failed = now.failed == 0 ? "" : fmt::format("  {} failed", now.failed);
    bar_.update(there_ + now.done, failed);
    constexpr double pause = 5;
    if (!lines_ || now.done == 0 || seconds_since(last_) < pause) return;
    last_ = Clock::now();
    const double rate = static_cast<double>(now.done) / seconds_since(start_);
    print_error("{}: {} of {} runs, {:.3g} runs/s, {:.0f} s left{}\n", name_, there_ + now.done, total_, rate,
                static_cast<double>(total_ - std::min(total_, there_ + now.done)) / rate, failed);
  }

  void finish(const SweepProgress& made) {
    bar_.clear();
    const std::string failed =
        made.failed == 0 ? "" : fmt::format(", {} of them failed (rates that are only tried often do)", made.failed);
    print_error("{}: done in {:.1f} s; {} runs made{}\n", name_, seconds_since(start_), made.done, failed);
  }

 private:
  std::string name_;
  std::uint64_t there_, total_;
  Progress bar_;
  bool lines_;
  Clock::time_point start_ = Clock::now(), last_ = start_;
};

class ExperimentSweep {
 public:
  ExperimentSweep(std::filesystem::path folder, unsigned jobs, const StopSignal& stop)
      : store_(folder, Store::Access::write), folder_(std::move(folder)), jobs_(jobs), stop_(stop) {}

  int run(const std::vector<StoredExperiment>& wanted) {
    for (const StoredExperiment& experiment : wanted) put(experiment);
    for (const StoredExperiment& stored : wanted) {
      const Experiment experiment = parse_experiment(stored.file, stored.name, stored.options);
      make_all_runs(experiment);
      if (stop_.flag()) return interrupted(experiment);
    }
    return 0;
  }

 private:
  // The report shows one experiment of a name. Whoever puts another in its place is told.
  void put(const StoredExperiment& wanted) {
    for (const StoredExperiment& there : store_.experiments()) {
      if (there.name != wanted.name || (there.file == wanted.file && there.options == wanted.options)) continue;
      print_error(
          "{}: {} has an experiment of this name that was asked for differently (`{}`); this one takes its place in "
          "the report, and its runs stay\n",
          wanted.name, quoted_path(folder_), there.command);
    }
    store_.put(wanted);
  }

  // First what can be named, the search among it; then the runs at the rates that it chose.
  void make_all_runs(const Experiment& experiment) {
    const auto start = Clock::now();
    const std::uint64_t total = count_runs(experiment, &store_);
    std::uint64_t there = count_done(experiment);
    SweepReporter reporter(experiment.name, there, total);
    SweepProgress so_far;
    for (std::uint64_t before = total + 1; there != before && !stop_.flag();) {
      before = there;
      SweepProgress last;
      make_runs(runs_so_far(experiment, store_), store_, jobs_, stop_.flag(), [&](const SweepProgress& now) {
        last = now;
        reporter.update({so_far.done + now.done, so_far.failed + now.failed});
      });
      so_far = {so_far.done + last.done, so_far.failed + last.failed};
      there = count_done(experiment);
    }
    store_.add_wall_seconds(experiment.name, seconds_since(start));
    if (!stop_.flag()) reporter.finish(so_far);
  }

  std::uint64_t count_done(const Experiment& experiment) const {
    std::uint64_t done = 0;
    for (const RunConfig& config : runs_so_far(experiment, store_)) done += store_.contains(config) ? 1 : 0;
    return done;
  }

  int interrupted(const Experiment& experiment) const {
    print_error("stopped: {} of {} runs of {} are in {}; the same command goes on from there\n", count_done(experiment),
                count_runs(experiment, &store_), experiment.name, quoted_path(folder_));
    return interrupted_code;
  }

  Store store_;
  std::filesystem::path folder_;
  unsigned jobs_;
  const StopSignal& stop_;
};

}  // namespace

int sweep_experiments(const std::vector<StoredExperiment>& wanted, const std::string& folder, unsigned jobs) {
  const StopSignal stop;
  return ExperimentSweep(folder, jobs, stop).run(wanted);
}

unsigned jobs_or_cores(std::uint64_t jobs) {
  return jobs > 0 ? static_cast<unsigned>(jobs) : std::max(1U, std::thread::hardware_concurrency());
}

}  // namespace ignd::cli
