#pragma once

#include "lab/experiment.hpp"

#include <string>
#include <vector>

namespace ignd::cli {

struct ExperimentFile {
  std::string given_as;  // on the command line: a name or a path
  std::string text;
  ExperimentOptions options;
  Experiment experiment;
};

// The experiments of these names (files that come with the program) or paths (anything with a slash, or ".toml" at its
// end), or all that come with the program. Everything that is wrong with any of them is added to `faults`, a line each.
std::vector<ExperimentFile> read_experiments(const std::vector<std::string>& names, const ExperimentOptions& options,
                                             std::vector<std::string>& faults);

}  // namespace ignd::cli
