#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/console.hpp"
#include "cli/describe.hpp"
#include "cli/experiments.hpp"
#include "cli/result_tables.hpp"
#include "data/archive.hpp"
#include "data/class_files.hpp"
#include "data/network_file.hpp"
#include "ignd/error.hpp"
#include "ignd/optimizer.hpp"
#include "lab/optimizer_study.hpp"
#include "lab/plan.hpp"
#include "learn/open_dataset.hpp"
#include "learn/run_checks.hpp"
#include "report/finding.hpp"
#include "report/format.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>

#include <fmt/format.h>

namespace ignd::cli {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string> own_options{"--optimizers", "--lrs", "--seeds", "--budget", "--jobs", "--out", "--json"};
// These do not change what is compared.
const std::vector<std::string> incidental_options{"--jobs", "--out", "--json"};

std::string command_text(const char* command, const CompareOptions& options, const std::vector<std::string>& without) {
  std::string text = fmt::format("ignd {} {}", command, shell_word(options.spec.data.path));
  for (const auto& [name, value, is_flag] : options.given) {
    if (std::ranges::find(without, name) != without.end()) continue;
    text += " " + name;
    // After a space, a value that begins with a hyphen would be read as an option.
    if (!is_flag) text += (value.starts_with('-') ? "=" : " ") + shell_word(value);
  }
  return text;
}

// Trains the run of seed 1 again, bit by bit.
std::string train_command(const CompareOptions& options, const MethodResults& best) {
  const auto names = optimizer_names();
  const bool named = std::ranges::find(names, best.name) != names.end();
  return fmt::format("{} {} --lr {} --seed 1", command_text("train", options, own_options),
                     named ? "--optimizer " + shell_word(best.name)
                           : fmt::format("--rule {} --transform {}", shell_word(best.rule), shell_word(best.transform)),
                     format_number(best.rate.value_or(0)));
}

std::string experiment_name(const std::string& path) {
  fs::path name = fs::path(path).filename();
  if (name.extension() == ".gz") name = name.stem();
  return name.stem();
}

void check_file(const std::string& path) {
  if (path.empty()) throw InvalidArgument("name the file to compare optimizers on");
  if (path == "-") throw InvalidArgument("the standard input can be read only once; put the table into a file");
  std::error_code ignored;
  if (!fs::exists(path, ignored)) throw FileError(fmt::format("there is no file {}", quoted_path(path)));
  if (!fs::is_regular_file(path, ignored)) {
    throw FileError(fmt::format("{} is not a regular file, but compare reads it more than once", quoted_path(path)));
  }
}

// Names end up in an experiment file, which is text.
void check_texts(const CompareOptions& options) {
  const Settings settings = settings_of(options.spec);
  for (const auto& [name, text] : settings.values()) {
    if (clean_text(text) == text || text == "\t") continue;
    throw InvalidArgument(fmt::format("{} is not readable UTF-8 text; give it another name", in_quotes(text)));
  }
}

// Replaces the name of a network file by the network itself: the file may have changed by the next time.
void take_network_file(CompareOptions& options) {
  std::string& model = options.spec.model;
  if (!model.ends_with(".toml")) return;
  model = read_network_file(model);
  for (auto& option : options.given) {
    if (option.name == "--model") option.value = model;
  }
}

// Checks everything that can be checked before the data are read, which may take long.
OptimizerStudy checked_study(const CompareOptions& options) {
  refuse_tables_in(options.spec.data.path);
  check_file(options.spec.data.path);
  if (options.spec.dataset.target.empty()) options.spec.data.refuse_without_target();
  OptimizerStudy study{.spec = options.spec,
                       .optimizers = parse_optimizers(options.optimizers),
                       .rates = RateRange::parse(options.rates),
                       .seeds = options.seeds,
                       .note = {}};
  RunSpec& spec = study.spec;
  if (spec.data.delimiter == "\t") spec.data.delimiter = "tab";
  spec.complete(DataKind::table);
  if (!options.budget.empty()) parse_duration(options.budget);
  refuse_model(spec.data.path);
  spec.checksum = sha256_of_file(spec.data.path);
  const auto faults = study_faults(spec, DataKind::table);
  if (!faults.empty()) throw InvalidArgument(list_faults(faults));
  return study;
}

std::optional<StoredExperiment> find_stored(const std::string& folder, const std::string& name) {
  std::error_code ignored;
  if (!fs::exists(store_path(folder), ignored)) return std::nullopt;
  for (StoredExperiment& stored : Store(folder, Store::Access::read).experiments()) {
    if (stored.name == name) return std::move(stored);
  }
  return std::nullopt;
}

void check_same_file(const Experiment& stored, const RunSpec& spec, const std::string& folder) {
  if (stored.panels.at(0).methods.at(0).settings.word("checksum") == spec.checksum) return;
  throw FileError(
      fmt::format("{} has changed since the comparison in {} began; put the file back, or begin another with --out",
                  spec.data.name(), quoted_path(folder)));
}

std::shared_ptr<const TableDataset> table_of(const OptimizerStudy& study, std::uint64_t seed) {
  RunSpec spec = study.spec;
  spec.dataset.seed = seed;
  return open_table(spec);
}

// A seed draws a split, and some splits leave nothing to learn. Finds those before the first run if that is quick;
// otherwise the run fails.
void check_splits(const OptimizerStudy& study, std::size_t rows) {
  constexpr std::size_t quickly_prepared = 1'000'000;
  if (study.seeds > quickly_prepared / rows) return;
  for (std::uint64_t seed = 1; seed <= study.seeds; ++seed) table_of(study, seed);
}

// Decides what to run, once: the same command finds it in the store later.
Experiment plan(const CompareOptions& options, OptimizerStudy study, const std::string& folder,
                const std::string& name) {
  const auto table = table_of(study, 1);
  check_splits(study, table->table().size());
  { const Store usable(folder, Store::Access::write); }  // throws before time is spent
  const unsigned jobs = jobs_or_cores(options.jobs);
  const StudyCosts costs = measure_costs(study, *table, jobs);
  if (!options.budget.empty()) study = within_budget(study, costs, jobs, parse_duration(options.budget));
  print_error("{}: {} rows; about {} with {} runs at a time\n", options.spec.data.path,
              with_commas(table->table().size()), duration_text(estimated_seconds(study, costs, jobs)), jobs);
  for (const std::string& note : {left_out_text(*table), table->table().header_note(), table->target().choice}) {
    if (!note.empty()) print_error("{}: {}\n", options.spec.data.path, note);
  }
  for (const ColumnCode& code : table->encoder().columns()) {
    if (code.form == ColumnCode::Form::dropped || code.format.kind != CellFormat::Kind::plain) {
      print_error("  {:<20} {}\n", printable(code.name), describe(code));
    }
  }
  return make_experiment(study, *table, name);
}

void print_json(const CompareOptions& options, const PanelResults& panel, const ScoreInfo& metric,
                const Recommendation& recommendation, const std::string& folder) {
  JsonLine line("result");
  line.set("score", metric.label).set("report", report_path(folder)).set("sentence", recommendation.sentence);
  if (recommendation.best != nullptr) {
    line.set("best", recommendation.best->name).set("command", train_command(options, *recommendation.best));
  }
  set_comparison(line, panel);
  line.print();
}

// Returns the exit code.
int print_result(const CompareOptions& options, const Experiment& experiment, const std::string& folder) {
  const Store store(folder, Store::Access::read);
  const ExperimentResults results = collect_results(experiment, store);
  const PanelResults& panel = results.panels.at(0);
  const Recommendation recommendation = recommend(panel, results.metric);
  if (options.json) {
    print_json(options, panel, results.metric, recommendation, folder);
    if (recommendation.best == nullptr) print_error("ignd: {}; choose them with --lrs\n", recommendation.sentence);
    return recommendation.best == nullptr ? failure : 0;
  }
  print("{}: {} on the test rows, mean and deviation over {} seed{}\n\n", panel.title, results.metric.label,
        experiment.seeds, experiment.seeds == 1 ? "" : "s");
  print_comparison(panel, results.metric);
  print("\n");
  if (recommendation.best == nullptr) {
    print_error("ignd: {}; choose them with --lrs\n", recommendation.sentence);
    return failure;
  }
  print("{}.\n\n    {}\n\n", recommendation.sentence, train_command(options, *recommendation.best));
  return 0;
}

}  // namespace

