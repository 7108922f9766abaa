#pragma once

#include "lab/experiment.hpp"
#include "report/page_figure.hpp"
#include "report/paper_table.hpp"

#include <string>
#include <vector>

namespace ignd {

// An experiment with its figures and files.
struct ReportSection {
  const ExperimentResults* results = nullptr;
  std::string anchor;  // unique, and needs no escaping
  std::vector<DrawnFigure> figures;
  std::vector<std::string> files;  // names of those beside the page
};

// The page: one self-contained file, complete without its own small script, which is the only one that the page's
// content security policy lets run.
std::string report_page(const std::vector<ReportSection>& sections, const PaperTable& paper = {});

}  // namespace ignd
