#pragma once

#include "base/toml.hpp"
#include "lab/experiment.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

// The tables of an experiment file: which keys they may have, and the settings of the task. Only for sources that read
// and write such files.
namespace ignd {

bool is_pair(const toml::node& node);
bool is_list_of(const toml::node& node, bool (*holds)(const toml::node&));

// A number as a double. The parser itself refuses whole numbers that no double equals.
double number_in(const toml::node& node);

std::string key_text(const toml::key& key);

// The faults of a file, each with its line and listed once.
class FileFaults {
 public:
  template <class... Arguments>
  void add(const toml::node& node, fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    // A combination of several parts of the file has no line.
    const auto own = node.source().begin.line;
    const auto line = own == 0 && combined_at != nullptr ? combined_at->source().begin.line : own;
    std::string text = fmt::format("line {}: {}", line, fmt::format(format, std::forward<Arguments>(arguments)...));
    if (said_.insert(text).second) texts_.push_back(std::move(text));
  }

  const std::vector<std::string>& texts() const { return texts_; }
  std::size_t size() const { return texts_.size(); }

  const toml::node* combined_at = nullptr;  // while variants are read: the table that they combine

 private:
  std::vector<std::string> texts_;
  std::set<std::string> said_;
};

bool is_of(const toml::node& node, FileKey::Kind kind);

// Looks for unknown keys, missing ones, and values of the wrong kind. Values that are tables are checked where they are
// read.
void check_keys(FileFaults& faults, const toml::table& given, const std::string& table_name, const std::string& where);

// A value if it is there and of the right kind; check_keys reports everything else.
std::string text_of(const toml::table& from, std::string_view key);
std::optional<double> number_of(const toml::table& from, std::string_view key);
std::optional<std::uint64_t> count_of(const toml::table& from, std::string_view key);

// A word of a list, or the default.
std::string choice_of(FileFaults& faults, const toml::table& from, std::string_view key,
                      const std::vector<std::string>& allowed, const std::string& default_value);

// One of the combinations that a table such as 'vary' lists: values of settings of the task, and of options of the rule
// and the transform, whose keys are "rule.eps_lm" and the like.
struct Choice {
  std::map<std::string, std::string> values;
  const toml::table* settings = nullptr;  // those of the task, as a layer that lives as long as the reader

  std::string label() const;  // "batch 8, rule.eps_lm 0.1"

  // The optimizer with these options. Throws InvalidArgument, with the nearest known name, where it has none such.
  Optimizer applied_to(const Optimizer& optimizer) const;
};

// Reads tables of settings, which lie in layers: those of the file, of a panel, of a method and so on.
class SettingsReader {
 public:
  explicit SettingsReader(FileFaults& faults) : faults_(faults) {}

  // Without a task, settings are not checked.
  void set_task(const Task& task) { task_ = &task; }

  // Looks for unknown settings and bad values, once for each table.
  void check(const toml::table& layer);

  // The settings of all layers, later ones over earlier ones; null layers are skipped. Faults of a layer are listed
  // once, however many methods share it. Faults of the combination belong to the last layer, or to `where`.
  Settings read(const std::vector<const toml::table*>& layers, const toml::table& where);

  // Every combination of the values that a table with this name lists.
  std::vector<Choice> choices(const char* name, const toml::table& lists);

 private:
  bool all_good(const std::vector<const toml::table*>& layers) const;
  void check_setting(const toml::node& node, const SettingKey& key);

  FileFaults& faults_;
  const Task* task_ = nullptr;
  std::deque<toml::table> layers_;  // of choices; not moved: checked tables are known by their addresses
  std::set<const toml::table*> checked_, bad_;
  std::set<std::string> unfit_;
};

// The settings that differ from those of the layer below, or from the defaults, as a table of a file.
toml::table settings_table(const Task& task, const Settings& settings, const Settings* below);

}  // namespace ignd
