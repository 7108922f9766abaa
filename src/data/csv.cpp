#include "data/csv.hpp"

#include "base/number.hpp"
#include "base/text.hpp"
#include "data/cell_format.hpp"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

namespace ignd {
namespace {

constexpr std::size_t delimiter_rows = 50;
constexpr std::size_t header_rows = 1000;

// The first rows of a text that may have been cut off in the middle of one.
std::vector<std::vector<std::string>> first_rows(std::string_view beginning, char delimiter, std::size_t most) {
  std::vector<std::vector<std::string>> rows;
  CsvRow row(delimiter);
  const char* at = beginning.data();
  const char* end = at + beginning.size();
  while (at < end && rows.size() < most) {
    const char* next = row.split(at, end, rows.empty());
    if (next == nullptr) break;
    at = next;
    if (row.blank()) continue;
    rows.emplace_back();
    for (std::size_t i = 0; i < row.size(); ++i) rows.back().emplace_back(row[i]);
  }
  return rows;
}

}  // namespace

const char* CsvRow::split(const char* at, const char* end, bool all) {
  text_.clear();
  ends_.clear();
  lines_ = 1;
  in_quotes_ = false;
  while (true) {
    if (at < end && *at == '"') {
      ++at;
      while (true) {
        const char* quote = std::find(at, end, '"');
        if (quote == end) {
          if (!all) return nullptr;
          in_quotes_ = true;
          text_.append(at, end);
          at = end;
          break;
        }
        lines_ += static_cast<std::uint64_t>(std::count(at, quote, '\n'));
        text_.append(at, quote);
        at = quote + 1;
        if (at == end || *at != '"') break;
        text_.push_back('"');
        ++at;
      }
    }
    const char* stop = at;
    while (stop < end && *stop != delimiter_ && *stop != '\n') ++stop;
    if (stop == end && !all) return nullptr;
    const bool line_ends = stop == end || *stop == '\n';
    const char* last = line_ends && stop > at && stop[-1] == '\r' ? stop - 1 : stop;
    text_.append(at, last);
    ends_.push_back(text_.size());
    at = stop;
    if (at == end) return at;
    ++at;
    if (line_ends) return at;
  }
}

bool CsvRow::blank() const { return size() == 1 && trimmed(text_).empty(); }

char guess_delimiter(std::string_view beginning) {
  char best = ',';
  bool best_is_even = false;
  std::size_t most = 1;
  for (const char delimiter : std::array{',', '\t', ';', '|'}) {
    const auto rows = first_rows(beginning, delimiter, delimiter_rows);
    if (rows.empty()) continue;
    const std::size_t width = rows.front().size();
    const bool even = std::ranges::all_of(rows, [&](const auto& row) { return row.size() == width; });
    if (width < 2 || (best_is_even && !even)) continue;
    if (width > most || (even && !best_is_even)) {
      most = width;
      best = delimiter;
      best_is_even = even;
    }
  }
  return best;
}

HeaderGuess guess_header(std::string_view beginning, char delimiter, std::span<const std::string> asked_for) {
  const auto rows = first_rows(beginning, delimiter, header_rows);
  if (rows.empty()) return {.header = false};
  const std::vector<std::string>& first = rows.front();
  const auto stands_there = [&](const std::string& name) {
    return std::ranges::any_of(first, [&](const std::string& field) { return trimmed(field) == name; });
  };
  const bool has_all = !asked_for.empty() && std::ranges::all_of(asked_for, stands_there);
  const auto numeric = [&](const std::string& field) {
    double value = 0;
    FormatGuess guess;
    guess.add(field);  // dates, money and the like
    return is_number(field, value) || guess.is_alive();
  };
  if (std::ranges::any_of(first, numeric)) return {.header = has_all};
  if (rows.size() == 1) return {.header = true};
  std::set<std::string_view> seen;
  std::string why;
  for (std::size_t c = 0; c < first.size(); ++c) {
    if (is_missing(first[c])) continue;
    const std::string_view name = trimmed(first[c]);
    if (!seen.insert(name).second && why.empty()) why = fmt::format("{} stands in it twice", in_quotes(name));
    for (std::size_t row = 1; row < rows.size(); ++row) {
      if (c >= rows[row].size()) continue;
      if (numeric(rows[row][c])) return {.header = true};  // a text above numbers
      if (why.empty() && trimmed(rows[row][c]) == name) why = fmt::format("{} occurs again below it", in_quotes(name));
    }
  }
  if (has_all) why.clear();
  for (std::size_t c = 0; c < first.size() && !has_all; ++c) {
    const std::string place = column_name(c);
    if (std::ranges::find(asked_for, place) != asked_for.end()) why = fmt::format("the column {} is asked for", place);
  }
  const bool header = why.empty();
  if (header)
    why = has_all ? fmt::format("it has {}", in_quotes(asked_for.front())) : "none of its fields occurs again";
  return {
      .header = header,
      .note = fmt::format("all fields are texts: the first row is taken for {}, because {}; --header {} changes that",
                          header ? "names" : "data", why, header ? "no" : "yes")};
}

std::string column_name(std::size_t column) { return fmt::format("c{}", column + 1); }

std::string_view trimmed(std::string_view text) {
  const auto is_blank = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

bool is_missing(std::string_view field) {
  field = trimmed(field);
  constexpr std::array<std::string_view, 10> words{"", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "none", "?"};
  return std::ranges::find(words, field) != words.end();
}

bool is_number(std::string_view field, double& value) {
  field = trimmed(field);
  const char* end = field.data() + field.size();
  return !field.empty() && read_number(field.data(), end, value) == end;
}

}  // namespace ignd
