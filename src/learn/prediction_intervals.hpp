#pragma once

#include "ignd/model_file.hpp"
#include "learn/dataset.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace ignd {

class Checkpoint;
class RunView;

// Intervals for numbers, from residuals of rows that the model has not learned from: split-conformal prediction. The
// interval of a prediction goes from the k-th smallest of n residuals to the k-th largest above it, where k =
// floor((n + 1) a / 2). Of new rows that are exchangeable with those n, at least 1 - a are in their intervals on
// average, whatever the model and the distribution of the errors, and at most 1 - a + 2 / (n + 1) if no two residuals
// are equal.
//
// Where large numbers are predicted with large errors, residuals are divided by a scale that depends on the prediction.
// Half of the rows say what the scale is and whether it makes intervals narrower; only the other half are the n above.
class PredictionIntervals {
 public:
  // From truth and prediction of rows that count `weight` times, drawn by the seed where there are many. `least`: no
  // target is below this. None where there are fewer than two rows with a weight, or one is not finite.
  static std::optional<PredictionIntervals> fit(const JudgedSamples& samples, std::optional<double> least,
                                                std::uint64_t seed);

  // Throws InvalidArgument for a level, a share of the rows, that is not between 0 and 1, or for which the residuals
  // are too few.
  PredictionInterval at(double predicted, double level) const;

  bool allows(double level) const;  // whether there are enough residuals

  std::size_t residuals() const { return residuals_.size(); }
  bool is_scaled() const { return !scale_.empty(); }

  void save(Checkpoint& checkpoint) const;
  // Those of a checkpoint, if it has any. Throws FileError.
  static std::optional<PredictionIntervals> load(const Checkpoint& checkpoint, std::optional<double> least);

 private:
  double scale_at(double predicted) const;
  void fit_scale(const JudgedSamples& samples, std::span<const std::uint32_t> rows);
  std::vector<double> scaled_residuals(const JudgedSamples& samples, std::span<const std::uint32_t> rows) const;

  std::vector<double> residuals_;   // in increasing order
  std::vector<double> at_, scale_;  // predictions in increasing order, and the scale there; empty: 1 everywhere
  std::optional<double> least_;
};

// Those of a run that has ended, from the rows that it has not learned from. None for classes, without such rows, and
// once `stop` is set.
std::optional<PredictionIntervals> intervals_of(const RunView& run, const Dataset& dataset, std::uint64_t seed,
                                                const std::atomic<bool>& stop);

// What no target of a model is below.
std::optional<double> least_target(const Target& target);

// How many rows are in their intervals, by weight, and how wide those are.
struct IntervalCoverage {
  double level = 0, share = 0, mean_width = 0;
};
IntervalCoverage coverage_of(const PredictionIntervals& intervals, const JudgedSamples& samples, double level);

// "90 % intervals hold 91.2 % of the 1,000 test rows; their mean width is 12.3"
std::string coverage_text(const IntervalCoverage& coverage, const std::string& rows);

}  // namespace ignd
