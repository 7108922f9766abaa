#include "cli/experiments.hpp"

#include "base/atomic_file.hpp"
#include "base/text.hpp"
#include "cli/console.hpp"
#include "cli/stop_signal.hpp"
#include "ignd/error.hpp"
#include "lab/plan.hpp"
#include "lab/sweep.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <sstream>
#include <string_view>
#include <system_error>
#include <thread>

#include <fmt/format.h>
#include <unistd.h>
#include <xxhash.h>

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
  ExperimentSweep(const std::string& folder, const SweepJobs& jobs, Estimate estimate, const StopSignal& stop)
      : store_(jobs.shard.folder(folder), Store::Access::write),
        common_folder_(folder),
        folder_(jobs.shard.folder(folder)),
        jobs_(jobs),
        estimate_(estimate),
        stop_(stop) {}

  int run(const std::vector<SweptExperiment>& wanted) {
    if (!jobs_.shard.is_all()) take_over_common_runs();
    for (const SweptExperiment& one : wanted) put(one.stored);
    if (estimate_ == Estimate::wanted && wanted.size() > 1) print_plan(wanted);
    for (const auto& [experiment, stored] : wanted) {
      make_all_runs(experiment);
      if (stopped_) return interrupted(experiment);
    }
    if (!jobs_.shard.is_all()) print_next_step();
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
    const std::uint64_t total = count_all(experiment);
    std::uint64_t there = count_done(experiment);
    if (there < total) print_advice(experiment);
    if (estimate_ == Estimate::wanted) print_estimate(experiment, total - there);
    SweepReporter reporter(experiment.name, there, total);
    SweepProgress so_far;
    for (std::uint64_t before = total + 1; there != before && !stopped_;) {
      before = there;
      SweepProgress last;
      const auto look = [&](const SweepProgress& now) {
        last = now;
        reporter.update(sum(so_far, now));
      };
      const bool made =
          make_runs(own_runs(experiment), store_, {.jobs = jobs_.jobs, .ranks = jobs_.ranks}, stop_.flag(), look);
      stopped_ = !made || stop_.flag();
      so_far = sum(so_far, last);
      there = count_done(experiment);
    }
    store_.add_wall_seconds(experiment.name, seconds_after(start));
    if (!stopped_) reporter.finish(so_far);
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
      const std::uint64_t missing = count_all(experiment) - count_done(experiment);
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
    print_error("{} experiments, {} of them complete; about {} with {} for the others (a rough guess){}:\n{}",
                wanted.size(), wanted.size() - incomplete, duration_text(seconds), jobs_.text(),
                unknown == 0 ? "" : fmt::format(", without {} of images and texts", unknown), lines);
  }

  // Only for long sweeps, so that users can come back later or ask for less.
  void print_estimate(const Experiment& experiment, std::uint64_t missing) const {
    const SweepWork work = work_of(experiment);
    if (work.seconds <= long_enough) return;
    const std::uint64_t later = missing - work.runs;
    print_error("{}: {} runs to make, about {} with {} ({}){}\n", experiment.name, work.runs,
                duration_text(work.seconds), jobs_.text(),
                is_measured(experiment) ? "measured on its first steps" : "a rough guess",
                later == 0 ? "" : fmt::format("; {} more once the rates for them are known", later));
  }

  SweepWork work_of(const Experiment& experiment) const {
    const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
    const unsigned at_a_time = jobs_.ranks != nullptr ? jobs_.in_all() : std::min(jobs_.jobs, cores);
    return work_left(own_runs(experiment), store_, at_a_time);
  }

  static bool is_measured(const Experiment& experiment) {
    return find_task(experiment.task).measures_cost(experiment.panels.front().methods.front().settings);
  }

  // Those that can be named now.
  std::vector<RunConfig> own_runs(const Experiment& experiment) const {
    std::vector<RunConfig> runs = runs_so_far(experiment, store_);
    std::erase_if(runs, [&](const RunConfig& config) { return !jobs_.shard.has(config); });
    return runs;
  }

  // Of a shard, no more can be known: the others make the runs that decide about further ones.
  std::uint64_t count_all(const Experiment& experiment) const {
    return jobs_.shard.is_all() ? count_runs(experiment, &store_) : own_runs(experiment).size();
  }

  void take_over_common_runs() {
    std::error_code ignored;
    if (!fs::exists(store_path(common_folder_), ignored)) return;
    const MergeReport merged = store_.merge(Store(common_folder_, Store::Access::read));
    if (merged.conflicts.empty()) return;
    throw FileError(fmt::format("{} and {} have different results of {} runs; `ignd merge {} -o {}` names them",
                                quoted_path(common_folder_), quoted_path(folder_), merged.conflicts.size(),
                                shell_word(folder_), shell_word(common_folder_)));
  }

  void print_next_step() const {
    print_error(
        "shard {} of {} is in {}; once all are done, `ignd merge {}-shard-*-of-{} -o {}` joins them, and the command "
        "without --shard makes what is left and the report\n",
        jobs_.shard.number, jobs_.shard.of, quoted_path(folder_), shell_word(common_folder_), jobs_.shard.of,
        shell_word(common_folder_));
  }

  std::uint64_t count_done(const Experiment& experiment) const {
    std::uint64_t done = 0;
    for (const RunConfig& config : own_runs(experiment)) done += store_.contains(config) ? 1 : 0;
    return done;
  }

  int interrupted(const Experiment& experiment) const {
    print_error("stopped: {} of {} runs of {} are in {}; the same command resumes them{}\n", count_done(experiment),
                count_all(experiment), experiment.name, quoted_path(folder_),
                find_task(experiment.task).resumes() ? ", also those in flight" : "");
    print_error("`ignd report {}` shows what is there\n", shell_word(folder_));
    return interrupted_code;
  }

  static constexpr double long_enough = 60;  // seconds, for an estimate

  Store store_;
  std::string common_folder_, folder_;  // the same, unless this is a shard
  SweepJobs jobs_;
  Estimate estimate_;
  const StopSignal& stop_;
  bool stopped_ = false;  // here or on another rank
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

