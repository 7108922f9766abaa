#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ignd::cli {

struct ReproduceOptions {
  std::vector<std::string> names;  // of experiments, or paths of files; empty: all that come with the program
  bool quick = false;
  std::optional<std::uint64_t> seeds;
  std::uint64_t jobs = 0;  // 0: as many as the machine has cores
  std::string out;         // empty: "results", or "results-preview" with --quick
  bool list = false;
};

// Makes the runs that are missing, and the report. Returns the exit code.
int reproduce(const ReproduceOptions& options);

}  // namespace ignd::cli
