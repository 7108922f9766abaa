#pragma once

#include "lab/experiment.hpp"
#include "lab/store.hpp"

#include <cstdint>
#include <string>
#include <vector>

// The files of experiments, and sweeps: making their runs.
namespace ignd::cli {

struct ExperimentFile {
  std::string given_as;  // on the command line: a name or a path
  std::string text;
  ExperimentOptions options;
  Experiment experiment;
};

// The experiments of these names (files that come with the program) or paths (anything with a slash, or ".toml" at its
// end), or all that come with the program. Adds everything that is wrong with any of them to `faults`, a line each.
std::vector<ExperimentFile> read_experiments(const std::vector<std::string>& names, const ExperimentOptions& options,
                                             std::vector<std::string>& faults);

// Whether to print how long a sweep may take.
enum class Estimate { wanted, printed_already };

// An experiment, and its entry in the store.
struct SweptExperiment {
  Experiment experiment;
  StoredExperiment stored;
};

// Puts experiments into the folder's store and makes their missing runs, `jobs` at a time. Ctrl-C stops it in good
// order. Returns the exit code.
int sweep_experiments(const std::vector<SweptExperiment>& wanted, const std::string& folder, unsigned jobs,
                      Estimate estimate = Estimate::wanted);

// 0: as many as the machine has cores.
unsigned jobs_or_cores(std::uint64_t jobs);

}  // namespace ignd::cli
