#pragma once

#include "lab/experiment.hpp"
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

// An experiment with its figures and files.
struct ReportSection {
  const ExperimentResults* results = nullptr;
  std::string anchor;  // unique, and needs no escaping
  std::vector<DrawnFigure> figures;
  std::vector<std::string> files;  // names of those beside the page
};

// The page: one self-contained file without scripts.
std::string report_page(const std::vector<ReportSection>& sections, const PaperTable& paper = {});

}  // namespace ignd
