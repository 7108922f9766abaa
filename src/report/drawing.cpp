#include "report/drawing.hpp"

#include "base/text.hpp"
#include "report/axis.hpp"
#include "report/format.hpp"
#include "report/formula.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

#include <fmt/format.h>

namespace ignd {
namespace {

// 1, 2 or 5 times a power of ten, such that about five steps cover the length.
double tick_step(double length) {
  const double power = std::pow(10.0, std::floor(std::log10(length / 5)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power * 6 > length) return factor * power;
  }
  return 10 * power;
}

// 20k and 1.5M: gnuplot's own numbers run into each other, or round.
std::string suffixed_ticks(double low, double high) {
  const double largest = std::max(std::abs(low), std::abs(high));
  const bool suffixed = largest >= 1e4 && largest < 1e12;
  const double unit = !suffixed ? 1 : largest < 1e6 ? 1e3 : largest < 1e9 ? 1e6 : 1e9;
  const std::string_view suffix = unit == 1 ? "" : unit == 1e3 ? "k" : unit == 1e6 ? "M" : "G";
  const double step = tick_step(high - low);
  const double first = std::ceil(low / step - 1e-9);
  std::vector<std::string> ticks;
  for (int k = 0; k < 12; ++k) {
    const double at = (first + k) * step;
    if (at > high + 1e-9 * step) break;
    ticks.push_back(fmt::format("'{:.6g}{}' {:.17g}", at / unit, at == 0 ? "" : suffix, at));
  }
  return fmt::format("({})", join(ticks, ", "));
}

std::string x_ticks(const FigurePanel& panel) {
  return fmt::format("set xtics {} nomirror\n", suffixed_ticks(panel.low_x, panel.high_x));
}

// Every power of ten has a mark, and every second or so a number.
std::string rate_ticks() { return "set logscale x\nset format x '10^{%L}'\nset xtics enhanced nomirror autofreq\n"; }

std::string data_block(const FigureLine& line, std::size_t index) {
  std::string block = fmt::format("$line{} << EOD\n", index);
  for (const FigurePoint& point : line.points) block += fmt::format("{:.9g} {:.9g}\n", point.x, point.y);
  return block + "EOD\n";
}

bool has_band(const FigureLine& line) {
  return line.points.size() > 1 &&
         std::ranges::any_of(line.points, [](const FigurePoint& point) { return point.band.has_value(); });
}

// A point of a band, as shares of the axes.
struct BandPoint {
  double x, low, high;
};

BandPoint between(const BandPoint& a, const BandPoint& b, double share) {
  return {std::lerp(a.x, b.x, share), std::lerp(a.low, b.low, share), std::lerp(a.high, b.high, share)};
}

// Cut off where it leaves the panel, which gnuplot does to lines but not to areas.
std::vector<BandPoint> inside_panel(const std::vector<BandPoint>& points) {
  std::vector<BandPoint> out;
  for (std::size_t k = 0; k < points.size(); ++k) {
    std::vector<double> crossings;
    for (const auto edge : {&BandPoint::low, &BandPoint::high}) {
      for (const double limit : {0.0, 1.0}) {
        if (k == 0) continue;
        const double share = (limit - points[k - 1].*edge) / (points[k].*edge - points[k - 1].*edge);
        if (share > 0 && share < 1) crossings.push_back(share);
      }
    }
    std::ranges::sort(crossings);
    for (const double share : crossings) out.push_back(between(points[k - 1], points[k], share));
    out.push_back(points[k]);
  }
  for (BandPoint& point : out) {
    point.low = std::clamp(point.low, 0.0, 1.0);
    point.high = std::clamp(point.high, 0.0, 1.0);
  }
  return out;
}

std::string band_block(const Figure& figure, const FigurePanel& panel, std::size_t index) {
  const AxisScale x{panel.low_x, panel.high_x, figure.log_x};
  const AxisScale y{panel.low_y, panel.high_y, panel.log_y};
  std::vector<BandPoint> points;
  for (const FigurePoint& point : panel.lines[index].points) {
    const auto [low, high] = point.band.value_or(std::pair(point.y, point.y));
    points.push_back({x.share(point.x), y.share(low), y.share(high)});
  }
  std::string block = fmt::format("$band{} << EOD\n", index);
  for (const auto& [at, low, high] : inside_panel(points)) {
    block += fmt::format("{:.9g} {:.9g} {:.9g}\n", x.value(at), y.value(low), y.value(high));
  }
  return block + "EOD\n";
}

std::string label_text(std::string_view text, std::size_t most) {
  return gnuplot_text(shortened(plain_formulas(text), most));
}

std::string key_text(const FigureLine& line) {
  const std::string name = shortened(plain_formulas(line.name), 36);
  return line.remark.empty() ? name : fmt::format("{} ({})", name, line.remark);
}

int point_type(Mark mark) {
  switch (mark) {
    case Mark::nothing:
    case Mark::circle:
      return 7;
    case Mark::square:
      return 5;
    case Mark::triangle:
      return 9;
    case Mark::wedge:
      return 11;
    case Mark::diamond:
      return 13;
    case Mark::pentagon:
      return 15;
  }
  return 7;
}

std::string points_words(const LineStyle& style) {
  return fmt::format("points pt {} ps 0.55 lc rgb '{}'", point_type(style.mark), style.colour);
}

std::string line_words(const LineStyle& style) {
  return fmt::format("lines lw 2 lc rgb '{}'{}", style.colour,
                     style.dashes.empty() ? "" : fmt::format(" dt ({})", style.dashes));
}

// Where a line has its marks: everywhere if its points are few and each counts, otherwise at about eight places, which
// differ from mark to mark, so that lines that run together do not hide each other's.
std::string marks_plot(const Figure& figure, const FigureLine& line, std::size_t index) {
  const std::size_t count = line.points.size();
  if (figure.marks || !line.joined || count < 2)
    return fmt::format("$line{} using 1:2 with {} notitle", index, points_words(line.style));
  const std::size_t step = std::max<std::size_t>(1, count / 8);
  const std::size_t first = step * static_cast<std::size_t>(line.style.mark) / 7;
  return fmt::format("$line{} using 1:2 every {}::{} with {} notitle", index, step, first, points_words(line.style));
}

struct Plot {
  std::size_t line;
  std::string words;
};

// What gnuplot draws, in this order: bands, solid lines, dashed ones, which let those below shine through, and marks.
std::vector<Plot> plots_of(const Figure& figure, const FigurePanel& panel) {
  std::vector<Plot> plots;
  for (std::size_t k = 0; k < panel.lines.size(); ++k) {
    if (!has_band(panel.lines[k])) continue;
    plots.push_back(
        {k, fmt::format("$band{} using 1:2:3 with filledcurves fc rgb '{}' notitle", k, panel.lines[k].style.colour)});
  }
  for (const bool dashed : {false, true}) {
    for (std::size_t k = 0; k < panel.lines.size(); ++k) {
      const FigureLine& line = panel.lines[k];
      if (!line.joined || line.points.size() < 2 || line.style.dashes.empty() == dashed) continue;
      plots.push_back({k, fmt::format("$line{} using 1:2 with {} notitle", k, line_words(line.style))});
    }
  }
  for (std::size_t k = 0; k < panel.lines.size(); ++k) {
    const FigureLine& line = panel.lines[k];
    const bool marked = line.style.mark != Mark::nothing || figure.marks || !line.joined || line.points.size() == 1;
    if (!marked) continue;
    plots.push_back({k, marks_plot(figure, line, k)});
  }
  return plots;
}

std::string key_entry(const Figure& figure, const FigureLine& line) {
  const bool dot = line.points.size() < 2 || !line.joined;
  const bool marked = dot || figure.marks || line.style.mark != Mark::nothing;
  std::string words = dot ? points_words(line.style) : line_words(line.style);
  if (!dot && marked) {
    words.replace(0, std::string_view("lines").size(), "linespoints");
    words += fmt::format(" pt {} ps 0.55", point_type(line.style.mark));
  }
  return fmt::format("keyentry with {} title {}", words, gnuplot_text(key_text(line)));
}

std::string plot_command(const Figure& figure, const FigurePanel& panel, bool with_key) {
  std::vector<std::string> parts;
  for (const Plot& plot : plots_of(figure, panel)) parts.push_back(plot.words);
  for (std::size_t k = 0; with_key && k < panel.lines.size(); ++k) parts.push_back(key_entry(figure, panel.lines[k]));
  return "plot " + join(parts, ", \\\n  ") + "\n";
}

// Decades where there are at least two; otherwise 1, 2 and 5 times powers of ten, written out.
std::string value_ticks(const FigurePanel& panel) {
  if (!panel.log_y) {
    constexpr double long_number = 1e4;  // whose digits would push the label of the axis off the panel
    const bool suffixed = std::max(std::abs(panel.low_y), std::abs(panel.high_y)) >= long_number;
    const std::string ticks =
        suffixed ? suffixed_ticks(panel.low_y, panel.high_y) + " noenhanced" : "noenhanced autofreq";
    return "unset logscale y\nset format y '%g'\nset ytics " + ticks + "\n";
  }
  std::string script = "set logscale y\n";
  if (panel.high_y >= 100 * panel.low_y * (1 - 1e-9))
    return script + "set format y '10^{%L}'\nset ytics enhanced autofreq\n";
  std::vector<std::string> ticks;
  for (double y = panel.low_y; y <= panel.high_y * (1 + 1e-9); y = round_up(1.5 * y)) {
    ticks.push_back(fmt::format("'{}' {:.17g}", rate_text(y), y));
  }
  return script + fmt::format("set ytics ({}) noenhanced\n", join(ticks, ", "));
}

std::string panel_commands(const Figure& figure, const FigurePanel& panel) {
  std::string script;
  for (std::size_t k = 0; k < panel.lines.size(); ++k) {
    script += data_block(panel.lines[k], k);
    if (has_band(panel.lines[k])) script += band_block(figure, panel, k);
  }
  script += figure.log_x ? rate_ticks() : x_ticks(panel);
  script += fmt::format("set xrange [{:.17g}:{:.17g}]\nset yrange [{:.17g}:{:.17g}]\n", panel.low_x, panel.high_x,
                        panel.low_y, panel.high_y);
  script += value_ticks(panel);
  script += "set xlabel " + label_text(figure.x_label, 50) + " offset 0,0.4 noenhanced\n";
  script += "set ylabel " + label_text(figure.y_label, 36) + " noenhanced\n";
  return script;
}

std::string common_settings() {
  return "set border 3 lc rgb '#555555'\n"
         "set tics out nomirror scale 0.6\n"
         "set grid ytics lt 1 lw 0.6 lc rgb '#dddddd'\n"
         "set style fill transparent solid 0.18 noborder\n";
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

std::string panel_script(const Figure& figure, const FigurePanel& panel) {
  return fmt::format(
             "set encoding utf8\nset terminal svg size {:.0f},{:.0f} enhanced butt dynamic font 'sans-serif,13'\n"
             "set lmargin at screen {}\nset rmargin at screen {}\nset tmargin at screen {}\nset bmargin at screen {}\n",
             PanelFrame::width, PanelFrame::height, PanelFrame::left / PanelFrame::width,
             PanelFrame::right / PanelFrame::width, 1 - PanelFrame::top / PanelFrame::height,
             1 - PanelFrame::bottom / PanelFrame::height) +
         common_settings() + "unset key\n" + panel_commands(figure, panel) + plot_command(figure, panel, false);
}

std::vector<std::size_t> plotted_lines(const Figure& figure, const FigurePanel& panel) {
  std::vector<std::size_t> lines;
  for (const Plot& plot : plots_of(figure, panel)) lines.push_back(plot.line);
  return lines;
}

std::string figure_script(const Figure& figure, FigureFormat format) {
  const FigureLayout layout(figure.panels);
  std::string script = "set encoding utf8\n" + terminal(format, layout.width, layout.height) + common_settings();
  script += fmt::format("set label 1 {} at screen 0.5,{:.4f} center noenhanced\n",
                        label_text(figure.title, 55 * layout.columns), 1 - FigureLayout::heading / 2 / layout.height);
  script += fmt::format("set key below vertical maxrows {} maxcols {} Left reverse samplen 3.5 height 0.5 noenhanced\n",
                        layout.key_rows, layout.key_columns);
  script += fmt::format("set multiplot\nset size {:.6f},{:.6f}\n", 1.0 / static_cast<double>(layout.columns),
                        layout.panel_height / layout.height);
  for (std::size_t k = 0; k < layout.drawn.size(); ++k) {
    const FigurePanel& panel = *layout.drawn[k];
    const auto [left, bottom] = layout.origin(k);
    script += fmt::format("set origin {:.6f},{:.6f}\n", left, bottom);
    script += "set title " + label_text(panel.title, 50) + " noenhanced\n";
    script += panel_commands(figure, panel) + plot_command(figure, panel, true);
    script += "unset label 1\n";  // once is enough
  }
  return script + "unset multiplot\n";
}

}  // namespace ignd
