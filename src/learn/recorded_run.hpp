#pragma once

#include "learn/run.hpp"
#include "learn/run_result.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ignd {

// What runs are compared by.
enum class ScoreKind {
  automatic,  // what the loss measures: the root mean squared error in the target's units, or the mean of another loss
  loss,       // its mean, as it is learned
  rmse,
  mae,
  mape,
  accuracy
};

const std::vector<std::string>& score_names();  // in the order of the kinds; the first is "auto"

// None where the scores have no such finite number.
std::optional<double> score_of(const Dataset& dataset, const Scores& scores, ScoreKind kind);

// For tables and figures: "RMSE", "log loss", "huber loss".
std::string score_label(const Dataset& dataset, ScoreKind kind);

// Everything else that is known of scores, by name: "mae", "auc", ...
std::vector<std::pair<std::string, double>> further_scores(const Scores& scores);

struct RecordOptions {
  ScoreKind score = ScoreKind::automatic;
  std::uint64_t points = 1;    // of the curves, for each epoch
  bool on_validation = false;  // the score is that of the validation samples, and no test sample is looked at
  bool timed = false;          // the column `seconds`, which no two runs have alike
};

// Trains a model and records its learning curves on the test and validation samples, before the first step and at
// points of each epoch. A test set may be as large as the training set: until the end, the curve sees no more of it
// than there are validation samples.
//
// The result is that of the kept iterate. By the validation samples alone a run has diverged or collapsed. Where the
// control names a file, the run saves itself there every few minutes and when it is stopped, and resumes from it.
// Throws Stopped; FileError where the file is of another run.
RunResult record_run(const Dataset& dataset, const TrainingOptions& training, const RecordOptions& options,
                     const RunControl& control);

// The same measures of a model that was not trained in steps.
RunResult record_predictor(const Dataset& dataset, const OutputsOf& outputs, const RecordOptions& options);

}  // namespace ignd
