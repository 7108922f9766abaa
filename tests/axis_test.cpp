#include "report/axis.hpp"

#include "ignd/random.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace ignd {
namespace {

const ScoreInfo lower{.label = "error"};
const ScoreInfo higher{.label = "accuracy", .higher_is_better = true};

bool always(std::size_t /*a*/, std::size_t /*b*/) { return true; }
bool never(std::size_t /*a*/, std::size_t /*b*/) { return false; }

// A line that falls or rises from one value to another and stays near the latter.
LineExtent line(const std::string& name, double from, double to) {
  const Range all{std::min(from, to), std::max(from, to)};
  const double near = to + 0.001 * (from - to);
  const Range end{std::min(near, to), std::max(near, to)};
  return {name, all, all, all, end, to, false};
}

bool said(const ValueAxis& axis, const std::string& part) {
  for (const std::string& remark : axis.remarks) {
    if (remark.find(part) != std::string::npos) return true;
  }
  return false;
}

TEST(Axis, ShowsEverythingWhereLinesAreApart) {
  const std::vector<LineExtent> lines{line("a", 1, 0.2), line("b", 1, 0.5), line("c", 1, 0.8)};
  const ValueAxis axis = value_axis(lines, lower, always);
  EXPECT_FALSE(axis.logarithmic);
  EXPECT_TRUE(axis.remarks.empty());
  EXPECT_LT(axis.low, 0.2);
  EXPECT_GT(axis.high, 1);
}

TEST(Axis, IsLogarithmicWhereThatSpreadsLinesThatOverlieEachOther) {
  const std::vector<LineExtent> lines{line("a", 100, 0.2), line("b", 100, 0.9), line("c", 100, 60)};
  const ValueAxis axis = value_axis(lines, lower, always);
  EXPECT_TRUE(axis.logarithmic);
  EXPECT_TRUE(said(axis, "logarithmic"));
  EXPECT_NEAR(axis.low, 0.2, 1e-12);
  EXPECT_NEAR(axis.high, 100, 1e-9);
  EXPECT_FALSE(value_axis(lines, lower, never).logarithmic) << "there is no difference to be seen";
}

TEST(Axis, IsZoomedWhereLogarithmsDoNotHelp) {
  const std::vector<LineExtent> lines{line("a", 0.5, 0.812), line("b", 0.5, 0.82), line("c", 0.5, 0.6),
                                      line("d", 0.5, 0.55)};
  const ValueAxis axis = value_axis(lines, higher, always);
  EXPECT_FALSE(axis.logarithmic);
  EXPECT_LT(axis.low, 0.812);
  EXPECT_GT(axis.low, 0.79);
  EXPECT_GT(axis.high, 0.82);
  EXPECT_TRUE(said(axis, "The axis shows"));
  EXPECT_TRUE(said(axis, "Outside of it: c, d."));
  EXPECT_TRUE(value_axis(lines, higher, never).remarks.empty());
}

TEST(Axis, StaysWholeWhereTheWayIsWhatTheFigureIsAbout) {
  // Logarithms do not spread the ends of 0.2 and 0.205, but show all of the way to them.
  const std::vector<LineExtent> lines{line("a", 1, 0.2), line("b", 1, 0.205), line("c", 1, 0.6)};
  EXPECT_TRUE(said(value_axis(lines, lower, always), "Outside of it: c."));
  const ValueAxis axis = value_axis(lines, lower, always, Crowd::stays_whole);
  EXPECT_TRUE(axis.logarithmic);
  EXPECT_LE(axis.low, 0.2);
  EXPECT_GE(axis.high, 1);
  const std::vector<LineExtent> accuracies{line("a", 0.5, 0.812), line("b", 0.5, 0.82), line("c", 0.5, 0.6),
                                           line("d", 0.5, 0.55)};
  const ValueAxis linear = value_axis(accuracies, higher, always, Crowd::stays_whole);
  EXPECT_FALSE(linear.logarithmic);
  EXPECT_LT(linear.low, 0.5);
  EXPECT_TRUE(linear.remarks.empty());
}

TEST(Axis, IsNotZoomedOnLinesThatAreTheSame) {
  LineExtent flat = line("a", 0, 1);
  flat.end = {1, 1};
  const std::vector<LineExtent> lines{flat, flat};
  EXPECT_TRUE(value_axis(lines, lower, always).remarks.empty());
}

TEST(Axis, FailuresAndSpikesLeaveThePanel) {
  LineExtent wild = line("wild", 1, 1e9);
  wild.failed = true;
  EXPECT_LT(value_axis(std::vector{line("a", 1, 0.1), wild, line("b", 1, 0.5)}, lower, never).high, 2);
  LineExtent spike = line("spike", 1, 0.3);
  spike.all = spike.values = {0.3, 1e3};
  const ValueAxis axis = value_axis(std::vector{line("a", 1, 0.1), spike}, lower, never);
  EXPECT_LT(axis.high, 2);
  EXPECT_TRUE(said(axis, "for a while"));
}

TEST(Axis, OfALogarithmicMetricHasWholeDecades) {
  const ScoreInfo metric{.label = "error", .log_scale = true};
  const ValueAxis axis = value_axis(std::vector{line("a", 3, 2e-7), line("b", 3, 2.1e-7)}, metric, always);
  EXPECT_TRUE(axis.logarithmic);
  EXPECT_NEAR(std::log10(axis.low), -7, 1e-9);
  EXPECT_NEAR(std::log10(axis.high), 1, 1e-9);
  const ValueAxis point = value_axis(std::vector{line("a", 1, 1)}, metric, always);
  EXPECT_GT(point.high, point.low);
}

TEST(Axis, RoundsToOneTwoAndFive) {
  EXPECT_DOUBLE_EQ(round_down(0.1), 0.1);
  EXPECT_DOUBLE_EQ(round_up(0.1), 0.1);
  EXPECT_DOUBLE_EQ(round_down(0.43), 0.2);
  EXPECT_DOUBLE_EQ(round_up(0.43), 0.5);
  EXPECT_DOUBLE_EQ(round_up(7), 10);
  EXPECT_DOUBLE_EQ(round_down(70), 50);
  RandomStream stream(3, "values");
  for (int round = 0; round < 2000; ++round) {
    const double value = std::pow(10.0, 40 * stream.uniform() - 20);
    EXPECT_LE(round_down(value), value * (1 + 1e-9));
    EXPECT_GE(round_up(value), value * (1 - 1e-9));
    EXPECT_LE(round_up(value), 2.5 * round_down(value) * (1 + 1e-9));
  }
}

// Whatever the lines are, there is an axis, and where it is zoomed or logarithmic the best lines have their place on
// it.
TEST(Axis, KeepsTheBestLinesInSight) {
  RandomStream stream(4, "lines");
  for (int round = 0; round < 5000; ++round) {
    std::vector<LineExtent> lines;
    for (std::size_t k = 1 + stream.below(6); k > 0; --k) {
      lines.push_back(line("l", std::pow(10.0, 4 * stream.normal()), std::pow(10.0, stream.normal())));
      lines.back().failed = stream.below(8) == 0;
    }
    const ScoreInfo& metric = round % 2 == 0 ? lower : higher;
    const ValueAxis axis = value_axis(lines, metric, always);
    ASSERT_LT(axis.low, axis.high);
    EXPECT_TRUE(!axis.logarithmic || axis.low > 0);
    const LineExtent* best = nullptr;
    for (const LineExtent& one : lines) {
      if (one.failed) continue;
      const bool first =
          best == nullptr || (metric.higher_is_better ? one.level > best->level : one.level < best->level);
      if (first) best = &one;
    }
    if (best == nullptr) continue;
    EXPECT_GE(best->end.low, axis.low * (1 - 1e-9));
    EXPECT_LE(best->end.high, axis.high * (1 + 1e-9));
  }
}

}  // namespace
}  // namespace ignd
