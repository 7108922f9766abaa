#pragma once

#include <cstdint>
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

// Without spaces, tabs and carriage returns at its ends.
std::string_view trimmed(std::string_view text);

// What stands for a value that is not there: nothing, NA, N/A, NaN, null, None (some of them in lower or upper case
// too) or a question mark.
bool is_missing(std::string_view field);

// The whole field, blanks around it aside, as a number: also inf and nan.
bool is_number(std::string_view field, double& value);

}  // namespace ignd
