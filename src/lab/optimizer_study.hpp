#pragma once

#include "ignd/optimizer.hpp"
#include "lab/experiment.hpp"
#include "learn/run_spec.hpp"
#include "learn/table_dataset.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace ignd {

// Optimizers compared on a table, each at its own best rate, beside baselines that need no optimizer.
struct OptimizerStudy {
  RunSpec spec;
  std::vector<std::string> optimizers;  // as find_optimizer takes them
  RateRange rates;
  std::uint64_t seeds = 0;
  std::string note;  // what was left out; may be empty
};

// "sgd,ignd,gauss-newton:eps_c=0,eps_lm=1e-3+momentum". Throws InvalidArgument, with the nearest known name, for one
// that does not exist, and for one named twice.
std::vector<std::string> parse_optimizers(std::string_view text);

// The study as an experiment; `table` is its table for any seed.
Experiment make_experiment(const OptimizerStudy& study, const TableDataset& table, const std::string& name);

// Estimated seconds for the runs of a study on this machine, under its present load.
struct StudyCosts {
  std::vector<double> run;  // of each optimizer
  double baselines = 0;     // for one seed
  double preparing = 0;     // the table for one seed
};

// Measured on a part of the table in about a second, with `jobs` runs at a time. `table` is that of seed 1. Throws
// InvalidArgument for an optimizer that cannot be used with the study's options.
StudyCosts measure_costs(const OptimizerStudy& study, const TableDataset& table, unsigned jobs);

// Of the whole study, with `jobs` runs at a time.
double estimated_seconds(const OptimizerStudy& study, const StudyCosts& costs, unsigned jobs);

// With fewer seeds, a comparison says next to nothing. A budget never goes below this, but a study may ask for fewer.
inline constexpr std::uint64_t fewest_seeds = 3;

// The study reduced to the time: first to fewer rates per decade, then to fewer seeds. Its note says what is left out,
// and whether even the reduced study is likely to take longer.
OptimizerStudy within_budget(OptimizerStudy study, const StudyCosts& costs, unsigned jobs, double seconds);

}  // namespace ignd
