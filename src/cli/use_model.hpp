#pragma once

#include "learn/run_checks.hpp"
#include "learn/trained_model.hpp"

#include <string>
#include <vector>

// The commands that use a trained model. They return the exit code.
namespace ignd::cli {

struct UseOptions {
  std::string model;
  GivenKeys given{.open = "--", .close = ""};
  RunSpec spec;                        // of which the data, and for tables the weight and what to do with bad rows
  std::string output;                  // file for predictions; empty: the standard output
  std::vector<std::string> keep = {};  // for predictions: columns to pass on
  bool json = false;
};

int predict(const UseOptions& options);
int evaluate(const UseOptions& options);
int inspect(const UseOptions& options);

// The same for a model that was learned from a stream (use_stream_model.cpp).
int predict_stream(const UseOptions& options, const Checkpoint& checkpoint);
int evaluate_stream(const UseOptions& options, const Checkpoint& checkpoint);
int inspect_stream(const UseOptions& options, const Checkpoint& checkpoint);

// What the options say about the data. Throws InvalidArgument for options that such data do not have.
NewData new_data(const UseOptions& options, const TrainedModel& model);

// A prediction as fields of comma-separated values: a number; or a class, with the probability of the positive one of
// two, or of each of more than two. What stands before these fields and the line end are the caller's.
class PredictionColumns {
 public:
  explicit PredictionColumns(const Target& target);

  std::string header() const;                                          // ",prediction,probability"
  void append(std::string& line, const Prediction& prediction) const;  // ",no,0.25"
  void append_nothing(std::string& line) const;                        // ",,"

 private:
  std::vector<std::string> classes_, fields_;  // the names as they are and as fields; empty for numbers
};

}  // namespace ignd::cli
