#pragma once

#include "lab/experiment.hpp"
#include "report/statistics.hpp"

#include <string>
#include <vector>

namespace ignd {

struct ResultRow {
  std::vector<std::string> cells;
  bool best = false;  // no displayed mean is better
};

// The methods of a panel as plain text, for any output format.
struct ResultTable {
  std::string title;
  std::vector<ResultRow> rows;
  std::vector<std::string> notes;
};

inline constexpr std::size_t score_column = 2;

// The same columns for all panels of an experiment.
std::vector<std::string> result_header(const ExperimentResults& experiment);
ResultTable result_table(const ExperimentResults& experiment, const PanelResults& panel);

// The differences between pairs of methods over shared seeds.
std::vector<std::string> comparison_header(const ExperimentResults& experiment);
ResultTable comparison_table(const ExperimentResults& experiment, const PanelResults& panel);

// Whole files.
std::string markdown_tables(const ExperimentResults& experiment);
std::string latex_table(const ExperimentResults& experiment);
std::string curves_csv(const ExperimentResults& experiment, CurvePart part = CurvePart::scored);
std::string rates_csv(const ExperimentResults& experiment);  // what each rate of a search led to

// The paper's numbers beside what has been measured so far.
struct PaperTable {
  std::vector<std::string> header;
  ResultTable table;                 // two rows for each panel: the paper's and ours
  std::vector<std::string> missing;  // what is not measured yet, and the command for it
};

// Of all experiments with a place in the paper, measured or not.
PaperTable paper_table(const std::vector<ExperimentResults>& experiments);

}  // namespace ignd
