#include "cli/result_tables.hpp"

#include "base/text.hpp"
#include "report/format.hpp"
#include "report/statistics.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace ignd::cli {
namespace {

// Why there is no percentage error.
std::string mape_note(const Scores& quality) {
  if (!quality.regression || quality.regression->mape) return "";
  const double nearest = quality.regression->nearest_to_zero;
  return fmt::format("  mape is n/a: a target is {}, and its row alone would decide it\n",
                     nearest > 0 ? fmt::format("{:.2g} of their mean size", nearest) : "zero");
}

std::string bars_note(const ErrorBars& bars) {
  if (!bars) return bars.missing;
  return fmt::format("error bars from {} resamples of the rows", with_commas(bars.resamples));
}

using Words = std::vector<std::string>;

bool begins_character(char byte) { return (static_cast<unsigned char>(byte) & 0xc0U) != 0x80U; }

// The number of characters in a UTF-8 text.
std::size_t length_of(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, begins_character));
}

std::string padded(const std::string& text, std::size_t length) {
  return text + std::string(length - std::min(length, length_of(text)), ' ');
}

std::string right_aligned(const std::string& text, std::size_t length) {
  return std::string(length - std::min(length, length_of(text)), ' ') + text;
}

// On one line, and not too long.
std::string shown(const std::string& name) {
  constexpr std::size_t longest = 32;
  std::string text;
  std::size_t length = 0;
  for (const char byte : name) {
    if (begins_character(byte) && ++length > longest) return text + "...";
    const bool control = static_cast<unsigned char>(byte) < 0x20 || byte == 0x7f;
    text += control ? '?' : byte;
  }
  return text;
}

std::string count_text(double count) {
  constexpr double most_digits = 1e12;
  if (count == 0) return ".";
  return count == std::floor(count) && count < most_digits ? fmt::format("{:.0f}", count)
                                                           : fmt::format("{:.4g}", count);
}

std::size_t longest_of(const Words& words) {
  std::size_t longest = 0;
  for (const std::string& word : words) longest = std::max(longest, length_of(word));
  return longest;
}

// Columns have the names of the classes, or their numbers if the names would make the table too wide.
struct Headings {
  Words rows, columns;
};

Headings headings_of(const Words& names, std::size_t cell) {
  constexpr std::size_t widest = 100;
  if (names.size() * (std::max(longest_of(names), cell) + 1) <= widest) return {names, names};
  Headings headings;
  for (std::size_t k = 0; k < names.size(); ++k) {
    headings.rows.push_back(fmt::format("{:>2} {}", k + 1, names[k]));
    headings.columns.push_back(std::to_string(k + 1));
  }
  return headings;
}

std::string whole_table(const MulticlassMetrics& metrics, const Words& names) {
  Words cells;
  for (const double count : metrics.confusion) cells.push_back(count_text(count));
  const Headings headings = headings_of(names, longest_of(cells));
  const std::size_t cell = 1 + std::max(longest_of(cells), longest_of(headings.columns));
  const std::string corner = "true \\ predicted";
  const std::size_t first = std::max(corner.size(), 2 + longest_of(headings.rows));
  std::string text = padded(corner, first);
  for (const std::string& heading : headings.columns) text += right_aligned(heading, cell);
  for (std::size_t i = 0; i < names.size(); ++i) {
    text += "\n" + padded("  " + headings.rows[i], first);
    for (std::size_t k = 0; k < names.size(); ++k) text += right_aligned(cells[i * names.size() + k], cell);
  }
  return text + "\n";
}

struct Confusion {
  std::size_t truth, predicted;
  double count;
};

std::string most_frequent(const MulticlassMetrics& metrics, const Words& names) {
  std::vector<Confusion> all;
  for (std::size_t i = 0; i < names.size(); ++i) {
    for (std::size_t k = 0; k < names.size(); ++k) {
      if (i != k && metrics.confused(i, k) > 0) all.push_back({i, k, metrics.confused(i, k)});
    }
  }
  if (all.empty()) return "no class is taken for another\n";
  std::ranges::stable_sort(all, std::ranges::greater{}, &Confusion::count);
  constexpr std::size_t most_listed = 10;
  all.resize(std::min(all.size(), most_listed));
  Words truth{"true"}, predicted{"predicted"}, counts{"rows"};
  for (const Confusion& one : all) {
    truth.push_back(names[one.truth]);
    predicted.push_back(names[one.predicted]);
    counts.push_back(count_text(one.count));
  }
  std::string text = "the most frequent confusions\n";
  for (std::size_t i = 0; i < truth.size(); ++i) {
    text += "  " + padded(truth[i], longest_of(truth)) + "  " + padded(predicted[i], longest_of(predicted)) + "  " +
            right_aligned(counts[i], longest_of(counts)) + "\n";
  }
  return text;
}

std::optional<MulticlassMetrics> confusion_in(const Scores& quality) {
  if (quality.multiclass || !quality.classification) return quality.multiclass;
  const ClassificationMetrics& two = *quality.classification;
  MulticlassMetrics metrics;
  metrics.count = two.count;
  metrics.classes = 2;
  metrics.confusion.assign(two.confusion.begin(), two.confusion.end());
  return metrics;
}

