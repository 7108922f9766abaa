#include "report/figure.hpp"

#include "core/text.hpp"
#include "report/escape.hpp"
#include "report/titles.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace ignd {
namespace {

// More than a panel has room for; the table of the curves has them all.
constexpr std::size_t most_points = 400;

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  void include(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  void include(const FigureLine& line) {
    for (const FigurePoint& point : line.points) {
      include(point.y);
      if (!point.band) continue;
      include(point.band->first);
      include(point.band->second);
    }
  }
  bool empty() const { return low > high; }
  double length() const { return high - low; }
};

// gnuplot calculates with the squares of what it draws, and more.
bool is_drawable(double value) { return std::abs(value) < 1e100; }

std::optional<FigurePoint> figure_point(const CurvePoint& point, bool log_scale) {
  const Spread& spread = log_scale ? point.logarithms : point.values;
  const auto on_axis = [&](double value) { return log_scale ? std::pow(10.0, value) : value; };
  const auto fits = [&](double value) { return is_drawable(value) && (!log_scale || std::abs(value) < 100); };
  if (!spread.mean || !fits(*spread.mean) || !is_drawable(point.x)) return {};
  FigurePoint drawn{point.x, on_axis(*spread.mean), {}};
  if (spread.deviation && fits(*spread.mean - *spread.deviation) && fits(*spread.mean + *spread.deviation)) {
    drawn.band = {on_axis(*spread.mean - *spread.deviation), on_axis(*spread.mean + *spread.deviation)};
  }
  return drawn;
}

std::vector<FigurePoint> thinned(const std::vector<FigurePoint>& points) {
  std::vector<FigurePoint> kept;
  for (std::size_t k = 0; k < most_points; ++k) kept.push_back(points[k * (points.size() - 1) / (most_points - 1)]);
  return kept;
}

// What the drawing of one experiment's panels goes through.
class PanelMaker {
 public:
  explicit PanelMaker(const ExperimentResults& experiment) : experiment_(experiment) {}

  FigurePanel make(const PanelResults& results) {
    FigurePanel panel;
    panel.title = title_of(results);
    undrawn_ = 0;
    thinned_ = uneven_ = false;
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
    if (uneven_) {
      panel.remarks.emplace_back(
          "Some runs end before others: each point is the mean of the runs that were still going on.");
    }
    if (thinned_) {
      panel.remarks.push_back(fmt::format("At most {} points of a line are drawn; the CSV file has all.", most_points));
    }
    return panel;
  }

