#pragma once

#include "ignd/optimizer.hpp"
#include "lab/experiment.hpp"
#include "lab/rate_range.hpp"
#include "learn/run_spec.hpp"
#include "learn/table_dataset.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace ignd {

// Optimizers compared on a table, each at the rate that suits it, beside what takes no optimizer.
struct OptimizerStudy {
  RunSpec spec;
  std::vector<std::string> optimizers;  // as optimizer_named takes them
  RateRange rates;
  std::uint64_t seeds = 0;
  std::string note;  // what was left out; may be empty
};

// "ignd", or a rule and a transform: "gauss-newton:eps_lm=1e-3+momentum". Throws InvalidArgument.
Optimizer optimizer_named(const std::string& name);

// "sgd,ignd,gauss-newton:eps_c=0,eps_lm=1e-3+momentum". Throws InvalidArgument, with the nearest known name, for one
// that does not exist, and for one named twice.
std::vector<std::string> parse_optimizers(std::string_view text);

// The study as an experiment; `table` is its table for any seed.
Experiment make_experiment(const OptimizerStudy& study, const TableDataset& table, const std::string& name);

}  // namespace ignd
