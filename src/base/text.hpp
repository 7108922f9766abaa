#pragma once

#include "ignd/error.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// Numbers, words, times and characters as text, for specs and messages.
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

// A field of comma-separated values: csv_quoted always puts it in quotes, csv_bytes only where it needs them.
// Spreadsheets take a text for a formula that begins with one of = + - @ or a tab and is not a number: csv_bytes puts
// an apostrophe in front of it.
std::string csv_quoted(std::string_view text);
std::string csv_bytes(std::string_view text);

// Joins faults into one line: the first few, and how many more there are.
std::string list_faults(std::span<const std::string> faults);

// Returns the result of `make`. If it throws InvalidArgument, returns a default value and adds the message to `faults`,
// so that one message can report all faults.
template <class Make>
auto collect_fault(std::vector<std::string>& faults, Make make) -> decltype(make()) {
  try {
    return make();
  } catch (const InvalidArgument& fault) {
    faults.emplace_back(fault.what());
    return {};
  }
}

// "90s", "10m" or "2h" in seconds. Throws InvalidArgument.
double parse_duration(std::string_view text);

// Numbers for people.
std::string with_commas(std::uint64_t count);                       // "1,234,567"
std::string in_short(std::optional<double> value, int digits = 4);  // "n/a" if there is none

// For people: "0.51 s", "45 s", "3 min 20 s", "1 h 20 min"; "n/a" for what is not a duration.
std::string duration_text(double seconds);

// The start of a text that is not empty: a character, or a truncated or invalid sequence.
struct Utf8Character {
  std::size_t size;
  bool whole;
};
Utf8Character character_at(std::string_view text);

// The text itself if it is UTF-8. Otherwise a copy in `buffer`, with one U+FFFD for every truncated sequence, as long
// as possible, and for every other invalid byte: as Python's errors="replace" does, and as Unicode recommends.
std::string_view repaired_utf8(std::string_view text, std::string& buffer);

// The names of an enumeration's values, in one table.
template <class Enum>
struct EnumName {
  Enum value;
  const char* name;
};

template <class Enum, std::size_t count>
constexpr const char* name_in(const EnumName<Enum> (&names)[count], Enum value) {
  for (const auto& known : names) {
    if (known.value == value) return known.name;
  }
  return "unknown";
}

template <class Enum, std::size_t count>
constexpr std::optional<Enum> value_in(const EnumName<Enum> (&names)[count], std::string_view name) {
  for (const auto& known : names) {
    if (known.name == name) return known.value;
  }
  return std::nullopt;
}

}  // namespace ignd
