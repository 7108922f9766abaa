#pragma once

#include "lab/experiment.hpp"
#include "lab/rank_sweep.hpp"
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

// How many runs a sweep makes at a time: as many on each rank.
struct SweepJobs {
  unsigned jobs = 1;
  RankPool* ranks = nullptr;

  unsigned in_all() const;
  std::string text() const;  // "2 jobs on this machine", "2 jobs on each of 4 ranks"
};

// Puts experiments into the folder's store and makes their missing runs. Ctrl-C stops it in good order. Returns the
// exit code.
int sweep_experiments(const std::vector<SweptExperiment>& wanted, const std::string& folder, const SweepJobs& jobs,
                      Estimate estimate = Estimate::wanted);

// 0: as many as this rank has cores.
unsigned jobs_or_cores(std::uint64_t jobs, const Communicator& ranks);

// A sweep's part of the ranks other than 0. Returns the exit code.
int serve_sweep(Communicator& ranks, unsigned jobs);

}  // namespace ignd::cli
