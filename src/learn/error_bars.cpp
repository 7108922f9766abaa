#include "learn/error_bars.hpp"

#include "base/text.hpp"
#include "ignd/random.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>
#include <unordered_map>

#include <fmt/format.h>

namespace ignd {
namespace {

// Sums and squares of very large errors are not numbers.
std::optional<double> finite(std::optional<double> value) {
  return value && std::isfinite(*value) ? value : std::nullopt;
}

// Draws rows with replacement: how often each of them is drawn.
class Resampler {
 public:
  Resampler(std::size_t rows, std::span<const std::uint64_t> group, std::uint64_t seed)
      : rows_(rows), times_(rows), stream_(seed, "bootstrap") {
    std::unordered_map<std::uint64_t, std::uint32_t> number;
    for (const std::uint64_t key : group) {
      unit_.push_back(number.try_emplace(key, static_cast<std::uint32_t>(number.size())).first->second);
    }
    units_ = group.empty() ? rows : number.size();
    drawn_.resize(units_);
  }

  std::size_t units() const { return units_; }  // rows, or groups of rows

  std::span<const double> next() {
    std::ranges::fill(drawn_, 0U);
    for (std::size_t i = 0; i < units_; ++i) ++drawn_[stream_.below(units_)];
    for (std::size_t i = 0; i < rows_; ++i) times_[i] = drawn_[unit_.empty() ? i : unit_[i]];
    return times_;
  }

