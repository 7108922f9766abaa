#include "report/figure.hpp"

#include "base/text.hpp"
#include "learn/step_log.hpp"
#include "report/axis.hpp"
#include "report/finding.hpp"
#include "report/format.hpp"
#include "report/formula.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace ignd {
namespace {

// A mean and the band of one standard deviation; none where gnuplot could not draw it.
std::optional<FigurePoint> figure_point(double x, const Spread& values, const Spread& logarithms, bool log_scale);

// "validation accuracy" of "test accuracy" or "accuracy".
std::string validation_label(const ScoreInfo& metric);

// Everything but name, heading, x axis and panels.
Figure figure_of(const ExperimentResults& experiment);

// gnuplot calculates with the squares of what it draws, and more.
bool is_drawable(double value) { return std::abs(value) < 1e100; }

constexpr std::string_view of_test = "test ", of_validation = "validation ";

// "accuracy" of "test accuracy".
std::string without_part(std::string_view label) {
  for (const std::string_view part : {of_test, of_validation}) {
    if (label.starts_with(part)) label.remove_prefix(part.size());
  }
  return std::string(label);
}

std::optional<FigurePoint> figure_point(double x, const Spread& values, const Spread& logarithms, bool log_scale) {
  const Spread& spread = log_scale ? logarithms : values;
  const auto on_axis = [&](double value) { return log_scale ? std::pow(10.0, value) : value; };
  const auto fits = [&](double value) { return is_drawable(value) && (!log_scale || std::abs(value) < 100); };
  if (!spread.mean || !fits(*spread.mean) || !is_drawable(x)) return {};
  FigurePoint drawn{x, on_axis(*spread.mean), {}};
  if (spread.deviation && fits(*spread.mean - *spread.deviation) && fits(*spread.mean + *spread.deviation)) {
    drawn.band = {on_axis(*spread.mean - *spread.deviation), on_axis(*spread.mean + *spread.deviation)};
  }
  return drawn;
}

std::string validation_label(const ScoreInfo& metric) {
  return std::string(of_validation) + without_part(metric.label);
}

Figure figure_of(const ExperimentResults& experiment) {
  Figure figure;
  figure.title = title_of(experiment) + (experiment.preview ? " (preview)" : "");
  figure.y_label = experiment.metric.label;
  // Where there are two curves, each says which it is.
  if (has_curve(experiment, CurvePart::validation) && !figure.y_label.starts_with(of_validation)) {
    figure.y_label = std::string(of_test) + without_part(figure.y_label);
  }
  figure.caption =
      experiment.metric.log_scale
          ? "Lines are geometric means over the seeds, shaded regions ±1 standard deviation of the logarithms."
          : "Lines are means over the seeds, shaded regions ±1 standard deviation.";
  return figure;
}

// A line with the method that it is of.
struct PanelLine {
  FigureLine line;
  const MethodResults* method;
};

Range values_of(const FigureLine& line) {
  Range range;
  for (const FigurePoint& point : line.points) range.include(point.y);
  return range;
}

Range range_of(std::span<const FigurePoint> points) {
  Range range;
  for (const FigurePoint& point : points) {
    range.include(point.y);
    if (!point.band) continue;
    range.include(point.band->first);
    range.include(point.band->second);
  }
  return range;
}

// A curve leads to its later half.
LineExtent curve_extent(const FigureLine& line, bool failed) {
  const std::span<const FigurePoint> points = line.points;
  const auto later = points.subspan(points.size() / 2);
  LineExtent extent{line.name, range_of(points), values_of(line), range_of(later), {}, points.back().y, failed};
  extent.usual.include(points.front().y);
  for (const FigurePoint& point : later) extent.end.include(point.y);
  return extent;
}

// A search leads to its best rate and the rates beside it.
LineExtent search_extent(const FigureLine& line, const ScoreInfo& metric) {
  const auto& points = line.points;
  std::size_t best = 0;
  for (std::size_t k = 1; k < points.size(); ++k) {
    if (metric.higher_is_better ? points[k].y > points[best].y : points[k].y < points[best].y) best = k;
  }
  const Range all = range_of(points);
  LineExtent extent{line.name, all, values_of(line), all, {}, points[best].y, false};
  for (std::size_t k = best == 0 ? 0 : best - 1; k < std::min(best + 2, points.size()); ++k) {
    extent.end.include(points[k].y);
  }
  return extent;
}

void set_value_axis(FigurePanel& panel, const ValueAxis& axis) {
  panel.low_y = axis.low;
  panel.high_y = axis.high;
  panel.log_y = axis.logarithmic;
  panel.remarks.insert(panel.remarks.end(), axis.remarks.begin(), axis.remarks.end());
}

// Enough to make room for it, and less than a test would ask for: a preview has three seeds.
bool differ_visibly(const PairedDifference& difference) {
  const auto& mean = difference.differences.mean;
  return mean && difference.standard_error && std::abs(*mean) > 2 * *difference.standard_error;
}

void set_value_axis(FigurePanel& panel, const std::vector<PanelLine>& lines, const std::vector<LineExtent>& extents,
                    const ScoreInfo& metric, Crowd crowd) {
  const auto differ = [&](std::size_t a, std::size_t b) {
    return differ_visibly(compare(*lines[a].method, *lines[b].method, metric));
  };
  set_value_axis(panel, value_axis(extents, metric, differ, crowd));
}

void add_lines(FigurePanel& panel, std::vector<PanelLine> lines) {
  for (PanelLine& line : lines) panel.lines.push_back(std::move(line.line));
}

// As many as a panel can show; the CSV file has all of them.
constexpr std::size_t most_points = 400;

constexpr const char* carried_on =
    " A run that ends before others keeps its last value; failed ones have none to keep.";

std::vector<FigurePoint> thinned(const std::vector<FigurePoint>& points) {
  std::vector<FigurePoint> kept;
  for (std::size_t k = 0; k < most_points; ++k) kept.push_back(points[k * (points.size() - 1) / (most_points - 1)]);
  return kept;
}

constexpr const char* no_test_curve =
    "an earlier version made them and recorded the validation samples alone (another results folder makes them anew)";

// Makes the curve panels of one experiment.
class PanelMaker {
 public:
  PanelMaker(const ExperimentResults& experiment, CurvePart part, bool over_seconds)
      : experiment_(experiment), part_(part), over_seconds_(over_seconds), styles_(experiment) {}