// Of each score over the folds; nothing where a fold does not have it.
std::vector<Spread> spreads_of(const CrossValidation::Predictor& predictor) {
  std::vector<std::vector<double>> values(measures(predictor.scores[0]).size());
  for (const Scores& scores : predictor.scores) {
    const std::vector<Measure> measured = measures(scores);
    for (std::size_t m = 0; m < measured.size() && m < values.size(); ++m) {
      if (measured[m].value) values[m].push_back(*measured[m].value);
    }
  }
  std::vector<Spread> spreads;
  spreads.reserve(values.size());
  for (const auto& of_folds : values) {
    spreads.push_back(of_folds.size() == predictor.scores.size() ? spread_of(of_folds) : Spread());
  }
  return spreads;
}

// Rates that were given, as those of the baselines, mean nothing.
std::string rate_cell(const MethodResults& method) {
  if (method.search.empty()) return "";
  return method.rate ? rate_text(*method.rate) : "none";
}

std::pair<std::uint64_t, std::uint64_t> failures_of(const MethodResults& method) {
  std::uint64_t failed = 0;
  std::uint64_t done = 0;
  for (const RateResult& rate : method.search) {
    failed += rate.failed;
    done += rate.done;
  }
  return {failed, done};
}

std::string failures_cell(const MethodResults& method) {
  if (method.search.empty()) return "";
  const auto [failed, done] = failures_of(method);
  return fmt::format("{} of {}", failed, done);
}

void print_row(const std::string& name, std::size_t width, const std::string& rate, const std::string& score,
               const std::string& failures) {
  const std::string row = fmt::format("  {:<{}}  {:>10}  {:>22}  {:>12}", name, width, rate, score, failures);
  print("{}\n", row.substr(0, row.find_last_not_of(' ') + 1));
}

}  // namespace

std::vector<std::pair<std::string, std::optional<double>>> score_values(const Scores& quality) {
  std::vector<std::pair<std::string, std::optional<double>>> values;
  for (const Measure& measure : measures(quality)) values.emplace_back(measure.key, measure.value);
  return values;
}

std::string json_key(std::string name) {
  std::ranges::replace(name, ' ', '_');
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return name;
}

