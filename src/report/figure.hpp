#pragma once

#include "report/statistics.hpp"
#include "sweep/experiment_results.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ignd {

// Told apart without colours too.
struct LineStyle {
  std::string_view colour;
  std::string_view dashes;  // lengths of dashes and gaps, as gnuplot and SVG both take them; empty: solid
};

LineStyle line_style(std::size_t index);

struct FigurePoint {
  double x = 0, y = 0;
  std::optional<std::pair<double, double>> band;
};

struct FigureLine {
  std::string name;
  std::string remark;     // "2 of 20 failed", or empty
  std::size_t style = 0;  // the same for a method in all panels
  std::vector<FigurePoint> points;
};

// A panel with everything decided that drawing it needs.
struct FigurePanel {
  std::string title;
  std::vector<FigureLine> lines;  // none: nothing can be drawn
  double low_x = 0, high_x = 0;
  double low_y = 0, high_y = 0;
  std::vector<std::string> remarks;  // what a reader of the figure has to know
};

std::vector<FigurePanel> figure_panels(const ExperimentResults& experiment);

// What the lines and the shaded regions are.
std::string figure_caption(const ExperimentResults& experiment);

// Scripts for gnuplot that draw to standard output: a panel without title and key, as the page writes those itself, ...
std::string panel_script(const ExperimentResults& experiment, const FigurePanel& panel);

// ... and all panels with everything.
enum class FigureFormat { svg, pdf, png };
std::string figure_script(const ExperimentResults& experiment, const std::vector<FigurePanel>& panels,
                          FigureFormat format);

}  // namespace ignd
