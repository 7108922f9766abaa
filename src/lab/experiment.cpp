#include "lab/experiment.hpp"

#include "base/spec.hpp"
#include "base/text.hpp"
#include "ignd/error.hpp"
#include "ignd/step_rule.hpp"
#include "ignd/transform.hpp"
#include "lab/experiment_keys.hpp"
#include "lab/rate_range.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <set>
#include <sstream>

#include <fmt/format.h>

namespace ignd {
namespace {

[[noreturn]] void refuse_syntax() { throw InvalidArgument("line 1: the file is no TOML that can be read"); }

}  // namespace
}  // namespace ignd

// There are files that make version 3.3 of the parser fail its own assertions, and without them it relies on what they
// say. Here a failed one is a fault of the file.
#undef NDEBUG
#define TOML_ASSERT(expression) ((expression) ? void() : ignd::refuse_syntax())
#include <toml++/toml.h>

namespace ignd {
namespace {

bool is_list_of(const toml::node& node, bool (*holds)(const toml::node&)) {
  const auto* list = node.as_array();
  return list != nullptr && std::all_of(list->begin(), list->end(), holds);
}

// A number as a double; the library gives none for a whole number that no double is equal to.
double number_in(const toml::node& node) {
  if (const auto whole = node.value_exact<std::int64_t>()) return static_cast<double>(*whole);
  return node.value<double>().value_or(0);
}

bool is_finite_number(const toml::node& node) { return node.is_number() && std::isfinite(number_in(node)); }

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

// In the order of the kinds.
const std::vector<std::string>& figure_names() {
  static const std::vector<std::string> names{"curves", "seconds", "rates"};
  return names;
}

bool has_column(const Task& task, const std::string& name) {
  const auto columns = task.columns();
  return std::any_of(columns.begin(), columns.end(), [&](const Task::Column& column) { return column.name == name; });
}

bool has_method(const Panel& panel, const std::string& name) {
  return std::any_of(panel.methods.begin(), panel.methods.end(),
                     [&](const Method& method) { return method.name == name; });
}

std::string key_text(const toml::key& key) { return std::string(key.str()); }

// Reads a file of which nothing is known to be right, and keeps all that is wrong with it.
class Reader {
 public:
  Reader(const toml::table& file, const ExperimentOptions& options) : file_(file), options_(options) {
    check_keys(file, "", "the file");
    find_task_of_file();
    read_head();
    read_search();
    read_panels();
    check_comparisons();
  }

  const std::vector<std::string>& faults() const { return faults_; }
  Experiment take() { return std::move(made_); }

 private:
  template <class... Arguments>
  void fault(const toml::node& node, fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    // What was made up of several parts of the file has no place of its own.
    const auto own = node.source().begin.line;
    const auto line = own == 0 && made_of_ != nullptr ? made_of_->source().begin.line : own;
    std::string text = fmt::format("line {}: {}", line, fmt::format(format, std::forward<Arguments>(arguments)...));
    if (said_.insert(text).second) faults_.push_back(std::move(text));
  }

  // Unknown keys, missing ones, and values of the wrong kind; those that are tables are looked at where they are read.
  void check_keys(const toml::table& given, const std::string& table_name, const std::string& where) {
    std::vector<std::string> known;
    for (const FileKey& key : file_keys()) {
      if (key.table != table_name) continue;
      known.push_back(key.name);
      const toml::node* node = given.get(key.name);
      if (node == nullptr) {
        if (key.required) fault(given, "{} has no '{}' ({})", where, key.name, kind_name(key.kind));
      } else if (!is_of(*node, key.kind)) {
        fault(*node, "'{}' must be {}{}{}", key.name, key.kind == FileKey::Kind::flag ? "" : "a ", kind_name(key.kind),
              key.kind == FileKey::Kind::count ? fmt::format(" between 1 and {}", most_seeds) : "");
      }
    }
    for (const auto& [key, node] : given) {
      const std::string name = key_text(key);
      if (std::find(known.begin(), known.end(), name) != known.end()) continue;
      fault(node, "{} has an unknown key {}{}", where, in_quotes(name), suggestion(name, known));
    }
  }

