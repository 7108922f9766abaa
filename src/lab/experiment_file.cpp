#include "base/spec.hpp"
#include "base/text.hpp"
#include "ignd/error.hpp"
#include "lab/experiment.hpp"
#include "lab/experiment_tables.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <sstream>

#include <fmt/format.h>

namespace ignd {
namespace {

bool has_column(const Task& task, const std::string& name) {
  const auto columns = task.columns();
  return std::any_of(columns.begin(), columns.end(), [&](const Task::Column& column) { return column.name == name; });
}

bool has_method(const Panel& panel, const std::string& name) {
  return std::any_of(panel.methods.begin(), panel.methods.end(),
                     [&](const Method& method) { return method.name == name; });
}

// Reads a file that may have any faults, and collects all of them.
class Reader {
 public:
  Reader(const toml::table& file, const ExperimentOptions& options)
      : file_(file), options_(options), settings_(faults_) {
    check_keys(faults_, file, "", "the file");
    find_task_of_file();
    read_head();
    read_search();
    read_panels();
    check_comparisons();
  }

  const std::vector<std::string>& faults() const { return faults_.texts(); }
  Experiment take() { return std::move(made_); }

 private:
  const toml::table* quick() const { return options_.quick ? file_["quick"].as_table() : nullptr; }

  void find_task_of_file() {
    made_.task = text_of(file_, "task");
    if (made_.task.empty()) return;
    try {
      task_ = &find_task(made_.task);
      settings_.set_task(*task_);
    } catch (const InvalidArgument& unknown) {
      faults_.add(*file_.get("task"), "{}", unknown.what());
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
    const std::string by_default = choice_of(faults_, file_, "by-default", {"full", "quick", "nothing"}, "full");
    if (by_default != "full") made_.by_default = by_default == "quick" ? ByDefault::quick : ByDefault::nothing;
    made_.seeds = count_of(file_, "seeds").value_or(1);
    if (quick() != nullptr) made_.seeds = count_of(*quick(), "seeds").value_or(made_.seeds);
    made_.seeds = options_.seeds.value_or(made_.seeds);
    if (const auto* metric = file_["metric"].as_table()) {
      check_keys(faults_, *metric, "metric", "'metric'");
      made_.metric.label = text_of(*metric, "label");
      const std::string better = choice_of(faults_, *metric, "better", {"higher", "lower", "neither"}, "lower");
      made_.metric.higher_is_better = better == "higher";
      made_.metric.is_contest = better != "neither";
      if (!made_.metric.is_contest && (file_.contains("search") || file_.contains("compare"))) {
        faults_.add(*metric, "where neither is better there is nothing to search or to compare by");
      }
      made_.metric.log_scale = choice_of(faults_, *metric, "scale", {"linear", "log"}, "linear") == "log";
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
      check_keys(faults_, *given, "quick", "'quick'");
      if (const auto* settings = (*given)["settings"].as_table()) settings_.check(*settings);
    }
  }

  void read_figures() {
    const toml::node* given = file_.get("figures");
    if (given == nullptr) made_.figures = {FigureKind::curves};
    if (given == nullptr || !is_of(*given, FileKey::Kind::texts)) return;
    std::vector<std::string> known;
    for (const FigureInfo& figure : figure_table()) known.emplace_back(figure.name);
    for (const auto& item : *given->as_array()) {
      const auto name = item.value<std::string>().value();
      const auto figure = std::find(known.begin(), known.end(), name);
      if (figure == known.end()) {
        faults_.add(item, "'figures' has {}, but knows {}{}", in_quotes(name), join(known, ", "),
                    suggestion(name, known));
      } else if (check_figure(item, figure_table()[static_cast<std::size_t>(figure - known.begin())])) {
        made_.figures.push_back(figure_table()[static_cast<std::size_t>(figure - known.begin())].kind);
      }
    }
  }

  // Whether the figure can be drawn.
  bool check_figure(const toml::node& item, const FigureInfo& figure) {
    if (figure.needs_search && !file_.contains("search")) {
      faults_.add(item, "a figure of {} needs a [search]", figure.name);
    } else if (figure.needs_search && file_["search"]["rung"].is_array()) {
      faults_.add(item, "a figure of {} needs all rates tried alike, but the search has rungs", figure.name);
    } else if (*figure.needs_column != '\0' && task_ != nullptr && !has_column(*task_, figure.needs_column)) {
      faults_.add(item, "a figure of {} needs the column {}, which runs of the task '{}' do not have", figure.name,
                  in_quotes(figure.needs_column), task_->name());
    } else {
      return true;
    }
    return false;
  }

  void read_column(const toml::node& node) {
    made_.columns.push_back(node.value<std::string>().value_or(""));
    if (task_ == nullptr || !node.is_string()) return;
    std::vector<std::string> known;
    for (const Task::Column& column : task_->columns()) known.push_back(column.name);
    const std::string& name = made_.columns.back();
    if (std::find(known.begin(), known.end(), name) != known.end()) return;
    faults_.add(node, "runs of the task '{}' have no number {}{}", task_->name(), in_quotes(name),
                suggestion(name, known));
  }

  void read_search() {
    const auto* search = file_["search"].as_table();
    if (search == nullptr) return;
    check_keys(faults_, *search, "search", "'search'");
    made_.search.by_validation =
        choice_of(faults_, *search, "choose-by", {"tuning-seeds", "validation"}, "") == "validation";
    if (made_.search.by_validation && task_ != nullptr && !task_->validates()) {
      faults_.add(*search->get("choose-by"), "runs of the task '{}' have no validation score; choose by tuning-seeds",
                  task_->name());
    }
    read_rungs(*search);
    if (!made_.search.by_validation || !rungs_.empty()) read_tuning_seeds(*search);
    if (const auto* range = (*search)["rates"].as_table()) {
      check_keys(faults_, *range, "search.rates", "'rates'");
      made_.search.rates = rates_between(*range);
    } else if (const auto* list = (*search)["rates"].as_array()) {
      made_.search.rates = listed_rates(*list);
    }
  }

  void read_tuning_seeds(const toml::table& search) {
    const auto seeds = count_of(search, "tuning-seeds");
    if (!seeds && !search.contains("tuning-seeds")) {
      faults_.add(search, "a rate chosen {} needs 'tuning-seeds', their number",
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
      check_keys(faults_, rung, "search.rung", "a rung");
      if (const auto* settings = rung["settings"].as_table()) settings_.check(*settings);
      rungs_.push_back(&rung);
      made_.search.keep.push_back(kept_of(rung, rungs_.size() == rungs->size()));
    }
  }

  // How many rates the rung passes on, after those read so far.
  std::uint64_t kept_of(const toml::table& rung, bool last) {
    const std::uint64_t keep = count_of(rung, "keep").value_or(1);
    if (!last && !rung.contains("keep"))
      faults_.add(rung, "a rung has no 'keep', the number of rates for the next rung");
    if (last && keep != 1) faults_.add(*rung.get("keep"), "the last rung keeps {} rates, but one is chosen", keep);
    if (!last && !made_.search.keep.empty() && keep > made_.search.keep.back()) {
      faults_.add(rung, "a rung keeps {} rates, more than the {} of the rung before", keep, made_.search.keep.back());
    }
    return keep;
  }

  std::vector<double> listed_rates(const toml::array& list) {
    std::vector<double> rates;
    for (const auto& item : list) {
      const double rate = number_in(item);
      if (item.is_number() && !(rate > 0 && std::isfinite(rate))) faults_.add(item, "a rate must be a positive number");
      rates.push_back(rate);
    }
    const auto unusable = [](double rate) { return !(rate > 0 && std::isfinite(rate)); };
    if (std::any_of(rates.begin(), rates.end(), unusable)) return {};
    std::sort(rates.begin(), rates.end());
    if (list.empty()) faults_.add(list, "'rates' is empty");
    if (std::adjacent_find(rates.begin(), rates.end()) != rates.end()) faults_.add(list, "a rate is listed twice");
    return rates;
  }

  std::vector<double> rates_between(const toml::table& range) {
    RateRange rates{.list = {},
                    .from = number_of(range, "from").value_or(1),
                    .to = number_of(range, "to").value_or(1),
                    .per_decade = count_of(range, "per-decade").value_or(1)};
    if (quick() != nullptr) rates.per_decade = count_of(*quick(), "per-decade").value_or(rates.per_decade);
    if (!(rates.from > 0 && rates.from <= rates.to && std::isfinite(rates.to)) || rates.per_decade > 100) {
      faults_.add(range, "'rates' must run from a positive number to a larger one, with at most 100 per decade");
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
      check_keys(faults_, *given, "panel", "a panel");
      Panel panel{text_of(*given, "name"), text_of(*given, "title"), text_of(*given, "note"), {}};
      const bool usable = panel.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string::npos;
      if (!usable) {
        faults_.add(*given->get("name"), "the panel's name {} may have only lower-case letters, digits and hyphens",
                    in_quotes(panel.name));
      }
      add_methods(file_, *given, panel);
      add_methods(*given, *given, panel);
      if (panel.methods.empty()) faults_.add(*given, "a panel has no method");
      if (!panel_names_.insert(panel.name).second)
        faults_.add(*given, "two panels are named {}", in_quotes(panel.name));
      made_.panels.push_back(std::move(panel));
    }
    if (panels->empty()) faults_.add(*panels, "there is no panel");
  }

  void add_methods(const toml::table& given, const toml::table& panel_table, Panel& panel) {
    const auto* methods = given["method"].as_array();
    if (methods == nullptr) return;
    for (const auto& item : *methods) {
      const auto* method = item.as_table();
      if (method == nullptr) continue;
      const toml::table* each = (*method)["each"].as_table();
      if (each == nullptr) {
        add_method(*method, panel_table, {}, panel);
        continue;
      }
      for (const Choice& choice : settings_.choices("each", *each)) add_method(*method, panel_table, choice, panel);
    }
  }

  void add_method(const toml::table& given, const toml::table& panel_table, const Choice& own, Panel& panel) {
    Method method = read_method(given, panel_table, own);
    if (has_method(panel, method.name)) {
      faults_.add(given, "two methods of the panel {} are named {}", in_quotes(panel.name), in_quotes(method.name));
    }
    panel.methods.push_back(std::move(method));
  }

  // `own` is what sets it apart from others of the same table; empty if there are none.
  Method read_method(const toml::table& given, const toml::table& panel, const Choice& own) {
    check_keys(faults_, given, "panel.method", "a method");
    Method method;
    method.name = text_of(given, "name") + (own.values.empty() ? "" : ", " + own.label());
    const std::optional<Optimizer> optimizer = read_optimizer(given);
    if (optimizer) method.optimizer = chosen_optimizer(*optimizer, own, given.get("each"));
    method.rate = number_of(given, "rate");
    if (method.rate && !(*method.rate >= 0 && std::isfinite(*method.rate))) {
      faults_.add(*given.get("rate"), "'rate' must be a finite number of at least 0");
    }
    if (!given.contains("rate") && made_.search.rates.empty() && !file_.contains("search")) {
      faults_.add(given, "the method {} has no rate, and there is no [search] to find one", in_quotes(method.name));
    }
    if (const auto* paper = given["paper"].as_table()) {
      check_keys(faults_, *paper, "panel.method.paper", "'paper'");
      method.paper_mean = number_of(*paper, "mean");
      method.paper_std = number_of(*paper, "std");
    }
    const Layers layers{.panel = panel, .method = given, .own = own.settings};
    faults_.combined_at = given.get("each");
    if (!given.contains("vary")) read_settings(layers, nullptr, method);
    faults_.combined_at = given.get("vary");
    for (const Choice& choice : read_variants(given)) {
      Method variant;
      variant.name = method.name;
      if (optimizer) variant.optimizer = chosen_optimizer(method.optimizer, choice, given.get("vary"));
      variant.varied = choice.values;
      variant.setting = choice.label();
      read_settings(layers, choice.settings, variant);
      method.variants.push_back(std::move(variant));
    }
    faults_.combined_at = nullptr;
    if (!method.variants.empty()) {
      method.settings = method.variants.front().settings;
      method.optimizer = method.variants.front().optimizer;
    }
    return method;
  }

  // The tables that a method's settings come from, besides those of the file.
  struct Layers {
    const toml::table& panel;
    const toml::table& method;
    const toml::table* own;  // of 'each'
  };

  void read_settings(const Layers& layers, const toml::table* varied, Method& into) {
    const toml::table* preview = quick() != nullptr ? (*quick())["settings"].as_table() : nullptr;
    const bool searched = !layers.method.contains("rate") || layers.method.contains("vary");
    const auto settings_in = [&](const toml::table* rung) {
      return settings_.read({file_["settings"].as_table(), layers.panel["settings"].as_table(),
                             layers.method["settings"].as_table(), rung, preview, layers.own, varied},
                            layers.method);
    };
    into.settings = settings_in(nullptr);
    for (const toml::table* rung : rungs_) {
      if (searched) into.rungs.push_back(settings_in((*rung)["settings"].as_table()));
    }
  }

  std::vector<Choice> read_variants(const toml::table& given) {
    const toml::table* vary = given["vary"].as_table();
    if (vary == nullptr) return {};
    if (!file_.contains("search"))
      faults_.add(*vary, "'vary' needs a [search], which says what variants are chosen by");
    return settings_.choices("vary", *vary);
  }

  Optimizer chosen_optimizer(const Optimizer& optimizer, const Choice& choice, const toml::node* where) {
    if (where == nullptr) return optimizer;
    try {
      return choice.applied_to(optimizer);
    } catch (const InvalidArgument& fault) {
      faults_.add(*where, "{}", fault.what());
      return optimizer;
    }
  }

  std::optional<Optimizer> read_optimizer(const toml::table& given) {
    const bool named = given.contains("optimizer");
    const bool parts = given.contains("rule") || given.contains("transform");
    if (named == parts) {
      faults_.add(given, "a method needs either 'optimizer', or 'rule' and 'transform'");
      return std::nullopt;
    }
    try {
      if (named) return find_optimizer(text_of(given, "optimizer"));
      return make_optimizer(text_of(given, "rule"), text_of(given, "transform"));
    } catch (const InvalidArgument& unknown) {
      faults_.add(given, "{}", unknown.what());
      return std::nullopt;
    }
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
        faults_.add(*file_.get("compare"), "'compare' names {}, which is no method{}", in_quotes(name),
                    suggestion(name, known));
      }
      const bool met = std::any_of(made_.panels.begin(), made_.panels.end(), [&](const Panel& panel) {
        return has_method(panel, pair.better) && has_method(panel, pair.worse);
      });
      if (met || !methods.contains(pair.better) || !methods.contains(pair.worse)) continue;
      faults_.add(*file_.get("compare"), "no panel has both {} and {} to compare", in_quotes(pair.better),
                  in_quotes(pair.worse));
    }
  }

  const toml::table& file_;
  ExperimentOptions options_;
  const Task* task_ = nullptr;
  Experiment made_;
  FileFaults faults_;
  SettingsReader settings_;
  std::vector<const toml::table*> rungs_;
  std::set<std::string> panel_names_;
};

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
  const toml::table parsed = parse_toml(file);
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
  for (const FigureKind figure : experiment.figures) figures.emplace_back(figure_info(figure).name);
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
