#pragma once

#include "lab/task.hpp"
#include "learn/run_result.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// An experiment as its file describes it, and as the report shows it.
namespace ignd {

// The learning rates of a search: a list, or a number of them for each factor of ten between two of them.
struct RateRange {
  std::vector<double> list;  // where it is not empty, the rest says nothing
  double from = 0, to = 0;
  std::uint64_t per_decade = 1;

  // "0.001,0.01", "1e-6:1" (one for each factor of ten) or "1e-6:1:2". Throws InvalidArgument.
  static RateRange parse(std::string_view text);

  // The rates themselves, in increasing order, both ends included. Four digits are enough to tell rates apart, and the
  // same text on every machine.
  std::vector<double> values() const;
};

// A pair of methods whose runs share seeds: `better` is expected to beat `worse`.
struct Comparison {
  std::string better, worse;
};

struct ScoreInfo {
  std::string label;  // "policy error"
  bool higher_is_better = false;
  bool log_scale = false;  // the figure's axis, and comparisons are made of logarithms
};

enum class FigureKind { curves, seconds, rates };

// A figure that the report can draw. Experiment files and their documentation take it from the one table.
struct FigureInfo {
  FigureKind kind;
  const char* name;
  const char* help;
  bool needs_search = false;      // of rates, all tried alike
  const char* needs_column = "";  // that the task's runs must have
};

const std::vector<FigureInfo>& figure_table();
const FigureInfo& figure_info(FigureKind kind);

// A line of a figure: how it learns, and with which of the task's settings.
struct Method {
  std::string name;
  Optimizer optimizer;
  std::optional<double> rate;  // none: searched for
  Settings settings;
  std::vector<Settings> rungs;  // in each rung of the search; empty where nothing is searched for
  // What it is searched for among besides the rate: the same with other settings, each with what they are, such as
  // "lambda 0.1". Its own settings are those of the first.
  std::vector<Method> variants;
  std::string setting;
  std::optional<double> paper_mean, paper_std;
};

struct Panel {
  std::string name, title, note;
  std::vector<Method> methods;
};

// What an experiment may have at the most: the seeds that rates are tuned on come far behind.
inline constexpr std::uint64_t most_seeds = 1'000'000;

// How a learning rate is chosen: by the mean validation score over the experiment's own seeds, or by the mean score
// over seeds that nothing else uses. Never by what is reported. With rungs, all rates are tried on little, the best of
// them on more, and so on; each rung is judged on the tuning seeds, by either of the two scores.
struct Search {
  std::vector<double> rates;  // ascending
  bool by_validation = false;
  std::uint64_t tuning_seeds = 0;
  std::vector<std::uint64_t> keep;  // how many rates go on from each rung; of the last one, 1
};

// What is made of an experiment by who names none: all of it, a preview, or nothing since it takes too long.
enum class ByDefault { full, quick, nothing };

// An experiment file, checked, with all defaults filled in.
struct Experiment {
  std::string name;  // of the file, without ".toml"
  std::string title, question, description, paper;
  std::string task;
  ByDefault by_default = ByDefault::full;
  std::uint64_t seeds = 0;
  std::string x_label;
  ScoreInfo metric;
  std::vector<FigureKind> figures;
  std::vector<std::string> columns;
  std::vector<Comparison> comparisons;
  Search search;
  std::vector<Panel> panels;
  bool preview = false;
};

// What a command changes about the files it is given.
struct ExperimentOptions {
  bool quick = false;  // with the changes of the file's [quick]
  std::optional<std::uint64_t> seeds;

  bool operator==(const ExperimentOptions&) const = default;
};

// Throws InvalidArgument with every fault of the file; unknown keys come with the nearest known one.
Experiment parse_experiment(std::string_view text, const std::string& name, const ExperimentOptions& options);

// The experiment as a file, of which parse_experiment makes the same again: for those that choose rates by validation,
// without rungs, variants and values of the paper, as `ignd compare` makes them.
std::string print_experiment(const Experiment& experiment);

// A key of an experiment file. What the file is checked against is what the documentation lists.
struct FileKey {
  enum class Kind { text, number, count, flag, texts, pairs, rates, table, tables };
  std::string table;  // "" is the file itself
  std::string name;
  Kind kind;
  bool required;
  std::string meaning;
};

const std::vector<FileKey>& file_keys();

// "whole number", "true or false", ...
const char* kind_name(FileKey::Kind kind);

// The keys of experiment files and the settings of every task as Markdown, from the tables that the files are checked
// against.
std::string describe_experiment_keys();

// What the report says of experiments.

struct SeedResult {
  std::uint64_t seed = 0;
  RunResult result;
  double seconds = 0;
};

// One learning rate of a search, with one choice of the settings that are searched for too.
struct RateResult {
  double rate = 0;
  std::uint64_t planned = 0, done = 0, failed = 0;
  std::optional<double> mean;       // of what the rate is chosen by; none where a run failed or is missing
  std::vector<double> scores = {};  // of the runs that finished
  std::size_t rung = 0;             // of the search, the last that the rate reached: 1, 2, ...; 0: it has none
  std::string setting = {};         // such as "lambda 0.1"; empty where there is no choice
};

// A line of a figure and a row of a table.
struct MethodResults {
  std::string name;
  std::string rule, transform;
  std::optional<double> rate;      // given, or chosen; none: not chosen yet, or no rate finished
  std::string setting;             // what else was chosen; empty: nothing
  std::vector<RateResult> search;  // ascending rates, setting by setting; empty where the rate was given
  std::vector<std::string> edges;  // what was chosen at the edge of the search, such as "rate 1, of 0.001 to 1"
  std::uint64_t planned = 0;       // seeds
  std::vector<SeedResult> runs;    // those done, by seed
  std::optional<double> paper_mean, paper_std;
};

inline bool is_chosen(const MethodResults& method, const RateResult& rate) {
  return method.rate == rate.rate && method.setting == rate.setting;
}

struct PanelResults {
  std::string name;   // for files and programs: "uav-deterministic"
  std::string title;  // for people
  std::string note;   // what to make of it; may be empty
  std::vector<MethodResults> methods;
};

// Everything the report says about an experiment, as the store has it.
struct ExperimentResults {
  std::string name;  // "frozen-lake"
  std::string title;
  std::string question;
  std::string description;  // paragraphs separated by empty lines; may be empty
  std::string paper;        // "figure 1", or empty
  bool preview = false;     // made with --quick: never beside the paper's numbers
  std::vector<FigureKind> figures{FigureKind::curves};
  std::string x_label;
  ScoreInfo metric;
  std::vector<std::string> extra_columns;  // names of RunResult::extras
  std::vector<Comparison> comparisons;
  std::vector<PanelResults> panels;

  std::uint64_t planned = 0, done = 0;  // runs, those of the searches included
  double run_seconds = 0;               // the sum over all runs
  double wall_seconds = 0;              // of the commands that made them
  std::string command;                  // that makes them again
  std::vector<std::string> versions;    // of the program, with which the runs were made
  std::vector<std::string> hosts;       // processor and instruction set
  std::vector<std::string> warnings;    // several versions, a choice at the edge, no rate that finished, ...
};

}  // namespace ignd
