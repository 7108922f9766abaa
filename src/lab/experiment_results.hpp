#pragma once

#include "learn/run_result.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ignd {

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
