#include "report/axis.hpp"

#include "base/text.hpp"
#include "report/format.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>

#include <fmt/format.h>

namespace ignd {

void Range::include(double value) {
  low = std::min(low, value);
  high = std::max(high, value);
}

void Range::include(const Range& other) {
  low = std::min(low, other.low);
  high = std::max(high, other.high);
}

double AxisScale::share(double value) const {
  if (!logarithmic) return (value - low) / (high - low);
  return value > 0 ? std::log(value / low) / std::log(high / low) : -1;
}

double AxisScale::value(double share) const {
  return logarithmic ? low * std::pow(high / low, share) : std::lerp(low, high, share);
}

double round_down(double value) {
  const double power = std::pow(10.0, std::floor(std::log10(value)));
  // Powers are rounded: 0.1 must stay 0.1.
  for (const double factor : {10.0, 5.0, 2.0, 1.0}) {
    if (factor * power <= value * (1 + 1e-12)) return factor * power;
  }
  return power;
}

double round_up(double value) {
  const double power = std::pow(10.0, std::floor(std::log10(value)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= value * (1 - 1e-12)) return factor * power;
  }
  return 10 * power;
}

namespace {

constexpr double far = 5;  // times the length of what is near

using Differ = std::function<bool(std::size_t, std::size_t)>;

Range union_of(std::span<const LineExtent> lines, Range LineExtent::*part, bool failed_too) {
  Range range;
  for (const LineExtent& line : lines) {
    if (failed_too || !line.failed) range.include(line.*part);
  }
  return range;
}

// Without lines that failed and spikes, if they are far off.
Range without_outliers(std::span<const LineExtent> lines, std::vector<std::string>& remarks) {
  Range shown = union_of(lines, &LineExtent::all, true);
  const Range sound = union_of(lines, &LineExtent::all, false);
  if (!sound.empty() && sound.length() > 0 && shown.length() > far * sound.length()) {
    shown = sound;
    remarks.emplace_back("Lines with failed runs leave the panel: they are far from all others.");
  }
  const Range usual = union_of(lines, &LineExtent::usual, false);
  if (!usual.empty() && usual.length() > 0 && shown.length() > far * usual.length()) {
    shown = usual;
    remarks.emplace_back("Some lines leave the panel for a while.");
  }
  return shown;
}

Range with_margin(const Range& shown) {
  const double margin = shown.length() > 0 ? 0.05 * shown.length() : std::max(0.05 * std::abs(shown.low), 1e-3);
  return {shown.low - margin, shown.high + margin};
}

// Where the better half of the lines end, at least two of them; nothing if no two of them differ.
Range ends_of_the_best(std::span<const LineExtent> lines, const ScoreInfo& metric, const Differ& differ) {
  std::vector<std::size_t> order;
  for (std::size_t k = 0; k < lines.size(); ++k) {
    if (!lines[k].failed && !lines[k].end.empty()) order.push_back(k);
  }
  if (order.size() < 2 || !metric.is_contest) return {};
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    return metric.higher_is_better ? lines[a].level > lines[b].level : lines[a].level < lines[b].level;
  });
  order.resize(std::max<std::size_t>(2, (order.size() + 1) / 2));
  bool any_differ = false;
  Range ends;
  for (std::size_t i = 0; i < order.size(); ++i) {
    ends.include(lines[order[i]].end);
    for (std::size_t k = 0; k < i && !any_differ; ++k) any_differ = differ(order[i], order[k]);
  }
  return any_differ ? ends : Range{};
}

// The part of a logarithmic axis that a range takes.
double log_share(const Range& part, const Range& whole) {
  return std::log(part.high / part.low) / std::log(whole.high / whole.low);
}

// Whole steps of 1, 2, 5, ...; none where a value has no logarithm or where the axis would have no more than two.
std::optional<Range> log_range(std::span<const LineExtent> lines, const Range& shown) {
  Range positive;
  for (const LineExtent& line : lines) {
    if (!line.values.meets(shown)) continue;
    positive.include(std::max(line.values.low, shown.low));
    positive.include(std::min(line.values.high, shown.high));
  }
  if (positive.empty() || !(positive.low > 1e-100)) return {};
  if (positive.high < 4 * positive.low) return {};
  return Range{round_down(positive.low), round_up(positive.high)};
}

ValueAxis zoomed(std::span<const LineExtent> lines, const Range& ends, const Range& shown) {
  const Range near{std::max(shown.low, ends.low - ends.length()), std::min(shown.high, ends.high + ends.length())};
  ValueAxis axis{near.low, near.high, false, {}};
  axis.remarks.push_back(fmt::format("The axis shows {} to {}, where the best lines end, of {} to {}.",
                                     number_text(near.low), number_text(near.high), number_text(shown.low),
                                     number_text(shown.high)));
  std::vector<std::string> outside;
  for (const LineExtent& line : lines) {
    if (!near.meets(line.values)) outside.push_back(line.name);
  }
  if (!outside.empty()) axis.remarks.push_back(fmt::format("Outside of it: {}.", join(outside, ", ")));
  return axis;
}

ValueAxis decades(const Range& shown) {
  ValueAxis axis{
      std::pow(10.0, std::floor(std::log10(shown.low))), std::pow(10.0, std::ceil(std::log10(shown.high))), true, {}};
  if (!(axis.high > axis.low)) axis.high = axis.low * 10;
  return axis;
}

}  // namespace

ValueAxis value_axis(std::span<const LineExtent> lines, const ScoreInfo& metric, const Differ& differ, Crowd crowd) {
  if (metric.log_scale) return decades(union_of(lines, &LineExtent::all, true));
  constexpr double crowded = 0.1;
  std::vector<std::string> remarks;
  const Range shown = without_outliers(lines, remarks);
  const Range whole = with_margin(shown);
  ValueAxis axis{whole.low, whole.high, false, {}};
  const Range ends = ends_of_the_best(lines, metric, differ);
  const double share = ends.empty() ? 1 : ends.length() / whole.length();
  if (share > 0 && share < crowded) {
    const auto log = log_range(lines, shown);
    const double spread = log && ends.low > 0 ? log_share(ends, *log) : 0;
    const bool spreads = spread >= crowded / 2 && spread >= 2 * share;
    if (log && (spreads || crowd == Crowd::stays_whole)) {
      axis = {log->low, log->high, true, {"The axis is logarithmic, since the lines end close to each other."}};
    } else if (crowd == Crowd::may_be_zoomed) {
      axis = zoomed(lines, ends, whole);
    }
  }
  axis.remarks.insert(axis.remarks.begin(), remarks.begin(), remarks.end());
  return axis;
}

}  // namespace ignd
