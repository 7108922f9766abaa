#pragma once

#include "report/figure.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace ignd {

// Scripts for gnuplot that draw to standard output: a panel without title and key, as the page writes those itself, ...
std::string panel_script(const Figure& figure, const FigurePanel& panel);

// ... and all panels with everything.
enum class FigureFormat { svg, pdf, png };
std::string figure_script(const Figure& figure, FigureFormat format);

struct GnuplotOutcome {
  std::string output;
  std::string fault;  // one line; empty: it went well
};

// Gives the script to the program's standard input, with no shell and none of the user's settings in between, and
// takes what it writes to standard output.
GnuplotOutcome run_gnuplot(const std::string& program, const std::string& script);

// A drawing by gnuplot as an element of a page: without the prologue, every id starting with `prefix`, as wide as the
// page wants it, with `label` for those who do not see it. Nothing where the text is no drawing.
std::optional<std::string> inline_svg(std::string_view svg, std::string_view prefix, std::string_view label);

}  // namespace ignd
