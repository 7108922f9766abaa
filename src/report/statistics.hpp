#pragma once

#include "lab/experiment.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace ignd {

// Empty where undefined: the mean of nothing, the deviation of one value, anything that is not finite.
struct Spread {
  std::uint64_t n = 0;
  std::optional<double> mean;
  std::optional<double> deviation;  // over n - 1
};

Spread spread_of(std::span<const double> values);

// Of the values' logarithms to base 10; empty where one of them has none.
Spread spread_of_logarithms(std::span<const double> values);

// The scores of a method over its seeds.
struct ScoreSummary {
  std::uint64_t done = 0;
  std::uint64_t failed = 0;    // diverged or collapsed
  std::uint64_t unscored = 0;  // without a score: failed, and failing has no score
  Spread all;                  // of all runs; its mean is empty where one has no score
  Spread scored;               // of those that have one
  Spread logarithms;           // as `all`, of logarithms
};

ScoreSummary summarize(const MethodResults& method);

// Whether a method has a learning rate; a baseline without one is given 0.
bool takes_rate(const MethodResults& method);

// Two methods on the seeds they share. A run without a score loses against one that has a score.
struct PairedDifference {
  bool logarithms = false;
  std::uint64_t pairs = 0;
  std::uint64_t wins = 0, ties = 0;      // of `better`
  Spread differences;                    // better - worse, over the pairs that have one
  std::optional<double> standard_error;  // of their mean
  bool complete() const { return differences.n == pairs; }
};

PairedDifference compare(const MethodResults& better, const MethodResults& worse, const ScoreInfo& metric);

struct ComparedPair {
  Comparison names;
  PairedDifference difference;
};

// The experiment's pairs, those whose methods the panel has.
std::vector<ComparedPair> compare_pairs(const ExperimentResults& experiment, const PanelResults& panel);

// What a curve is of: the samples that the score is of, or those of the validation set.
enum class CurvePart { scored, validation };

// A point of a mean curve.
struct CurvePoint {
  double x = 0;
  Spread values;
  Spread logarithms;
  std::uint64_t ended = 0;  // runs that have ended and keep their last value
};

// The mean over all runs at every x: a run keeps its last value until its next one, and beyond its end, so that no mean
// moves because a run has ended. Failed runs without a score have no value to keep and are left out altogether. Where
// all failed, the mean reaches as far as all of them do.
std::vector<CurvePoint> mean_curve(const MethodResults& method, CurvePart part = CurvePart::scored);

// Whether a run has such a curve.
bool has_curve(const ExperimentResults& experiment, CurvePart part);

// Whether a mean difference is significant at the 5 % level: Student's t-test on the pairs.
bool told_apart(const PairedDifference& difference);

// Whether the first method is better on average, for any difference.
bool is_ahead(const PairedDifference& difference, const ScoreInfo& metric);

// The methods of a panel that have a mean, best first: by geometric means if the metric's logarithms are compared and
// all of them have one.
std::vector<const MethodResults*> ranked(const PanelResults& panel, const ScoreInfo& metric);

// Whether `best` is better than another method beyond doubt: by a paired test, or because only the other one has runs
// without a score.
bool beats(const MethodResults& best, const MethodResults& other, const ScoreInfo& metric);

// The method that beats all others of its panel that have runs; null if none does.
const MethodResults* clear_winner(const PanelResults& panel, const ScoreInfo& metric);

}  // namespace ignd
