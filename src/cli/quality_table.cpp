#include "cli/quality_table.hpp"

#include "cli/output.hpp"

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
  if (quality.multiclass) {
    const MulticlassMetrics& m = *quality.multiclass;
    return {{"accuracy", m.accuracy}, {"log_loss", m.log_loss}, {"macro_f1", m.macro_f1}};
  }
  return {};
}

std::string drop_reason(const ColumnCode& code) {
  switch (code.reason) {
    case ColumnCode::DropReason::constant:
      return "the same in every training row";
    case ColumnCode::DropReason::empty:
      return "no value in any training row";
  }
  return "";
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

std::string describe(const Target& target) {
  if (target.is_multiclass()) {
    return fmt::format("one of {} classes, {}", target.classes.size(), list_classes(target.classes));
  }
  if (target.is_class()) {
    return fmt::format("class {} or {}; probabilities are of {}", for_terminal(target.classes[0]),
                       for_terminal(target.classes[1]), for_terminal(target.classes[1]));
  }
  if (target.logarithm) return "number, learned as the logarithm of what is expected";
  return fmt::format("number, mean {:.4g}, deviation {:.4g}", target.mean, target.deviation);
}

void set_dropped(JsonLine& line, const std::vector<ColumnCode>& columns) {
  std::vector<std::string> names;
  std::vector<std::string> reasons;
  for (const ColumnCode& code : columns) {
    if (code.form != ColumnCode::Form::dropped) continue;
    names.push_back(code.name);
    reasons.push_back(drop_reason(code));
  }
  line.set("dropped.columns", names).set("dropped.reasons", reasons);
}

std::string describe(const ColumnCode& code) {
  using Form = ColumnCode::Form;
  const std::string missing = code.missing > 0 ? fmt::format(", {} missing", with_commas(code.missing)) : "";
  switch (code.form) {
    case Form::dropped:
      return "dropped: " + drop_reason(code);
    case Form::scaled:
      return fmt::format("number, mean {:.4g}, deviation {:.4g}{}", code.mean, code.deviation, missing);
    case Form::one_hot:
      return fmt::format("text, {} values{}", code.levels.size(), missing);
    case Form::hashed:
      return fmt::format("text, {} values hashed to {} features{}", with_commas(code.distinct), Encoder::hash_features,
                         missing);
  }
  return "";
}

void print_table(const std::vector<std::string>& parts, const std::vector<Judged>& rows) {
  std::size_t width = 0;
  for (const Judged& row : rows) width = std::max(width, row.name.size());
  for (const std::string& part : parts) width = std::max(width, part.size());
  for (std::size_t part = 0; part < parts.size(); ++part) {
    print("{}{:<{}}", part > 0 ? "\n" : "", parts[part], width + 2);
    for (const auto& [name, value] : measures(rows[0].on[part])) print(" {:>10}", name);
    print("\n");
    for (const Judged& row : rows) {
      print("  {:<{}}", row.name, width);
      for (const auto& [name, value] : measures(row.on[part])) print(" {:>10}", in_short(value));
      print("\n");
    }
  }
}

void set_metrics(JsonLine& line, const std::string& prefix, const Quality& quality) {
  for (const auto& [name, value] : measures(quality)) line.set(prefix + "." + name, value);
}

}  // namespace ignd::cli
