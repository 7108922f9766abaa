#pragma once

#include "lab/experiment.hpp"
#include "report/result_table.hpp"

#include <string>
#include <vector>

namespace ignd {

// The paper's numbers beside what has been measured so far, laid out as in the paper: a column for each data set, and
// for each method a row of the paper's and one of ours.
struct PaperTable {
  std::vector<std::string> header;
  ResultTable table;
  std::vector<std::string> missing;  // what of the report's experiments is not measured yet, and the command for it
};

// Of the panels with numbers of the paper, in the order of their place in it. `others` are experiments that the report
// does not have: their columns show the paper's numbers alone.
PaperTable paper_table(const std::vector<ExperimentResults>& experiments,
                       const std::vector<ExperimentResults>& others = {});

// Whether the paper has a number for any method of an experiment.
bool has_paper_numbers(const ExperimentResults& experiment);

// The constants of an experiment's optimizers, as the rules and transforms describe themselves, such as
// "IGND, Adam-IGND: gauss-newton with eps_c = the loss's own (squared 0, logistic 0.01), eps_LM = 1e-5".
std::vector<std::string> optimizer_constants(const ExperimentResults& experiment);

}  // namespace ignd
