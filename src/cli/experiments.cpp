#include "cli/experiments.hpp"

#include "base/atomic_file.hpp"
#include "base/text.hpp"
#include "cli/console.hpp"
#include "cli/stop_signal.hpp"
#include "ignd/error.hpp"
#include "lab/plan.hpp"
#include "lab/sweep.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <sstream>
#include <thread>

#include <fmt/format.h>
#include <unistd.h>

namespace ignd::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t largest_file = 1 << 20;

// Beside the installed program, or in the source tree.
fs::path own_folder() {
  std::error_code failed;
  const fs::path program = fs::read_symlink("/proc/self/exe", failed);
  const fs::path installed = program.parent_path().parent_path() / "share/ignd/experiments";
  return fs::is_directory(installed, failed) ? installed : fs::path(IGND_EXPERIMENTS);
}

std::vector<std::string> own_names() {
  std::vector<std::string> names;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(own_folder(), failed)) {
    if (entry.path().extension() == ".toml") names.push_back(entry.path().stem());
  }
  std::sort(names.begin(), names.end());
  return names;
}

bool is_path(const std::string& name) { return name.find('/') != std::string::npos || name.ends_with(".toml"); }

void read_one(const std::string& name, const fs::path& path, const ExperimentOptions& options,
              std::vector<ExperimentFile>& files, std::vector<std::string>& faults) {
  try {
    std::string text = read_file(path, largest_file + 1);
    if (text.size() > largest_file)
      throw FileError(fmt::format("{} is too large for an experiment file", quoted_path(path)));
    Experiment experiment = parse_experiment(text, path.stem(), options);
    files.push_back({name, std::move(text), options, std::move(experiment)});
  } catch (const InvalidArgument& fault) {
    std::istringstream lines(fault.what());
    for (std::string line; std::getline(lines, line);) faults.push_back(fmt::format("{}: {}", quoted_path(path), line));
  } catch (const FileError& fault) {
    faults.emplace_back(fault.what());
  }
}

using Clock = std::chrono::steady_clock;

