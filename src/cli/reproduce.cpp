#include "cli/reproduce.hpp"

#include "cli/experiment_files.hpp"
#include "cli/output.hpp"
#include "cli/progress.hpp"
#include "cli/stop_signal.hpp"
#include "core/text.hpp"
#include "ignd/error.hpp"
#include "report/report.hpp"
#include "sweep/plan.hpp"
#include "sweep/store.hpp"
#include "sweep/sweep.hpp"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <filesystem>
#include <string_view>
#include <thread>

#include <fmt/format.h>
#include <unistd.h>

namespace ignd::cli {
namespace {

constexpr int usage_error = 2;

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// As a shell takes it for one word.
std::string shell_word(const std::string& text) {
  const bool plain = !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || std::string_view("/._-+=:,@").find(static_cast<char>(c)) != std::string_view::npos;
  });
  if (plain) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string command_text(const ReproduceOptions& options, const std::string& name) {
  std::string text = "ignd reproduce " + shell_word(name);
  if (options.quick) text += " --quick";
  if (options.seeds) text += fmt::format(" --seeds {}", *options.seeds);
  return text;
}

constexpr const char* default_folder = "results";
constexpr const char* preview_folder = "results-preview";

// The same with the folder, wherever that has gone since.
std::string command_in(const std::string& folder, const StoredExperiment& stored) {
  const bool is_default = folder == (stored.options.quick ? preview_folder : default_folder);
  return is_default ? stored.command : stored.command + " --out " + shell_word(folder);
}

// Why an experiment cannot be run here; "" if it can.
std::string what_is_missing(const Experiment& experiment) {
  for (const Panel& panel : experiment.panels) {
    for (const Method& method : panel.methods) {
      std::string missing = find_task(experiment.task).missing(method.settings);
      if (!missing.empty()) return missing;
    }
  }
  return "";
}

// Those that can be run here. One that was asked for by name must be.
std::vector<ExperimentFile> runnable(std::vector<ExperimentFile> files, bool named) {
  std::erase_if(files, [&](const ExperimentFile& file) {
    const std::string missing = what_is_missing(file.experiment);
    if (missing.empty()) return false;
    if (named) throw FileError(fmt::format("{}: {}", file.experiment.name, missing));
    print_error("{} is left out: {}\n", file.experiment.name, missing);
    return true;
  });
  return files;
}

int list_experiments(const std::vector<ExperimentFile>& files) {
  for (const ExperimentFile& file : files) {
    print("{:24} {:6} runs  {}\n", file.experiment.name, count_runs(file.experiment), file.experiment.title);
  }
  return 0;
}

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

class Reproduction {
 public:
  Reproduction(const ReproduceOptions& options, const StopSignal& stop, std::filesystem::path folder)
      : options_(options), store_(folder, Store::Access::write), folder_(std::move(folder)), stop_(stop) {}

  int run(const std::vector<ExperimentFile>& files) {
    for (const ExperimentFile& file : files) put(file);
    for (const ExperimentFile& file : files) {
      make_all_runs(file.experiment);
      if (stop_.flag()) return interrupted(file.experiment);
    }
    return 0;
  }

 private:
  // The report shows one experiment of a name. Whoever puts another in its place is told.
  void put(const ExperimentFile& file) {
    const StoredExperiment wanted{
        file.experiment.name, file.text, {options_.quick, options_.seeds}, command_text(options_, file.given_as), 0};
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
      make_runs(runs_so_far(experiment, store_), store_, jobs(), stop_.flag(), [&](const SweepProgress& now) {
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

  unsigned jobs() const {
    return options_.jobs > 0 ? static_cast<unsigned>(options_.jobs) : std::max(1U, std::thread::hardware_concurrency());
  }

  int interrupted(const Experiment& experiment) const {
    print_error("stopped: {} of {} runs of {} are in {}; the same command goes on from there\n", count_done(experiment),
                count_runs(experiment, &store_), experiment.name, quoted_path(folder_));
    return interrupted_code;
  }

  const ReproduceOptions& options_;
  Store store_;
  std::filesystem::path folder_;
  const StopSignal& stop_;
};

// Signals are caught while runs are made; a report is quick, and made again by another command.
int make_missing_runs(const ReproduceOptions& options, const std::string& folder,
                      const std::vector<ExperimentFile>& files) {
  const StopSignal stop;
  return Reproduction(options, stop, folder).run(files);
}

ExperimentResults collect(const StoredExperiment& stored, const Store& store, const std::string& folder) {
  ExperimentResults results = collect_results(parse_experiment(stored.file, stored.name, stored.options), store);
  results.command = command_in(folder, stored);
  results.wall_seconds = stored.wall_seconds;
  for (const std::string& warning : results.warnings)
    print_error("{}: {}\n", printable(stored.name), printable(warning, 500));
  if (results.done < results.planned) {
    print_error("{}: {} of {} runs are missing; `{}` makes them\n", printable(stored.name),
                results.planned - results.done, results.planned, printable(results.command, 500));
  }
  return results;
}

}  // namespace

int reproduce(const ReproduceOptions& options) {
  std::vector<std::string> faults;
  const auto files = read_experiments(options.names, {options.quick, options.seeds}, faults);
  if (!faults.empty()) {
    for (const std::string& fault : faults) print_error("ignd: {}\n", fault);
    return usage_error;
  }
  if (options.list) return list_experiments(files);
  const std::string folder = !options.out.empty() ? options.out : options.quick ? preview_folder : default_folder;
  const int code = make_missing_runs(options, folder, runnable(files, !options.names.empty()));
  return code == 0 ? make_report(folder) : code;
}

int make_report(const std::string& folder) {
  const Store store(folder, Store::Access::read);
  std::vector<ExperimentResults> all;
  int code = 0;
  for (const StoredExperiment& stored : store.experiments()) {
    try {
      all.push_back(collect(stored, store, folder));
    } catch (const InvalidArgument& fault) {
      code = 1;
      print_error("ignd: the experiment {} in {} cannot be read and is left out: {}\n", in_quotes(stored.name),
                  quoted_path(folder), printable(fault.what(), 200));
    }
  }
  for (const std::string& warning : write_report(all, folder).warnings) print_error("ignd: {}\n", warning);
  print("{}\n", (std::filesystem::path(folder) / "report.html").string());
  return code;
}

}  // namespace ignd::cli
