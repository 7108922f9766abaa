#include "data/csv_examples.hpp"

#include "core/text.hpp"
#include "data/table.hpp"
#include "ignd/error.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <xxhash.h>

namespace ignd {
namespace {

constexpr std::size_t most_targets = 16;  // two are classes; more only show in a message

std::size_t find_column(const std::vector<std::string>& names, const std::string& name) {
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) {
    throw InvalidArgument(fmt::format("there is no column {}{}", in_quotes(name), suggestion(name, names)));
  }
  return static_cast<std::size_t>(found - names.begin());
}

std::uint32_t text_index(std::uint64_t column, std::string_view text) {
  return static_cast<std::uint32_t>(XXH3_64bits_withSeed(text.data(), text.size(), column));
}

// A number that no float can hold says no more than one that is not there.
void append_feature(std::uint64_t column, std::string_view field, ExampleBlock& block) {
  double value = 0;
  if (!is_number(field, value)) {
    block.index.push_back(text_index(column, is_missing(field) ? "" : trimmed(field)));
    block.value.push_back(1);
    return;
  }
  const bool usable = std::isfinite(static_cast<float>(value));
  if (usable && value == 0) return;
  block.index.push_back(usable ? static_cast<std::uint32_t>(column) : text_index(column, ""));
  block.value.push_back(usable ? static_cast<float>(value) : 1);
}

}  // namespace

CsvExampleParser::CsvExampleParser(std::string_view beginning, const CsvColumns& columns, const CsvDialect& dialect)
    : delimiter_(dialect.delimiter.value_or(guess_delimiter(beginning))),
      header_(dialect.header.value_or(guess_header(beginning, delimiter_))) {
  CsvRow row(delimiter_);
  const char* at = beginning.data();
  const char* const end = at + beginning.size();
  const char* next = row.split(at, end, true);
  for (std::size_t i = 0; i < row.size(); ++i) {
    names_.push_back(header_ ? std::string(trimmed(row[i])) : fmt::format("c{}", i + 1));
    hashes_.push_back(XXH3_64bits(names_.back().data(), names_.back().size()));
  }
  target_ = find_column(names_, columns.target);
  if (columns.weight) weight_ = find_column(names_, *columns.weight);
  if (header_) at = next;
  double value = 0;
  while (at < end) {
    next = row.split(at, end, false);
    if (next == nullptr) break;
    at = next;
    if (row.size() != names_.size()) continue;
    text_target_ = !is_missing(row[target_]) && !is_number(row[target_], value);
    if (text_target_) return;
  }
}

std::string CsvExampleParser::read_target(std::string_view field, double& target) const {
  if (is_missing(field)) return fmt::format("the target {} is missing", in_quotes(names_[target_]));
  if (!text_target_) {
    if (is_number(field, target) && std::isfinite(target)) return "";
    return fmt::format("the target {} is {}, which is not a finite number", in_quotes(names_[target_]),
                       in_quotes(field));
  }
  target = static_cast<double>(text_code(trimmed(field)));
  const std::lock_guard lock(mutex_);
  if (labels_.size() < most_targets) labels_.try_emplace(target, trimmed(field));
  return "";
}

std::string CsvExampleParser::parse_line(std::string_view line, std::uint64_t number, ExampleBlock& block) const {
  if ((header_ && number == 1) || trimmed(line).empty()) return "";
  CsvRow row(delimiter_);
  row.split(line.data(), line.data() + line.size(), true);
  if (row.size() != names_.size()) return fmt::format("has {} fields instead of {}", row.size(), names_.size());
  double target = 0;
  std::string fault = read_target(row[target_], target);
  if (!fault.empty()) return fault;
  double weight = 1;
  if (weight_ && !(is_number(row[*weight_], weight) && weight >= 0 && std::isfinite(weight))) {
    return fmt::format("the weight is {}, but must be a number of at least 0", in_quotes(row[*weight_]));
  }
  for (std::size_t c = 0; c < names_.size(); ++c) {
    if (c == target_ || c == weight_) continue;
    append_feature(hashes_[c], row[c], block);
  }
  block.finish(target, weight, number);
  return "";
}

std::string CsvExampleParser::target_name(double target) const {
  if (!text_target_) return format_number(target);
  const std::lock_guard lock(mutex_);
  const auto label = labels_.find(target);
  return label != labels_.end() ? label->second : "?";
}

}  // namespace ignd
