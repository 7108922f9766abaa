#pragma once

#include "report/figure.hpp"

#include <string>

namespace ignd {

// Scripts for gnuplot that draw to standard output: a panel without title and key, as the page writes those itself, ...
std::string panel_script(const Figure& figure, const FigurePanel& panel);

// ... and all panels with everything.
enum class FigureFormat { svg, pdf, png };
std::string figure_script(const Figure& figure, FigureFormat format);

}  // namespace ignd
