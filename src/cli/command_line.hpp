#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>

namespace CLI {  // NOLINT(readability-identifier-naming): the name of CLI11
class App;
class Option;
class ParseError;
}  // namespace CLI

namespace ignd {
struct SettingKey;
struct RunKey;
struct RunSpec;
}  // namespace ignd

namespace ignd::cli {

// Lets an option take only what canonical_value() takes, in that form, and shows the range or the choices in the help.
// CLI11's own conversions read -1 as a very large count, 010 as eight and 2^64 as 2^64 - 1, and accept nan for any
// range.
CLI::Option* check_by(CLI::Option* option, const SettingKey& key);

// The same for a whole number in decimal digits.
CLI::Option* check_count(CLI::Option* option, std::uint64_t least, std::uint64_t most);

// Adds the options of those keys of a run that are wanted.
void add_run_options(CLI::App* command, RunSpec& spec, const std::function<bool(const RunKey& key)>& wanted);

// The names of the options that were given, without their dashes.
std::set<std::string> given_names(const CLI::App& command);

// Explains what is wrong with a command line: names the command or option that was probably meant, and the help.
std::string explain(const CLI::App& app, const CLI::ParseError& fault);

}  // namespace ignd::cli
