#pragma once

#include "lab/tabular_protocol.hpp"
#include "lab/task.hpp"

#include <cstdint>
#include <string_view>
#include <vector>

namespace ignd {

// "32,64,32" to numbers. Throws InvalidArgument.
std::vector<std::uint64_t> parse_widths(std::string_view text);

// Trains a network by the settings of the task `tabular`. Throws RunStopped.
RunResult run_network(const RunConfig& config, const TabularSplit& data, const RunControl& control);

// The mean of the targets, and least squares: no rate, no epochs, no curve.
RunResult run_mean_of_targets(const TabularSplit& data);
RunResult run_least_squares(const TabularSplit& data);

}  // namespace ignd
