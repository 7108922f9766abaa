#pragma once

#include "lab/experiment.hpp"

namespace ignd::cli {

// A line for each method: the rate, the score over the seeds, and how many of the runs at all rates failed.
void print_comparison(const PanelResults& panel, const ScoreInfo& metric);

}  // namespace ignd::cli