double seconds_after(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// In seconds. Long sweeps print less often.
double pause_between_lines(double seconds_so_far) { return seconds_so_far > 300 ? 60 : 5; }

// Shows the progress of an experiment: a bar on a terminal, otherwise a line now and then.
class SweepReporter {
 public:
  SweepReporter(const std::string& name, std::uint64_t there, std::uint64_t total)
      : name_(name),
        there_(there),
        total_(total),
        bar_(name, total, "runs", false),
        lines_(isatty(STDERR_FILENO) == 0) {
    if (lines_) print_error("{}: {} runs, {} of them done already\n", name, total, there);
  }

  void update(const SweepProgress& now) {
    const double made = static_cast<double>(now.done) + now.under_way;
    const double share = std::min(1.0, (static_cast<double>(there_) + made) / static_cast<double>(total_));
    const double seconds = seconds_after(start_);
    std::string words = fmt::format("{} of {} runs", there_ + now.done, total_);
    if (made > now.resumed) {
      const double left = (1 - share) * static_cast<double>(total_) * seconds / (made - now.resumed);
      words += fmt::format(", {} left", duration_text(std::ceil(left)));
    }
    if (now.failed > 0) words += fmt::format(", {} failed", now.failed);
    bar_.show(share, words);
    if (!lines_ || made == 0 || seconds_after(last_) < pause_between_lines(seconds)) return;
    last_ = Clock::now();
    print_error("{}: {:.3g} %, {}\n", name_, 100 * share, words);
  }

  void finish(const SweepProgress& made) {
    bar_.clear();
    const std::string failed =
        made.failed == 0 ? "" : fmt::format(", {} of them failed (many rates of a search do)", made.failed);
    print_error("{}: done in {}; {} runs made{}\n", name_, duration_text(seconds_after(start_)), made.done, failed);
  }

 private:
  std::string name_;
  std::uint64_t there_, total_;
  Progress bar_;
  bool lines_;
  Clock::time_point start_ = Clock::now(), last_ = start_;
};

SweepProgress sum(const SweepProgress& a, const SweepProgress& b) {
  return {a.done + b.done, a.failed + b.failed, a.under_way + b.under_way, a.resumed + b.resumed};
}

class ExperimentSweep {
 public:
  ExperimentSweep(std::filesystem::path folder, unsigned jobs, Estimate estimate, const StopSignal& stop)
      : store_(folder, Store::Access::write),
        folder_(std::move(folder)),
        jobs_(jobs),
        estimate_(estimate),
        stop_(stop) {}

  int run(const std::vector<SweptExperiment>& wanted) {
    for (const SweptExperiment& one : wanted) put(one.stored);
    if (estimate_ == Estimate::wanted && wanted.size() > 1) print_plan(wanted);
    for (const auto& [experiment, stored] : wanted) {
      make_all_runs(experiment);
      if (stop_.flag()) return interrupted(experiment);
    }
    return 0;
  }

 private:
  // The report shows one experiment of a name: warns if this one replaces another.
  void put(const StoredExperiment& wanted) {
    for (const StoredExperiment& there : store_.experiments()) {
      if (there.name != wanted.name || (there.file == wanted.file && there.options == wanted.options)) continue;
      print_error(
          "{}: {} has another experiment of this name (`{}`); this one takes its place in "
          "the report, and its runs stay\n",
          wanted.name, quoted_path(folder_), there.command);
    }
    store_.put(wanted);
  }

  // Repeats, because runs decide about others: the next rung of a search, the runs at the rate that it chose.
  void make_all_runs(const Experiment& experiment) {
    const auto start = Clock::now();
    const std::uint64_t total = count_runs(experiment, &store_);
    std::uint64_t there = count_done(experiment);
    if (there < total) print_advice(experiment);
    if (estimate_ == Estimate::wanted) print_estimate(experiment, total - there);
    SweepReporter reporter(experiment.name, there, total);
    SweepProgress so_far;
    for (std::uint64_t before = total + 1; there != before && !stop_.flag();) {
      before = there;
      SweepProgress last;
      make_runs(runs_so_far(experiment, store_), store_, {.jobs = jobs_}, stop_.flag(), [&](const SweepProgress& now) {
        last = now;
        reporter.update(sum(so_far, now));
      });
      so_far = sum(so_far, last);
      there = count_done(experiment);
    }
    store_.add_wall_seconds(experiment.name, seconds_after(start));
    if (!stop_.flag()) reporter.finish(so_far);
  }

  static void print_advice(const Experiment& experiment) {
    for (const Panel& panel : experiment.panels) {
      for (const std::string& sentence : advice_on(experiment, panel)) {
        print_error("{}: {}: {}\n", experiment.name, panel.title, sentence);
      }
    }
  }

  // What several experiments lack, in their order, unless it is a matter of seconds.
  void print_plan(const std::vector<SweptExperiment>& wanted) const {
    std::string lines;
    double seconds = 0;
    std::size_t incomplete = 0, unknown = 0;
    for (const auto& [experiment, stored] : wanted) {
      const std::uint64_t missing = count_runs(experiment, &store_) - count_done(experiment);
      if (missing == 0) continue;
      ++incomplete;
      std::string time = "measured when its turn comes";
      if (is_measured(experiment)) {
        ++unknown;
      } else {
        const double guess = work_of(experiment).seconds;
        seconds += guess;
        time = guess < 1 ? "a moment" : "about " + duration_text(guess);
      }
      lines += fmt::format("  {:26} {:6} runs, {}\n", experiment.name, missing, time);
    }
    if (unknown == 0 && seconds <= long_enough) return;
    print_error("{} experiments, {} of them complete; about {} with {} job{} for the others (a rough guess){}:\n{}",
                wanted.size(), wanted.size() - incomplete, duration_text(seconds), jobs_, jobs_ == 1 ? "" : "s",
                unknown == 0 ? "" : fmt::format(", without {} of images and texts", unknown), lines);
  }

  // Only for long sweeps, so that users can come back later or ask for less.
  void print_estimate(const Experiment& experiment, std::uint64_t missing) const {
    const SweepWork work = work_of(experiment);
    if (work.seconds <= long_enough) return;
    const std::uint64_t later = missing - work.runs;
    print_error("{}: {} runs to make, about {} with {} job{} on this machine ({}){}\n", experiment.name, work.runs,
                duration_text(work.seconds), jobs_, jobs_ == 1 ? "" : "s",
                is_measured(experiment) ? "measured on its first steps" : "a rough guess",
                later == 0 ? "" : fmt::format("; {} more once the rates for them are known", later));
  }

  SweepWork work_of(const Experiment& experiment) const {
    return work_left(runs_so_far(experiment, store_), store_, std::min(jobs_, jobs_or_cores(0)));
  }

  static bool is_measured(const Experiment& experiment) {
    return find_task(experiment.task).measures_cost(experiment.panels.front().methods.front().settings);
  }

  std::uint64_t count_done(const Experiment& experiment) const {
    std::uint64_t done = 0;
    for (const RunConfig& config : runs_so_far(experiment, store_)) done += store_.contains(config) ? 1 : 0;
    return done;
  }

  int interrupted(const Experiment& experiment) const {
    print_error("stopped: {} of {} runs of {} are in {}; the same command resumes them{}\n", count_done(experiment),
                count_runs(experiment, &store_), experiment.name, quoted_path(folder_),
                find_task(experiment.task).resumes() ? ", also those in flight" : "");
    print_error("`ignd report {}` shows what is there\n", shell_word(folder_.string()));
    return interrupted_code;
  }

  static constexpr double long_enough = 60;  // seconds, for an estimate

  Store store_;
  std::filesystem::path folder_;
  unsigned jobs_;
  Estimate estimate_;
  const StopSignal& stop_;
};

}  // namespace

std::vector<ExperimentFile> read_experiments(const std::vector<std::string>& names, const ExperimentOptions& options,
                                             std::vector<std::string>& faults) {
  const std::vector<std::string> known = own_names();
  std::vector<ExperimentFile> files;
  for (const std::string& name : names.empty() ? known : names) {
    if (is_path(name)) {
      read_one(name, name, options, files, faults);
      continue;
    }
    const auto own = std::ranges::find(known, name);
    if (own != known.end()) {
      read_one(*own, own_folder() / (*own + ".toml"), options, files, faults);
    } else {
      faults.push_back(fmt::format("there is no experiment {}{}; `ignd reproduce --list` shows them", in_quotes(name),
                                   suggestion(name, known)));
    }
  }
  for (std::size_t i = 0; i < files.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      if (files[i].experiment.name != files[k].experiment.name) continue;
      faults.push_back(fmt::format("two experiments are named {}", in_quotes(files[i].experiment.name)));
    }
  }
  return files;
}

int sweep_experiments(const std::vector<SweptExperiment>& wanted, const std::string& folder, unsigned jobs,
                      Estimate estimate) {
  const StopSignal stop;
  return ExperimentSweep(folder, jobs, estimate, stop).run(wanted);
}

unsigned jobs_or_cores(std::uint64_t jobs) {
  return jobs > 0 ? static_cast<unsigned>(jobs) : std::max(1U, std::thread::hardware_concurrency());
}

}  // namespace ignd::cli
