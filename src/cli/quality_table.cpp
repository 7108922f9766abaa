#include "cli/quality_table.hpp"

#include "cli/output.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

namespace ignd::cli {
namespace {

struct Measure {
  std::string key;      // in JSON
  std::string heading;  // of a column
  std::optional<double> value;
};
using Measures = std::vector<Measure>;

// Sums and squares of very large errors are not numbers.
std::optional<double> finite(std::optional<double> value) {
  return value && std::isfinite(*value) ? value : std::nullopt;
}

Measures measures(const Scores& quality) {
  if (quality.regression) {
    const RegressionMetrics& m = *quality.regression;
    // Squares of very small errors are 0.
    const std::optional<double> rmse = m.rmse == 0 && m.mae > 0 ? std::nullopt : std::optional(m.rmse);
    return {{"mape", "mape", finite(m.mape)},
            {"rmse", "rmse", finite(rmse)},
            {"mae", "mae", finite(m.mae)},
            {"r2", "r2", finite(m.r2)}};
  }
  if (quality.classification) {
    const ClassificationMetrics& m = *quality.classification;
    return {{"accuracy", "accuracy", m.accuracy},
            {"log_loss", "log_loss", m.log_loss},
            {"auc", "auc", m.auc},
            {"average_precision", "avg_prec", m.average_precision},
            {"precision", "precision", m.precision},
            {"recall", "recall", m.recall},
            {"f1", "f1", m.f1},
            {"calibration_error", "calib_err", m.calibration_error}};
  }
  if (quality.multiclass) {
    const MulticlassMetrics& m = *quality.multiclass;
    return {{"accuracy", "accuracy", m.accuracy},
            {"log_loss", "log_loss", m.log_loss},
            {"macro_f1", "macro_f1", m.macro_f1}};
  }
  return {};
}

std::string drop_reason(const ColumnCode& code) {
  switch (code.reason) {
    case ColumnCode::DropReason::constant:
      return "the same in every training row";
    case ColumnCode::DropReason::empty:
      return "no value in any training row";
    case ColumnCode::DropReason::ids:
      return "nearly every row has its own text, like an id; --use-ids learns from it";
  }
  return "";
}

// Why there is no percentage error, for those who look for it.
std::string mape_note(const Scores& quality) {
  if (!quality.regression || quality.regression->mape) return "";
  const double nearest = quality.regression->nearest_to_zero;
  return fmt::format("  mape is n/a: a target is {}, and its row alone would decide it\n",
                     nearest > 0 ? fmt::format("{:.2g} of their mean size", nearest) : "zero");
}

}  // namespace

std::string in_short(std::optional<double> value, int digits) {
  return value ? fmt::format("{:.{}g}", *value, digits) : "n/a";
}

std::string with_commas(std::uint64_t count) {
  std::string digits = std::to_string(count);
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3) {
    digits.insert(static_cast<std::size_t>(at), ",");
  }
  return digits;
}

std::string left_out_text(const TableDataset& task) {
  const auto& [count, first] = task.bad_rows();
  if (count == 0) return "";
  return fmt::format("{} of {} rows {} left out; {}{}", with_commas(count), with_commas(task.table().size()),
                     count == 1 ? "is" : "are", count == 1 ? "" : "the first is ", first);
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
  return fmt::format("{}, mean {:.4g}, deviation {:.4g}", target.format.describe(), target.mean, target.deviation);
}

void set_columns(JsonLine& line, const std::vector<ColumnCode>& columns) {
  std::vector<std::string> names;
  std::vector<std::string> reasons;
  for (const ColumnCode& code : columns) {
    if (code.form != ColumnCode::Form::dropped) continue;
    names.push_back(code.name);
    reasons.push_back(drop_reason(code));
  }
  line.set("dropped.columns", names).set("dropped.reasons", reasons);
  names.clear();
  std::vector<std::string> formats;
  for (const ColumnCode& code : columns) {
    if (code.form == ColumnCode::Form::dropped || code.format.kind == CellFormat::Kind::plain) continue;
    names.push_back(code.name);
    formats.push_back(describe(code));
  }
  line.set("recognised.columns", names).set("recognised.formats", formats);
}

std::string describe(const ColumnCode& code) {
  using Form = ColumnCode::Form;
  const std::string missing = code.missing > 0 ? fmt::format(", {} missing", with_commas(code.missing)) : "";
  switch (code.form) {
    case Form::dropped:
      return "dropped: " + drop_reason(code);
    case Form::scaled:
      if (code.format.is_date()) {
        return fmt::format("{}, always {}{}", code.format.describe(), date_text(code.calendar.first), missing);
      }
      return fmt::format("{}, {} {:.4g}, deviation {:.4g}{}", code.format.describe(),
                         code.mostly_mean ? "mostly" : "mean", code.mean, code.deviation, missing);
    case Form::date:
      return fmt::format("{}, {} to {}{}", code.format.describe(), date_text(code.calendar.first),
                         date_text(code.calendar.last), missing);
    case Form::one_hot:
      return fmt::format("text, {} values{}", code.levels.size(), missing);
    case Form::hashed:
      return fmt::format("text, {} values hashed to {} features{}", with_commas(code.distinct), Encoder::hash_features,
                         missing);
  }
  return "";
}

void print_table(const std::vector<std::string>& parts, const std::vector<Evaluated>& rows) {
  std::size_t width = 0;
  for (const Evaluated& row : rows) width = std::max(width, row.name.size());
  for (const std::string& part : parts) width = std::max(width, part.size());
  for (std::size_t part = 0; part < parts.size(); ++part) {
    print("{}{:<{}}", part > 0 ? "\n" : "", parts[part], width + 2);
    for (const Measure& measure : measures(rows[0].on[part])) print(" {:>10}", measure.heading);
    print("\n");
    for (const Evaluated& row : rows) {
      print("  {:<{}}", row.name, width);
      for (const Measure& measure : measures(row.on[part])) print(" {:>10}", in_short(measure.value));
      print("\n");
    }
    print("{}", mape_note(rows[0].on[part]));
  }
}

void set_metrics(JsonLine& line, const std::string& prefix, const Scores& quality) {
  for (const Measure& measure : measures(quality)) line.set(prefix + "." + measure.key, measure.value);
  if (quality.regression && !quality.regression->mape) {
    line.set(prefix + ".target_nearest_to_zero", quality.regression->nearest_to_zero);
  }
}

}  // namespace ignd::cli