bool Shard::has(const RunConfig& config) const {
  const std::string key = config.text();
  return is_all() || XXH3_64bits(key.data(), key.size()) % of == number - 1;
}

std::string Shard::folder(const std::string& folder) const {
  return is_all() ? folder : fmt::format("{}-shard-{}-of-{}", folder, number, of);
}

Shard Shard::parse(const std::string& text) {
  constexpr std::uint64_t most = 100'000;
  const std::size_t slash = text.find('/');
  Shard shard;
  const auto read = [](std::string_view part, std::uint64_t& number) {
    const auto [end, fault] = std::from_chars(part.data(), part.data() + part.size(), number);
    return !part.empty() && fault == std::errc() && end == part.data() + part.size();
  };
  const std::string_view all = text;
  const bool good = slash != std::string::npos && read(all.substr(0, slash), shard.number) &&
                    read(all.substr(slash + 1), shard.of) && shard.number >= 1 && shard.number <= shard.of &&
                    shard.of <= most;
  if (good) return shard;
  throw InvalidArgument(fmt::format("--shard is {}, but must be like 3/8, the third of eight parts", in_quotes(text)));
}

unsigned SweepJobs::in_all() const {
  if (ranks == nullptr) return jobs;
  return jobs * static_cast<unsigned>(ranks->size() - (ranks->rank_0_makes_runs() ? 0 : 1));
}

std::string SweepJobs::text() const {
  const std::string words = fmt::format("{} job{}", jobs, jobs == 1 ? "" : "s");
  if (ranks == nullptr) return words + " on this machine";
  return fmt::format("{} on each of {} ranks", words, ranks->size());
}

int sweep_experiments(const std::vector<SweptExperiment>& wanted, const std::string& folder, const SweepJobs& jobs,
                      Estimate estimate) {
  const StopSignal stop;
  return ExperimentSweep(folder, jobs, estimate, stop).run(wanted);
}

unsigned jobs_or_cores(std::uint64_t jobs, const Communicator& ranks) {
  return jobs > 0 ? static_cast<unsigned>(jobs) : ranks.cores();
}

int serve_sweep(Communicator& ranks, unsigned jobs) {
  const StopSignal stop;
  serve_runs(ranks, jobs, engine_for(Machine::shared), stop.flag());
  return 0;
}

}  // namespace ignd::cli
