#include "lab/experiment_tables.hpp"

#include "base/spec.hpp"
#include "base/text.hpp"
#include "ignd/error.hpp"
#include "ignd/step_rule.hpp"
#include "ignd/transform.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>

namespace ignd {

bool is_list_of(const toml::node& node, bool (*holds)(const toml::node&)) {
  const auto* list = node.as_array();
  return list != nullptr && std::all_of(list->begin(), list->end(), holds);
}

double number_in(const toml::node& node) {
  if (const auto whole = node.value_exact<std::int64_t>()) return static_cast<double>(*whole);
  return node.value<double>().value_or(0);
}

std::string key_text(const toml::key& key) { return std::string(key.str()); }

bool is_pair(const toml::node& node) {
  return is_list_of(node, [](const toml::node& item) { return item.is_string(); }) && node.as_array()->size() == 2;
}

bool is_of(const toml::node& node, FileKey::Kind kind) {
  using enum FileKey::Kind;
  switch (kind) {
    case text:
      return node.is_string();
    case number:
      return node.is_number();
    case count:
      return node.is_integer() && *node.value<std::int64_t>() >= 1 &&
             *node.value<std::int64_t>() <= static_cast<std::int64_t>(most_seeds);
    case flag:
      return node.is_boolean();
    case texts:
      return is_list_of(node, [](const toml::node& item) { return item.is_string(); });
    case pairs:
      return is_list_of(node, is_pair);
    case rates:
      return node.is_table() || is_list_of(node, [](const toml::node& item) { return item.is_number(); });
    case table:
      return node.is_table();
    case tables:
      return is_list_of(node, [](const toml::node& item) { return item.is_table(); });
  }
  return false;
}

void check_keys(FileFaults& faults, const toml::table& given, const std::string& table_name, const std::string& where) {
  std::vector<std::string> known;
  for (const FileKey& key : file_keys()) {
    if (key.table != table_name) continue;
    known.push_back(key.name);
    const toml::node* node = given.get(key.name);
    if (node == nullptr) {
      if (key.required) faults.add(given, "{} has no '{}' ({})", where, key.name, kind_name(key.kind));
    } else if (!is_of(*node, key.kind)) {
      faults.add(*node, "'{}' must be {}{}{}", key.name, key.kind == FileKey::Kind::flag ? "" : "a ",
                 kind_name(key.kind),
                 key.kind == FileKey::Kind::count ? fmt::format(" between 1 and {}", most_seeds) : "");
    }
  }
  for (const auto& [key, node] : given) {
    const std::string name = key_text(key);
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    faults.add(node, "{} has an unknown key {}{}", where, in_quotes(name), suggestion(name, known));
  }
}

std::string text_of(const toml::table& from, std::string_view key) {
  return from[key].value<std::string>().value_or("");
}
std::optional<double> number_of(const toml::table& from, std::string_view key) {
  const toml::node* node = from.get(key);
  return node != nullptr && node->is_number() ? std::optional(number_in(*node)) : std::nullopt;
}
std::optional<std::uint64_t> count_of(const toml::table& from, std::string_view key) {
  const auto value = from[key].is_integer() ? from[key].value<std::int64_t>() : std::nullopt;
  if (!value || *value < 1 || *value > static_cast<std::int64_t>(most_seeds)) return std::nullopt;
  return static_cast<std::uint64_t>(*value);
}

std::string choice_of(FileFaults& faults, const toml::table& from, std::string_view key,
                      const std::vector<std::string>& allowed, const std::string& default_value) {
  const toml::node* node = from.get(key);
  if (node == nullptr || !node->is_string()) return default_value;
  std::string value = text_of(from, key);
  if (std::find(allowed.begin(), allowed.end(), value) != allowed.end()) return value;
  faults.add(*node, "'{}' is {}, but must be one of {}{}", key, in_quotes(value), join(allowed, ", "),
             suggestion(value, allowed));
  return default_value;
}

namespace {

bool is_finite_number(const toml::node& node) { return node.is_number() && std::isfinite(number_in(node)); }

std::string matrix_text(const toml::node& node) {
  MatrixRows rows;
  if (const auto* list = node.as_array()) {
    for (const auto& row : *list) {
      rows.emplace_back();
      if (const auto* items = row.as_array()) {
        for (const auto& item : *items) rows.back().push_back(number_in(item));
      }
    }
  }
  return rows_text(rows);
}

// Equal values have equal texts, however they were written.
std::string setting_text(const toml::node& node, const SettingKey& key) {
  switch (key.kind) {
    case SettingKey::Kind::number:
      return format_number(number_in(node));
    case SettingKey::Kind::count:
      return std::to_string(node.value<std::int64_t>().value_or(0));
    case SettingKey::Kind::flag:
      return node.value<bool>().value_or(false) ? "true" : "false";
    case SettingKey::Kind::word:
      return node.value<std::string>().value_or("");
    case SettingKey::Kind::matrix:
      return matrix_text(node);
  }
  return {};
}

// A setting as a value of a file.
void insert_setting(toml::table& into, const SettingKey& key, const std::string& value) {
  switch (key.kind) {
    case SettingKey::Kind::number:
      into.insert(key.name, parse_number(value, key.name));
      break;
    case SettingKey::Kind::count:
      into.insert(key.name, static_cast<std::int64_t>(parse_count(value, key.name)));
      break;
    case SettingKey::Kind::flag:
      into.insert(key.name, value == "true");
      break;
    case SettingKey::Kind::word:
    case SettingKey::Kind::matrix:
      into.insert(key.name, value);
      break;
  }
}

}  // namespace

void SettingsReader::check(const toml::table& layer) {
  if (task_ == nullptr || !checked_.insert(&layer).second) return;
  const std::size_t before = faults_.size();
  std::vector<std::string> known;
  for (const SettingKey& key : task_->keys()) known.push_back(key.name);
  for (const auto& [key, node] : layer) {
    const std::string name = key_text(key);
    const auto found = std::find_if(task_->keys().begin(), task_->keys().end(),
                                    [&](const SettingKey& candidate) { return candidate.name == name; });
    if (found == task_->keys().end()) {
      faults_.add(node, "the task '{}' has no setting {}{}", task_->name(), in_quotes(name), suggestion(name, known));
    } else {
      check_setting(node, *found);
    }
  }
  if (faults_.size() > before) bad_.insert(&layer);
}

void SettingsReader::check_setting(const toml::node& node, const SettingKey& key) {
  using Kind = SettingKey::Kind;
  const bool fits = (key.kind == Kind::number && node.is_number()) || (key.kind == Kind::count && node.is_integer()) ||
                    (key.kind == Kind::flag && node.is_boolean()) || (key.kind == Kind::word && node.is_string()) ||
                    (key.kind == Kind::matrix &&
                     is_list_of(node, [](const toml::node& row) { return is_list_of(row, is_finite_number); }));
  if (!fits) {
    faults_.add(node, "the setting '{}' must be {}{}", key.name, key.kind == Kind::flag ? "" : "a ",
                kind_name(key.kind));
    return;
  }
  try {
    canonical_value(key, setting_text(node, key), fmt::format("the setting '{}'", key.name));
  } catch (const InvalidArgument& fault) {
    faults_.add(node, "{}", fault.what());
  }
}

Settings SettingsReader::read(const std::vector<const toml::table*>& layers, const toml::table& where) {
  if (task_ == nullptr) return {};
  std::map<std::string, std::string> values;
  for (const SettingKey& key : task_->keys()) {
    const bool number = key.kind == SettingKey::Kind::number;
    values[key.name] = number ? format_number(parse_number(key.default_value, key.name)) : key.default_value;
  }
  const std::size_t before = faults_.size();
  for (const toml::table* layer : layers) {
    if (layer == nullptr) continue;
    check(*layer);
    for (const SettingKey& key : task_->keys()) {
      if (const toml::node* node = layer->get(key.name)) values[key.name] = setting_text(*node, key);
    }
  }
  Settings settings(std::move(values));
  if (faults_.size() > before || !all_good(layers)) return settings;
  // A fault of a layer is a fault of every method under it, but listed once.
  const toml::table* deepest = &where;
  for (const toml::table* layer : layers) deepest = layer != nullptr ? layer : deepest;
  for (const std::string& unfit : task_->faults(settings)) {
    if (unfit_.insert(unfit).second) faults_.add(*deepest, "{}", unfit);
  }
  return settings;
}

bool SettingsReader::all_good(const std::vector<const toml::table*>& layers) const {
  return std::none_of(layers.begin(), layers.end(),
                      [&](const toml::table* layer) { return layer != nullptr && bad_.contains(layer); });
}

namespace {

constexpr std::string_view of_rule = "rule.", of_transform = "transform.";

bool is_option(std::string_view key) { return key.starts_with(of_rule) || key.starts_with(of_transform); }

std::string value_text(const toml::node& node) {
  if (const auto flag = node.value_exact<bool>()) return *flag ? "true" : "false";
  return node.is_number() ? format_number(number_in(node)) : node.value<std::string>().value_or("");
}

// The lists of a table by key, where `rule.eps_lm = [...]` is a table in the table.
std::vector<std::pair<std::string, const toml::node*>> lists_of(const toml::table& table) {
  std::vector<std::pair<std::string, const toml::node*>> lists;
  for (const auto& [key, node] : table) {
    const std::string name = key_text(key);
    const toml::table* options = is_option(name + ".") ? node.as_table() : nullptr;
    if (options == nullptr) {
      lists.emplace_back(name, &node);
      continue;
    }
    for (const auto& [option, values] : *options) lists.emplace_back(name + "." + key_text(option), &values);
  }
  return lists;
}

}  // namespace

std::string Choice::label() const {
  std::vector<std::string> parts;
  parts.reserve(values.size());
  for (const auto& [key, value] : values) parts.push_back(key + " " + value);
  return join(parts, ", ");
}

Optimizer Choice::applied_to(const Optimizer& optimizer) const {
  Optimizer made = optimizer;
  for (const auto& [key, value] : values) {
    if (!is_option(key)) continue;
    if (value.empty() || value.find_first_of(",=:") != std::string::npos) {
      throw InvalidArgument(fmt::format("the option '{}' cannot be {}", key, in_quotes(value)));
    }
    if (key.starts_with(of_rule)) made.rule = with_option(made.rule, key.substr(of_rule.size()), value);
    if (key.starts_with(of_transform)) {
      made.transform = with_option(made.transform, key.substr(of_transform.size()), value);
    }
  }
  // What is the same is to be the same run, however it is spelled.
  if (make_step_rule(made.rule)->spec() == make_step_rule(optimizer.rule)->spec()) made.rule = optimizer.rule;
  if (make_transform<double>(made.transform)->spec() == make_transform<double>(optimizer.transform)->spec()) {
    made.transform = optimizer.transform;
  }
  return made;
}

std::vector<Choice> SettingsReader::choices(const char* name, const toml::table& lists) {
  struct Combination {
    std::map<std::string, std::string> values;
    toml::table settings;
  };
  std::vector<Combination> made(1);
  for (const auto& [key, node] : lists_of(lists)) {
    const toml::array* values = node->as_array();
    if (values == nullptr || values->empty()) {
      faults_.add(*node, "'{}' needs a list of values for {}", name, in_quotes(key));
      return {};
    }
    std::vector<Combination> longer;
    for (const Combination& before : made) {
      for (const auto& value : *values) {
        longer.push_back(before);
        longer.back().values[key] = value_text(value);
        if (!is_option(key)) longer.back().settings.insert(key, value);
      }
    }
    constexpr std::size_t most_choices = 1000;
    if (longer.size() > most_choices) {
      faults_.add(*node, "'{}' makes more than {} combinations", name, most_choices);
      return {};
    }
    made = std::move(longer);
  }
  std::vector<Choice> choices;
  std::set<std::string> labels;
  for (Combination& one : made) {
    choices.push_back({std::move(one.values), &layers_.emplace_back(std::move(one.settings))});
    const std::string label = choices.back().label();
    if (!labels.insert(label).second) faults_.add(lists, "'{}' has {} twice", name, in_quotes(label));
  }
  return choices;
}

toml::table settings_table(const Task& task, const Settings& settings, const Settings* below) {
  toml::table made;
  for (const SettingKey& key : task.keys()) {
    const std::string& value = settings.word(key.name);
    const std::string& lower = below == nullptr ? key.default_value : below->word(key.name);
    if (value != lower) insert_setting(made, key, value);
  }
  return made;
}

}  // namespace ignd
