#include "cli/describe.hpp"

#include "base/text.hpp"

#include <vector>

#include <fmt/format.h>

namespace ignd::cli {
namespace {

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

}  // namespace

std::vector<std::pair<std::string, std::string>> card_of(const std::string& target, const ModelDescription& about) {
  std::vector<std::pair<std::string, std::string>> card;
  if (!about.lines.empty()) card.emplace_back("model", about.lines[0]);
  if (about.lines.size() > 1) card.emplace_back("training", join(std::span(about.lines).subspan(1), "; "));
  card.emplace_back("target", (target.empty() ? "" : target + ": ") + about.target);
  if (!about.inputs.empty()) card.emplace_back("inputs", about.inputs);
  if (!about.made) return card;
  const ModelFacts& made = *about.made;
  card.emplace_back("command", made.command);
  card.emplace_back("program", "ignd " + made.version);
  card.emplace_back("seed", std::to_string(made.seed));
  card.emplace_back("data", fmt::format("{}: {} samples to train on, {} to validate, {} to test", made.data,
                                        with_commas(made.train), with_commas(made.validation), with_commas(made.test)));
  if (!made.sha256.empty()) card.emplace_back("SHA-256 of the data", made.sha256);
  card.emplace_back("checksum as read", fmt::format("{:016x}", made.fingerprint));
  return card;
}

void print_formats(const std::map<std::string, CellFormat>& formats) {
  for (const auto& [name, column] : formats) print("  {:<20} {}\n", printable(name), column.describe());
}

void set_formats(JsonLine& line, const std::map<std::string, CellFormat>& formats) {
  if (formats.empty()) return;
  std::vector<std::string> names;
  std::vector<std::string> descriptions;
  for (const auto& [name, column] : formats) {
    names.push_back(name);
    descriptions.push_back(column.describe());
  }
  line.set("recognised.columns", names).set("recognised.formats", descriptions);
}

std::string left_out_text(const BadRowCount& bad_rows, std::uint64_t rows) {
  const auto& [count, first] = bad_rows;
  if (count == 0) return "";
  return fmt::format("{} of {} rows {} left out; {}{}", with_commas(count), with_commas(rows),
                     count == 1 ? "is" : "are", count == 1 ? "" : "the first is ", first);
}

std::string left_out_text(const TableDataset& dataset) {
  return left_out_text(dataset.bad_rows(), dataset.table().size());
}

void set_columns(JsonLine& line, std::span<const ColumnCode> columns) {
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
      return fmt::format("{}, {} {:.4g}, deviation {:.4g}{}{}", code.format.describe(),
                         code.mostly_mean ? "mostly" : "mean", code.mean, code.deviation,
                         code.edges.empty() ? "" : fmt::format(", {} pieces", code.pieces()), missing);
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

void warn_of_skipped(std::span<const SkippedFile> files) {
  if (files.empty()) return;
  std::vector<std::string> faults;
  for (const SkippedFile& file : files) faults.push_back(file.fault);
  print_error("ignd: warning: {} file{} left out: {}\n", faults.size(), faults.size() == 1 ? " is" : "s are",
              list_faults(faults));
}

}  // namespace ignd::cli