 private:
  FigureLine make_line(const MethodResults& method) {
    FigureLine line;
    line.name = method.name;
    line.style = style_of(method.name);
    const std::vector<CurvePoint> curve = mean_curve(method);
    for (const CurvePoint& point : curve) {
      if (point.values.n != curve.front().values.n) uneven_ = true;
      if (const auto drawn = figure_point(point, experiment_.metric.log_scale)) {
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
    if (scores.done < method.planned) remarks.push_back(fmt::format("{} of {} seeds", scores.done, method.planned));
    line.remark = join(remarks, ", ");
    return line;
  }

  std::size_t style_of(const std::string& name) {
    const auto found = std::ranges::find(names_, name);
    const auto index = static_cast<std::size_t>(found - names_.begin());
    if (found == names_.end()) names_.push_back(name);
    return index;
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
    if (experiment_.metric.log_scale) {
      // Whole decades: there are always two numbers at the axis.
      panel.low_y = std::pow(10.0, std::floor(std::log10(all.low)));
      panel.high_y = std::pow(10.0, std::ceil(std::log10(all.high)));
      if (!(panel.high_y > panel.low_y)) panel.high_y = panel.low_y * 10;
      return;
    }
    Range y = all;
    if (!sound.empty() && sound.length() > 0 && all.length() > 5 * sound.length()) {
      y = sound;
      panel.remarks.emplace_back("Lines with failed runs leave the panel: they are far from all others.");
    }
    const double margin = y.length() > 0 ? 0.05 * y.length() : std::max(0.05 * std::abs(y.low), 1e-3);
    panel.low_y = y.low - margin;
    panel.high_y = y.high + margin;
  }

  const ExperimentResults& experiment_;
  std::vector<std::string> names_;
  std::size_t undrawn_ = 0;
  bool thinned_ = false, uneven_ = false;
};

// 1, 2 or 5 times a power of ten, such that about five steps cover the length.
double tick_step(double length) {
  const double power = std::pow(10.0, std::floor(std::log10(length / 5)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power * 6 > length) return factor * power;
  }
  return 10 * power;
}

// 20k and 1.5M: gnuplot's own numbers run into each other, or round.
std::string x_ticks(const FigurePanel& panel) {
  const double largest = std::max(std::abs(panel.low_x), std::abs(panel.high_x));
  const bool suffixed = largest >= 1e4 && largest < 1e12;
  const double unit = !suffixed ? 1 : largest < 1e6 ? 1e3 : largest < 1e9 ? 1e6 : 1e9;
  const std::string_view suffix = unit == 1 ? "" : unit == 1e3 ? "k" : unit == 1e6 ? "M" : "G";
  const double step = tick_step(panel.high_x - panel.low_x);
  const double first = std::ceil(panel.low_x / step - 1e-9);
  std::vector<std::string> ticks;
  for (int k = 0; k < 12; ++k) {
    const double x = (first + k) * step;
    if (x > panel.high_x + 1e-9 * step) break;
    ticks.push_back(fmt::format("'{:.6g}{}' {:.17g}", x / unit, x == 0 ? "" : suffix, x));
  }
  return fmt::format("set xtics ({}) nomirror\n", join(ticks, ", "));
}

std::string data_block(const FigureLine& line, std::size_t index) {
  std::string block = fmt::format("$line{} << EOD\n", index);
  for (const FigurePoint& point : line.points) {
    const auto [low, high] = point.band.value_or(std::pair(point.y, point.y));
    block += fmt::format("{:.9g} {:.9g} {:.9g} {:.9g}\n", point.x, point.y, low, high);
  }
  return block + "EOD\n";
}

std::string key_text(const FigureLine& line) {
  const std::string name = shortened(line.name, 36);
  return line.remark.empty() ? name : fmt::format("{} ({})", name, line.remark);
}

std::string plot_command(const FigurePanel& panel, bool with_key) {
  std::vector<std::string> parts;
  for (std::size_t k = 0; k < panel.lines.size(); ++k) {
    const auto& points = panel.lines[k].points;
    if (points.size() < 2 || std::ranges::none_of(points, [](const auto& p) { return p.band.has_value(); })) continue;
    parts.push_back(fmt::format("$line{} using 1:3:4 with filledcurves fc rgb '{}' notitle", k,
                                line_style(panel.lines[k].style).colour));
  }
  for (std::size_t k = 0; k < panel.lines.size(); ++k) {
    const auto& [colour, dashes] = line_style(panel.lines[k].style);
    const bool dot = panel.lines[k].points.size() < 2;
    parts.push_back(fmt::format("$line{} using 1:2 with {} lw 2 lc rgb '{}' {} {}", k,
                                dot ? "points pt 7 ps 0.6" : "lines", colour,
                                dot || dashes.empty() ? "" : fmt::format("dt ({})", dashes),
                                with_key ? "title " + gnuplot_text(key_text(panel.lines[k])) : "notitle"));
  }
  return "plot " + join(parts, ", \\\n  ") + "\n";
}

std::string panel_commands(const ExperimentResults& experiment, const FigurePanel& panel) {
  std::string script;
  for (std::size_t k = 0; k < panel.lines.size(); ++k) script += data_block(panel.lines[k], k);
  script += x_ticks(panel);
  script += fmt::format("set xrange [{:.17g}:{:.17g}]\nset yrange [{:.17g}:{:.17g}]\n", panel.low_x, panel.high_x,
                        panel.low_y, panel.high_y);
  script += "set xlabel " + gnuplot_text(shortened(experiment.x_label, 50)) + " offset 0,0.4 noenhanced\n";
  script += "set ylabel " + gnuplot_text(shortened(experiment.metric.label, 36)) + " noenhanced\n";
  return script;
}

std::string common_settings(const ExperimentResults& experiment) {
  std::string script =
      "set border 3 lc rgb '#555555'\n"
      "set tics out nomirror scale 0.6\n"
      "set grid ytics lt 1 lw 0.6 lc rgb '#dddddd'\n"
      "set style fill transparent solid 0.18 noborder\n";
  if (experiment.metric.log_scale) script += "set logscale y\nset format y '10^{%L}'\nset ytics enhanced\n";
  return script;
}

// Where the panels of a whole figure go, in points of the screen.
struct FigureLayout {
  static constexpr double heading = 44;

  std::vector<const FigurePanel*> drawn;
  std::size_t columns = 1, key_columns = 1, key_rows = 1;
  double panel_height = 0, width = 0, height = 0;

  explicit FigureLayout(const std::vector<FigurePanel>& panels) {
    std::size_t longest_key = 0;
    std::size_t most_lines = 0;
    for (const FigurePanel& panel : panels) {
      if (panel.lines.empty()) continue;
      drawn.push_back(&panel);
      most_lines = std::max(most_lines, panel.lines.size());
      for (const FigureLine& line : panel.lines) longest_key = std::max(longest_key, key_text(line).size());
    }
    columns = drawn.size() == 3 ? 3 : std::clamp<std::size_t>(drawn.size(), 1, 2);
    key_columns = longest_key <= 22 ? 2 : 1;
    key_rows = (most_lines + key_columns - 1) / key_columns;
    panel_height = 310 + 20 * static_cast<double>(key_rows);
    width = 480 * static_cast<double>(columns);
    const std::size_t rows = (drawn.size() + columns - 1) / columns;
    height = heading + panel_height * static_cast<double>(rows);
  }

  // The lower left corner of a panel, as parts of the whole.
  std::pair<double, double> origin(std::size_t index) const {
    const std::size_t row = index / columns;
    return {static_cast<double>(index % columns) / static_cast<double>(columns),
            1 - (heading + panel_height * static_cast<double>(row + 1)) / height};
  }
};

std::string terminal(FigureFormat format, double width, double height) {
  switch (format) {
    case FigureFormat::svg:
      return fmt::format(
          "set terminal svg size {:.0f},{:.0f} enhanced butt background rgb 'white' font 'sans-serif,13'\n", width,
          height);
    case FigureFormat::pdf:
      return fmt::format(
          "set terminal pdfcairo size {:.3f}in,{:.3f}in enhanced butt font 'sans,10' fontscale 0.75 dashlength 1.6 "
          "linewidth "
          "0.75\n",
          width / 110, height / 110);
    case FigureFormat::png:
      return fmt::format(
          "set terminal pngcairo size {:.0f},{:.0f} enhanced butt font 'sans,10' fontscale 1.9 linewidth 2 "
          "pointscale 2\n",
          2 * width, 2 * height);
  }
  return "";
}

}  // namespace

LineStyle line_style(std::size_t index) {
  // Okabe and Ito's colours, the strongest first.
  static constexpr std::array<std::string_view, 7> colours{"#D55E00", "#0072B2", "#009E73", "#CC79A7",
                                                           "#E69F00", "#56B4E9", "#000000"};
  static constexpr std::array<std::string_view, 5> dashes{"", "8,4", "2,3", "8,3,2,3", "15,4"};
  return {colours[index % colours.size()], dashes[index % dashes.size()]};
}

std::vector<FigurePanel> figure_panels(const ExperimentResults& experiment) {
  PanelMaker maker(experiment);
  std::vector<FigurePanel> panels;
  for (const PanelResults& panel : experiment.panels) panels.push_back(maker.make(panel));
  return panels;
}

std::string figure_caption(const ExperimentResults& experiment) {
  return experiment.metric.log_scale
             ? "Lines are geometric means over the seeds, shaded regions ±1 standard deviation of the logarithms."
             : "Lines are means over the seeds, shaded regions ±1 standard deviation.";
}

std::string panel_script(const ExperimentResults& experiment, const FigurePanel& panel) {
  return "set encoding utf8\nset terminal svg size 420,280 enhanced butt dynamic font 'sans-serif,13'\nset tmargin "
         "0.7\n" +
         common_settings(experiment) + "unset key\n" + panel_commands(experiment, panel) + plot_command(panel, false);
}

std::string figure_script(const ExperimentResults& experiment, const std::vector<FigurePanel>& panels,
                          FigureFormat format) {
  const FigureLayout layout(panels);
  std::string script =
      "set encoding utf8\n" + terminal(format, layout.width, layout.height) + common_settings(experiment);
  script += fmt::format(
      "set label 1 {} at screen 0.5,{:.4f} center noenhanced\n",
      gnuplot_text(shortened(title_of(experiment), 55 * layout.columns) + (experiment.preview ? " (preview)" : "")),
      1 - FigureLayout::heading / 2 / layout.height);
  script += fmt::format("set key below vertical maxrows {} maxcols {} Left reverse samplen 3.5 height 0.5 noenhanced\n",
                        layout.key_rows, layout.key_columns);
  script += fmt::format("set multiplot\nset size {:.6f},{:.6f}\n", 1.0 / static_cast<double>(layout.columns),
                        layout.panel_height / layout.height);
  for (std::size_t k = 0; k < layout.drawn.size(); ++k) {
    const FigurePanel& panel = *layout.drawn[k];
    const auto [left, bottom] = layout.origin(k);
    script += fmt::format("set origin {:.6f},{:.6f}\n", left, bottom);
    script += "set title " + gnuplot_text(shortened(panel.title, 50)) + " noenhanced\n";
    script += panel_commands(experiment, panel) + plot_command(panel, true);
    script += "unset label 1\n";  // once is enough
  }
  return script + "unset multiplot\n";
}

}  // namespace ignd
