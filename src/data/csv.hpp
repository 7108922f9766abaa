#pragma once

#include "data/text_blocks.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ignd {

// What a text of comma-separated values looks like; what is not given is guessed from its beginning.
struct CsvDialect {
  std::optional<char> delimiter;
  std::optional<bool> header;
  std::vector<std::string> asked_for = {};  // columns that must be there, which helps to guess the header
};

// One row of a text, split at its delimiters. Fields in double quotes may hold delimiters, line ends and doubled
// quotes.
class CsvRow {
 public:
  explicit CsvRow(char delimiter) : delimiter_(delimiter) {}

  // Splits the row that starts at `at` and returns where the next one starts; null if the text ends before the row
  // does, unless this is all there is.
  const char* split(const char* at, const char* end, bool all);

  std::size_t size() const { return ends_.size(); }
  std::string_view operator[](std::size_t i) const {
    const std::size_t begin = i == 0 ? 0 : ends_[i - 1];
    return std::string_view(text_).substr(begin, ends_[i] - begin);
  }
  // How many lines of text it took.
  std::uint64_t lines() const { return lines_; }
  bool blank() const;                            // nothing but white space
  bool in_quotes() const { return in_quotes_; }  // there was all there is, and it ended inside quotes

 private:
  char delimiter_;
  std::string text_;  // of all fields, quotes taken off
  std::vector<std::size_t> ends_;
  std::uint64_t lines_ = 0;
  bool in_quotes_ = false;
};

// The delimiter (comma, tab, semicolon or bar) that cuts each of the first rows into the same number of fields, as many
// as possible. If none does, the one that cuts the first row most often; comma if there is none.
char guess_delimiter(std::string_view beginning);

struct HeaderGuess {
  bool header = false;
  // Where it could be otherwise: what was decided and why, and the option that changes it.
  std::string note = {};
};

// Whether the first row holds names. It does if all of the columns that are asked for are there, or if one of its
// fields is a text above numbers; it does not if one is a number. Where all fields are texts, it is taken for data if
// c1, c2 or the like is asked for, if two of its fields are the same, or if one of them occurs again in its column. The
// beginning may end in the middle of a row, but not of the first.
HeaderGuess guess_header(std::string_view beginning, char delimiter, std::span<const std::string> asked_for = {});

// Of a column without a name: c1, c2 and so on, counted from 0 here.
std::string column_name(std::size_t column);

// What stands for a value that is not there: nothing, NA, N/A, NaN, null, None (some of them in lower or upper case
// too) or a question mark.
bool is_missing(std::string_view field);

// The whole field, blanks around it aside, as a number: also inf and nan.
bool is_number(std::string_view field, double& value);

// The beginning of a text of comma-separated values: what the rest has to be read by.
struct CsvHead {
  char delimiter = ',';
  bool header = false;
  std::vector<std::string> names;  // of the columns: c1, c2, ... where there is no header
  std::uint64_t line = 1;          // the first that is left
  std::string header_note = {};    // that of a HeaderGuess
};

// Reads the head of a text, and drops it: what is left are rows. What the dialect leaves open is guessed. Throws
// FileError, with the line, and InvalidArgument for a delimiter that cannot be one.
CsvHead read_csv_head(TextWindow& text, const CsvDialect& dialect);

// Where a column is. Throws InvalidArgument, and offers the nearest name there is, or the note on the header.
std::size_t find_column(std::span<const std::string> names, std::string_view column, std::string_view header_note = {});

// How many bytes to look at where so many do not hold the whole row. Throws FileError where that is too long for one.
std::size_t more_bytes(std::size_t bytes, const TextWindow& text, std::uint64_t line);

// Called with the number of a row, from 1 below the header, and its fields.
using CsvVisitor = std::function<void(std::uint64_t row, std::span<const std::string_view> fields)>;

// Visits the rows of comma-separated values with the fields of some columns as they stand there: a Table keeps no
// texts. Gzip or not; "-" is the standard input. Returns what there is to say of a header that was guessed. Throws
// FileError, and InvalidArgument for a column that is not there.
std::string visit_csv(const std::string& path, const CsvDialect& dialect, const std::vector<std::string>& columns,
                      const CsvVisitor& visit);

}  // namespace ignd