  // A value where it is there and of the right kind; what else is wrong has been said by check_keys.
  static std::string text_of(const toml::table& from, std::string_view key) {
    return from[key].value<std::string>().value_or("");
  }
  static std::optional<double> number_of(const toml::table& from, std::string_view key) {
    const toml::node* node = from.get(key);
    return node != nullptr && node->is_number() ? std::optional(number_in(*node)) : std::nullopt;
  }
  static std::optional<std::uint64_t> count_of(const toml::table& from, std::string_view key) {
    const auto value = from[key].is_integer() ? from[key].value<std::int64_t>() : std::nullopt;
    if (!value || *value < 1 || *value > static_cast<std::int64_t>(most_seeds)) return std::nullopt;
    return static_cast<std::uint64_t>(*value);
  }
  const toml::table* quick() const { return options_.quick ? file_["quick"].as_table() : nullptr; }

  std::string choice(const toml::table& from, std::string_view key, const std::vector<std::string>& allowed,
                     const std::string& otherwise) {
    const toml::node* node = from.get(key);
    if (node == nullptr || !node->is_string()) return otherwise;
    std::string value = text_of(from, key);
    if (std::find(allowed.begin(), allowed.end(), value) != allowed.end()) return value;
    fault(*node, "'{}' is {}, but must be one of {}{}", key, in_quotes(value), join(allowed, ", "),
          suggestion(value, allowed));
    return otherwise;
  }

  void find_task_of_file() {
    made_.task = text_of(file_, "task");
    if (made_.task.empty()) return;
    try {
      task_ = &find_task(made_.task);
    } catch (const InvalidArgument& unknown) {
      fault(*file_.get("task"), "{}", unknown.what());
    }
  }

  void read_head() {
    made_.preview = options_.quick;
    made_.title = text_of(file_, "title");
    made_.question = text_of(file_, "question");
    made_.description = text_of(file_, "description");
    made_.paper = text_of(file_, "paper");
    made_.x_label = text_of(file_, "x-label");
    read_figures();
    const std::string by_default = choice(file_, "by-default", {"full", "quick", "nothing"}, "full");
    if (by_default != "full") made_.by_default = by_default == "quick" ? ByDefault::quick : ByDefault::nothing;
    made_.seeds = count_of(file_, "seeds").value_or(1);
    if (quick() != nullptr) made_.seeds = count_of(*quick(), "seeds").value_or(made_.seeds);
    made_.seeds = options_.seeds.value_or(made_.seeds);
    if (const auto* metric = file_["metric"].as_table()) {
      check_keys(*metric, "metric", "'metric'");
      made_.metric.label = text_of(*metric, "label");
      made_.metric.higher_is_better = choice(*metric, "better", {"higher", "lower"}, "lower") == "higher";
      made_.metric.log_scale = choice(*metric, "scale", {"linear", "log"}, "linear") == "log";
    }
    if (const auto* columns = file_["columns"].as_array()) {
      for (const auto& column : *columns) read_column(column);
    }
    if (const auto* compare = file_["compare"].as_array()) {
      for (const auto& pair : *compare) {
        if (is_pair(pair)) {
          const auto& names = *pair.as_array();
          made_.comparisons.push_back({names[0].value<std::string>().value(), names[1].value<std::string>().value()});
        }
      }
    }
    if (const auto* given = file_["quick"].as_table()) {
      check_keys(*given, "quick", "'quick'");
      if (const auto* settings = (*given)["settings"].as_table()) check_settings(*settings);
    }
  }

