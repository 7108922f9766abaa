#pragma once

#include "cli/prediction_writer.hpp"
#include "learn/run_checks.hpp"
#include "learn/trained_model.hpp"

#include <optional>
#include <string>
#include <vector>

// The commands that use a trained model. They return the exit code.
namespace ignd::cli {

struct UseOptions {
  std::string model;
  GivenKeys given{.open = "--", .close = ""};
  RunSpec spec;                         // of which the data, and for tables the weight and what to do with bad rows
  std::string output;                   // file for predictions; empty: the standard output
  std::vector<std::string> keep = {};   // for predictions: columns to pass on
  std::optional<double> interval = {};  // its level in per cent
  bool json = false;
  bool markdown = false;
  ExplainOptions explain = {};  // how many rows, shuffles and so on
  std::string csv;              // file for partial dependences
};

int predict(const UseOptions& options);
int evaluate(const UseOptions& options);
int explain(const UseOptions& options);
int inspect(const UseOptions& options);

// The intervals that the options ask for. Throws InvalidArgument where the model has none.
AskedIntervals asked_intervals(const UseOptions& options, const TrainedModel& model);

// What the options say about the data. Throws InvalidArgument for options that such data do not have.
NewData new_data(const UseOptions& options, const TrainedModel& model);

}  // namespace ignd::cli