  FigurePanel make(const PanelResults& results) {
    FigurePanel panel;
    panel.title = title_of(results);
    undrawn_ = untimed_ = untested_ = 0;
    thinned_ = carried_on_ = left_out_ = false;
    std::vector<PanelLine> lines;
    for (const MethodResults& method : results.methods) {
      FigureLine line = make_line(method);
      if (!line.points.empty()) lines.push_back({std::move(line), &method});
    }
    if (!lines.empty()) set_ranges(panel, lines);
    add_lines(panel, std::move(lines));
    panel.finding = finding(results, panel);
    if (undrawn_ > 0) {
      panel.remarks.push_back(fmt::format("{} points are not drawn: a value there is too large or not finite{}.",
                                          undrawn_, experiment_.metric.log_scale ? ", or has no logarithm" : ""));
    }
    if (untimed_ > 0) {
      panel.remarks.push_back(fmt::format("{} methods are not drawn: their runs were not timed.", untimed_));
    }
    if (untested_ > 0) {
      panel.remarks.push_back(fmt::format("{} runs are not part of the lines: {}.", untested_, no_test_curve));
    }
    if (carried_on_) panel.remarks.emplace_back("Some runs end before others and keep their last value from there on.");
    if (left_out_) panel.remarks.emplace_back("Failed runs without a score are not part of the lines.");
    if (thinned_) {
      panel.remarks.push_back(fmt::format("At most {} points of a line are drawn; the CSV file has all.", most_points));
    }
    return panel;
  }

