#pragma once

#include "data/data_file.hpp"

#include <optional>
#include <string>

// The commands that use a trained model. They return the exit code.
namespace ignd::cli {

struct UseOptions {
  std::string model;
  DataFile data;
  std::string output;                 // of predictions; empty: the standard output
  std::optional<std::string> weight;  // of an evaluation: a column of importance weights
  bool json = false;
};

int predict(const UseOptions& options);
int evaluate(const UseOptions& options);
int inspect(const UseOptions& options);

}  // namespace ignd::cli
