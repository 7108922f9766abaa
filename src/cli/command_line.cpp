#include "cli/command_line.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace ignd::cli {
namespace {

std::string count_fault(const std::string& text, std::uint64_t least, std::uint64_t most) {
  const bool bounded = most < UINT64_MAX;
  const std::string range =
      bounded ? fmt::format("between {} and {}", least, most) : fmt::format("of at least {}", least);
  if (text.empty() || text.find_first_not_of("0123456789") != std::string::npos) {
    return fmt::format("{} is not a whole number {}", in_quotes(text), range);
  }
  std::uint64_t value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (bounded && (fault != std::errc{} || value > most)) return fmt::format("{} is not {}", printable(text), range);
  if (fault != std::errc{}) return fmt::format("{} is too large: the largest number is {}", printable(text), most);
  return value < least ? fmt::format("{} is not {}", value, range) : "";
}

// The words of a command line that are neither options nor their values nor positional arguments.
std::vector<std::string> unused_words(const CLI::App& command) {
  std::vector<std::string> words = command.remaining();
  std::erase(words, "--");
  return words;
}

bool is_option(const std::string& word) { return word.size() > 1 && word.starts_with('-'); }

std::vector<std::string> option_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
  return names;
}

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  const auto all = app.get_subcommands([](const CLI::App*) { return true; });
  return {all.begin(), all.end()};
}

std::string unknown_option(const CLI::App& app, const CLI::App& command, const std::string& called,
                           const std::string& word) {
  const std::string name = word.substr(0, word.find('='));
  for (const CLI::App* other : commands_of(app)) {
    if (other == &command || std::ranges::count(option_names(*other), name) == 0) continue;
    return fmt::format("{} is an option of {} only", in_quotes(name), other->get_name());
  }
  // Any letter is near to any other.
  const std::string near = name.starts_with("--") ? suggestion(name, option_names(command)) : "";
  return fmt::format("there is no option {}{}{}", in_quotes(name), called.empty() ? "" : " of" + called, near);
}

std::string unknown_command(const CLI::App& command, const std::string& called, const std::string& word) {
  std::vector<std::string> names;
  for (const CLI::App* known : commands_of(command)) names.push_back(known->get_name());
  return fmt::format("there is no command {}{}{}", in_quotes(word), called.empty() ? "" : " of" + called,
                     suggestion(word, names));
}

}  // namespace

CLI::Validator is_count(std::uint64_t least, std::uint64_t most) {
  const auto check = [least, most](std::string& text) {
    std::string fault = count_fault(text, least, most);
    // CLI11 would read leading zeros as octal.
    if (fault.empty()) text.erase(0, std::min(text.find_first_not_of('0'), text.size() - 1));
    return fault;
  };
  return {check, most < UINT64_MAX ? fmt::format("{}..{}", least, most) : "COUNT"};
}

CLI::Validator is_share() {
  const auto check = [](const std::string& text) -> std::string {
    double value = 0;
    const bool good = CLI::detail::lexical_cast(text, value) && value >= 0 && value <= 0.9;
    return good ? "" : fmt::format("{} is not a number between 0 and 0.9", in_quotes(text));
  };
  return {check, "SHARE"};
}

CLI::Validator is_number(double low, double high) {
  const auto check = [low, high](const std::string& text) -> std::string {
    double value = 0;
    const bool good = CLI::detail::lexical_cast(text, value) && value >= low && value <= high;
    return good ? "" : fmt::format("{} is not a number between {} and {}", in_quotes(text), low, high);
  };
  return {check, fmt::format("{:g}..{:g}", low, high)};
}

CLI::Validator is_one_of(std::vector<std::string> words) {
  std::string known = fmt::format("{{{}}}", join(words, ","));
  const auto check = [words = std::move(words)](const std::string& text) -> std::string {
    if (std::ranges::count(words, text) > 0) return "";
    return fmt::format("{} is not one of {}{}", in_quotes(text), join(words, ", "), suggestion(text, words));
  };
  return {check, std::move(known)};
}

std::string explain(const CLI::App& app, const CLI::ParseError& fault) {
  const CLI::App* command = &app;
  std::string called;
  std::string found;
  // An unused word is the more likely reason if something else is missing, too.
  const bool may_be_unused = dynamic_cast<const CLI::ExtrasError*>(&fault) != nullptr ||
                             dynamic_cast<const CLI::RequiredError*>(&fault) != nullptr;
  while (true) {
    const std::vector<std::string> words =
        may_be_unused && found.empty() ? unused_words(*command) : std::vector<std::string>();
    const auto option = std::ranges::find_if(words, is_option);
    const bool takes_commands = !commands_of(*command).empty();
    if (!words.empty() && takes_commands && !is_option(words[0])) {
      found = unknown_command(*command, called, words[0]);
    } else if (option != words.end()) {
      found = unknown_option(app, *command, called, *option);
    } else if (!words.empty()) {
      found = fmt::format("{} is one argument too many", in_quotes(words[0]));
    }
    const auto parsed = command->get_subcommands();
    if (parsed.empty()) break;
    command = parsed[0];
    called += " " + command->get_name();
  }
  if (found.empty()) found = printable(fault.what(), 200);
  return fmt::format("{} (see ignd{} --help)", found, called);
}

}  // namespace ignd::cli
