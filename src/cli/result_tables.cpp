#include "cli/result_tables.hpp"

#include "report/format.hpp"
#include "report/statistics.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace ignd::cli {
namespace {

struct Measure {
  std::string key;      // in JSON
  std::string heading;  // of a column
  std::optional<double> value;
};
using Measures = std::vector<Measure>;

// Sums and squares of very large errors are not numbers.
std::optional<double> finite(std::optional<double> value) {
  return value && std::isfinite(*value) ? value : std::nullopt;
}

Measures measures(const Scores& quality) {
  if (quality.regression) {
    const RegressionMetrics& m = *quality.regression;
    // Squares of very small errors are 0.
    const std::optional<double> rmse = m.rmse == 0 && m.mae > 0 ? std::nullopt : std::optional(m.rmse);
    return {{"mape", "mape", finite(m.mape)},
            {"rmse", "rmse", finite(rmse)},
            {"mae", "mae", finite(m.mae)},
            {"r2", "r2", finite(m.r2)}};
  }
  if (quality.classification) {
    const ClassificationMetrics& m = *quality.classification;
    return {{"accuracy", "accuracy", m.accuracy},
            {"log_loss", "log_loss", m.log_loss},
            {"auc", "auc", m.auc},
            {"average_precision", "avg_prec", m.average_precision},
            {"precision", "precision", m.precision},
            {"recall", "recall", m.recall},
            {"f1", "f1", m.f1},
            {"calibration_error", "calib_err", m.calibration_error}};
  }
  if (quality.multiclass) {
    const MulticlassMetrics& m = *quality.multiclass;
    return {{"accuracy", "accuracy", m.accuracy},
            {"log_loss", "log_loss", m.log_loss},
            {"macro_f1", "macro_f1", m.macro_f1}};
  }
  return {};
}

// Why there is no percentage error.
std::string mape_note(const Scores& quality) {
  if (!quality.regression || quality.regression->mape) return "";
  const double nearest = quality.regression->nearest_to_zero;
  return fmt::format("  mape is n/a: a target is {}, and its row alone would decide it\n",
                     nearest > 0 ? fmt::format("{:.2g} of their mean size", nearest) : "zero");
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

// Rates that were given, as those of the baselines, mean nothing.
std::string rate_cell(const MethodResults& method) {
  if (method.search.empty()) return "";
  return method.rate ? rate_text(*method.rate) : "none";
}

std::string failures_cell(const MethodResults& method) {
  if (method.search.empty()) return "";
  std::uint64_t failed = 0;
  std::uint64_t done = 0;
  for (const RateResult& rate : method.search) {
    failed += rate.failed;
    done += rate.done;
  }
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
  for (const Measure& measure : measures(quality)) values.emplace_back(measure.key, finite(measure.value));
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
  std::size_t width = 0;
  for (const Evaluated& row : rows) width = std::max(width, row.name.size());
  for (const std::string& part : parts) width = std::max(width, part.size());
  for (std::size_t part = 0; part < parts.size(); ++part) {
    print("{}{:<{}}", part > 0 ? "\n" : "", parts[part], width + 2);
    for (const Measure& measure : measures(rows[0].on[part])) print(" {:>10}", measure.heading);
    print("\n");
    for (const Evaluated& row : rows) {
      print("  {:<{}}", row.name, width);
      for (const Measure& measure : measures(row.on[part])) print(" {:>10}", in_short(measure.value));
      print("\n");
    }
    print("{}", mape_note(rows[0].on[part]));
  }
}

void set_metrics(JsonLine& line, const std::string& prefix, const Scores& quality) {
  for (const Measure& measure : measures(quality)) line.set(prefix + "." + measure.key, measure.value);
  if (quality.regression && !quality.regression->mape) {
    line.set(prefix + ".target_nearest_to_zero", quality.regression->nearest_to_zero);
  }
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
