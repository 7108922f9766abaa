#include "base/settings.hpp"

#include "base/text.hpp"
#include "ignd/error.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

namespace ignd {
namespace {

std::string canonical_number(const SettingKey& key, const std::string& value, const std::string& what) {
  const double number = parse_number(value, what);
  if (number >= key.low && number <= key.high) return format_number(number);
  throw InvalidArgument(fmt::format("{} is {}, but must be between {} and {}", what, format_number(number),
                                    format_number(key.low), format_number(key.high)));
}

std::string canonical_count(const SettingKey& key, const std::string& value, const std::string& what) {
  const auto bound = [](double of) { return of < any_count ? static_cast<std::uint64_t>(of) : UINT64_MAX; };
  std::uint64_t count = 0;
  const auto [end, fault] = std::from_chars(value.data(), value.data() + value.size(), count);
  const bool whole = fault == std::errc{} && end == value.data() + value.size();
  if (whole && count >= bound(key.low) && count <= bound(key.high)) return std::to_string(count);
  throw InvalidArgument(fmt::format("{} is {}, but must be a whole number between {} and {}", what, in_quotes(value),
                                    bound(key.low), bound(key.high)));
}

}  // namespace

std::string rows_text(const MatrixRows& rows) {
  std::string text = "[";
  for (const auto& row : rows) {
    text += text.size() > 1 ? ",[" : "[";
    for (std::size_t j = 0; j < row.size(); ++j) text += (j > 0 ? "," : "") + format_number(row[j]);
    text += "]";
  }
  return text + "]";
}

MatrixRows parse_rows(std::string_view text, const std::string& name) {
  MatrixRows rows;
  std::size_t at = 1;
  while ((at = text.find('[', at)) != std::string_view::npos) {
    const std::size_t end = text.find(']', at);
    if (end == std::string_view::npos) throw InvalidArgument(fmt::format("the matrix '{}' ends too early", name));
    rows.emplace_back();
    for (std::size_t start = at + 1; start < end;) {
      const std::size_t comma = std::min(text.find(',', start), end);
      rows.back().push_back(parse_number(text.substr(start, comma - start), name));
      start = comma + 1;
    }
    at = end;
  }
  return rows;
}

const char* kind_name(SettingKey::Kind kind) {
  switch (kind) {
    case SettingKey::Kind::number:
      return "number";
    case SettingKey::Kind::count:
      return "whole number";
    case SettingKey::Kind::flag:
      return "true or false";
    case SettingKey::Kind::word:
      return "text";
    case SettingKey::Kind::matrix:
      return "matrix";
  }
  return "";
}

std::string canonical_value(const SettingKey& key, const std::string& value, const std::string& what) {
  if (value == key.default_value) return value;
  switch (key.kind) {
    case SettingKey::Kind::number:
      return canonical_number(key, value, what);
    case SettingKey::Kind::count:
      return canonical_count(key, value, what);
    case SettingKey::Kind::flag:
      if (value == "true" || value == "false") return value;
      throw InvalidArgument(fmt::format("{} is {}, but must be true or false", what, in_quotes(value)));
    case SettingKey::Kind::word:
      if (key.choices.empty() || std::ranges::find(key.choices, value) != key.choices.end()) return value;
      throw InvalidArgument(fmt::format("{} is {}, but must be one of {}{}", what, in_quotes(value),
                                        join(key.choices, ", "), suggestion(value, key.choices)));
    case SettingKey::Kind::matrix:
      return value;
  }
  return value;
}

const std::string& Settings::word(const std::string& name) const {
  const auto found = values_.find(name);
  if (found == values_.end()) throw InvalidArgument(fmt::format("there is no setting '{}'", name));
  return found->second;
}

std::string Settings::text() const {
  std::string lines;
  for (const auto& [name, value] : values_) lines += fmt::format("{}={}\n", name, value);
  return lines;
}

double Settings::number(const std::string& name) const { return parse_number(word(name), name); }

std::uint64_t Settings::count(const std::string& name) const { return parse_count(word(name), name); }

bool Settings::flag(const std::string& name) const { return word(name) == "true"; }

MatrixRows Settings::matrix(const std::string& name) const { return parse_rows(word(name), name); }

}  // namespace ignd