  void read_figures() {
    const toml::node* given = file_.get("figures");
    if (given == nullptr) made_.figures = {FigureKind::curves};
    if (given == nullptr || !is_of(*given, FileKey::Kind::texts)) return;
    const std::vector<std::string>& known = figure_names();
    for (const auto& item : *given->as_array()) {
      const auto name = item.value<std::string>().value();
      if (std::find(known.begin(), known.end(), name) == known.end()) {
        fault(item, "'figures' has {}, but knows {}{}", in_quotes(name), join(known, ", "), suggestion(name, known));
      } else if (name == "rates" && !file_.contains("search")) {
        fault(item, "a figure of rates needs a search for them");
      } else if (name == "rates" && file_["search"]["rung"].is_array()) {
        fault(item, "a figure of rates needs all of them tried alike, but the search has rungs");
      } else if (name == seconds_column && task_ != nullptr && !has_column(*task_, seconds_column)) {
        fault(item, "a figure of seconds needs runs that time themselves; those of the task '{}' do not",
              task_->name());
      } else {
        made_.figures.push_back(static_cast<FigureKind>(std::find(known.begin(), known.end(), name) - known.begin()));
      }
    }
  }

  void read_column(const toml::node& node) {
    made_.columns.push_back(node.value<std::string>().value_or(""));
    if (task_ == nullptr || !node.is_string()) return;
    std::vector<std::string> known;
    for (const Task::Column& column : task_->columns()) known.push_back(column.name);
    const std::string& name = made_.columns.back();
    if (std::find(known.begin(), known.end(), name) != known.end()) return;
    fault(node, "runs of the task '{}' have no number {}{}", task_->name(), in_quotes(name), suggestion(name, known));
  }

  void read_search() {
    const auto* search = file_["search"].as_table();
    if (search == nullptr) return;
    check_keys(*search, "search", "'search'");
    made_.search.by_validation = choice(*search, "choose-by", {"tuning-seeds", "validation"}, "") == "validation";
    if (made_.search.by_validation && task_ != nullptr && !task_->validates()) {
      fault(*search->get("choose-by"), "runs of the task '{}' have no validation score; choose by tuning-seeds",
            task_->name());
    }
    read_rungs(*search);
    if (!made_.search.by_validation || !rungs_.empty()) read_tuning_seeds(*search);
    if (const auto* range = (*search)["rates"].as_table()) {
      check_keys(*range, "search.rates", "'rates'");
      made_.search.rates = rates_between(*range);
    } else if (const auto* list = (*search)["rates"].as_array()) {
      made_.search.rates = listed_rates(*list);
    }
  }

  void read_tuning_seeds(const toml::table& search) {
    const auto seeds = count_of(search, "tuning-seeds");
    if (!seeds && !search.contains("tuning-seeds")) {
      fault(search, "a rate chosen {} needs 'tuning-seeds', their number",
            rungs_.empty() ? "by tuning seeds" : "in rungs, which have seeds of their own,");
    }
    made_.search.tuning_seeds = seeds.value_or(1);
    if (quick() != nullptr)
      made_.search.tuning_seeds = count_of(*quick(), "tuning-seeds").value_or(made_.search.tuning_seeds);
  }

  void read_rungs(const toml::table& search) {
    const auto* rungs = search["rung"].as_array();
    if (rungs == nullptr || !is_of(*rungs, FileKey::Kind::tables)) return;
    for (const auto& node : *rungs) {
      const toml::table& rung = *node.as_table();
      check_keys(rung, "search.rung", "a rung");
      if (const auto* settings = rung["settings"].as_table()) check_settings(*settings);
      rungs_.push_back(&rung);
      made_.search.keep.push_back(kept_of(rung, rungs_.size() == rungs->size()));
    }
  }

  // How many rates go on from the rung after those that have been read.
  std::uint64_t kept_of(const toml::table& rung, bool last) {
    const std::uint64_t keep = count_of(rung, "keep").value_or(1);
    if (!last && !rung.contains("keep")) fault(rung, "a rung has no 'keep', the number of rates that go on");
    if (last && keep != 1) fault(*rung.get("keep"), "the last rung keeps {} rates, but one is chosen", keep);
    if (!last && !made_.search.keep.empty() && keep > made_.search.keep.back()) {
      fault(rung, "a rung keeps {} rates, more than the {} of the rung before", keep, made_.search.keep.back());
    }
    return keep;
  }

