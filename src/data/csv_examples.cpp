#include "data/csv_examples.hpp"

#include "base/text.hpp"
#include "data/byte_source.hpp"
#include "data/csv.hpp"
#include "data/csv_parser.hpp"
#include "data/table.hpp"
#include "ignd/error.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

#include <fmt/format.h>
#include <xxhash.h>

namespace ignd {
namespace {

constexpr std::size_t most_targets = 100'000;  // far more than may be classes: texts are read ahead

std::uint32_t text_index(std::uint64_t column, std::string_view text) {
  return static_cast<std::uint32_t>(XXH3_64bits_withSeed(text.data(), text.size(), column));
}

// A number beyond the range of float counts as missing.
inline void append_number(std::uint64_t column, double value, ExampleBlock& block) {
  const bool usable = std::isfinite(static_cast<float>(value));
  if (usable && value == 0) return;
  block.index.push_back(usable ? static_cast<std::uint32_t>(column) : text_index(column, ""));
  block.value.push_back(usable ? static_cast<float>(value) : 1);
}

inline void append_plain(std::uint64_t column, std::string_view field, ExampleBlock& block) {
  double value = 0;
  if (is_number(field, value)) {
    append_number(column, value, block);
    return;
  }
  block.index.push_back(text_index(column, is_missing(field) ? "" : trim(field)));
  block.value.push_back(1);
}

CsvDialect with_columns(CsvDialect dialect, const CsvColumns& columns) {
  if (columns.target) dialect.asked_for.push_back(*columns.target);
  if (columns.weight) dialect.asked_for.push_back(*columns.weight);
  if (columns.features) {
    dialect.asked_for.insert(dialect.asked_for.end(), columns.features->begin(), columns.features->end());
  }
  return dialect;
}

void append(std::uint32_t index, double value, ExampleBlock& block) {
  if (value == 0) return;
  block.index.push_back(index);
  block.value.push_back(static_cast<float>(value));
}

// Elapsed time is in years since 2000 and has the column's own index.
void append_date(std::uint64_t column, double seconds, ExampleBlock& block) {
  constexpr double seconds_of_a_year = 31'556'952;
  constexpr double start = 946'684'800;
  const DateParts parts = date_parts(seconds);
  append(static_cast<std::uint32_t>(column), (seconds - start) / seconds_of_a_year, block);
  append(text_index(column, "\x01year"), parts.year - 2000, block);
  // The cosine is shifted to be zero at the start of a cycle: midnight gives no feature, just like a missing time of
  // day.
  const auto append_cycle = [&](std::string_view sine, std::string_view cosine, double share) {
    append(text_index(column, sine), std::sin(2 * std::numbers::pi * share), block);
    append(text_index(column, cosine), std::cos(2 * std::numbers::pi * share) - 1, block);
  };
  append_cycle("\x01month sine", "\x01month cosine", parts.month / 12);
  append_cycle("\x01weekday sine", "\x01weekday cosine", parts.weekday / 7);
  append_cycle(
      "\x01"
      "day sine",
      "\x01"
      "day cosine",
      parts.day_of_year / 365);
  append_cycle("\x01time sine", "\x01time cosine", parts.second_of_day / 86'400);
}

// A cell that does not fit the format is read as a plain one.
void append_formatted(std::uint64_t column, const CellFormat& format, std::string_view field, ExampleBlock& block) {
  const auto value = format.read(field);
  if (!value) {
    append_plain(column, field, block);
  } else if (!std::isfinite(static_cast<float>(*value))) {
    append_plain(column, "", block);
  } else if (format.is_date()) {
    append_date(column, *value, block);
  } else {
    append(static_cast<std::uint32_t>(column), *value, block);
  }
}

inline void append_field(std::uint64_t column, const CellFormat& format, std::string_view field, ExampleBlock& block) {
  if (format.kind == CellFormat::Kind::plain) {
    append_plain(column, field, block);
  } else {
    append_formatted(column, format, field, block);
  }
}

}  // namespace

std::uint64_t column_hash(std::string_view name) { return XXH3_64bits(name.data(), name.size()); }

void append_cell(std::uint64_t column, const CellFormat& format, std::string_view cell, ExampleBlock& block) {
  append_field(column, format, cell, block);
}

void append_cell(std::uint64_t column, double number, ExampleBlock& block) { append_number(column, number, block); }

std::map<std::uint32_t, std::string> cell_features(const std::string& column, const CellFormat& format,
                                                   std::string_view cell) {
  const std::uint64_t hash = column_hash(column);
  std::map<std::uint32_t, std::string> parts;
  for (const char* part : {"year", "month sine", "month cosine", "weekday sine", "weekday cosine", "day sine",
                           "day cosine", "time sine", "time cosine"}) {
    parts[text_index(hash, std::string("\x01") + part)] = fmt::format("{}: {}", column, part);
  }
  parts[static_cast<std::uint32_t>(hash)] = format.is_date() ? column + ": years since 2000" : column;
  parts[text_index(hash, "")] = column + " is missing";
  ExampleBlock block;
  append_field(hash, format, cell, block);
  std::map<std::uint32_t, std::string> names;
  for (const std::uint32_t index : block.index) {
    const auto part = parts.find(index);
    names[index] = part != parts.end() ? part->second : fmt::format("{}={}", column, trim(cell));
  }
  return names;
}

CsvExampleParser::CsvExampleParser(std::string_view beginning, const CsvColumns& columns, const CsvDialect& dialect,
                                   const std::string& name) {
  TextWindow text(bytes_of(beginning, name));
  CsvHead head = read_csv_head(text, with_columns(dialect, columns));
  text.fill(beginning.size());
  delimiter_ = head.delimiter;
  first_line_ = head.line;
  names_ = std::move(head.names);
  header_note_ = std::move(head.header_note);
  for (const std::string& column : names_) {
    if (column.find('\n') != std::string::npos) {
      throw FileError(fmt::format("{}: the name of column {} takes several lines; in a stream every row is one line",
                                  name, in_quotes(column)));
    }
    hashes_.push_back(column_hash(column));
  }
  ColumnPlan plan({}, columns.formats.value_or(std::map<std::string, CellFormat>()), columns.decimal_comma);
  for (const CsvColumn& column : plan.columns(names_, text.text(), delimiter_)) {
    const bool known = column.given || !columns.formats || columns.decimal_comma;
    formats_.push_back(known ? column.format : CellFormat());
  }
  is_feature_.assign(names_.size(), !columns.features);
  for (const std::string& column : columns.features.value_or(std::vector<std::string>())) {
    is_feature_[find_column(names_, column, header_note_)] = true;
  }
  if (columns.weight) {
    weight_ = find_column(names_, *columns.weight, header_note_);
    is_feature_[*weight_] = false;
  }
  for (const std::string& column : columns.keep) keep_.push_back(find_column(names_, column, header_note_));
  if (!columns.target) return;
  target_ = find_column(names_, *columns.target, header_note_);
  is_feature_[*target_] = false;
  text_target_ = columns.text_target.value_or(false);
  if (text_target_ || !columns.text_target) look_at_targets(text.text(), columns.text_target.has_value());
}

// The first label decides whether the target is text. The first two texts are recorded here, before threads race for
// it.
void CsvExampleParser::look_at_targets(std::string_view rows, bool known) {
  CsvRow row(delimiter_);
  const char* at = rows.data();
  const char* const end = at + rows.size();
  while (at != nullptr && at < end && labels_.size() < 2) {
    at = row.split(at, end, false);
    if (at == nullptr || row.size() != names_.size() || is_missing(row[*target_])) continue;
    if (!known) text_target_ = formats_[*target_].is_date() || !formats_[*target_].read(row[*target_]);
    if (!text_target_) return;
    known = true;
    note_label(row[*target_]);
  }
}

void CsvExampleParser::note_label(std::string_view field) const {
  const std::lock_guard lock(mutex_);
  if (labels_.size() >= most_targets) return;
  const std::string_view text = trim(field);
  labels_.try_emplace(static_cast<double>(text_code(text)), text);
}

std::string CsvExampleParser::read_target(std::string_view field, double& target) const {
  if (is_missing(field)) return fmt::format("the target {} is missing", in_quotes(names_[*target_]));
  if (!text_target_) {
    const auto value = formats_[*target_].read(field);
    target = value.value_or(target);
    if (value && std::isfinite(target)) return "";
    return fmt::format("the target {} is {}, which is not a finite number", in_quotes(names_[*target_]),
                       in_quotes(field));
  }
  target = static_cast<double>(text_code(trim(field)));
  note_label(field);
  return "";
}

std::string CsvExampleParser::parse_line(std::string_view line, std::uint64_t number, ExampleBlock& block) const {
  if (number < first_line_ || trim(line).empty()) return "";
  CsvRow row(delimiter_);
  row.split(line.data(), line.data() + line.size(), true);
  if (row.in_quotes()) return "opens quotes that it does not close; in a stream every row is one line";
  if (row.size() != names_.size()) {
    return fmt::format("has {} field{} instead of {}", row.size(), row.size() == 1 ? "" : "s", names_.size());
  }
  double target = std::numeric_limits<double>::quiet_NaN();
  if (target_) {
    std::string fault = read_target(row[*target_], target);
    if (!fault.empty()) return fault;
  }
  double weight = 1;
  if (weight_ && !(is_number(row[*weight_], weight) && weight >= 0 && std::isfinite(weight))) {
    return fmt::format("the weight is {}, but must be a number of at least 0", in_quotes(row[*weight_]));
  }
  for (std::size_t c = 0; c < names_.size(); ++c) {
    if (is_feature_[c]) append_field(hashes_[c], formats_[c], row[c], block);
  }
  for (const std::size_t c : keep_) block.kept.emplace_back(trim(row[c]));
  block.finish(target, weight, number);
  return "";
}

std::vector<std::string> CsvExampleParser::features() const {
  std::vector<std::string> features;
  for (std::size_t c = 0; c < names_.size(); ++c) {
    if (is_feature_[c]) features.push_back(names_[c]);
  }
  return features;
}

std::map<std::string, CellFormat> CsvExampleParser::formats() const {
  std::map<std::string, CellFormat> formats;
  for (std::size_t c = 0; c < names_.size(); ++c) {
    const bool used = is_feature_[c] || (c == target_ && !text_target_);
    if (used && formats_[c].kind != CellFormat::Kind::plain) formats[names_[c]] = formats_[c];
  }
  return formats;
}

std::string CsvExampleParser::target_name(double target) const {
  if (!text_target_) return format_number(target);
  const std::lock_guard lock(mutex_);
  const auto label = labels_.find(target);
  return label != labels_.end() ? label->second : "?";
}

}  // namespace ignd
