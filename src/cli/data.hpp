#pragma once

#include <string>

namespace ignd::cli {

struct DataOptions {
  std::string name;
  std::string from;  // an address to use instead of the public one
};

// The commands about data sets. They return the exit code.
int list_data();
int fetch_data(const DataOptions& options);
int print_data_path(const DataOptions& options);

}  // namespace ignd::cli