  std::vector<double> listed_rates(const toml::array& list) {
    std::vector<double> rates;
    for (const auto& item : list) {
      const double rate = number_in(item);
      if (item.is_number() && !(rate > 0 && std::isfinite(rate))) fault(item, "a rate must be a positive number");
      rates.push_back(rate);
    }
    const auto unusable = [](double rate) { return !(rate > 0 && std::isfinite(rate)); };
    if (std::any_of(rates.begin(), rates.end(), unusable)) return {};
    std::sort(rates.begin(), rates.end());
    if (list.empty()) fault(list, "'rates' is empty");
    if (std::adjacent_find(rates.begin(), rates.end()) != rates.end()) fault(list, "a rate is listed twice");
    return rates;
  }

  std::vector<double> rates_between(const toml::table& range) {
    RateRange rates{.list = {},
                    .from = number_of(range, "from").value_or(1),
                    .to = number_of(range, "to").value_or(1),
                    .per_decade = count_of(range, "per-decade").value_or(1)};
    if (quick() != nullptr) rates.per_decade = count_of(*quick(), "per-decade").value_or(rates.per_decade);
    if (!(rates.from > 0 && rates.from <= rates.to && std::isfinite(rates.to)) || rates.per_decade > 100) {
      fault(range, "'rates' must run from a positive number to a larger one, with at most 100 per decade");
      return {};
    }
    return rates.values();
  }

  void read_panels() {
    const auto* panels = file_["panel"].as_array();
    if (panels == nullptr) return;
    for (const auto& node : *panels) {
      const auto* given = node.as_table();
      if (given == nullptr) continue;
      check_keys(*given, "panel", "a panel");
      Panel panel{text_of(*given, "name"), text_of(*given, "title"), text_of(*given, "note"), {}};
      const bool usable = panel.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string::npos;
      if (!usable) {
        fault(*given->get("name"), "the panel's name {} has other characters than small letters, digits and hyphens",
              in_quotes(panel.name));
      }
      add_methods(file_, *given, panel);
      add_methods(*given, *given, panel);
      if (panel.methods.empty()) fault(*given, "a panel has no method");
      if (!panel_names_.insert(panel.name).second) fault(*given, "two panels are named {}", in_quotes(panel.name));
      made_.panels.push_back(std::move(panel));
    }
    if (panels->empty()) fault(*panels, "there is no panel");
  }

  void add_methods(const toml::table& given, const toml::table& panel_table, Panel& panel) {
    const auto* methods = given["method"].as_array();
    if (methods == nullptr) return;
    for (const auto& item : *methods) {
      if (const auto* method = item.as_table()) add_method(*method, panel_table, panel);
    }
  }

  void add_method(const toml::table& given, const toml::table& panel_table, Panel& panel) {
    Method method = read_method(given, panel_table);
    if (has_method(panel, method.name)) {
      fault(given, "two methods of the panel {} are named {}", in_quotes(panel.name), in_quotes(method.name));
    }
    panel.methods.push_back(std::move(method));
  }

  Method read_method(const toml::table& given, const toml::table& panel) {
    check_keys(given, "panel.method", "a method");
    Method method;
    method.name = text_of(given, "name");
    method.optimizer = read_optimizer(given);
    method.rate = number_of(given, "rate");
    if (method.rate && !(*method.rate >= 0 && std::isfinite(*method.rate))) {
      fault(*given.get("rate"), "'rate' must be a finite number of at least 0");
    }
    if (!given.contains("rate") && made_.search.rates.empty() && !file_.contains("search")) {
      fault(given, "the method {} has no rate, and there is no [search] to find one", in_quotes(method.name));
    }
    if (const auto* paper = given["paper"].as_table()) {
      check_keys(*paper, "panel.method.paper", "'paper'");
      method.paper_mean = number_of(*paper, "mean");
      method.paper_std = number_of(*paper, "std");
    }
    const toml::table* preview = quick() != nullptr ? (*quick())["settings"].as_table() : nullptr;
    const bool searched = !method.rate || given.contains("vary");
    const auto fill_settings = [&](const toml::table* varied, Method& into) {
      const auto settings_in = [&](const toml::table* rung) {
        return read_settings({file_["settings"].as_table(), panel["settings"].as_table(), given["settings"].as_table(),
                              rung, preview, varied},
                             given);
      };
      into.settings = settings_in(nullptr);
      for (const toml::table* rung : rungs_) {
        if (searched) into.rungs.push_back(settings_in((*rung)["settings"].as_table()));
      }
    };
    made_of_ = given.get("vary");
    for (const toml::table* varied : read_variants(given)) {
      Method variant;
      variant.name = method.name;
      variant.optimizer = method.optimizer;
      variant.setting = label_of(*varied);
      fill_settings(varied, variant);
      method.variants.push_back(std::move(variant));
    }
    made_of_ = nullptr;
    if (method.variants.empty()) {
      fill_settings(nullptr, method);
    } else {
      method.settings = method.variants.front().settings;
    }
    return method;
  }

