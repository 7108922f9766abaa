#pragma once

#include "lab/experiment_results.hpp"
#include "lab/task.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ignd {

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

}  // namespace ignd
