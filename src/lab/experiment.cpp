#include "lab/experiment.hpp"

#include "base/text.hpp"
#include "ignd/error.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace ignd {
namespace {

double parse_rate(std::string_view text) {
  const double rate = parse_number(text, "a learning rate");
  if (rate > 0 && std::isfinite(rate)) return rate;
  throw InvalidArgument(fmt::format("a learning rate is {}, but must be a finite number above 0", in_quotes(text)));
}

std::vector<double> parse_list(std::string_view text) {
  std::vector<double> rates;
  for (const std::string_view part : split(text, ',')) rates.push_back(parse_rate(part));
  std::sort(rates.begin(), rates.end());
  if (std::adjacent_find(rates.begin(), rates.end()) == rates.end()) return rates;
  throw InvalidArgument(fmt::format("the learning rates {} have one of them twice", in_quotes(text)));
}

}  // namespace

RateRange RateRange::parse(std::string_view text) {
  const auto parts = split(text, ':');
  if (parts.size() == 1) return {.list = parse_list(text)};
  if (parts.size() > 3) {
    throw InvalidArgument(
        fmt::format("the learning rates are {}, but must be FROM:TO, FROM:TO:PER-DECADE, or a list such as 0.001,0.01",
                    in_quotes(text)));
  }
  RateRange range{.list = {}, .from = parse_rate(parts[0]), .to = parse_rate(parts[1])};
  if (parts.size() == 3) range.per_decade = parse_count(parts[2], "the number of learning rates per decade");
  constexpr std::uint64_t most_per_decade = 100;
  if (range.from <= range.to && range.per_decade >= 1 && range.per_decade <= most_per_decade) return range;
  throw InvalidArgument(
      fmt::format("the learning rates are {}, but must run from one to a larger one, with 1 to {} per decade",
                  in_quotes(text), most_per_decade));
}

std::vector<double> RateRange::values() const {
  if (!list.empty()) return list;
  const auto in_four_digits = [](double rate) { return parse_number(fmt::format("{:.3e}", rate), "rate"); };
  std::vector<double> rates;
  for (double k = 0;; ++k) {
    const double rate = in_four_digits(from * std::pow(10, k / static_cast<double>(per_decade)));
    if (rate >= in_four_digits(to)) break;
    rates.push_back(rate);
  }
  rates.push_back(in_four_digits(to));
  return rates;
}

const std::vector<FigureInfo>& figure_table() {
  static const std::vector<FigureInfo> figures{
      {.kind = FigureKind::curves, .name = "curves", .help = "the metric while methods learn"},
      {.kind = FigureKind::seconds,
       .name = "seconds",
       .help = "the same over the seconds of learning",
       .needs_column = seconds_column},
      {.kind = FigureKind::rates,
       .name = "rates",
       .help = "the metric against the learning rates that were tried",
       .needs_search = true},
      {.kind = FigureKind::steps,
       .name = "steps",
       .help = "quantiles of xi, s, h and the length of the steps, where the setting `steps` records them"}};
  return figures;
}

const FigureInfo& figure_info(FigureKind kind) {
  const auto& figures = figure_table();
  return *std::ranges::find(figures, kind, &FigureInfo::kind);
}

namespace {

std::string figures_help() {
  std::string text = "what is drawn: ";
  for (const FigureInfo& figure : figure_table()) {
    const bool is_default = &figure == &figure_table().front();
    text += fmt::format("\"{}\"{}: {}; ", figure.name, is_default ? " (default)" : "", figure.help);
  }
  return text + "an empty list: a table only";
}

}  // namespace