int compare(CompareOptions options) {
  take_network_file(options);
  check_texts(options);
  const OptimizerStudy study = checked_study(options);
  const std::string name = experiment_name(options.spec.data.path);
  const std::string folder = options.out.empty() ? comparison_folder(name) : options.out;
  SweptExperiment wanted{.experiment = {},
                         .stored = {name, "", {}, command_text("compare", options, incidental_options), 0}};
  const auto stored = find_stored(folder, name);
  Estimate estimate = Estimate::wanted;
  if (stored && stored->command == wanted.stored.command) {
    wanted.experiment = parse_experiment(stored->file, name, {});
    check_same_file(wanted.experiment, study.spec, folder);
    wanted.stored.file = stored->file;
  } else {
    wanted.experiment = plan(options, study, folder, name);
    wanted.stored.file = print_experiment(wanted.experiment);
    estimate = Estimate::printed_already;
  }
  const std::string& note = wanted.experiment.panels.at(0).note;
  if (!note.empty()) print_error("{}: {}\n", name, note);
  const int stopped = sweep_experiments({wanted}, folder, jobs_or_cores(options.jobs), estimate);
  if (stopped != 0) return stopped;
  const int result = print_result(options, wanted.experiment, folder);
  const int report = make_report(folder, options.json ? Announce::nothing : Announce::path);
  return result != 0 ? result : report;
}

}  // namespace ignd::cli
