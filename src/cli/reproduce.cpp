#include "cli/reproduce.hpp"

#include "cli/experiment_files.hpp"
#include "cli/output.hpp"
#include "cli/report_folder.hpp"
#include "cli/shell_word.hpp"
#include "cli/sweep_experiments.hpp"
#include "ignd/error.hpp"
#include "sweep/plan.hpp"

#include <fmt/format.h>

namespace ignd::cli {
namespace {

constexpr int usage_error = 2;

std::string command_text(const ReproduceOptions& options, const std::string& name) {
  std::string text = "ignd reproduce " + shell_word(name);
  if (options.quick) text += " --quick";
  if (options.seeds) text += fmt::format(" --seeds {}", *options.seeds);
  return text;
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
  std::vector<StoredExperiment> wanted;
  for (const ExperimentFile& file : runnable(files, !options.names.empty())) {
    wanted.push_back(
        {file.experiment.name, file.text, {options.quick, options.seeds}, command_text(options, file.given_as), 0});
  }
  const int code = sweep_experiments(wanted, folder, jobs_or_cores(options.jobs));
  return code == 0 ? make_report(folder) : code;
}

}  // namespace ignd::cli
