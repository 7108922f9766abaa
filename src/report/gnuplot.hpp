#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ignd {

struct GnuplotOutcome {
  std::string output;
  std::string fault;  // one line; empty on success
};

// Feeds the script to gnuplot's standard input, without a shell or the user's settings, and captures its standard
// output.
GnuplotOutcome run_gnuplot(const std::string& program, const std::string& script);

// Turns gnuplot's SVG into an element of a page: no prologue, `prefix` before every id, as wide as the page allows, and
// `label` for screen readers. Empty if the text is not a drawing.
std::optional<std::string> inline_svg(std::string_view svg, std::string_view prefix, std::string_view label);

}  // namespace ignd
