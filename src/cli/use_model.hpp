#pragma once

#include "data/data_file.hpp"
#include "learn/trained_model.hpp"

#include <optional>
#include <string>
#include <vector>

// The commands that use a trained model. They return the exit code.
namespace ignd::cli {

struct UseOptions {
  std::string model;
  DataFile data;
  std::string output;                  // file for predictions; empty: the standard output
  std::optional<std::string> weight;   // for an evaluation: a column of importance weights
  std::vector<std::string> keep = {};  // for predictions: columns to pass on
  std::string bad_rows = "stop";       // or skip
  bool json = false;

  bool skips_bad_rows() const { return bad_rows == "skip"; }
};

int predict(const UseOptions& options);
int evaluate(const UseOptions& options);
int inspect(const UseOptions& options);

// What the options say about the data. Throws InvalidArgument for options that such data do not have.
NewData new_data(const UseOptions& options, const TrainedModel& model);

}  // namespace ignd::cli
