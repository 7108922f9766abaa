#include "base/text.hpp"
#include "report/figure_parts.hpp"
#include "report/titles.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace ignd {
namespace {

// More than a panel has room for; the table of the curves has them all.
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

// What the drawing of one experiment's panels goes through.
class PanelMaker {
 public:
  PanelMaker(const ExperimentResults& experiment, CurvePart part, bool over_seconds)
      : experiment_(experiment), part_(part), over_seconds_(over_seconds) {}

  FigurePanel make(const PanelResults& results) {
    FigurePanel panel;
    panel.title = title_of(results);
    undrawn_ = untimed_ = untested_ = 0;
    thinned_ = carried_on_ = left_out_ = false;
    std::vector<bool> failed;
    for (const MethodResults& method : results.methods) {
      FigureLine line = make_line(method);
      if (line.points.empty()) continue;
      failed.push_back(summarize(method).failed > 0);
      panel.lines.push_back(std::move(line));
    }
    if (!panel.lines.empty()) set_ranges(panel, failed);
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

  void set_ranges(FigurePanel& panel, const std::vector<bool>& failed) const {
    Range x;
    Range all;
    Range sound;
    for (std::size_t k = 0; k < panel.lines.size(); ++k) {
      for (const FigurePoint& point : panel.lines[k].points) x.include(point.x);
      all.include(panel.lines[k]);
      if (!failed[k]) sound.include(panel.lines[k]);
    }
    panel.low_x = x.low;
    panel.high_x = x.high > x.low ? x.high : x.low + std::max(1.0, 0.1 * std::abs(x.low));
    Range& y = all;
    const bool far_off = !sound.empty() && sound.length() > 0 && all.length() > 5 * sound.length();
    if (far_off && !experiment_.metric.log_scale) {
      y = sound;
      panel.remarks.emplace_back("Lines with failed runs leave the panel: they are far from all others.");
    }
    const Range usual = usual_range(panel, failed);
    if (!usual.empty() && usual.length() > 0 && y.length() > 5 * usual.length() && !experiment_.metric.log_scale) {
      y = usual;
      panel.remarks.emplace_back("Some lines leave the panel for a while.");
    }
    set_y_range(panel, y, experiment_.metric.log_scale);
  }

  // Of where lines without failures start and of their later halves: without what happens in between.
  static Range usual_range(const FigurePanel& panel, const std::vector<bool>& failed) {
    Range usual;
    for (std::size_t k = 0; k < panel.lines.size(); ++k) {
      if (failed[k] || panel.lines[k].points.empty()) continue;
      const auto& points = panel.lines[k].points;
      usual.include(points.front().y);
      FigureLine later = panel.lines[k];
      later.points.assign(points.begin() + static_cast<std::ptrdiff_t>(points.size() / 2), points.end());
      usual.include(later);
    }
    return usual;
  }

  // The median over the seeds: some are disturbed by what else the machine does.
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

}  // namespace ignd
