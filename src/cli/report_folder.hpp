#pragma once

#include <string>

namespace ignd::cli {

// Where `reproduce` puts results unless it is told otherwise.
inline constexpr const char* default_folder = "results";
inline constexpr const char* preview_folder = "results-preview";

// The report of a folder of results, finished or not. Returns the exit code.
int make_report(const std::string& folder);

}  // namespace ignd::cli
