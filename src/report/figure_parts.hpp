#pragma once

#include "report/figure.hpp"

#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace ignd {

// What is common to the figures of an experiment: the panels' titles, the axis of the metric, and the styles of lines.

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  void include(double value);
  void include(const FigureLine& line);  // its values, and the bands around them
  bool empty() const { return low > high; }
  double length() const { return high - low; }
};

// A mean and the band of one standard deviation; none where gnuplot could not draw it.
std::optional<FigurePoint> figure_point(double x, const Spread& values, const Spread& logarithms, bool log_scale);

// A method's number, in the order in which their names come up.
class LineStyles {
 public:
  std::size_t of(const std::string& name);

 private:
  std::vector<std::string> names_;
};

// "validation accuracy" of "test accuracy" or "accuracy".
std::string validation_label(const ScoreInfo& metric);

// Everything but name, heading, x axis and panels.
Figure figure_of(const ExperimentResults& experiment);

// A panel that shows the values in `y`, with some room around them.
void set_y_range(FigurePanel& panel, const Range& y, bool log_scale);

}  // namespace ignd
