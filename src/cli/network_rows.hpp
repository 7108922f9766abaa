#pragma once

#include "cli/bench_row.hpp"

#include <vector>

namespace ignd::cli {

// The paper's networks for images, on one thread and on two, and for texts, with four optimizers each.
std::vector<Row> network_rows();

}  // namespace ignd::cli
