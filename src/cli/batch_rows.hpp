#pragma once

#include "cli/bench_row.hpp"

#include <vector>

namespace ignd::cli {

// Rows of `ignd bench`: steps with mini-batches.
std::vector<Row> batch_rows();

}  // namespace ignd::cli
