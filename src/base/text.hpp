#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

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

std::string join(std::span<const std::string> words, std::string_view separator);

// The faults of some input in one line: the first few of them, and how many more there are.
std::string list_faults(std::span<const std::string> faults);

}  // namespace ignd
