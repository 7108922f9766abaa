#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace CLI {  // NOLINT(readability-identifier-naming): the name of CLI11
class App;
class ParseError;
class Validator;
}  // namespace CLI

namespace ignd::cli {

// Checks of option values, for Option::transform(). CLI11's own conversions read -1 as a very large count, 010 as eight
// and 2^64 as 2^64 - 1, and accept nan for any range.

// A whole number in decimal digits, from `least` to `most`.
CLI::Validator is_count(std::uint64_t least = 0, std::uint64_t most = UINT64_MAX);

// A share of the rows: 0 to 0.9.
CLI::Validator is_share();

// A number between the two.
CLI::Validator is_number(double low, double high);

// One of a few words; the message offers the nearest one.
CLI::Validator is_one_of(std::vector<std::string> words);

// Explains what is wrong with a command line: names the command or option that was probably meant, and the help.
std::string explain(const CLI::App& app, const CLI::ParseError& fault);

}  // namespace ignd::cli
