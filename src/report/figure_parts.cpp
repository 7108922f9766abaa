#include "report/figure_parts.hpp"

#include "report/titles.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

namespace ignd {
namespace {

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

}  // namespace

LineStyle line_style(std::size_t index) {
  // Okabe and Ito's colours, the strongest first.
  static constexpr std::array<std::string_view, 7> colours{"#D55E00", "#0072B2", "#009E73", "#CC79A7",
                                                           "#E69F00", "#56B4E9", "#000000"};
  static constexpr std::array<std::string_view, 5> dashes{"", "8,4", "2,3", "8,3,2,3", "15,4"};
  return {colours[index % colours.size()], dashes[index % dashes.size()]};
}

void Range::include(double value) {
  low = std::min(low, value);
  high = std::max(high, value);
}

void Range::include(const FigureLine& line) {
  for (const FigurePoint& point : line.points) {
    include(point.y);
    if (!point.band) continue;
    include(point.band->first);
    include(point.band->second);
  }
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

std::size_t LineStyles::of(const std::string& name) {
  const auto found = std::ranges::find(names_, name);
  const auto index = static_cast<std::size_t>(found - names_.begin());
  if (found == names_.end()) names_.push_back(name);
  return index;
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
  figure.log_y = experiment.metric.log_scale;
  figure.caption =
      figure.log_y ? "Lines are geometric means over the seeds, shaded regions ±1 standard deviation of the logarithms."
                   : "Lines are means over the seeds, shaded regions ±1 standard deviation.";
  return figure;
}

void set_y_range(FigurePanel& panel, const Range& y, bool log_scale) {
  if (log_scale) {
    // Whole decades: there are always two numbers at the axis.
    panel.low_y = std::pow(10.0, std::floor(std::log10(y.low)));
    panel.high_y = std::pow(10.0, std::ceil(std::log10(y.high)));
    if (!(panel.high_y > panel.low_y)) panel.high_y = panel.low_y * 10;
    return;
  }
  const double margin = y.length() > 0 ? 0.05 * y.length() : std::max(0.05 * std::abs(y.low), 1e-3);
  panel.low_y = y.low - margin;
  panel.high_y = y.high + margin;
}

}  // namespace ignd
