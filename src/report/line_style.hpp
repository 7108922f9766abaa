#pragma once

#include "lab/experiment.hpp"

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

namespace ignd {

// Filled signs along a line.
enum class Mark { nothing, circle, square, triangle, wedge, diamond, pentagon };

// How a line is drawn. Dashes and marks tell lines apart without colours, too.
struct LineStyle {
  std::string colour;       // "#D55E00"
  std::string_view dashes;  // lengths of dashes and gaps, as gnuplot and SVG both take them; empty: solid
  Mark mark = Mark::nothing;

  bool operator==(const LineStyle&) const = default;
};

// The style of an optimizer, in all studies: colour and dashes are the rule's, mark and shade the transform's. Rules
// and transforms that the table does not have look like a baseline.
LineStyle optimizer_style(std::string_view rule, std::string_view transform);

// The k-th style of the lines that share one: other dashes, marks and shades. 0 is the style itself; the first hundred
// differ from each other.
LineStyle variation(const LineStyle& style, std::size_t k);

// The styles of an experiment's methods. The plain SGD, IGND, QL, ... have the style of their optimizer wherever they
// appear; others that share it, such as "IGND, eps_LM 0.1", have its variations, those with other constants last.
class LineStyles {
 public:
  explicit LineStyles(const ExperimentResults& experiment);

  const LineStyle& of(const std::string& method) const { return styles_.at(method); }

 private:
  std::map<std::string, LineStyle> styles_;
};

}  // namespace ignd