  // Every combination of the values that 'vary' lists for some settings.
  std::vector<const toml::table*> read_variants(const toml::table& given) {
    const toml::table* vary = given["vary"].as_table();
    if (vary == nullptr) return {};
    if (!file_.contains("search")) fault(*vary, "'vary' needs a [search], which says what variants are chosen by");
    std::vector<toml::table> made(1);
    for (const auto& [key, node] : *vary) {
      const toml::array* values = node.as_array();
      if (values == nullptr || values->empty()) {
        fault(node, "'vary' needs a list of values for {}", in_quotes(key_text(key)));
        return {};
      }
      std::vector<toml::table> longer;
      for (const toml::table& before : made) {
        for (const auto& value : *values) {
          longer.push_back(before);
          longer.back().insert(key, value);
        }
      }
      constexpr std::size_t most_variants = 1000;
      if (longer.size() > most_variants) {
        fault(node, "'vary' makes more than {} variants", most_variants);
        return {};
      }
      made = std::move(longer);
    }
    std::vector<const toml::table*> variants;
    std::set<std::string> labels;
    for (toml::table& table : made) {
      variants.push_back(&variants_.emplace_back(std::move(table)));
      const std::string label = label_of(*variants.back());
      if (!labels.insert(label).second) fault(*vary, "'vary' has {} twice", in_quotes(label));
    }
    return variants;
  }

  // "batch 8, lambda 0.1"
  static std::string label_of(const toml::table& varied) {
    std::vector<std::string> parts;
    for (const auto& [key, node] : varied) {
      std::string value = node.value<std::string>().value_or("");
      if (const auto flag = node.value_exact<bool>()) value = *flag ? "true" : "false";
      if (node.is_number()) value = format_number(number_in(node));
      parts.push_back(fmt::format("{} {}", key_text(key), value));
    }
    return join(parts, ", ");
  }

  Optimizer read_optimizer(const toml::table& given) {
    const bool named = given.contains("optimizer");
    const bool parts = given.contains("rule") || given.contains("transform");
    if (named == parts) {
      fault(given, "a method needs either 'optimizer', or 'rule' and 'transform'");
      return {};
    }
    try {
      if (named) return find_optimizer(text_of(given, "optimizer"));
      Optimizer optimizer{tidy_spec(text_of(given, "rule")), tidy_spec(text_of(given, "transform"))};
      make_step_rule(optimizer.rule);
      make_transform<double>(optimizer.transform);
      return optimizer;
    } catch (const InvalidArgument& unknown) {
      fault(given, "{}", unknown.what());
      return {};
    }
  }

  // Faults of a layer are said once, however many methods it is for.
  Settings read_settings(const std::vector<const toml::table*>& layers, const toml::table& where) {
    if (task_ == nullptr) return {};
    std::map<std::string, std::string> values;
    for (const SettingKey& key : task_->keys()) {
      const bool number = key.kind == SettingKey::Kind::number;
      values[key.name] = number ? format_number(parse_number(key.default_value, key.name)) : key.default_value;
    }
    const std::size_t before = faults_.size();
    for (const toml::table* layer : layers) {
      if (layer == nullptr) continue;
      check_settings(*layer);
      for (const SettingKey& key : task_->keys()) {
        if (const toml::node* node = layer->get(key.name)) values[key.name] = setting_text(*node, key);
      }
    }
    Settings settings(std::move(values));
    if (faults_.size() > before || !all_good(layers)) return settings;
    // What is wrong with a layer is wrong with every method under it, and said once.
    const toml::table* deepest = &where;
    for (const toml::table* layer : layers) deepest = layer != nullptr ? layer : deepest;
    for (const std::string& unfit : task_->faults(settings)) {
      if (unfit_.insert(unfit).second) fault(*deepest, "{}", unfit);
    }
    return settings;
  }

