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

// The same in every locale. format_number gives the shortest text that reads back as the same number; the parsers take
// the whole text ("inf" included, "nan" not) or throw InvalidArgument with `what` in the message.
std::string format_number(double value);
double parse_number(std::string_view text, std::string_view what);
std::uint64_t parse_count(std::string_view text, std::string_view what);

// Somebody's text, fit to stand in a one-line message: bytes that do not print are written as \x0a, and it is cut off
// after `limit` bytes.
std::string printable(std::string_view text, std::size_t limit = 60);
std::string in_quotes(std::string_view text);
std::string quoted_path(const std::filesystem::path& path);  // however long

// ", did you mean 'x'?" with the known name nearest to `word`; empty if none is near.
std::string suggestion(std::string_view word, std::span<const std::string> known);

// The parts between the separators, one more than there are of these; parts may be empty.
std::vector<std::string_view> split(std::string_view text, char separator);

// Without the blanks at both ends. Newlines end lines, so by default they are not blanks.
inline std::string_view trim(std::string_view text, std::string_view blanks = " \t\r") {
  const auto is_blank = [&](char c) { return std::find(blanks.begin(), blanks.end(), c) != blanks.end(); };
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

std::string join(std::span<const std::string> words, std::string_view separator);

// The faults of some input in one line: the first few of them, and how many more there are.
std::string list_faults(std::span<const std::string> faults);

}  // namespace ignd