 private:
  FigureLine make_line(const MethodResults& method) {
    FigureLine line;
    line.name = method.name;
    line.style = styles_.of(method.name);
    const double seconds = over_seconds_ ? seconds_per_unit(method) : 1;
    if (!(seconds > 0)) {
      ++untimed_;
      return line;
    }
    if (part_ == CurvePart::scored) {
      untested_ += std::ranges::count_if(
          method.runs, [](const SeedResult& run) { return run.result.y.empty() && !run.result.validation_y.empty(); });
    }
    const std::vector<CurvePoint> curve = mean_curve(method, part_);
    for (const CurvePoint& point : curve) {
      if (point.ended > 0) carried_on_ = true;
      if (const auto drawn =
              figure_point(seconds * point.x, point.values, point.logarithms, experiment_.metric.log_scale)) {
        line.points.push_back(*drawn);
      } else {
        ++undrawn_;
      }
    }
    if (line.points.size() > most_points) {
      line.points = thinned(line.points);
      thinned_ = true;
    }
    const ScoreSummary scores = summarize(method);
    std::vector<std::string> remarks;
    if (scores.failed > 0) remarks.push_back(fmt::format("{} of {} failed", scores.failed, scores.done));
    if (scores.failed > 0 && scores.unscored > 0 && scores.scored.n > 0) left_out_ = true;
    if (scores.done < method.planned) remarks.push_back(fmt::format("{} of {} seeds", scores.done, method.planned));
    line.remark = join(remarks, ", ");
    return line;
  }

  void set_ranges(FigurePanel& panel, const std::vector<PanelLine>& lines) const {
    Range x;
    std::vector<LineExtent> extents;
    for (const auto& [line, method] : lines) {
      for (const FigurePoint& point : line.points) x.include(point.x);
      extents.push_back(curve_extent(line, summarize(*method).failed > 0));
    }
    panel.low_x = x.low;
    panel.high_x = x.high > x.low ? x.high : x.low + std::max(1.0, 0.1 * std::abs(x.low));
    set_value_axis(panel, lines, extents, experiment_.metric, Crowd::may_be_zoomed);
  }

  std::string finding(const PanelResults& results, const FigurePanel& panel) const {
    if (over_seconds_) return seconds_finding(panel);
    if (!experiment_.metric.is_contest) return change_finding(panel, experiment_.metric);
    return part_ == CurvePart::scored ? score_finding(results, experiment_.metric)
                                      : curve_finding(panel, validation_label(experiment_.metric), experiment_.metric);
  }

  // The median over the seeds: other programs disturb some of them.
  static double seconds_per_unit(const MethodResults& method) {
    std::vector<double> seconds;
    for (const SeedResult& run : method.runs) {
      for (const auto& [name, value] : run.result.extras) {
        if (name == seconds_column) seconds.push_back(value);
      }
    }
    if (seconds.empty()) return 0;
    std::ranges::sort(seconds);
    return (seconds[seconds.size() / 2] + seconds[(seconds.size() - 1) / 2]) / 2;
  }