 private:
  std::size_t rows_, units_ = 0;
  std::vector<std::uint32_t> unit_;  // of each row; empty: its own
  std::vector<std::uint32_t> drawn_;
  std::vector<double> times_;
  RandomStream stream_;
};

// Linear between the neighbours in order.
double quantile_of(std::span<const double> sorted, double level) {
  const double at = level * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

ScoreInterval middle_of(std::vector<double>& values) {
  std::ranges::sort(values);
  constexpr double left_out = (1 - error_bar_level) / 2;
  return {quantile_of(values, left_out), quantile_of(values, 1 - left_out)};
}

MulticlassMetrics multiclass_of(const JudgedSamples& samples, std::span<const double> weight) {
  MulticlassMetrics metrics{.classes = samples.classes};
  std::vector<double> labelled(samples.classes), predicted(samples.classes), right(samples.classes);
  double total = 0;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const double w = weight[i];
    if (w == 0) continue;
    const auto truth = static_cast<std::size_t>(samples.truth[i]),
               said = static_cast<std::size_t>(samples.predicted[i]);
    ++metrics.count;
    total += w;
    labelled[truth] += w;
    predicted[said] += w;
    if (truth == said) right[truth] += w, metrics.accuracy += w;
    metrics.log_loss += w * samples.loss[i];
  }
  metrics.accuracy /= total;
  metrics.log_loss /= total;
  metrics.macro_f1 = macro_f1(labelled, predicted, right);
  return metrics;
}

// Scores of the same samples with other weights.
std::function<Scores(std::span<const double> weight)> scorer_of(const JudgedSamples& samples) {
  if (samples.classes == 0) {
    return [&samples](std::span<const double> weight) {
      return Scores{.regression = regression_metrics(samples.truth, samples.predicted, weight), .classification = {}};
    };
  }
  if (samples.classes == 2) {
    return [rows = TwoClassRows(samples.truth, samples.predicted)](std::span<const double> weight) {
      return Scores{.regression = {}, .classification = rows.metrics(weight)};
    };
  }
  return [&samples](std::span<const double> weight) {
    return Scores{.regression = {}, .classification = {}, .multiclass = multiclass_of(samples, weight)};
  };
}

// Why such rows get no error bars; empty: they do.
std::string refusal(std::size_t rows, std::size_t units, bool grouped) {
  if (rows <= most_resampled_rows && units < least_resampled_rows) {
    return fmt::format("error bars need at least {} {}", least_resampled_rows, grouped ? "groups of rows" : "rows");
  }
  if (rows > most_resampled_rows) {
    return fmt::format("of more than {} rows, no error bars are shown: they would be narrower than the digits",
                       with_commas(most_resampled_rows));
  }
  return "";
}

std::string percent(double share) { return fmt::format("{:.2g} %", 100 * std::abs(share)); }

// "12 % lower", of a share by which something is lower.
std::string lower(double share) { return percent(share) + (share < 0 ? " higher" : " lower"); }

}  // namespace

std::vector<Measure> measures(const Scores& scores) {
  if (scores.regression) {
    const RegressionMetrics& m = *scores.regression;
    // Squares of very small errors are 0.
    const std::optional<double> rmse = m.rmse == 0 && m.mae > 0 ? std::nullopt : std::optional(m.rmse);
    return {{"mape", "mape", finite(m.mape)},
            {"rmse", "rmse", finite(rmse)},
            {"mae", "mae", finite(m.mae)},
            {"r2", "r2", finite(m.r2)}};
  }
  if (scores.classification) {
    const ClassificationMetrics& m = *scores.classification;
    return {{"accuracy", "accuracy", m.accuracy},
            {"log_loss", "log_loss", m.log_loss},
            {"auc", "auc", m.auc},
            {"average_precision", "avg_prec", m.average_precision},
            {"precision", "precision", m.precision},
            {"recall", "recall", m.recall},
            {"f1", "f1", m.f1},
            {"calibration_error", "calib_err", m.calibration_error, true}};
  }
  if (scores.multiclass) {
    const MulticlassMetrics& m = *scores.multiclass;
    return {{"accuracy", "accuracy", m.accuracy},
            {"log_loss", "log_loss", m.log_loss},
            {"macro_f1", "macro_f1", m.macro_f1}};
  }
  return {};
}

std::size_t resamples_of(std::size_t rows) {
  constexpr std::size_t draws = 20'000'000, most = 1000, least = 100;
  return std::clamp(draws / std::max<std::size_t>(rows, 1), least, most);
}

ErrorBars error_bars(const JudgedSamples& samples, std::uint64_t seed) {
  Resampler resampler(samples.size(), samples.group, seed);
  ErrorBars bars{.missing = refusal(samples.size() + samples.left_out, resampler.units(), !samples.group.empty())};
  if (!bars) return bars;
  const auto scores_of = scorer_of(samples);
  const std::vector<Measure> measured = measures(scores_of(samples.weight));
  std::vector<std::vector<double>> values(measured.size());
  std::vector<double> weight(samples.size());
  bars.resamples = resamples_of(samples.size());
  for (std::size_t k = 0; k < bars.resamples; ++k) {
    const std::span<const double> times = resampler.next();
    double total = 0;
    for (std::size_t i = 0; i < weight.size(); ++i) total += weight[i] = times[i] * samples.weight[i];
    if (total == 0) continue;  // none of the rows that count was drawn
    const std::vector<Measure> drawn = measures(scores_of(weight));
    for (std::size_t m = 0; m < drawn.size(); ++m) {
      if (drawn[m].value) values[m].push_back(*drawn[m].value);
    }
  }
  // A resample may lack a class, and with it a score. Where that happens often, the score itself is a matter of chance.
  constexpr double enough = 0.9;
  for (std::size_t m = 0; m < measured.size(); ++m) {
    const bool often = static_cast<double>(values[m].size()) >= enough * static_cast<double>(bars.resamples);
    bars.intervals.push_back(measured[m].value && often ? std::optional(middle_of(values[m])) : std::nullopt);
    if (!bars.intervals[m] || !measured[m].grows_with_noise) continue;
    double noise = 0;
    for (const double value : values[m]) noise += (value - *measured[m].value) / static_cast<double>(values[m].size());
    auto& [low, high] = *bars.intervals[m];
    low = std::max(low - noise, 0.0);
    high = std::max(high - noise, 0.0);
  }
  return bars;
}

const char* to_string(Standing standing) {
  static constexpr const char* names[]{"better", "as good", "worse", "unknown"};
  return names[static_cast<std::size_t>(standing)];
}

Verdict compare_losses(const Scores& model, const JudgedSamples& of_model, const Scores& baseline,
                       const JudgedSamples& of_baseline, const std::string& name, std::uint64_t seed) {
  Verdict verdict{.baseline = name, .model_loss = model.loss, .baseline_loss = baseline.loss};
  const std::size_t rows = of_model.size();
  const bool finite = rows > 0 && of_baseline.size() == rows;
  if (!finite || baseline.loss == 0) {
    verdict.standing = model.loss < baseline.loss    ? Standing::better
                       : model.loss == baseline.loss ? Standing::as_good
                                                     : Standing::worse;
    return verdict;
  }
  verdict.lower_by = (baseline.loss - model.loss) / baseline.loss;
  if (rows > most_resampled_rows) {  // the interval is narrower than any difference worth a word
    verdict.standing = *verdict.lower_by > 0 ? Standing::better : Standing::worse;
    return verdict;
  }
  Resampler resampler(rows, of_model.group, seed);
  if (resampler.units() < least_resampled_rows) return verdict;
  std::vector<double> shares;
  const std::size_t resamples = resamples_of(rows);
  for (std::size_t k = 0; k < resamples; ++k) {
    const std::span<const double> times = resampler.next();
    double gained = 0, whole = 0;
    for (std::size_t i = 0; i < rows; ++i) {
      const double weight = times[i] * of_model.loss_weight[i];
      gained += weight * (of_baseline.loss[i] - of_model.loss[i]);
      whole += weight * of_baseline.loss[i];
    }
    if (whole > 0) shares.push_back(gained / whole);
  }
  if (shares.empty()) return verdict;
  verdict.interval = middle_of(shares);
  constexpr double nothing_worth = 0.02;
  const auto [low, high] = *verdict.interval;
  verdict.standing = low > 0                ? Standing::better
                     : high < 0             ? Standing::worse
                     : high < nothing_worth ? Standing::as_good
                                            : Standing::unknown;
  return verdict;
}

std::string verdict_text(const Verdict& verdict, const std::string& rows, bool line) {
  // "the best constant", but "least squares".
  const std::string baseline = (verdict.baseline.starts_with("best") ? "the " : "") + verdict.baseline;
  const std::string losses = fmt::format("mean loss {:.4g} against {:.4g}", verdict.baseline_loss, verdict.model_loss);
  std::string by = fmt::format("mean loss {:.4g} against {:.4g}", verdict.model_loss, verdict.baseline_loss);
  if (verdict.lower_by && verdict.interval) {
    const auto [low, high] = *verdict.interval;
    const std::string from = low > 0 ? percent(low) : lower(low);
    by = fmt::format("its mean loss is {} (90 % interval: {} to {})", lower(*verdict.lower_by), from, lower(high));
  }
  const char* advice = line ? ": use --model linear" : "";
  switch (verdict.standing) {
    case Standing::better:
      return fmt::format("the model is better than {} on the {}: {}", baseline, rows, by);
    case Standing::as_good:
      return fmt::format("{} is as good as the model on the {} ({}){}",
                         line ? fmt::format("a straight line ({})", baseline) : baseline, rows, losses, advice);
    case Standing::worse:
      return fmt::format("{} is better than the model on the {} ({}){}", baseline, rows, losses, advice);
    case Standing::unknown:
      break;
  }
  return fmt::format("there are too few rows to tell the model from {}: on the {} {}", baseline, rows, by);
}

}  // namespace ignd
