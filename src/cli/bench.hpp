#pragma once

#include <string>

namespace ignd::cli {

struct BenchOptions {
  bool json = false;
  std::string filter;  // only rows whose "model optimizer precision" contains this
  unsigned repeats = 15;
};

// Measures microseconds per training sample for every model and optimizer, beside floors measured in the same run.
// Returns the exit code.
int bench(const BenchOptions& options);

}  // namespace ignd::cli
