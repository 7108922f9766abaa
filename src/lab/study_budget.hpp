#pragma once

#include "lab/optimizer_study.hpp"

#include <vector>

namespace ignd {

// About how many seconds the runs of a study take on this machine, as busy as it is.
struct StudyCosts {
  std::vector<double> run;  // of each optimizer
  double baselines = 0;     // for one seed
  double preparing = 0;     // the table for one seed
};

// Measured on a part of the table, in about a second, with so many runs at a time. `table` is that of seed 1. Throws
// InvalidArgument for an optimizer that cannot be used with the study's options.
StudyCosts measure_costs(const OptimizerStudy& study, const TableDataset& table, unsigned jobs);

// With so many runs at a time.
double estimated_seconds(const OptimizerStudy& study, const StudyCosts& costs, unsigned jobs);

// Below this many, what seeds say of each other is next to nothing. A study that asks for fewer has its way.
inline constexpr std::uint64_t fewest_seeds = 3;

// The study with as many rates and seeds as fit into the time, first fewer rates per decade, then fewer seeds; its note
// says what is left out, and whether even that is likely to take longer.
OptimizerStudy within_budget(OptimizerStudy study, const StudyCosts& costs, unsigned jobs, double seconds);

}  // namespace ignd