  bool all_good(const std::vector<const toml::table*>& layers) const {
    return std::none_of(layers.begin(), layers.end(),
                        [&](const toml::table* layer) { return layer != nullptr && bad_.contains(layer); });
  }

  void check_settings(const toml::table& layer) {
    if (task_ == nullptr || !checked_.insert(&layer).second) return;
    const std::size_t before = faults_.size();
    std::vector<std::string> known;
    for (const SettingKey& key : task_->keys()) known.push_back(key.name);
    for (const auto& [key, node] : layer) {
      const std::string name = key_text(key);
      const auto found = std::find_if(task_->keys().begin(), task_->keys().end(),
                                      [&](const SettingKey& candidate) { return candidate.name == name; });
      if (found == task_->keys().end()) {
        fault(node, "the task '{}' has no setting {}{}", task_->name(), in_quotes(name), suggestion(name, known));
      } else {
        check_setting(node, *found);
      }
    }
    if (faults_.size() > before) bad_.insert(&layer);
  }

  void check_setting(const toml::node& node, const SettingKey& key) {
    using Kind = SettingKey::Kind;
    const bool fits = (key.kind == Kind::number && node.is_number()) ||
                      (key.kind == Kind::count && node.is_integer()) || (key.kind == Kind::flag && node.is_boolean()) ||
                      (key.kind == Kind::word && node.is_string()) ||
                      (key.kind == Kind::matrix &&
                       is_list_of(node, [](const toml::node& row) { return is_list_of(row, is_finite_number); }));
    if (!fits) {
      fault(node, "the setting '{}' must be {}{}", key.name, key.kind == Kind::flag ? "" : "a ", kind_name(key.kind));
    } else if (key.kind == Kind::number || key.kind == Kind::count) {
      const double value = number_in(node);
      if (value >= key.low && value <= key.high) return;
      fault(node, "the setting '{}' is {}, but must be between {} and {}", key.name, value, key.low, key.high);
    } else if (key.kind == Kind::word && !key.choices.empty()) {
      const std::string value = node.value<std::string>().value_or("");
      if (std::find(key.choices.begin(), key.choices.end(), value) != key.choices.end()) return;
      fault(node, "the setting '{}' is {}, but must be one of {}{}", key.name, in_quotes(value),
            join(key.choices, ", "), suggestion(value, key.choices));
    }
  }

