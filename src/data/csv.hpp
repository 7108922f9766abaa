#pragma once

#include "data/byte_source.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ignd {

// How comma-separated values are written. What is not given is guessed from the first rows.
struct CsvDialect {
  std::optional<char> delimiter;
  std::optional<bool> header;
  std::vector<std::string> asked_for = {};  // columns that must exist, which helps to guess the header
};

// One row, split at its delimiters. Fields in double quotes may hold delimiters, line ends and doubled quotes.
class CsvRow {
 public:
  explicit CsvRow(char delimiter) : delimiter_(delimiter) {}

  // Splits the row that starts at `at` and returns where the next one starts. Null if the row is incomplete, unless
  // `all` says that nothing follows the text.
  const char* split(const char* at, const char* end, bool all);

  std::size_t size() const { return ends_.size(); }
  std::string_view operator[](std::size_t i) const {
    const std::size_t begin = i == 0 ? 0 : ends_[i - 1];
    return std::string_view(text_).substr(begin, ends_[i] - begin);
  }
  // The number of lines that the row takes.
  std::uint64_t lines() const { return lines_; }
  bool blank() const;                            // nothing but white space
  bool in_quotes() const { return in_quotes_; }  // the text ended inside quotes

 private:
  char delimiter_;
  std::string text_;  // of all fields, without quotes
  std::vector<std::size_t> ends_;
  std::uint64_t lines_ = 0;
  bool in_quotes_ = false;
};

// The delimiter (comma, tab, semicolon or bar) that splits each of the first rows into the same number of fields, the
// more the better. Failing that, the one that splits the first row most often; comma if none does.
char guess_delimiter(std::string_view beginning);

struct HeaderGuess {
  bool header = false;
  // For ambiguous files: the decision, the reason, and the option that changes it.
  std::string note = {};
};

// Whether the first row is a header. It is if it contains all columns that are asked for, or if one of its fields is a
// text above numbers; it is not if one of its fields is a number. If all fields are texts, it is data if c1, c2 or the
// like is asked for, if two of its fields are equal, or if one of them occurs again in its column. The text may end
// within a row, but not within the first.
HeaderGuess guess_header(std::string_view beginning, char delimiter, std::span<const std::string> asked_for = {});

// The name of a column in a file without a header: c1 for column 0, c2, ...
std::string column_name(std::size_t column);

// Whether a field stands for a missing value: empty, NA, N/A, NaN, null, None (some also in other cases) or a question
// mark.
bool is_missing(std::string_view field);

// Reads the whole trimmed field as a number; accepts inf and nan.
bool is_number(std::string_view field, double& value);

// What the head of a file tells about its rows.
struct CsvHead {
  char delimiter = ',';
  bool header = false;
  std::vector<std::string> names;  // of the columns: c1, c2, ... without a header
  std::uint64_t line = 1;          // of the first row
  std::string header_note = {};    // see HeaderGuess::note
};

// Reads the head of a file and drops it from the window, which then starts with the first row. Guesses what the dialect
// leaves open. Throws FileError with the line, and InvalidArgument for an impossible delimiter.
CsvHead read_csv_head(TextWindow& text, const CsvDialect& dialect);

// The index of a column. Throws InvalidArgument with the nearest name and the note on the header.
std::size_t find_column(std::span<const std::string> names, std::string_view column, std::string_view header_note = {});

// How many bytes to try next if `bytes` do not hold the whole row. Throws FileError if the row is too long.
std::size_t more_bytes(std::size_t bytes, const TextWindow& text, std::uint64_t line);

// Called with the number of a row, counted from 1, and its fields.
using CsvVisitor = std::function<void(std::uint64_t row, std::span<const std::string_view> fields)>;

// Visits the rows of a file with the unchanged fields of some columns; a Table would not keep the texts. "-" is
// standard input. Returns the note on a guessed header. Throws FileError, and InvalidArgument for an unknown column.
std::string visit_csv(const std::string& path, const CsvDialect& dialect, const std::vector<std::string>& columns,
                      const CsvVisitor& visit);

}  // namespace ignd
