#pragma once

#include "lab/experiment_results.hpp"
#include "report/figure.hpp"
#include "report/result_table.hpp"

#include <string>
#include <vector>

namespace ignd {

struct DrawnFigure {
  Figure figure;
  std::vector<std::string> drawings;  // of the panels, as elements of the page; empty where there is none
  std::string fault;                  // why drawings or files are missing; empty where none are
};

// An experiment and what has been made of it so far.
struct ReportSection {
  const ExperimentResults* results = nullptr;
  std::string anchor;  // of its own, and free of anything that needs escaping
  std::vector<DrawnFigure> figures;
  std::vector<std::string> files;  // names of those beside the page
};

// The page: one file that needs nothing else, not even a script.
std::string report_page(const std::vector<ReportSection>& sections, const PaperTable& paper = {});

}  // namespace ignd
