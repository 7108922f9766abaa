#pragma once

#include <string>

namespace ignd::cli {

// Where `reproduce` puts results unless it is told otherwise.
inline constexpr const char* default_folder = "results";
inline constexpr const char* preview_folder = "results-preview";

// And where `compare` puts those of an experiment.
inline std::string comparison_folder(const std::string& name) { return "compare-" + name; }

// The report of a folder of results, finished or not. Returns the exit code.
int make_report(const std::string& folder);

}  // namespace ignd::cli
