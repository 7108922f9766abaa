#pragma once

#include "data/data_file.hpp"

#include <optional>
#include <string>
#include <vector>

// The commands that use a trained model. They return the exit code.
namespace ignd::cli {

struct UseOptions {
  std::string model;
  DataFile data;
  std::string output;                  // of predictions; empty: the standard output
  std::optional<std::string> weight;   // of an evaluation: a column of importance weights
  std::vector<std::string> keep = {};  // of predictions: columns that are passed on
  std::string bad_rows = "stop";       // or skip
  bool json = false;

  bool skips_bad_rows() const { return bad_rows == "skip"; }
};

int predict(const UseOptions& options);
int evaluate(const UseOptions& options);
int inspect(const UseOptions& options);

}  // namespace ignd::cli
