#pragma once

#include "lab/experiment.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace ignd {

struct WrittenReport {
  std::vector<std::filesystem::path> files;
  std::vector<std::string> warnings;  // what could not be drawn, and why
};

// Writes report.html, summary.json, and for each experiment its figure (SVG, PDF, PNG), tables (Markdown, LaTeX) and
// curves (CSV), and makes the folder if there is none. Files of the same names are replaced, each whole or not at all.
// If `gnuplot` is missing or fails, everything else is still written. Throws FileError if the folder is not
// writable.
//
// `others`: experiments that the report does not have, for the numbers of the paper that stand beside theirs.
WrittenReport write_report(const std::vector<ExperimentResults>& experiments, const std::filesystem::path& folder,
                           const std::string& gnuplot = "gnuplot", const std::vector<ExperimentResults>& others = {});

// The numbers of the report for programs; null for a number that does not exist.
std::string summary_json(const std::vector<ExperimentResults>& experiments);

}  // namespace ignd
