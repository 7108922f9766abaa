#pragma once

#include "lab/experiment.hpp"
#include "report/statistics.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace ignd {

struct ResultRow {
  std::vector<std::string> cells = {};
  std::vector<std::size_t> bold = {};  // cells in bold: what a paired test tells apart from all others
};

// The methods of a panel as plain text, for any output format.
struct ResultTable {
  std::string title = {};
  std::vector<ResultRow> rows = {};
  std::vector<std::string> notes = {};
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

}  // namespace ignd
