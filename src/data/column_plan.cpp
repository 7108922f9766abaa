#include "data/column_plan.hpp"

#include "data/csv.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace ignd {
namespace {

// The first rows of a text, one after the other, until `visit` returns false.
template <class Visit>
void visit_rows(std::string_view beginning, char delimiter, Visit visit) {
  constexpr int rows = 1000;
  CsvRow row(delimiter);
  const char* at = beginning.data();
  const char* end = at + beginning.size();
  for (int i = 0; i < rows && at < end; ++i) {
    at = row.split(at, end, false);
    if (at == nullptr || !visit(row)) return;
  }
}

// Whether a plain number shows that the point is its decimal mark: three digits behind it might be thousands.
bool shows_point(std::string_view number) {
  const std::size_t point = number.find('.');
  return point != std::string_view::npos && trimmed(number).size() - point != 4;
}

}  // namespace

ColumnPlan::ColumnPlan(std::set<std::string, std::less<>> texts, std::map<std::string, CellFormat> formats,
                       std::optional<bool> decimal_comma)
    : texts_(std::move(texts)), given_(std::move(formats)), decimal_comma_(decimal_comma) {}

std::vector<CsvColumn> ColumnPlan::columns(const std::vector<std::string>& names, std::string_view beginning,
                                           char delimiter) {
  std::vector<bool> plain(names.size(), true);
  visit_rows(beginning, delimiter, [&](const CsvRow& row) {
    for (std::size_t c = 0; c < std::min(names.size(), row.size()); ++c) {
      double value = 0;
      if (plain[c] && !is_number(row[c], value) && !is_missing(row[c])) plain[c] = false;
    }
    return true;
  });
  const std::vector<FormatGuess> guesses = guess_formats(plain, beginning, delimiter);
  std::vector<CsvColumn> columns(names.size());
  for (std::size_t c = 0; c < names.size(); ++c) columns[c] = column(names[c], plain[c], guesses[c]);
  return columns;
}

void ColumnPlan::watch(const std::string& name) {
  if (decided_.erase(name) > 0) {
    texts_.insert(name);
  } else {
    watched_.insert(name);
  }
}

std::optional<CellFormat> ColumnPlan::decide(const FormatGuess& guess) const {
  const auto format = guess.decide(decimal_comma_, comma_in_file_);
  if (format && !format->is_date() && decimal_comma_.value_or(format->comma) != format->comma) return std::nullopt;
  return format;
}

std::string ColumnPlan::doubt(const FormatGuess& guess) const {
  const auto comma = guess.shown_comma();
  if (!comma || *comma == decimal_comma_.value_or(*comma)) return guess.why();
  return fmt::format("its numbers have a decimal {}, which --decimal excludes", *comma ? "comma" : "point");
}

std::vector<FormatGuess> ColumnPlan::guess_formats(const std::vector<bool>& plain, std::string_view beginning,
                                                   char delimiter) {
  std::vector<FormatGuess> guesses(plain.size());
  bool point = false;
  visit_rows(beginning, delimiter, [&](const CsvRow& row) {
    bool alive = false;
    for (std::size_t c = 0; c < std::min(plain.size(), row.size()); ++c) {
      if (plain[c]) {
        point = point || shows_point(row[c]);
      } else if (guesses[c].is_alive()) {
        if (!is_missing(row[c])) guesses[c].add(row[c]);
        alive = alive || guesses[c].is_alive();
      }
    }
    return alive;
  });
  bool comma = false;
  for (const FormatGuess& guess : guesses) {
    const auto shown = guess.shown_comma();
    point = point || !shown.value_or(true);
    comma = comma || shown.value_or(false);
  }
  comma_in_file_ = point == comma ? std::nullopt : std::optional(comma);
  return guesses;
}

CsvColumn ColumnPlan::column(const std::string& name, bool plain, const FormatGuess& guess) const {
  constexpr auto number = ColumnKind::number;
  if (texts_.contains(name)) return {.kind = ColumnKind::text};
  const auto given = given_.find(name);
  if (given != given_.end()) return {.kind = number, .format = given->second, .given = true};
  const auto decided = decided_.find(name);
  if (decided != decided_.end()) return {.kind = number, .format = decided->second};
  if (watched_.contains(name)) return {.kind = ColumnKind::text, .watched = true};
  if (plain && decimal_comma_.value_or(false)) {
    return {.kind = number, .format = {.kind = CellFormat::Kind::number, .comma = true}};
  }
  if (plain) return {};
  if (const auto format = decide(guess)) return {.kind = number, .format = *format};
  return {.kind = ColumnKind::text, .watched = guess.is_alive()};
}

}  // namespace ignd
