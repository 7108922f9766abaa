#pragma once

#include "lab/experiment_results.hpp"
#include "report/result_table.hpp"

#include <string>
#include <vector>

namespace ignd {

// The numbers that the paper gives, beside what is measured of them so far.
struct PaperTable {
  std::vector<std::string> header;
  ResultTable table;                 // two rows for each panel: the paper's and ours
  std::vector<std::string> missing;  // what is not measured yet, and the command for it
};

// Of all experiments with a place in the paper, measured or not.
PaperTable paper_table(const std::vector<ExperimentResults>& experiments);

}  // namespace ignd
