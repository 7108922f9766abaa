#pragma once

#include "report/figure.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace ignd {

struct DrawnFigure {
  Figure figure;
  std::vector<std::string> drawings;  // of the panels, as elements of the page; empty where there is none
  std::string fault;                  // why drawings or files are missing; empty where none are
};

// What the ids of a panel's drawing start with, for the section of an anchor: unique on the page.
std::string drawing_prefix(std::string_view anchor, const Figure& figure, std::size_t panel);

// Lets gnuplot draw the panels.
DrawnFigure draw_for_page(Figure figure, std::string_view anchor, const std::string& gnuplot);

// A figure as an element of the page: each panel with what it shows, its drawing, its key and, for the page's script,
// the values of its lines.
std::string figure_html(const DrawnFigure& drawn, std::string_view anchor);

}  // namespace ignd
