#pragma once

#include "cli/console.hpp"
#include "lab/experiment.hpp"
#include "learn/cross_validation.hpp"
#include "learn/error_bars.hpp"
#include "learn/prediction_intervals.hpp"

#include <optional>
#include <span>
#include <string>
#include <vector>

// How good models are, as tables for people and as JSON for programs.
namespace ignd::cli {

// Prints a table of scores with a row for each predictor, and below it its error bars.
struct Evaluated {
  std::string name;
  std::vector<Scores> on;                           // one for each part of the data
  std::vector<std::optional<ErrorBars>> bars = {};  // likewise, or none at all
};
void print_table(const std::vector<std::string>& parts, const std::vector<Evaluated>& rows);

// Sets the scores on one part as "PREFIX.rmse" and so on.
void set_metrics(JsonLine& line, const std::string& prefix, const Scores& quality);

// The same for error bars, as "error_bars.PART.rmse": an array of the low and the high end.
void set_error_bars(JsonLine& line, const std::string& part, const Scores& quality, const ErrorBars& bars);

// The same for scores on each fold of a cross-validation: their mean, and below it their deviation.
void print_fold_scores(const std::vector<CrossValidation::Predictor>& predictors);

// Sets the means of a predictor as "metrics.test.rmse" or "baselines.NAME.test.rmse" and the deviations as
// "deviations.test.rmse" or "baseline_deviations.NAME.test.rmse".
void set_fold_scores(JsonLine& line, const CrossValidation::Predictor& predictor);
std::string baseline_key(std::string name);  // "least_squares"

// Sets how a model stands against a baseline, with the sentence that says so.
void set_verdict(JsonLine& line, const Verdict& verdict, const std::string& text);

// Sets how many rows are in their intervals, as "interval.coverage".
void set_coverage(JsonLine& line, const IntervalCoverage& coverage);

// How often each class was predicted as each other one: a table, or the ten most frequent confusions if there are more
// than 20 classes. Ends with a line end.
std::string confusion_text(const MulticlassMetrics& metrics, std::span<const std::string> classes);

// Sets "classes" and "confusion": an array for each true class with a number for each predicted one.
void set_confusion(JsonLine& line, const MulticlassMetrics& metrics, std::span<const std::string> classes);

// The same for scores of two classes or more; nothing for numbers. The text begins with an empty line.
std::string confusion_text(const Scores& quality, std::span<const std::string> classes);
void set_confusion(JsonLine& line, const Scores& quality, std::span<const std::string> classes);

// Sets the same as arrays: "methods", "rates", "means", "deviations", "runs" and "failed".
void set_comparison(JsonLine& line, const PanelResults& panel);

// Prints a line for each method: its rate, its score over the seeds, and how many runs failed, over all rates.
void print_comparison(const PanelResults& panel, const ScoreInfo& metric);

}  // namespace ignd::cli
