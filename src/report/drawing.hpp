#pragma once

#include "report/figure.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace ignd {

// Where the axes of a panel's drawing are, in its own units: the page finds the values under the pointer by it.
struct PanelFrame {
  static constexpr double width = 420, height = 290;
  static constexpr double left = 72, right = 408, top = 10, bottom = 234;
};

// Scripts for gnuplot that draw to standard output: a panel without title and key, as the page writes those itself, ...
std::string panel_script(const Figure& figure, const FigurePanel& panel);

// The line that each part of the drawing belongs to: gnuplot's SVG has them as gnuplot_plot_1, gnuplot_plot_2, ...
std::vector<std::size_t> plotted_lines(const Figure& figure, const FigurePanel& panel);

// ... and all panels with everything.
enum class FigureFormat { svg, pdf, png };
std::string figure_script(const Figure& figure, FigureFormat format);

}  // namespace ignd