std::string aligned(const std::vector<Words>& lines) {
  std::vector<std::size_t> widths;
  for (const Words& line : lines) {
    widths.resize(std::max(widths.size(), line.size()));
    for (std::size_t k = 0; k < line.size(); ++k) widths[k] = std::max(widths[k], length_of(shown(line[k])));
  }
  std::string text;
  for (const Words& line : lines) {
    std::string row = "  " + padded(shown(line[0]), widths[0]);
    for (std::size_t k = 1; k < line.size(); ++k) row += "  " + right_aligned(shown(line[k]), widths[k]);
    text += row.substr(0, row.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

void print_table(const std::vector<std::string>& parts, const std::vector<Evaluated>& rows) {
  const std::string from = fmt::format("  {:.0f} % from", 100 * error_bar_level), to = "       to";
  std::size_t width = from.size();
  for (const Evaluated& row : rows) width = std::max(width, row.name.size());
  for (const std::string& part : parts) width = std::max(width, part.size());
  const auto print_cells = [&](const std::string& name, const auto& cells) {
    print("  {:<{}}", name, width);
    for (const std::optional<double>& cell : cells) print(" {:>10}", in_short(cell));
    print("\n");
  };
  const auto print_bars = [&](const ErrorBars& bars) {
    std::vector<std::optional<double>> lows, highs;
    for (const auto& interval : bars.intervals) {
      lows.push_back(interval ? std::optional(interval->low) : std::nullopt);
      highs.push_back(interval ? std::optional(interval->high) : std::nullopt);
    }
    print_cells(from, lows);
    print_cells(to, highs);
  };
  for (std::size_t part = 0; part < parts.size(); ++part) {
    print("{}{:<{}}", part > 0 ? "\n" : "", parts[part], width + 2);
    for (const Measure& measure : measures(rows[0].on[part])) print(" {:>10}", measure.heading);
    print("\n");
    for (const Evaluated& row : rows) {
      std::vector<std::optional<double>> values;
      for (const Measure& measure : measures(row.on[part])) values.push_back(measure.value);
      print_cells(row.name, values);
      if (part < row.bars.size() && row.bars[part] && *row.bars[part]) print_bars(*row.bars[part]);
    }
    print("{}", mape_note(rows[0].on[part]));
    if (part < rows[0].bars.size() && rows[0].bars[part]) print("  {}\n", bars_note(*rows[0].bars[part]));
  }
}

void set_error_bars(JsonLine& line, const std::string& part, const Scores& quality, const ErrorBars& bars) {
  if (!bars) {
    line.set("error_bars." + part + ".missing", bars.missing);
    return;
  }
  line.set("error_bars.level", error_bar_level).set("error_bars." + part + ".resamples", std::uint64_t{bars.resamples});
  const std::vector<Measure> shown = measures(quality);
  for (std::size_t m = 0; m < shown.size(); ++m) {
    const auto& interval = bars.intervals[m];
    if (!interval) continue;
    const std::vector<double> ends{interval->low, interval->high};
    line.set("error_bars." + part + "." + shown[m].key, std::span(ends));
  }
}

void set_metrics(JsonLine& line, const std::string& prefix, const Scores& quality) {
  for (const Measure& measure : measures(quality)) line.set(prefix + "." + measure.key, measure.value);
  if (quality.regression && !quality.regression->mape) {
    line.set(prefix + ".target_nearest_to_zero", quality.regression->nearest_to_zero);
  }
}

void print_fold_scores(const std::vector<CrossValidation::Predictor>& predictors) {
  const std::string deviation = "  deviation";
  const std::string title = fmt::format("mean of {} folds", predictors[0].scores.size());
  std::size_t width = title.size();
  for (const auto& predictor : predictors) width = std::max(width, predictor.name.size());
  print("{:<{}}", title, width + 2);
  for (const Measure& measure : measures(predictors[0].scores[0])) print(" {:>10}", measure.heading);
  print("\n");
  for (const auto& predictor : predictors) {
    const std::vector<Spread> spreads = spreads_of(predictor);
    print("  {:<{}}", predictor.name, width);
    for (const Spread& spread : spreads) print(" {:>10}", in_short(spread.mean));
    print("\n  {:<{}}", deviation, width);
    for (const Spread& spread : spreads) print(" {:>10}", in_short(spread.deviation));
    print("\n");
  }
}

std::string baseline_key(std::string name) {
  std::ranges::replace(name, ' ', '_');
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return name;
}

void set_fold_scores(JsonLine& line, const CrossValidation::Predictor& predictor) {
  const bool is_model = predictor.name == "model";
  const std::string key = baseline_key(predictor.name);
  const std::string means = is_model ? "metrics.test." : "baselines." + key + ".test.";
  const std::string deviations = is_model ? "deviations.test." : "baseline_deviations." + key + ".test.";
  const std::vector<Measure> shown = measures(predictor.scores[0]);
  const std::vector<Spread> spreads = spreads_of(predictor);
  for (std::size_t m = 0; m < shown.size(); ++m) {
    line.set(means + shown[m].key, spreads[m].mean).set(deviations + shown[m].key, spreads[m].deviation);
  }
}

void set_verdict(JsonLine& line, const Verdict& verdict, const std::string& text) {
  line.set("verdict.text", text).set("verdict.standing", to_string(verdict.standing));
  line.set("verdict.baseline", verdict.baseline).set("verdict.lower_by", verdict.lower_by);
  if (!verdict.interval) return;
  const std::vector<double> ends{verdict.interval->low, verdict.interval->high};
  line.set("verdict.interval", std::span(ends));
}

void set_coverage(JsonLine& line, const IntervalCoverage& coverage) {
  line.set("interval.level", coverage.level).set("interval.coverage", coverage.share);
  line.set("interval.mean_width", coverage.mean_width);
}

std::string confusion_text(const MulticlassMetrics& metrics, std::span<const std::string> classes) {
  constexpr std::size_t most_in_a_table = 20;
  Words names;
  for (const std::string& name : classes) names.push_back(shown(name));
  return classes.size() <= most_in_a_table ? whole_table(metrics, names) : most_frequent(metrics, names);
}

void set_confusion(JsonLine& line, const MulticlassMetrics& metrics, std::span<const std::string> classes) {
  line.set("classes", classes).set_rows("confusion", metrics.confusion, metrics.classes);
}

std::string confusion_text(const Scores& quality, std::span<const std::string> classes) {
  const auto confusion = confusion_in(quality);
  return confusion ? "\n" + confusion_text(*confusion, classes) : "";
}

void set_confusion(JsonLine& line, const Scores& quality, std::span<const std::string> classes) {
  if (const auto confusion = confusion_in(quality)) set_confusion(line, *confusion, classes);
}

void set_comparison(JsonLine& line, const PanelResults& panel) {
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  Words names;
  std::vector<double> rates, means, deviations, runs, failures;
  for (const MethodResults& method : panel.methods) {
    const Spread score = summarize(method).all;
    const auto [failed, done] = failures_of(method);
    names.push_back(method.name);
    rates.push_back(method.rate.value_or(none));
    means.push_back(score.mean.value_or(none));
    deviations.push_back(score.deviation.value_or(none));
    runs.push_back(static_cast<double>(done));
    failures.push_back(static_cast<double>(failed));
  }
  line.set("methods", std::span<const std::string>(names)).set("rates", rates).set("means", means);
  line.set("deviations", deviations).set("runs", runs).set("failed", failures);
}

void print_comparison(const PanelResults& panel, const ScoreInfo& metric) {
  std::size_t width = 0;
  for (const MethodResults& method : panel.methods) width = std::max(width, method.name.size());
  print_row("", width, "rate", metric.label, "runs failed");
  for (const MethodResults& method : panel.methods) {
    const Spread score = summarize(method).all;
    print_row(method.name, width, rate_cell(method), with_spread(score.mean, score.deviation), failures_cell(method));
  }
}

}  // namespace ignd::cli
