#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// Numbers and words as text, for specs and messages.
namespace ignd {

// Independent of the locale. format_number returns the shortest text that reads back as the same number. The parsers
// accept the whole text (also "inf", not "nan") or throw InvalidArgument with `what` in the message.
std::string format_number(double value);
double parse_number(std::string_view text, std::string_view what);
std::uint64_t parse_count(std::string_view text, std::string_view what);

// Makes foreign text fit for a one-line message: writes unprintable bytes as \x0a and truncates after `limit` bytes.
std::string printable(std::string_view text, std::size_t limit = 60);
std::string in_quotes(std::string_view text);
std::string quoted_path(const std::filesystem::path& path);  // never truncated

// ", did you mean 'x'?" with the known name nearest to `word`; empty if none is close.
std::string suggestion(std::string_view word, std::span<const std::string> known);

// The parts between separators, one more than there are separators; parts may be empty.
std::vector<std::string_view> split(std::string_view text, char separator);

// Without the blanks at both ends. Newlines end lines, so by default they are not blanks.
inline std::string_view trim(std::string_view text, std::string_view blanks = " \t\r") {
  const auto is_blank = [&](char c) { return std::find(blanks.begin(), blanks.end(), c) != blanks.end(); };
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

std::string join(std::span<const std::string> words, std::string_view separator);

// A field of comma-separated values: always in quotes, or where it needs them. Spreadsheets take a text that begins
// with
// =, +, -, @ or a tab for a formula, unless it is a number: csv_bytes puts an apostrophe in front of it.
std::string csv_quoted(std::string_view text);
std::string csv_bytes(std::string_view text);

// Joins faults into one line: the first few, and how many more there are.
std::string list_faults(std::span<const std::string> faults);

}  // namespace ignd
