#pragma once

#include "cli/json_line.hpp"
#include "learn/table_dataset.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ignd::cli {

// A number as people read it, or n/a.
std::string in_short(std::optional<double> value, int digits = 4);
std::string with_commas(std::uint64_t count);

// What becomes of the target and of a column, in a few words.
std::string describe(const Target& target);
std::string describe(const ColumnCode& code);

// The columns that give no feature, and why; those that are not plain numbers or texts, and what they are.
void set_columns(JsonLine& line, const std::vector<ColumnCode>& columns);

// "3 of 400 rows are left out: row 7: the target 'y' is missing"; empty: none is.
std::string left_out_text(const TableDataset& task);

// A table of measures, a row for each predictor.
struct Evaluated {
  std::string name;
  std::vector<Scores> on;  // one for each part of the data
};
void print_table(const std::vector<std::string>& parts, const std::vector<Evaluated>& rows);

// The measures of one part as "PREFIX.rmse" and so on.
void set_metrics(JsonLine& line, const std::string& prefix, const Scores& quality);

}  // namespace ignd::cli
