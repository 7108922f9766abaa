#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ignd {

// What a text of comma-separated values looks like; what is not given is guessed from its beginning.
struct CsvDialect {
  std::optional<char> delimiter;
  std::optional<bool> header;
};

// One row of a text, split at its delimiters. Fields in double quotes may hold delimiters, line ends and doubled
// quotes.
class CsvRow {
 public:
  explicit CsvRow(char delimiter) : delimiter_(delimiter) {}

  // Splits the row that starts at `at` and returns where the next one starts; null if the text ends inside quotes, or
  // without a line end unless this is all there is.
  const char* split(const char* at, const char* end, bool all);

  std::size_t size() const { return ends_.size(); }
  std::string_view operator[](std::size_t i) const {
    const std::size_t begin = i == 0 ? 0 : ends_[i - 1];
    return std::string_view(text_).substr(begin, ends_[i] - begin);
  }
  // How many lines of text it took.
  std::uint64_t lines() const { return lines_; }
  bool blank() const { return size() == 1 && text_.empty(); }

 private:
  char delimiter_;
  std::string text_;  // of all fields, quotes taken off
  std::vector<std::size_t> ends_;
  std::uint64_t lines_ = 0;
};

// The delimiter (comma, tab, semicolon or bar) that cuts the first lines into the same number of fields, as many as
// possible; comma if none does.
char guess_delimiter(std::string_view beginning);

// Whether the first row holds names: none of its fields is a number, though some below it are, or nothing is.
bool guess_header(std::string_view beginning, char delimiter);

// Without blanks at its ends.
std::string_view trimmed(std::string_view text);

// What stands for a value that is not there: nothing, NA, N/A, NaN, null, None or a question mark.
bool is_missing(std::string_view field);

// The whole field, blanks around it aside, as a number.
bool is_number(std::string_view field, double& value);

}  // namespace ignd
