#pragma once

#include "cli/json_line.hpp"
#include "train/table_task.hpp"

#include <string>
#include <vector>

namespace ignd::cli {

// A number as people read it, or n/a.
std::string in_short(std::optional<double> value);
std::string with_commas(std::uint64_t count);

// A table of measures, a row for each predictor.
struct Judged {
  std::string who;
  std::vector<Quality> on;  // one for each part of the data
};
void print_table(const std::vector<std::string>& parts, const std::vector<Judged>& rows);

// The measures of one part as "PREFIX.rmse" and so on.
void set_metrics(JsonLine& line, const std::string& prefix, const Quality& quality);

}  // namespace ignd::cli
