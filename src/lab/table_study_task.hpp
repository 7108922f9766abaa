#pragma once

#include "lab/table_study.hpp"
#include "lab/task.hpp"

#include <atomic>
#include <string>
#include <vector>

namespace ignd {

// "table": a model trained on a table of the user's own, as `ignd train` does it with the same options and seed. The
// score is what the loss measures, on the test rows.
const Task& table_study_task();

// What the score is called: "RMSE", "log loss", "huber loss".
std::string score_name(const TableDataset& table);

// The names of the further numbers that suit the target.
std::vector<std::string> further_columns(const TableDataset& table);

}  // namespace ignd