  const ExperimentResults& experiment_;
  CurvePart part_;
  bool over_seconds_;
  LineStyles styles_;
  std::size_t undrawn_ = 0, untimed_ = 0, untested_ = 0;
  bool thinned_ = false, carried_on_ = false, left_out_ = false;
};

// The rates at which every run finished, with the chosen setting if there was a choice.
FigureLine search_line(const MethodResults& method, bool log_scale) {
  FigureLine line;
  std::size_t failing = 0, rates = 0;
  for (const RateResult& rate : method.search) {
    if (rate.setting != method.setting) continue;
    ++rates;
    if (rate.failed > 0) ++failing;
    if (rate.failed > 0 || rate.done < rate.planned) continue;
    const auto point = figure_point(rate.rate, spread_of(rate.scores), spread_of_logarithms(rate.scores), log_scale);
    if (point) line.points.push_back(*point);
  }
  if (failing > 0) line.remark = fmt::format("fails at {} of {} rates", failing, rates);
  return line;
}

// A method that was not searched for: a point at its rate, or a line from one side to the other where it has none.
FigureLine given_line(const MethodResults& method, const Range& rates, bool log_scale) {
  const ScoreSummary scores = summarize(method);
  const double rate = method.rate.value_or(0);
  const auto point = figure_point(rate, scores.all, scores.logarithms, log_scale);
  FigureLine line;
  if (!point || rate > rates.high || (rate > 0 && rate < rates.low)) return line;
  if (rate > 0) {
    line.points = {*point};
  } else {
    line.points = {{rates.low, point->y, {}}, {rates.high, point->y, {}}};
  }
  return line;
}

bool has_rungs(const ExperimentResults& experiment) {
  return std::ranges::any_of(experiment.panels, [](const PanelResults& panel) {
    return std::ranges::any_of(panel.methods, [](const MethodResults& method) {
      return std::ranges::any_of(method.search, [](const RateResult& rate) { return rate.rung > 0; });
    });
  });
}

Range rates_of(const PanelResults& panel) {
  Range rates;
  for (const MethodResults& method : panel.methods) {
    for (const RateResult& rate : method.search) rates.include(rate.rate);
  }
  return rates;
}

FigurePanel make_panel(const PanelResults& results, const ScoreInfo& metric, const LineStyles& styles) {
  FigurePanel panel;
  panel.title = title_of(results);
  const Range rates = rates_of(results);
  if (rates.empty() || !(rates.length() > 0)) return panel;
  std::vector<PanelLine> lines;
  std::vector<LineExtent> extents;
  for (const MethodResults& method : results.methods) {
    FigureLine line =
        method.search.empty() ? given_line(method, rates, metric.log_scale) : search_line(method, metric.log_scale);
    if (line.points.empty()) continue;
    line.name = method.name;
    line.style = styles.of(method.name);
    extents.push_back(search_extent(line, metric));
    lines.push_back({std::move(line), &method});
  }
  panel.low_x = rates.low;
  panel.high_x = rates.high;
  // How a method fares far from its best rate is what readers look for here.
  if (!lines.empty()) set_value_axis(panel, lines, extents, metric, Crowd::stays_whole);
  add_lines(panel, std::move(lines));
  panel.finding = rates_finding(results, metric);
  return panel;
}

// A quantity of the steps in an interval, over the seeds that have it; none where it cannot be on a logarithmic axis.
std::optional<FigurePoint> step_point(const std::vector<std::vector<StepLog::Row>>& runs, std::size_t interval,
                                      std::size_t quantity) {
  const auto over_seeds = [&](std::size_t level) {
    std::vector<double> values;
    for (const auto& rows : runs) {
      if (interval < rows.size()) values.push_back(rows[interval].at[quantity][level]);
    }
    const Spread spread = spread_of_logarithms(values);
    return spread.mean ? std::optional(std::pow(10.0, *spread.mean)) : std::nullopt;
  };
  constexpr std::size_t median = StepLog::levels.size() / 2;
  const auto low = over_seeds(0), middle = over_seeds(median), high = over_seeds(StepLog::levels.size() - 1);
  if (!middle || !is_drawable(*middle)) return std::nullopt;
  FigurePoint point{static_cast<double>(runs.front()[interval].steps), *middle, {}};
  if (low && high && is_drawable(*high)) point.band = {*low, *high};
  return point;
}

FigureLine step_line(const MethodResults& method, std::size_t quantity) {
  std::vector<std::vector<StepLog::Row>> runs;
  for (const SeedResult& run : method.runs) {
    if (!run.result.steps.empty()) runs.push_back(StepLog::rows_of(run.result.steps));
  }
  // The longest run says where the intervals end.
  std::ranges::sort(runs, std::greater(), [](const auto& rows) { return rows.size(); });
  FigureLine line;
  line.name = method.name;
  for (std::size_t interval = 0; !runs.empty() && interval < runs.front().size(); ++interval) {
    if (const auto point = step_point(runs, interval, quantity)) line.points.push_back(*point);
  }
  return line;
}

FigurePanel step_panel(const PanelResults& results, std::size_t quantity, const LineStyles& styles) {
  static constexpr std::array<const char*, StepLog::quantities.size()> titles{"xi", "s = ||j||^2", "size of h",
                                                                              "length of the step"};
  static const ScoreInfo no_contest{.label = {}, .log_scale = true, .is_contest = false};
  FigurePanel panel;
  panel.title = fmt::format("{}: {}", title_of(results), titles[quantity]);
  Range x;
  std::vector<LineExtent> extents;
  for (const MethodResults& method : results.methods) {
    FigureLine line = step_line(method, quantity);
    if (line.points.empty()) continue;
    line.style = styles.of(method.name);
    for (const FigurePoint& point : line.points) x.include(point.x);
    extents.push_back(curve_extent(line, false));
    panel.lines.push_back(std::move(line));
  }
  if (panel.lines.empty()) return panel;
  panel.low_x = 0;
  panel.high_x = x.high;
  set_value_axis(panel, value_axis(extents, no_contest, [](std::size_t, std::size_t) { return false; }));
  panel.finding = change_finding(panel, no_contest);
  return panel;
}

}  // namespace

