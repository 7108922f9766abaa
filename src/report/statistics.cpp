#include "report/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <set>

namespace ignd {
namespace {

std::optional<double> if_finite(double value) {
  return std::isfinite(value) ? std::optional<double>(value) : std::nullopt;
}

std::optional<double> score_of(const RunResult& run) { return run.score ? if_finite(*run.score) : std::nullopt; }

std::map<std::uint64_t, std::optional<double>> scores_by_seed(const MethodResults& method) {
  std::map<std::uint64_t, std::optional<double>> scores;
  for (const SeedResult& run : method.runs) scores[run.seed] = score_of(run.result);
  return scores;
}

std::optional<double> difference(double a, double b, bool logarithms) {
  if (!logarithms) return if_finite(a - b);
  return a > 0 && b > 0 ? std::optional<double>(std::log10(a) - std::log10(b)) : std::nullopt;
}

const std::vector<double>& values_of(const RunResult& run, CurvePart part) {
  return part == CurvePart::scored ? run.y : run.validation_y;
}

// The values of a run where it has them.
using Steps = std::map<double, double>;

Steps steps_of(const std::vector<double>& x, const std::vector<double>& y) {
  Steps steps;
  for (std::size_t k = 0; k < std::min(x.size(), y.size()); ++k) {
    if (std::isfinite(x[k])) steps[x[k]] = y[k];
  }
  return steps;
}

bool is_left_out(const RunResult& run) { return run.status != RunStatus::finished && !score_of(run); }

}  // namespace

Spread spread_of(std::span<const double> values) {
  Spread spread;
  spread.n = values.size();
  if (values.empty()) return spread;
  const double n = static_cast<double>(values.size());
  double sum = 0;
  for (const double value : values) sum += value;
  spread.mean = if_finite(sum / n);
  if (!spread.mean) return spread;
  // Rounding must not give equal values another mean, and so a spread.
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  spread.mean = std::clamp(*spread.mean, *low, *high);
  if (values.size() < 2) return spread;
  double squares = 0;
  for (const double value : values) squares += (value - *spread.mean) * (value - *spread.mean);
  spread.deviation = if_finite(std::sqrt(squares / (n - 1)));
  return spread;
}

Spread spread_of_logarithms(std::span<const double> values) {
  std::vector<double> logarithms;
  for (const double value : values) {
    if (!(value > 0)) return {.n = values.size(), .mean = {}, .deviation = {}};
    logarithms.push_back(std::log10(value));
  }
  return spread_of(logarithms);
}

ScoreSummary summarize(const MethodResults& method) {
  ScoreSummary summary;
  std::vector<double> scores;
  for (const SeedResult& run : method.runs) {
    ++summary.done;
    if (run.result.status != RunStatus::finished) ++summary.failed;
    if (const auto score = score_of(run.result)) {
      scores.push_back(*score);
    } else {
      ++summary.unscored;
    }
  }
  summary.scored = spread_of(scores);
  summary.all.n = summary.logarithms.n = summary.done;
  if (summary.unscored == 0) {
    summary.all = summary.scored;
    summary.logarithms = spread_of_logarithms(scores);
  }
  return summary;
}

bool takes_rate(const MethodResults& method) { return !method.search.empty() || method.rate != 0; }

PairedDifference compare(const MethodResults& better, const MethodResults& worse, const ScoreInfo& metric) {
  PairedDifference result;
  result.logarithms = metric.log_scale;
  const auto others = scores_by_seed(worse);
  std::vector<double> differences;
  for (const auto& [seed, score] : scores_by_seed(better)) {
    const auto other = others.find(seed);
    if (other == others.end()) continue;
    ++result.pairs;
    if (score == other->second) {
      ++result.ties;
    } else if (!other->second ||
               (score && (metric.higher_is_better ? *score > *other->second : *score < *other->second))) {
      ++result.wins;
    }
    if (!score || !other->second) continue;
    if (const auto value = difference(*score, *other->second, metric.log_scale)) differences.push_back(*value);
  }
  result.differences = spread_of(differences);
  if (const auto deviation = result.differences.deviation) {
    result.standard_error = *deviation / std::sqrt(static_cast<double>(differences.size()));
  }
  return result;
}

std::vector<ComparedPair> compare_pairs(const ExperimentResults& experiment, const PanelResults& panel) {
  std::vector<ComparedPair> pairs;
  for (const Comparison& names : experiment.comparisons) {
    const auto better = std::ranges::find(panel.methods, names.better, &MethodResults::name);
    const auto worse = std::ranges::find(panel.methods, names.worse, &MethodResults::name);
    if (better == panel.methods.end() || worse == panel.methods.end()) continue;
    pairs.push_back({names, compare(*better, *worse, experiment.metric)});
  }
  return pairs;
}

bool has_curve(const ExperimentResults& experiment, CurvePart part) {
  return std::ranges::any_of(experiment.panels, [&](const PanelResults& panel) {
    return std::ranges::any_of(panel.methods, [&](const MethodResults& method) {
      return std::ranges::any_of(method.runs,
                                 [&](const SeedResult& run) { return !values_of(run.result, part).empty(); });
    });
  });
}

std::vector<CurvePoint> mean_curve(const MethodResults& method, CurvePart part) {
  const bool all_failed = std::ranges::all_of(method.runs, is_left_out, &SeedResult::result);
  std::vector<Steps> runs;
  std::set<double> places;
  double shortest = std::numeric_limits<double>::infinity();
  for (const SeedResult& run : method.runs) {
    if (is_left_out(run.result) && !all_failed) continue;
    Steps steps = steps_of(run.result.x, values_of(run.result, part));
    if (steps.empty()) continue;
    for (const auto& [x, y] : steps) places.insert(x);
    shortest = std::min(shortest, steps.rbegin()->first);
    runs.push_back(std::move(steps));
  }
  std::vector<CurvePoint> curve;
  for (const double x : places) {
    if (all_failed && x > shortest) break;
    std::vector<double> values;
    std::uint64_t ended = 0;
    for (const Steps& steps : runs) {
      const auto next = steps.upper_bound(x);
      if (next == steps.begin()) continue;
      values.push_back(std::prev(next)->second);
      if (steps.rbegin()->first < x) ++ended;
    }
    curve.push_back({x, spread_of(values), spread_of_logarithms(values), ended});
  }
  return curve;
}

}  // namespace ignd
