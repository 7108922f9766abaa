#include "data/csv_head.hpp"

#include "base/text.hpp"
#include "ignd/error.hpp"

#include <algorithm>
#include <functional>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace ignd {
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

// What is guessed from the beginning is not to be guessed from nothing.
void skip_empty_lines(TextWindow& text, std::uint64_t& line) {
  while (true) {
    const std::size_t empty = std::min(text.text().find_first_not_of("\r\n"), text.text().size());
    line += static_cast<std::uint64_t>(std::ranges::count(text.text().substr(0, empty), '\n'));
    text.drop(empty);
    text.fill(guess_bytes);
    if (empty == 0 || text.text().empty()) return;
  }
}

// The first row that is not blank; what is before it is dropped, and so is the row if it is a header.
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
    std::string name = head.header ? std::string(trimmed(row[i])) : "";
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

}  // namespace ignd