const std::vector<FileKey>& file_keys() {
  using enum FileKey::Kind;
  static const std::vector<FileKey> keys{
      {"", "title", text, true, "heading of the experiment in the report"},
      {"", "question", text, true, "what the experiment asks, in a sentence"},
      {"", "description", text, false, "paragraphs that say what is done and how to read the results"},
      {"", "paper", text, false, "the figure or table of the paper, such as \"figure 1\""},
      {"", "task", text, true, "what a run is; its settings are listed below"},
      {"", "seeds", count, true, "how many runs each line is the mean of: seeds 1, 2, ..."},
      {"", "x-label", text, true, "what the curves run over"},
      {"", "metric", table, true, "the score"},
      {"", "figures", texts, false, figures_help()},
      {"", "by-default", text, false,
       "what `ignd reproduce` without names runs of it: \"full\" (default), \"quick\" or \"nothing\""},
      {"", "columns", texts, false, "further numbers of the runs, as columns of the table"},
      {"", "compare", pairs, false,
       "pairs of methods compared seed by seed wherever a panel has both; the first is expected to be better"},
      {"", "settings", table, false, "settings of the task, for all panels"},
      {"", "search", table, false, "the learning rates tried for methods without one of their own"},
      {"", "quick", table, false, "changes for --quick"},
      {"", "method", tables, false,
       "a line of every panel, before the panel's own lines; its keys are those of `[[panel.method]]`"},
      {"", "panel", tables, true, "a part of the figure"},
      {"metric", "label", text, true, "its name on the axis and in the table"},
      {"metric", "better", text, true, "\"higher\", \"lower\" or \"neither\""},
      {"metric", "scale", text, false,
       "\"linear\" (default), or \"log\": the axis is logarithmic, rates are chosen and methods compared by "
       "logarithms"},
      {"search", "rates", rates, true,
       "a list of rates, or `{ from = 1e-6, to = 1, per-decade = 2 }`, which includes both ends"},
      {"search", "choose-by", text, true,
       "\"tuning-seeds\": the mean score over separate seeds; \"validation\": the mean validation score over the "
       "experiment's seeds, for tasks that have one"},
      {"search", "tuning-seeds", count, false,
       "the number of separate seeds that choose the rate, or that judge each rung"},
      {"search", "rung", tables, false,
       "successive halving: all rates are tried with the settings of the first rung, the best of them with those "
       "of the second, and so on; without rungs, all are tried with the settings of the reported runs"},
      {"search.rates", "from", number, true, "the smallest rate"},
      {"search.rates", "to", number, true, "the largest rate"},
      {"search.rates", "per-decade", count, true, "how many rates for each factor of ten"},
      {"search.rung", "settings", table, false, "on top of the method's"},
      {"search.rung", "keep", count, false,
       "the number of best rates that reach the next rung, without those that had a failed run; at most the number "
       "of the rung before; always 1 for the last rung, where it may be left out"},
      {"quick", "seeds", count, false, "instead of the file's"},
      {"quick", "tuning-seeds", count, false, "instead of the search's"},
      {"quick", "per-decade", count, false, "instead of the search's: the same range, more coarsely"},
      {"quick", "settings", table, false, "on top of all others"},
      {"panel", "name", text, true, "for file names and programs: lower-case letters, digits and hyphens"},
      {"panel", "title", text, true, "for people"},
      {"panel", "note", text, false, "a sentence under the panel"},
      {"panel", "settings", table, false, "on top of the file's"},
      {"panel", "method", tables, false, "a line of the panel"},
      {"panel.method", "name", text, true, "as in the figure's key; the same in all panels for the same method"},
      {"panel.method", "optimizer", text, false, "a name such as \"ignd\"; or `rule` and `transform`"},
      {"panel.method", "rule", text, false, "a step rule such as \"gauss-newton:eps_lm=1e-3\""},
      {"panel.method", "transform", text, false, "a transform such as \"adam\""},
      {"panel.method", "rate", number, false, "the learning rate; if left out, the search finds it"},
      {"panel.method", "settings", table, false, "on top of the panel's"},
      {"panel.method", "vary", table, false,
       "settings to search over too, each with a list of values, such as `{ lambda = [0.1, 1] }`: every "
       "combination is tried at every rate. Options of the rule and the transform are varied by `rule.` and "
       "`transform.`, such as `{ rule.eps_lm = [1e-5, 1], transform.beta1 = [0.5, 0.9] }`"},
      {"panel.method", "each", table, false,
       "a method of its own for every combination of these values, with keys as in `vary`; its name says which: "
       "\"IGND, "
       "rule.eps_lm 1\""},
      {"panel.method", "paper", table, false, "the paper's value, shown beside ours"},
      {"panel.method.paper", "mean", number, true, "the paper's mean"},
      {"panel.method.paper", "std", number, false, "the paper's standard deviation"},
  };
  return keys;
}

const char* kind_name(FileKey::Kind kind) {
  using enum FileKey::Kind;
  switch (kind) {
    case text:
      return "text";
    case number:
      return "number";
    case count:
      return "whole number";
    case flag:
      return "true or false";
    case texts:
      return "list of texts";
    case pairs:
      return "list of pairs of texts";
    case rates:
      return "list of numbers, or table";
    case table:
      return "table";
    case tables:
      return "tables";
  }
  return "";
}

namespace {

std::string heading_of(const std::string& table) {
  if (table.empty()) return "The file";
  const bool list = table == "panel" || table == "panel.method" || table == "search.rung";
  return list ? fmt::format("`[[{}]]`", table) : fmt::format("`{}`", table);
}

// A vertical bar would end the cell of a table.
std::string cell(std::string text) {
  for (std::size_t bar = text.find('|'); bar != std::string::npos; bar = text.find('|', bar + 2))
    text.insert(bar, "\\");
  return text;
}

std::string or_none(const std::string& value) { return value.empty() ? "none" : value; }

std::string allowed_values(const SettingKey& key) {
  std::vector<std::string> choices = key.choices;
  std::ranges::transform(choices, choices.begin(), or_none);
  if (!choices.empty()) return join(choices, ", ");
  if (key.kind != SettingKey::Kind::number && key.kind != SettingKey::Kind::count) return kind_name(key.kind);
  return fmt::format("{}, {} to {}", kind_name(key.kind), format_number(key.low), format_number(key.high));
}

}  // namespace

std::string describe_experiment_keys() {
  std::string text;
  std::string table = "none yet";
  for (const FileKey& key : file_keys()) {
    if (key.table != table) {
      table = key.table;
      text += fmt::format("\n### {}\n\n| key | value | |\n|---|---|---|\n", heading_of(table));
    }
    text += fmt::format("| `{}`{} | {} | {} |\n", key.name, key.required ? "" : " (optional)", kind_name(key.kind),
                        cell(key.meaning));
  }
  for (const std::string& name : task_names()) {
    const Task& task = find_task(name);
    text += fmt::format("\n### The task `{}`\n\n{}\n\n| setting | default | value | |\n|---|---|---|---|\n", name,
                        task.meaning());
    for (const SettingKey& key : task.keys()) {
      text += fmt::format("| `{}` | {} | {} | {} |\n", key.name, or_none(key.default_value), allowed_values(key),
                          cell(key.help));
    }
    if (!task.columns().empty()) text += "\n| column | |\n|---|---|\n";
    for (const Task::Column& column : task.columns())
      text += fmt::format("| `{}` | {} |\n", column.name, cell(column.meaning));
  }
  return text;
}

}  // namespace ignd