Figure curve_figure(const ExperimentResults& experiment, CurvePart part) {
  Figure figure = figure_of(experiment);
  figure.caption += carried_on;
  figure.name = part == CurvePart::scored ? "curves" : "validation";
  figure.heading = "Learning curves";
  if (part == CurvePart::validation) {
    figure.heading += " on the validation samples";
    figure.title += ": validation samples";
    figure.y_label = validation_label(experiment.metric);
    if (!has_curve(experiment, CurvePart::scored)) {
      figure.caption += fmt::format(" There are no curves of the test samples: {}.", no_test_curve);
    }
  } else if (has_curve(experiment, CurvePart::validation)) {
    figure.heading += " on the test samples";
  }
  figure.x_label = experiment.x_label;
  PanelMaker maker(experiment, part, false);
  for (const PanelResults& panel : experiment.panels) figure.panels.push_back(maker.make(panel));
  return figure;
}

Figure seconds_figure(const ExperimentResults& experiment) {
  Figure figure = figure_of(experiment);
  figure.caption += carried_on;
  figure.name = "seconds";
  figure.heading = "Learning curves over time";
  figure.x_label = "seconds of learning";
  PanelMaker maker(experiment, CurvePart::scored, true);
  for (const PanelResults& panel : experiment.panels) figure.panels.push_back(maker.make(panel));
  return figure;
}

Figure rate_figure(const ExperimentResults& experiment) {
  Figure figure = figure_of(experiment);
  figure.name = "rates";
  figure.heading = "How much depends on the learning rate";
  figure.title += ": by learning rate";
  figure.x_label = "learning rate";
  figure.log_x = true;
  figure.marks = true;
  figure.caption += " A rate is left out where a run failed. Flat lines have no rate.";
  if (has_rungs(experiment)) {
    figure.caption +=
        " A point is of the last rung that its rate reached; those of different rungs cannot be compared.";
  }
  const LineStyles styles(experiment);
  for (const PanelResults& panel : experiment.panels)
    figure.panels.push_back(make_panel(panel, experiment.metric, styles));
  return figure;
}

Figure step_figure(const ExperimentResults& experiment) {
  Figure figure;
  figure.name = "steps";
  figure.heading = "What the steps are like";
  figure.title = title_of(experiment) + (experiment.preview ? " (preview)" : "");
  figure.x_label = "steps";
  figure.y_label = "median, 5 to 95 %";
  figure.caption =
      "Lines are medians over the steps of an interval, shaded regions reach from their 5 % to their 95 % quantile; "
      "both "
      "are geometric means over the seeds.";
  const LineStyles styles(experiment);
  for (const PanelResults& panel : experiment.panels) {
    for (std::size_t quantity = 0; quantity < StepLog::quantities.size(); ++quantity) {
      figure.panels.push_back(step_panel(panel, quantity, styles));
    }
  }
  return figure;
}

std::vector<Figure> figures_of(FigureKind kind, const ExperimentResults& experiment) {
  std::vector<Figure> figures;
  const bool validated = has_curve(experiment, CurvePart::validation);
  switch (kind) {
    case FigureKind::curves:
      if (!validated || has_curve(experiment, CurvePart::scored)) figures.push_back(curve_figure(experiment));
      if (validated) figures.push_back(curve_figure(experiment, CurvePart::validation));
      break;
    case FigureKind::seconds:
      figures.push_back(seconds_figure(experiment));
      break;
    case FigureKind::rates:
      figures.push_back(rate_figure(experiment));
      break;
    case FigureKind::steps:
      figures.push_back(step_figure(experiment));
      break;
  }
  return figures;
}

}  // namespace ignd
