#pragma once

#include "lab/experiment.hpp"

#include <cstddef>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <vector>

// Which part of the values a panel shows, and on which scale.
namespace ignd {

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  void include(double value);
  void include(const Range& other);
  bool empty() const { return low > high; }
  double length() const { return high - low; }
  bool contains(const Range& other) const { return low <= other.low && other.high <= high; }
  bool meets(const Range& other) const { return low <= other.high && other.low <= high; }
};

// What an axis has to know of a line.
struct LineExtent {
  std::string name;
  Range all;       // its values, and the bands around them
  Range values;    // without the bands
  Range usual;     // without what happens on the way
  Range end;       // where it leads to: the values that readers compare
  double level{};  // which lines are ranked by
  bool failed = false;
};

struct ValueAxis {
  double low = 0, high = 0;
  bool logarithmic = false;
  std::vector<std::string> remarks;
};

// What happens to lines that overlie each other: the axis may leave out what is far from where they end, or it may not,
// because the way there is what the figure is about.
enum class Crowd { may_be_zoomed, stays_whole };

// Shows all values, with these exceptions. Lines with failed runs that are far from all others leave the panel, and so
// does what is far from where lines start and end. And where the better half of the lines differ (as `differ` says of
// two of them) but end within a tenth of the axis, so that they overlie each other, the axis is logarithmic if that
// spreads them at least twice as far, and otherwise shows only what is near them (a whole one is logarithmic if it can
// be). For a metric with a logarithmic scale the axis has whole decades.
ValueAxis value_axis(std::span<const LineExtent> lines, const ScoreInfo& metric,
                     const std::function<bool(std::size_t, std::size_t)>& differ, Crowd crowd = Crowd::may_be_zoomed);

// An axis on paper: which share of its length a value is at, and back. Where a value has no logarithm it lies below.
struct AxisScale {
  double low = 0, high = 1;
  bool logarithmic = false;

  double share(double value) const;
  double value(double share) const;
};

// 1, 2 or 5 times a power of ten: the largest one not above a positive value, and the smallest one not below it.
double round_down(double value);
double round_up(double value);

}  // namespace ignd
