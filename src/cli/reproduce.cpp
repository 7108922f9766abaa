#include "cli/commands.hpp"
#include "cli/console.hpp"
#include "cli/experiments.hpp"
#include "data/catalogue.hpp"
#include "ignd/error.hpp"
#include "lab/plan.hpp"
#include "lab/store.hpp"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

namespace ignd::cli {
namespace {

std::string command_text(const ExperimentFile& file) {
  std::string text = "ignd reproduce " + shell_word(file.given_as);
  if (file.options.quick) text += " --quick";
  if (file.options.seeds) text += fmt::format(" --seeds {}", *file.options.seeds);
  return text;
}

bool has_full_results(const std::string& folder, const std::string& name) {
  std::error_code ignored;
  if (!std::filesystem::exists(store_path(folder), ignored)) return false;
  const auto there = Store(folder, Store::Access::read).experiments();
  return std::any_of(there.begin(), there.end(),
                     [&](const StoredExperiment& stored) { return stored.name == name && !stored.options.quick; });
}

// What runs if no experiment is named: long ones as a preview only, very long ones not at all. Full results that are in
// the folder stay.
std::vector<ExperimentFile> default_experiments(std::vector<ExperimentFile> files, const std::string& folder) {
  std::erase_if(files, [&](const ExperimentFile& file) {
    return file.experiment.by_default == ByDefault::nothing ||
           (file.experiment.by_default == ByDefault::quick && has_full_results(folder, file.experiment.name));
  });
  for (ExperimentFile& file : files) {
    if (file.experiment.by_default == ByDefault::full || file.options.quick) continue;
    file.options.quick = true;
    file.experiment = parse_experiment(file.text, file.experiment.name, file.options);
  }
  return files;
}

// What an experiment lacks to run here.
MissingData what_is_missing(const Experiment& experiment) {
  const Task& task = find_task(experiment.task);
  for (const Panel& panel : experiment.panels) {
    for (const Method& method : panel.methods) {
      MissingData missing = task.missing(method.settings);
      for (const Settings& rung : method.rungs) {
        if (missing.fault.empty()) missing = task.missing(rung);
      }
      if (!missing.fault.empty()) return missing;
    }
  }
  return {};
}

// Larger data sets are downloaded only by `ignd data fetch`.
constexpr std::uint64_t most_to_fetch = 10'000'000;  // bytes

// Downloads the small data sets that experiments lack. The first failure ends it: there is no network.
void fetch_small_data(const std::vector<ExperimentFile>& files) {
  for (const ExperimentFile& file : files) {
    for (;;) {
      const DataSet* set = what_is_missing(file.experiment).set;
      if (set == nullptr || set->size > most_to_fetch || address_of(*set).empty()) break;
      print_error("{} needs {}: fetching {} from {} (--offline forbids it)\n", file.experiment.name, set->name,
                  in_megabytes(set->size), address_of(*set));
      try {
        fetch_with_progress(*set, "");
      } catch (const FileError& fault) {
        print_error("{}\n", fault.what());
        return;
      }
    }
  }
}

// Those that can run here. Throws FileError if one that the user named cannot.
std::vector<ExperimentFile> runnable(std::vector<ExperimentFile> files, bool named) {
  std::erase_if(files, [&](const ExperimentFile& file) {
    const std::string fault = what_is_missing(file.experiment).fault;
    if (fault.empty()) return false;
    if (named) throw FileError(fmt::format("{}: {}", file.experiment.name, fault));
    print_error("{} is left out: {}\n", file.experiment.name, fault);
    return true;
  });
  return files;
}

int list_experiments(const std::vector<ExperimentFile>& files) {
  for (const ExperimentFile& file : files) {
    static constexpr const char* remarks[]{"", " (a preview unless it is named)", " (only if it is named)"};
    print("{:26} {:6} runs  {}{}\n", file.experiment.name, count_runs(file.experiment), file.experiment.title,
          remarks[static_cast<int>(file.experiment.by_default)]);
  }
  return 0;
}

}  // namespace

int reproduce(const ReproduceOptions& options, Communicator& ranks) {
  const unsigned jobs = jobs_or_cores(options.jobs, ranks);
  if (ranks.rank() > 0) return serve_sweep(ranks, jobs);
  RankPool pool(ranks);
  const Shard shard = options.shard.empty() ? Shard() : Shard::parse(options.shard);
  const bool named = !options.names.empty();
  if (named && options.all) throw InvalidArgument("--all makes every experiment; name some, or say --all");
  std::vector<std::string> faults;
  auto files = read_experiments(options.names, {options.quick, options.seeds}, faults);
  if (!faults.empty()) {
    for (const std::string& fault : faults) print_error("ignd: {}\n", fault);
    return usage_error;
  }
  if (options.list) return list_experiments(files);
  const std::string folder = !options.out.empty() ? options.out : options.quick ? preview_folder : default_folder;
  if (!named && !options.all) files = default_experiments(std::move(files), folder);
  if (options.all) std::ranges::stable_sort(files, {}, [](const auto& file) { return file.experiment.by_default; });
  if (!options.offline) fetch_small_data(files);
  std::vector<SweptExperiment> wanted;
  for (const ExperimentFile& file : runnable(std::move(files), named)) {
    wanted.push_back({file.experiment, {file.experiment.name, file.text, file.options, command_text(file), 0}});
  }
  const int code = sweep_experiments(wanted, folder, {jobs, ranks.size() > 1 ? &pool : nullptr, shard});
  return code == 0 && shard.is_all() ? make_report(folder) : code;
}

}  // namespace ignd::cli
