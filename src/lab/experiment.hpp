#pragma once

#include "lab/task.hpp"
#include "learn/run_result.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// An experiment as its file describes it, and as the report shows it.
namespace ignd {

// The learning rates of a search: a list, or a number of them for each factor of ten between two of them.
struct RateRange {
  std::vector<double> list;  // if not empty, the rest is ignored
  double from = 0, to = 0;
  std::uint64_t per_decade = 1;

  // "0.001,0.01", "1e-6:1" (one for each factor of ten) or "1e-6:1:2". Throws InvalidArgument.
  static RateRange parse(std::string_view text);

  // The rates themselves, in increasing order, both ends included. Rounded to four digits, so that
  // they have the same text on every machine.
  std::vector<double> values() const;
};

// A pair of methods whose runs share seeds: `better` is expected to beat `worse`.
struct Comparison {
  std::string better, worse;
};

struct ScoreInfo {
  std::string label;  // "policy error"
  bool higher_is_better = false;
  bool log_scale = false;  // the figure has a logarithmic axis, and logarithms are compared
  bool is_contest = true;  // false: neither more nor less is better, and nothing is ranked
};

enum class FigureKind { curves, seconds, rates, steps };

// A figure that the report can draw. One table feeds experiment files and their documentation.
struct FigureInfo {
  FigureKind kind;
  const char* name;
  const char* help;
  bool needs_search = false;      // for rates, and one that tries all of them alike
  const char* needs_column = "";  // that the task's runs must have
};

const std::vector<FigureInfo>& figure_table();
const FigureInfo& figure_info(FigureKind kind);

// A line of a figure: how it learns, and with which of the task's settings.
struct Method {
  std::string name;
  Optimizer optimizer;
  std::optional<double> rate;  // none: search for it
  Settings settings;
  std::vector<Settings> rungs;  // one for each rung of the search; empty without a search
  // The alternatives of a search over more than the rate, each with what sets it apart in `varied`, by key, and with
  // its label in `setting`, such as "lambda 0.1". The method's own settings and optimizer are those of the first.
  std::vector<Method> variants;
  std::map<std::string, std::string> varied;
  std::string setting;
  std::optional<double> paper_mean, paper_std;
};

struct Panel {
  std::string name, title, note;
  std::vector<Method> methods;
};

// An experiment has at most this many seeds. Tuning seeds are numbered far above.
inline constexpr std::uint64_t most_seeds = 1'000'000;

// How a learning rate is chosen: by the mean validation score over the experiment's own seeds, or by the mean score
// over separate tuning seeds, never by the reported scores. With rungs (successive halving), all rates are tried on a
// small budget, the best of them on a larger one, and so on; each rung is judged on the tuning seeds, by either of the
// two scores.
struct Search {
  std::vector<double> rates;  // ascending
  bool by_validation = false;
  std::uint64_t tuning_seeds = 0;
  std::vector<std::uint64_t> keep;  // how many rates each rung passes on; 1 for the last
};

// What `ignd reproduce` without names makes of an experiment: all of it, a preview, or nothing because it takes long.
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

// Changes that a command makes to experiment files.
struct ExperimentOptions {
  bool quick = false;  // apply the file's [quick]
  std::optional<std::uint64_t> seeds;

  bool operator==(const ExperimentOptions&) const = default;
};

// Throws InvalidArgument with every fault of the file, and the nearest known key for each unknown one.
Experiment parse_experiment(std::string_view text, const std::string& name, const ExperimentOptions& options);

// The inverse of parse_experiment, for experiments as `ignd compare` makes them: rates chosen by validation, and no
// rungs, variants or values of the paper.
std::string print_experiment(const Experiment& experiment);

// A key of an experiment file. One table checks files and feeds the documentation.
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

// The keys of experiment files and the settings of every task, as Markdown for docs/experiments.md.
std::string describe_experiment_keys();

// What the report says of experiments.

struct SeedResult {
  std::uint64_t seed = 0;
  RunResult result;
  double seconds = 0;
};

// One learning rate of a search, with one choice of the other settings searched over.
struct RateResult {
  double rate = 0;
  std::uint64_t planned = 0, done = 0, failed = 0;
  std::optional<double> mean;       // of the score that chooses the rate; none if a run failed or is missing
  std::vector<double> scores = {};  // of the runs that finished
  std::size_t rung = 0;             // the last rung that the rate reached: 1, 2, ...; 0: the search has no rungs
  std::string setting = {};         // such as "lambda 0.1"; empty without a choice
};

// A line of a figure and a row of a table.
struct MethodResults {
  std::string name;
  std::string rule, transform;
  std::optional<double> rate;      // given or chosen; none: not chosen yet, or every rate failed
  std::string setting;             // the other settings that were chosen; may be empty
  std::vector<RateResult> search;  // ascending rates, setting by setting; empty for a given rate
  std::vector<std::string> edges;  // choices at the edge of the search, such as "rate 1, of 0.001 to 1"
  std::uint64_t planned = 0;       // seeds
  std::vector<SeedResult> runs;    // finished ones, by seed
  std::optional<double> paper_mean, paper_std;
};

inline bool is_chosen(const MethodResults& method, const RateResult& rate) {
  return method.rate == rate.rate && method.setting == rate.setting;
}

struct PanelResults {
  std::string name;   // for files and programs: "uav-deterministic"
  std::string title;  // for people
  std::string note;   // how to read it; may be empty
  std::vector<MethodResults> methods;
  std::vector<std::string> advice = {};  // what the task says of its settings
};

// Everything that the report shows of an experiment, collected from the store.
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

  std::uint64_t planned = 0, done = 0;  // runs, including those of searches
  double run_seconds = 0;               // the sum over all runs
  double wall_seconds = 0;              // of the commands that made the runs
  std::string command;                  // that reproduces them
  std::vector<std::string> versions;    // of the program that made the runs
  std::vector<std::string> hosts;       // processor and instruction set
  std::vector<std::string> warnings;    // several versions, a choice at the edge, no rate that finished, ...
};

}  // namespace ignd