  // The same value gives the same text, however it was written.
  static std::string setting_text(const toml::node& node, const SettingKey& key) {
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

  static std::string matrix_text(const toml::node& node) {
    std::vector<std::string> rows;
    if (const auto* list = node.as_array()) {
      for (const auto& row : *list) {
        std::vector<std::string> numbers;
        if (const auto* items = row.as_array()) {
          for (const auto& item : *items) numbers.push_back(format_number(number_in(item)));
        }
        rows.push_back("[" + join(numbers, ",") + "]");
      }
    }
    return "[" + join(rows, ",") + "]";
  }

  void check_comparisons() {
    std::set<std::string> methods;
    for (const Panel& panel : made_.panels) {
      for (const Method& method : panel.methods) methods.insert(method.name);
    }
    const std::vector<std::string> known(methods.begin(), methods.end());
    for (const Comparison& pair : made_.comparisons) {
      for (const std::string& name : {pair.better, pair.worse}) {
        if (methods.contains(name)) continue;
        fault(*file_.get("compare"), "'compare' names {}, which is no method{}", in_quotes(name),
              suggestion(name, known));
      }
      const bool met = std::any_of(made_.panels.begin(), made_.panels.end(), [&](const Panel& panel) {
        return has_method(panel, pair.better) && has_method(panel, pair.worse);
      });
      if (met || !methods.contains(pair.better) || !methods.contains(pair.worse)) continue;
      fault(*file_.get("compare"), "no panel has both {} and {} to compare", in_quotes(pair.better),
            in_quotes(pair.worse));
    }
  }

  const toml::table& file_;
  ExperimentOptions options_;
  const Task* task_ = nullptr;
  Experiment made_;
  std::vector<std::string> faults_;
  std::vector<const toml::table*> rungs_;
  const toml::node* made_of_ = nullptr;  // while variants are read
  std::set<std::string> said_;
  std::deque<toml::table> variants_;  // stay where they are: what is checked is known by its place
  std::set<const toml::table*> checked_, bad_;
  std::set<std::string> unfit_, panel_names_;
};

// A setting as a file has it.
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

// Those of the settings that differ from the ones below them.
toml::table settings_table(const Task& task, const Settings& settings, const Settings* below) {
  toml::table made;
  for (const SettingKey& key : task.keys()) {
    const std::string& value = settings.word(key.name);
    const std::string& otherwise = below == nullptr ? key.default_value : below->word(key.name);
    if (value != otherwise) insert_setting(made, key, value);
  }
  return made;
}

toml::array array_of(const std::vector<std::string>& texts) {
  toml::array made;
  for (const std::string& text : texts) made.push_back(text);
  return made;
}

toml::table method_table(const Task& task, const Method& method, const Settings& common) {
  toml::table made;
  made.insert("name", method.name);
  made.insert("rule", method.optimizer.rule);
  made.insert("transform", method.optimizer.transform);
  if (method.rate) made.insert("rate", *method.rate);
  toml::table own = settings_table(task, method.settings, &common);
  if (!own.empty()) made.insert("settings", std::move(own));
  return made;
}

}  // namespace

Experiment parse_experiment(std::string_view file, const std::string& name, const ExperimentOptions& options) {
  toml::table parsed;
  try {
    parsed = toml::parse(file);
  } catch (const toml::parse_error& error) {
    throw InvalidArgument(fmt::format("line {}: {}", error.source().begin.line, printable(error.description(), 200)));
  }
  Reader reader(parsed, options);
  if (!reader.faults().empty()) throw InvalidArgument(join(reader.faults(), "\n"));
  Experiment made = reader.take();
  made.name = name;
  return made;
}

std::string print_experiment(const Experiment& experiment) {
  const Task& task = find_task(experiment.task);
  const Settings& common = experiment.panels.at(0).methods.at(0).settings;
  toml::array compare, rates, panels;
  for (const Comparison& pair : experiment.comparisons) compare.push_back(array_of({pair.better, pair.worse}));
  for (const double rate : experiment.search.rates) rates.push_back(rate);
  for (const Panel& panel : experiment.panels) {
    toml::array methods;
    for (const Method& method : panel.methods) methods.push_back(method_table(task, method, common));
    toml::table made{{"name", panel.name}, {"title", panel.title}, {"method", std::move(methods)}};
    if (!panel.note.empty()) made.insert("note", panel.note);
    panels.push_back(std::move(made));
  }
  std::vector<std::string> figures;
  figures.reserve(experiment.figures.size());
  for (const FigureKind figure : experiment.figures)
    figures.push_back(figure_names()[static_cast<std::size_t>(figure)]);
  const toml::table file{{"title", experiment.title},
                         {"question", experiment.question},
                         {"description", experiment.description},
                         {"task", experiment.task},
                         {"seeds", static_cast<std::int64_t>(experiment.seeds)},
                         {"x-label", experiment.x_label},
                         {"metric", toml::table{{"label", experiment.metric.label},
                                                {"better", experiment.metric.higher_is_better ? "higher" : "lower"},
                                                {"scale", experiment.metric.log_scale ? "log" : "linear"}}},
                         {"figures", array_of(figures)},
                         {"columns", array_of(experiment.columns)},
                         {"compare", std::move(compare)},
                         {"settings", settings_table(task, common, nullptr)},
                         {"search", toml::table{{"rates", std::move(rates)}, {"choose-by", "validation"}}},
                         {"panel", std::move(panels)}};
  std::ostringstream text;
  text << file << '\n';
  return text.str();
}

}  // namespace ignd
