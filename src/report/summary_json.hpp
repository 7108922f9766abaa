#pragma once

#include "lab/experiment_results.hpp"

#include <string>
#include <vector>

namespace ignd {

// The numbers of the report for programs; null where there is none.
std::string summary_json(const std::vector<ExperimentResults>& experiments);

}  // namespace ignd
