#include "report/report.hpp"

#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/console.hpp"
#include "cli/experiments.hpp"
#include "ignd/error.hpp"
#include "lab/plan.hpp"
#include "lab/store.hpp"
#include "report/paper_table.hpp"

#include <algorithm>
#include <filesystem>
#include <string_view>

#include <fmt/format.h>

namespace ignd::cli {
namespace {

std::string folder_without_out(const StoredExperiment& stored) {
  if (stored.command.starts_with("ignd compare ")) return comparison_folder(stored.name);
  return stored.options.quick ? preview_folder : default_folder;
}

// The command with the folder, which may have been moved.
std::string command_in(const std::string& folder, const StoredExperiment& stored) {
  if (folder == folder_without_out(stored)) return stored.command;
  return stored.command + " --out " + shell_word(folder);
}

ExperimentResults collect(const StoredExperiment& stored, const Store& store, const std::string& folder) {
  const Experiment experiment = parse_experiment(stored.file, stored.name, stored.options);
  ExperimentResults results = collect_results(experiment, store);
  for (std::size_t k = 0; k < results.panels.size(); ++k) {
    results.panels[k].advice = advice_on(experiment, experiment.panels[k]);
  }
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

// The program's other experiments with numbers of the paper: the paper's table has all of its columns, measured or not.
std::vector<ExperimentResults> others_in_paper(const std::vector<ExperimentResults>& here, const Store& store) {
  if (std::ranges::none_of(here, has_paper_numbers)) return {};
  std::vector<ExperimentResults> others;
  std::vector<std::string> ignored;
  for (const ExperimentFile& file : read_experiments({}, {}, ignored)) {
    if (std::ranges::find(here, file.experiment.name, &ExperimentResults::name) != here.end()) continue;
    ExperimentResults results = collect_results(file.experiment, store);
    if (has_paper_numbers(results)) others.push_back(std::move(results));
  }
  return others;
}

}  // namespace

std::string report_path(const std::string& folder) { return (std::filesystem::path(folder) / "report.html").string(); }

int make_report(const std::string& folder, Announce announce) {
  const Store store(folder, Store::Access::read);
  std::vector<ExperimentResults> all;
  int code = 0;
  for (const StoredExperiment& stored : store.experiments()) {
    try {
      all.push_back(collect(stored, store, folder));
    } catch (const InvalidArgument& fault) {
      code = failure;
      const std::string_view faults = fault.what();
      print_error(
          "ignd: the experiment {} in {} is left out, since this version does not understand it ({}); `{}` runs "
          "it again\n",
          in_quotes(stored.name), quoted_path(folder), printable(faults.substr(0, faults.find('\n')), 200),
          printable(command_in(folder, stored), 500));
    }
  }
  for (const std::string& warning : write_report(all, folder, "gnuplot", others_in_paper(all, store)).warnings)
    print_error("ignd: {}\n", warning);
  if (announce == Announce::path) print_data(report_path(folder) + "\n");
  return code;
}

}  // namespace ignd::cli
