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

// A part of the runs, for programs that know nothing of each other: the k-th of n. Which part a run belongs to depends
// on its key alone.
struct Shard {
  std::uint64_t number = 1, of = 1;

  bool is_all() const { return of == 1; }
  bool has(const RunConfig& config) const;
  std::string folder(const std::string& folder) const;  // of its own, named after that of the whole

  // "3/8"; throws InvalidArgument.
  static Shard parse(const std::string& text);
};

// How many runs a sweep makes at a time: as many on each rank.
struct SweepJobs {
  unsigned jobs = 1;
  RankPool* ranks = nullptr;
  Shard shard = {};

  unsigned in_all() const;
  std::string text() const;  // "2 jobs on this machine", "2 jobs on each of 4 ranks"
};

// Puts experiments into the folder's store and makes their missing runs. Ctrl-C stops it in good order. Returns the
// exit code. A shard makes those of its runs that can be named, in a folder of its own, which has the runs of the
// common folder as well.
int sweep_experiments(const std::vector<SweptExperiment>& wanted, const std::string& folder, const SweepJobs& jobs,
                      Estimate estimate = Estimate::wanted);

// 0: as many as this rank has cores.
unsigned jobs_or_cores(std::uint64_t jobs, const Communicator& ranks);

// A sweep's part of the ranks other than 0. Returns the exit code.
int serve_sweep(Communicator& ranks, unsigned jobs);

}  // namespace ignd::cli
