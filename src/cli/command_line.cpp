#include "cli/command_line.hpp"

#include "base/settings.hpp"
#include "base/text.hpp"
#include "ignd/error.hpp"
#include "learn/run_spec.hpp"

#include <algorithm>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace ignd::cli {
namespace {

// What may be given, as the help shows it.
std::string range_text(const SettingKey& key) {
  if (key.kind == SettingKey::Kind::count) {
    return key.high < any_count ? fmt::format("UINT:{}..{}", key.low, key.high) : "UINT:COUNT";
  }
  if (key.kind == SettingKey::Kind::number) return fmt::format("FLOAT:{:g}..{:g}", key.low, key.high);
  std::vector<std::string> words = key.choices;
  std::erase_if(words, [&](const std::string& word) { return word.empty() || word == left_open; });
  return words.empty() ? "TEXT" : fmt::format("TEXT:{{{}}}", join(words, ","));
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

CLI::Option* check_by(CLI::Option* option, const SettingKey& key) {
  const auto canonical = [key, name = option->get_name()](std::string& text) -> std::string {
    try {
      text = canonical_value(key, text, name);
      return "";
    } catch (const InvalidArgument& fault) {
      throw CLI::ConversionError(fault.what());
    }
  };
  return option->type_name(range_text(key))->transform(CLI::Validator(canonical, ""));
}

CLI::Option* check_count(CLI::Option* option, std::uint64_t least, std::uint64_t most) {
  SettingKey key;
  key.kind = SettingKey::Kind::count;
  key.default_value = std::to_string(least);
  key.low = static_cast<double>(least);
  key.high = static_cast<double>(most);
  return check_by(option, key);
}

void add_run_options(CLI::App* command, RunSpec& spec, const std::function<bool(const RunKey& key)>& wanted) {
  for (const RunKey& key : run_keys()) {
    if (!key.is_option || !wanted(key)) continue;
    const std::string name = "--" + key.name;
    if (key.kind == SettingKey::Kind::flag) {
      command
          ->add_flag_callback(
              name, [&spec, &key] { key.set(spec, "true"); }, key.help + key.tool_help)
          ->group(key.group);
      continue;
    }
    CLI::Option* option = command->add_option_function<std::string>(
        name, [&spec, &key](const std::string& value) { key.set(spec, value); }, key.help + key.tool_help);
    check_by(option, key)->group(key.name == "target" ? "Options" : key.group);
    if (!key.default_value.empty() && key.default_value != left_open) option->default_str(key.default_value);
  }
}

std::set<std::string> given_names(const CLI::App& command) {
  std::set<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    if (option->count() > 0 && !option->get_positional()) names.insert(option->get_lnames().at(0));
  }
  return names;
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
