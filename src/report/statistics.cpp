#include "report/statistics.hpp"

#include "base/text.hpp"
#include "report/format.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <set>

#include <fmt/format.h>

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

namespace {

// The 97.5 % quantile of Student's distribution: a table, and where it ends the expansion about the normal one.
double t_quantile(std::uint64_t degrees) {
  static constexpr std::array table{12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262};
  if (degrees <= table.size()) return table[degrees - 1];
  const double n = static_cast<double>(degrees);
  return 1.95996 + 2.37227 / n + 2.82250 / (n * n);
}

}  // namespace

bool told_apart(const PairedDifference& difference) {
  const auto& [n, mean, deviation] = difference.differences;
  if (!difference.complete() || n < 2 || !mean || !difference.standard_error) return false;
  return std::abs(*mean) > t_quantile(n - 1) * *difference.standard_error;
}

bool is_ahead(const PairedDifference& difference, const ScoreInfo& metric) {
  const double mean = difference.differences.mean.value_or(0);
  return metric.higher_is_better ? mean > 0 : mean < 0;
}

std::vector<const MethodResults*> ranked(const PanelResults& panel, const ScoreInfo& metric) {
  std::vector<std::pair<ScoreSummary, const MethodResults*>> found;
  for (const MethodResults& method : panel.methods) {
    ScoreSummary scores = summarize(method);
    if (scores.all.mean) found.emplace_back(std::move(scores), &method);
  }
  const bool by_logarithms = metric.log_scale && std::ranges::all_of(found, [](const auto& one) {
                               return one.first.logarithms.mean.has_value();
                             });
  const auto rank = [&](const auto& one) {
    const double mean = by_logarithms ? *one.first.logarithms.mean : *one.first.all.mean;
    return metric.higher_is_better ? -mean : mean;
  };
  std::ranges::stable_sort(found, {}, rank);
  std::vector<const MethodResults*> methods;
  methods.reserve(found.size());
  for (const auto& [scores, method] : found) methods.push_back(method);
  return methods;
}

bool beats(const MethodResults& best, const MethodResults& other, const ScoreInfo& metric) {
  if (summarize(other).unscored > 0) return summarize(best).unscored == 0;
  const PairedDifference difference = compare(best, other, metric);
  return told_apart(difference) && is_ahead(difference, metric);
}

const MethodResults* clear_winner(const PanelResults& panel, const ScoreInfo& metric) {
  const auto methods = ranked(panel, metric);
  if (methods.empty() || !metric.is_contest) return nullptr;
  std::size_t beaten = 0;
  for (const MethodResults& other : panel.methods) {
    if (&other == methods.front() || other.runs.empty()) continue;
    if (!beats(*methods.front(), other, metric)) return nullptr;
    ++beaten;
  }
  return beaten > 0 ? methods.front() : nullptr;
}

}  // namespace ignd
