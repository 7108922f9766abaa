#include "data/csv.hpp"

#include "base/number.hpp"
#include "base/text.hpp"
#include "data/byte_source.hpp"
#include "data/cell_format.hpp"
#include "ignd/error.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace ignd {
namespace {

constexpr std::size_t delimiter_rows = 50;
constexpr std::size_t header_rows = 1000;

// The first rows of a text, without an incomplete last one.
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

bool CsvRow::blank() const { return size() == 1 && trim(text_).empty(); }

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
    return std::ranges::any_of(first, [&](const std::string& field) { return trim(field) == name; });
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
    const std::string_view name = trim(first[c]);
    if (!seen.insert(name).second && why.empty()) why = fmt::format("{} occurs in it twice", in_quotes(name));
    for (std::size_t row = 1; row < rows.size(); ++row) {
      if (c >= rows[row].size()) continue;
      if (numeric(rows[row][c])) return {.header = true};  // a text above numbers
      if (why.empty() && trim(rows[row][c]) == name) why = fmt::format("{} occurs again below it", in_quotes(name));
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
  return {.header = header,
          .note = fmt::format("all fields are texts: the first row is read as {}, because {}; --header {} changes that",
                              header ? "names" : "data", why, header ? "no" : "yes")};
}

std::string column_name(std::size_t column) { return fmt::format("c{}", column + 1); }

bool is_missing(std::string_view field) {
  field = trim(field);
  constexpr std::array<std::string_view, 10> words{"", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "none", "?"};
  return std::ranges::find(words, field) != words.end();
}

bool is_number(std::string_view field, double& value) {
  field = trim(field);
  const char* end = field.data() + field.size();
  return !field.empty() && read_number(field.data(), end, value) == end;
}

namespace {

constexpr std::size_t guess_bytes = std::size_t{1} << 20;
constexpr std::size_t longest_row = std::size_t{4} << 20;
constexpr std::size_t most_columns = 100'000;

void check_delimiter(const CsvDialect& dialect) {
  const char delimiter = dialect.delimiter.value_or(',');
  if (delimiter == '"' || delimiter == '\n' || delimiter == '\r') {
    throw InvalidArgument(fmt::format("{} cannot be a delimiter", in_quotes(std::string_view(&delimiter, 1))));
  }
}

// Empty lines would leave nothing to guess from.
void skip_empty_lines(TextWindow& text, std::uint64_t& line) {
  while (true) {
    const std::size_t empty = std::min(text.text().find_first_not_of("\r\n"), text.text().size());
    line += static_cast<std::uint64_t>(std::ranges::count(text.text().substr(0, empty), '\n'));
    text.drop(empty);
    text.fill(guess_bytes);
    if (empty == 0 || text.text().empty()) return;
  }
}

// Reads the first row that is not blank. Drops the lines before it, and the row itself if it is a header.
void read_names(TextWindow& text, CsvHead& head) {
  CsvRow row(head.delimiter);
  std::size_t length = 0;
  while (true) {
    const std::string_view rest = text.text();
    if (rest.empty() && text.ended()) throw FileError(fmt::format("{} is empty", text.name()));
    const char* next = row.split(rest.data(), rest.data() + rest.size(), text.ended());
    if (next == nullptr) {
      text.fill(more_bytes(std::max(rest.size(), guess_bytes / 2), text, head.line));
      continue;
    }
    length = static_cast<std::size_t>(next - rest.data());
    if (!row.blank()) break;
    head.line += row.lines();
    text.drop(length);
  }
  if (row.in_quotes()) {
    throw FileError(fmt::format("{}, line {}: opens quotes that are never closed", text.name(), head.line));
  }
  if (row.size() > most_columns) {
    throw FileError(fmt::format("{}, line {}: has {} fields; at most {} are allowed", text.name(), head.line,
                                row.size(), most_columns));
  }
  std::set<std::string, std::less<>> seen;
  for (std::size_t i = 0; i < row.size(); ++i) {
    std::string name = head.header ? std::string(trim(row[i])) : "";
    if (name.empty()) name = column_name(i);
    if (!seen.insert(name).second) {
      throw FileError(
          fmt::format("{}, line {}: two columns have the name {}", text.name(), head.line, in_quotes(name)));
    }
    head.names.push_back(std::move(name));
  }
  if (head.header) {
    head.line += row.lines();
    text.drop(length);
  }
}

}  // namespace

CsvHead read_csv_head(TextWindow& text, const CsvDialect& dialect) {
  check_delimiter(dialect);
  text.fill(guess_bytes);
  CsvHead head;
  skip_empty_lines(text, head.line);
  head.delimiter = dialect.delimiter ? *dialect.delimiter : guess_delimiter(text.text());
  const HeaderGuess guess = dialect.header ? HeaderGuess{.header = *dialect.header}
                                           : guess_header(text.text(), head.delimiter, dialect.asked_for);
  head.header = guess.header;
  head.header_note = guess.note;
  read_names(text, head);
  return head;
}

std::size_t find_column(std::span<const std::string> names, std::string_view column, std::string_view header_note) {
  const auto place = std::ranges::find(names, column);
  if (place != names.end()) return static_cast<std::size_t>(place - names.begin());
  const std::string near = suggestion(column, names);
  constexpr std::size_t most_listed = 12;
  std::vector<std::string> listed;
  if (near.empty() && names.size() <= most_listed) {
    for (const std::string& name : names) listed.push_back(printable(name));
  }
  throw InvalidArgument(fmt::format("there is no column {}{}{}{}{}", in_quotes(column), near,
                                    listed.empty() ? "" : "; there are " + join(listed, ", "),
                                    header_note.empty() ? "" : "; ", header_note));
}

std::size_t more_bytes(std::size_t bytes, const TextWindow& text, std::uint64_t line) {
  if (bytes > longest_row) {
    throw FileError(fmt::format("{}, line {}: the row is longer than {} MiB; is a quote or a line end missing?",
                                text.name(), line, longest_row >> 20));
  }
  return std::min(2 * bytes, longest_row + 1);
}

namespace {

void check_row(const CsvRow& row, const TextWindow& text, const CsvHead& head) {
  if (row.in_quotes()) {
    throw FileError(fmt::format("{}, line {}: opens quotes that are never closed", text.name(), head.line));
  }
  if (row.size() == head.names.size()) return;
  throw FileError(fmt::format("{}, line {}: has {} field{} instead of {}", text.name(), head.line, row.size(),
                              row.size() == 1 ? "" : "s", head.names.size()));
}

}  // namespace

std::string visit_csv(const std::string& path, const CsvDialect& dialect, const std::vector<std::string>& columns,
                      const CsvVisitor& visit) {
  constexpr std::size_t block = std::size_t{1} << 18;
  TextWindow text(open_bytes(path));
  CsvHead head = read_csv_head(text, dialect);
  std::vector<std::size_t> places(columns.size());
  std::ranges::transform(columns, places.begin(),
                         [&](const std::string& column) { return find_column(head.names, column, head.header_note); });
  std::vector<std::string_view> fields(columns.size());
  CsvRow row(head.delimiter);
  for (std::uint64_t rows = 0;;) {
    const std::string_view rest = text.text();
    if (rest.empty() && text.ended()) {
      if (rows == 0) throw FileError(fmt::format("{} has no rows below its header", text.name()));
      return head.header_note;
    }
    const char* next = row.split(rest.data(), rest.data() + rest.size(), text.ended());
    if (next == nullptr) {
      text.fill(more_bytes(std::max(rest.size(), block), text, head.line));
      continue;
    }
    if (!row.blank() || head.names.size() == 1) {
      check_row(row, text, head);
      for (std::size_t i = 0; i < fields.size(); ++i) fields[i] = row[places[i]];
      visit(++rows, fields);
    }
    head.line += row.lines();
    text.drop(static_cast<std::size_t>(next - rest.data()));
  }
}

}  // namespace ignd
