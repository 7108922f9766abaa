#include "cli/report.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace ignd::cli {
namespace {

using Measures = std::vector<std::pair<std::string, std::optional<double>>>;

Measures measures(const Quality& quality) {
  if (quality.regression) {
    const RegressionMetrics& m = *quality.regression;
    return {{"mape", m.mape}, {"rmse", m.rmse}, {"mae", m.mae}, {"r2", m.r2}};
  }
  if (quality.classification) {
    const ClassificationMetrics& m = *quality.classification;
    return {{"accuracy", m.accuracy}, {"log_loss", m.log_loss}, {"auc", m.auc}};
  }
  return {};
}

}  // namespace

std::string in_short(std::optional<double> value) { return value ? fmt::format("{:.4g}", *value) : "n/a"; }

std::string with_commas(std::uint64_t count) {
  std::string digits = std::to_string(count);
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3) {
    digits.insert(static_cast<std::size_t>(at), ",");
  }
  return digits;
}

void print_table(const std::vector<std::string>& parts, const std::vector<Judged>& rows) {
  std::size_t width = 0;
  for (const Judged& row : rows) width = std::max(width, row.who.size());
  for (std::size_t part = 0; part < parts.size(); ++part) {
    fmt::print("\n{:<{}}", parts[part], width + 2);
    if (rows.empty() || rows[0].on.size() <= part) continue;
    for (const auto& [name, value] : measures(rows[0].on[part])) fmt::print(" {:>10}", name);
    fmt::print("\n");
    for (const Judged& row : rows) {
      fmt::print("  {:<{}}", row.who, width);
      for (const auto& [name, value] : measures(row.on[part])) fmt::print(" {:>10}", in_short(value));
      fmt::print("\n");
    }
  }
}

void set_metrics(JsonLine& line, const std::string& prefix, const Quality& quality) {
  for (const auto& [name, value] : measures(quality)) line.set(prefix + "." + name, value);
}

}  // namespace ignd::cli
