#include "cli/bench_row.hpp"

#include <algorithm>
#include <chrono>

namespace ignd::cli {

void Timed::warm_up() {
  for (double done = 0; done < warm_up_units; done += units_per_pass) pass();
}

void Timed::round() {
  if (starts_warm) pass();
  const auto start = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < passes; ++i) pass();
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  seconds_per_unit.push_back(elapsed.count() / (units_per_pass * static_cast<double>(passes)));
}

void Timed::calibrate() {
  round();
  const double one = seconds_per_unit.back() * units_per_pass;
  passes = static_cast<std::size_t>(std::max(1.0, round_seconds / one));
  starts_warm = one < round_seconds;
  seconds_per_unit.clear();
}

double Timed::typical() const {
  std::vector<double> values = seconds_per_unit;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double Timed::spread() const {
  std::vector<double> sorted = seconds_per_unit;
  std::sort(sorted.begin(), sorted.end());
  return (sorted[sorted.size() * 3 / 4] - sorted[sorted.size() / 4]) / 2 / typical();
}

double Timed::best() const { return *std::min_element(seconds_per_unit.begin(), seconds_per_unit.end()); }

}  // namespace ignd::cli
