#pragma once

#include "data/data_file.hpp"
#include "lab/task.hpp"
#include "learn/run.hpp"
#include "learn/table_dataset.hpp"

#include <string>
#include <vector>

namespace ignd {

// Models without a rate, which the others are compared with.
inline constexpr const char* best_constant_model = "best-constant";
inline constexpr const char* best_linear_model = "best-linear";
bool is_baseline(const std::string& model);

// What a run of the task `table` is asked to do, but for its optimizer, rate and seed.
struct TableStudy {
  DataFile data;
  std::string checksum;  // SHA-256 of the file: a run is one of what it holds, not of what it is called
  DatasetOptions task;
  RunOptions run;
};

const std::vector<SettingKey>& table_study_keys();

// Each is the other's inverse.
TableStudy study_of(const Settings& settings);
Settings settings_of(const TableStudy& study);

// What is wrong with a study, as far as that can be told without its file; one text each.
std::vector<std::string> study_faults(const TableStudy& study);

}  // namespace ignd
