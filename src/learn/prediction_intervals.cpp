#include "learn/prediction_intervals.hpp"

#include "base/number.hpp"
#include "base/text.hpp"
#include "ignd/checkpoint.hpp"
#include "ignd/error.hpp"
#include "ignd/random.hpp"
#include "learn/run.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include <fmt/format.h>

namespace ignd {
namespace {

constexpr const char* count_entry = "interval.count";
constexpr const char* residuals_entry = "interval.residuals";
constexpr const char* pieces_entry = "interval.pieces";
constexpr const char* at_entry = "interval.at";
constexpr const char* scale_entry = "interval.scale";

// How many residuals are beyond each end of an interval that may be there. 0: there are too few for the level.
std::size_t beyond(std::size_t count, double level) {
  constexpr double rounding = 1e-9;  // 200 * (1 - 0.99) / 2 is 1
  return static_cast<std::size_t>(static_cast<double>(count + 1) * (1 - level) / 2 + rounding);
}

PredictionInterval ends_of(std::span<const double> sorted, double level) {
  const std::size_t k = beyond(sorted.size(), level);
  return {sorted[k - 1], sorted[sorted.size() - k]};
}

// Rows in random order, each about as often as its weight says compared to the mean weight: a weight of 2 is two rows.
std::vector<std::uint32_t> drawn_rows(std::span<const double> weight, std::uint64_t seed) {
  std::vector<std::uint32_t> rows;
  for (std::uint32_t i = 0; i < weight.size(); ++i) {
    if (weight[i] > 0) rows.push_back(i);
  }
  RandomStream stream(seed, "rows of intervals");
  const bool equal = std::ranges::all_of(rows, [&](std::uint32_t row) { return weight[row] == weight[rows[0]]; });
  if (equal) {
    stream.shuffle(rows);
    return rows;
  }
  std::vector<double> ends;  // of the share of each row in the sum of the weights
  double sum = 0;
  for (const std::uint32_t row : rows) ends.push_back(sum += weight[row]);
  std::vector<std::uint32_t> drawn(rows.size());
  for (std::uint32_t& row : drawn) {
    const auto place = std::ranges::upper_bound(ends, stream.uniform() * sum) - ends.begin();
    row = rows[std::min(static_cast<std::size_t>(place), rows.size() - 1)];
  }
  return drawn;
}

bool is_increasing(std::span<const double> values) {
  return std::ranges::all_of(values, [](double value) { return std::isfinite(value); }) &&
         std::ranges::is_sorted(values);
}

}  // namespace

std::optional<PredictionIntervals> PredictionIntervals::fit(const JudgedSamples& samples, std::optional<double> least,
                                                            std::uint64_t seed) {
  constexpr std::size_t most = 4000, enough_to_choose = 400;
  constexpr double usual_level = 0.9, worth_it = 0.98;
  std::vector<std::uint32_t> rows = drawn_rows(samples.weight, seed);
  if (rows.size() < 2) return std::nullopt;
  rows.resize(std::min(rows.size(), 2 * most));
  for (const std::uint32_t row : rows) {
    if (!std::isfinite(samples.truth[row]) || !std::isfinite(samples.predicted[row])) return std::nullopt;
  }
  PredictionIntervals made;
  made.least_ = least;
  std::span<const std::uint32_t> calibration = rows;
  if (rows.size() >= enough_to_choose) {
    const auto choosing = calibration.first(rows.size() / 2);
    calibration = calibration.subspan(choosing.size());
    const auto fitting = choosing.first(choosing.size() / 2), judging = choosing.subspan(fitting.size());
    const auto width = [&] {
      const auto [low, high] = ends_of(made.scaled_residuals(samples, judging), usual_level);
      double scale = 0;
      for (const std::uint32_t row : judging) scale += made.scale_at(samples.predicted[row]);
      return (high - low) * scale / static_cast<double>(judging.size());
    };
    const double plain = width();
    made.fit_scale(samples, fitting);
    if (made.is_scaled() && width() < worth_it * plain) {
      made.fit_scale(samples, choosing);
    } else {
      made.at_.clear();
      made.scale_.clear();
    }
  }
  made.residuals_ = made.scaled_residuals(samples, calibration.first(std::min(calibration.size(), most)));
  return made;
}

// The mean size of the residuals in groups of neighbouring predictions, at the mean of these. Nothing where all
// residuals are zero, or all predictions are the same.
void PredictionIntervals::fit_scale(const JudgedSamples& samples, std::span<const std::uint32_t> rows) {
  constexpr std::size_t most_groups = 20, rows_of_a_group = 25;
  std::vector<std::uint32_t> order(rows.begin(), rows.end());
  std::ranges::stable_sort(order, {}, [&](std::uint32_t row) { return samples.predicted[row]; });
  const auto size_of = [&](std::uint32_t row) { return std::abs(samples.truth[row] - samples.predicted[row]); };
  double mean_size = 0;
  for (const std::uint32_t row : order) mean_size += size_of(row) / static_cast<double>(order.size());
  at_.clear();
  scale_.clear();
  const std::size_t groups = std::clamp<std::size_t>(order.size() / rows_of_a_group, 1, most_groups);
  if (mean_size == 0) return;
  for (std::size_t g = 0; g < groups; ++g) {
    const std::size_t first = g * order.size() / groups, end = (g + 1) * order.size() / groups;
    double at = 0, size = 0;
    for (std::size_t i = first; i < end; ++i) at += samples.predicted[order[i]], size += size_of(order[i]);
    const auto count = static_cast<double>(end - first);
    // As if one more row had a residual of the mean size: no group is without errors.
    size = (size + mean_size) / (count + 1);
    at /= count;
    if (!at_.empty() && at <= at_.back()) continue;  // the same predictions as in the group before
    at_.push_back(at);
    scale_.push_back(size / mean_size);
  }
  if (at_.size() == 1) at_.clear(), scale_.clear();
}

double PredictionIntervals::scale_at(double predicted) const {
  if (scale_.empty()) return 1;
  const auto above = std::ranges::upper_bound(at_, predicted);
  if (above == at_.begin()) return scale_.front();
  if (above == at_.end()) return scale_.back();
  const auto i = static_cast<std::size_t>(above - at_.begin());
  return std::lerp(scale_[i - 1], scale_[i], (predicted - at_[i - 1]) / (at_[i] - at_[i - 1]));
}

std::vector<double> PredictionIntervals::scaled_residuals(const JudgedSamples& samples,
                                                          std::span<const std::uint32_t> rows) const {
  std::vector<double> residuals;
  for (const std::uint32_t row : rows) {
    residuals.push_back((samples.truth[row] - samples.predicted[row]) / scale_at(samples.predicted[row]));
  }
  std::ranges::sort(residuals);
  return residuals;
}

bool PredictionIntervals::allows(double level) const { return beyond(residuals_.size(), level) > 0; }

PredictionInterval PredictionIntervals::at(double predicted, double level) const {
  if (!(level > 0 && level < 1)) {
    throw InvalidArgument(
        fmt::format("the level of an interval is {} %, but must be above 0 and below 100", format_number(100 * level)));
  }
  if (!allows(level)) {
    const double needed = std::ceil(2 / (1 - level) - 1 - 1e-6);
    throw InvalidArgument(
        fmt::format("the model holds {} residuals, too few for {} % intervals: {:.0f} are needed; choose a smaller "
                    "level, or train with more validation rows",
                    residuals_.size(), format_number(100 * level), needed));
  }
  const auto [low, high] = ends_of(residuals_, level);
  const double scale = scale_at(predicted);
  PredictionInterval interval{predicted + scale * low, predicted + scale * high};
  if (least_) interval.low = std::max(interval.low, *least_), interval.high = std::max(interval.high, *least_);
  return interval;
}

void PredictionIntervals::save(Checkpoint& checkpoint) const {
  checkpoint.set(count_entry, std::uint64_t{residuals_.size()});
  checkpoint.set(residuals_entry, std::span<const double>(residuals_));
  checkpoint.set(pieces_entry, std::uint64_t{at_.size()});
  checkpoint.set(at_entry, std::span<const double>(at_));
  checkpoint.set(scale_entry, std::span<const double>(scale_));
}

std::optional<PredictionIntervals> PredictionIntervals::load(const Checkpoint& checkpoint,
                                                             std::optional<double> least) {
  if (!checkpoint.has(count_entry)) return std::nullopt;
  PredictionIntervals loaded;
  const std::size_t pieces = checkpoint.number(pieces_entry);
  loaded.residuals_ = checkpoint.array<double>(residuals_entry, checkpoint.number(count_entry));
  loaded.at_ = checkpoint.array<double>(at_entry, pieces);
  loaded.scale_ = checkpoint.array<double>(scale_entry, pieces);
  loaded.least_ = least;
  const bool positive =
      std::ranges::all_of(loaded.scale_, [](double scale) { return scale > 0 && std::isfinite(scale); });
  if (!is_increasing(loaded.residuals_) || !is_increasing(loaded.at_) || !positive) {
    throw FileError("its residuals are damaged");
  }
  return loaded;
}

std::optional<double> least_target(const Target& target) {
  return target.logarithm ? std::optional(0.0) : std::nullopt;
}

std::optional<PredictionIntervals> intervals_of(const RunView& run, const Dataset& dataset, std::uint64_t seed,
                                                const std::atomic<bool>& stop) {
  constexpr std::uint64_t most = 20'000;
  std::vector<std::uint32_t> rows(run.unseen().begin(), run.unseen().end());
  if (dataset.target().is_class() || rows.empty()) return std::nullopt;
  keep_some(rows, most, seed, "some to make intervals of");
  const auto outputs = run.outputs(rows, stop);
  if (!outputs) return std::nullopt;
  JudgedSamples samples;
  evaluate(dataset, rows, *outputs, &samples);
  return PredictionIntervals::fit(samples, least_target(dataset.target()), seed);
}

IntervalCoverage coverage_of(const PredictionIntervals& intervals, const JudgedSamples& samples, double level) {
  IntervalCoverage coverage{.level = level};
  double total = 0;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const auto [low, high] = intervals.at(samples.predicted[i], level);
    const double weight = samples.weight[i];
    total += weight;
    coverage.share += low <= samples.truth[i] && samples.truth[i] <= high ? weight : 0;
    coverage.mean_width += weight * (high - low);
  }
  coverage.share /= total;
  coverage.mean_width /= total;
  return coverage;
}

std::string coverage_text(const IntervalCoverage& coverage, const std::string& rows) {
  return fmt::format("{} % intervals hold {:.1f} % of the {}; their mean width is {:.4g}",
                     format_number(100 * coverage.level), 100 * coverage.share, rows, coverage.mean_width);
}

}  // namespace ignd
