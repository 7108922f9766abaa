#include "cli/confusion_table.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <vector>

#include <fmt/format.h>

namespace ignd::cli {
namespace {

using Words = std::vector<std::string>;

bool begins_character(char byte) { return (static_cast<unsigned char>(byte) & 0xc0U) != 0x80U; }

// How many characters a text in UTF-8 has.
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

// Columns have the names of the classes, or their numbers where that would be too wide.
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

}  // namespace

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

}  // namespace ignd::cli
