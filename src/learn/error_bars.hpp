#pragma once

#include "learn/dataset.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// How far scores may be off, because they were measured on a sample: intervals by the bootstrap. Rows are drawn with
// replacement, as many as there are (groups of rows where rows of a group depend on each other), and scored as if they
// were the test rows. The middle 90 % of what comes out is the interval. A pure function of the samples and the seed.
namespace ignd {

struct ScoreInterval {
  double low = 0, high = 0;
};

// A score as it is shown.
struct Measure {
  std::string key;      // for programs: "calibration_error"
  std::string heading;  // of a column: "calib_err"
  std::optional<double> value = {};
  // A mean of sizes, which is larger in a resample: its interval is moved back by that, not below zero.
  bool grows_with_noise = false;
};

// All that is shown of scores, always in the same order for a kind of target.
std::vector<Measure> measures(const Scores& scores);

inline constexpr double error_bar_level = 0.9;

struct ErrorBars {
  std::size_t resamples = 0;
  std::vector<std::optional<ScoreInterval>> intervals = {};  // one for each of measures()
  std::string missing = {};                                  // why there are none; empty: there are

  explicit operator bool() const { return missing.empty(); }
};

// The number of resamples for a number of rows: 1,000, or fewer where that would take longer than about a second. None
// for millions of rows, whose intervals are narrower than the digits that are shown.
std::size_t resamples_of(std::size_t rows);
inline constexpr std::size_t most_resampled_rows = 1'000'000;
inline constexpr std::size_t least_resampled_rows = 20;  // or groups: fewer say nothing of what others would be like

ErrorBars error_bars(const JudgedSamples& samples, std::uint64_t seed);

// How a model stands against a baseline, by their mean losses on the same rows.
enum class Standing {
  better,   // the whole interval of the difference is below zero
  as_good,  // the interval is above or around zero, and the model is at most 2 % better
  worse,    // the whole interval is above zero
  unknown   // the interval is around zero and wide: there are too few rows to tell
};
const char* to_string(Standing standing);

struct Verdict {
  std::string baseline;
  Standing standing = Standing::unknown;
  // By what share of the baseline's mean loss that of the model is lower; negative: it is higher. Not there if that
  // cannot be said: a loss is 0 or infinite, or there are too few rows for an interval.
  std::optional<double> lower_by = {};
  std::optional<ScoreInterval> interval = {};
  double model_loss = 0, baseline_loss = 0;
};

// The bootstrap draws the same rows for both: what is hard for one is mostly hard for the other, so their difference is
// known better than either loss. Samples that were not all finite are empty; their loss is infinite.
Verdict compare_losses(const Scores& model, const JudgedSamples& of_model, const Scores& baseline,
                       const JudgedSamples& of_baseline, const std::string& name, std::uint64_t seed);

// The verdict as a sentence about "the 1,000 test rows". `line`: whether the baseline is a linear model that --model
// linear would train, and the model is not one itself.
std::string verdict_text(const Verdict& verdict, const std::string& rows, bool line);

}  // namespace ignd
