#pragma once

#include "data/column_plan.hpp"
#include "data/csv.hpp"
#include "data/table.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ignd {

// Turns rows of text into rows of numbers, one part of a text after the other.
class CsvPart {
 public:
  // A row that cannot be used.
  struct Fault {
    std::uint64_t line = 0;
    std::string what;
    bool is_field = false;  // one of them, and not the row as a whole
  };

  struct Rules {
    std::vector<std::string> names = {};  // of the columns, for messages
    std::vector<bool> keep = {};          // of each column: its fields are kept as they stand
    bool skip_bad_rows = false;           // they have no values, and are counted
  };

  CsvPart(const std::vector<CsvColumn>& columns, char delimiter, Rules rules);

  // Parses the rows of a text up to the first that cannot be used; `all` says that nothing follows the text. Returns
  // how much of the text that was: the rest is a row that is not complete.
  std::size_t parse(std::string_view text, bool all, std::uint64_t first_line);

  // Of the last text: whole rows, the line after them, and the row that could not be used.
  std::span<const double> values() const { return {values_.get(), count_}; }
  std::uint64_t next_line() const { return line_; }
  const std::optional<Fault>& fault() const { return fault_; }
  std::size_t rows() const { return count_ / kinds_.size(); }
  const std::vector<std::size_t>& bad_rows() const { return bad_rows_; }  // from 0
  const std::optional<Fault>& first_bad_row() const { return first_bad_; }
  std::vector<std::string>& kept() { return kept_; }  // row by row

  // Of all texts: whether a column was taken for numbers and is not, which ones, and what the texts of the others were.
  bool changed() const { return changed_; }
  const std::vector<bool>& not_numbers() const { return not_numbers_; }
  // Of text columns that are watched: what their cells look like.
  const FormatGuess& guess(std::size_t column) const { return guesses_[column]; }
  Labels& labels(std::size_t column) { return labels_[column]; }

 private:
  const char* plain_row(const char* at, const char* end);
  const char* any_row(const char* at, const char* end, bool all);
  double field_value(std::size_t column, std::string_view field);
  double text_value(std::size_t column, std::string_view field);
  double formatted_value(std::size_t column, std::string_view field);
  double misfit(std::size_t column, std::string_view field);
  void end_row(std::uint64_t lines);
  void skip_row(std::string what);
  void make_room(std::size_t values);

  std::vector<CsvColumn> columns_;
  std::vector<ColumnKind> kinds_;  // numbers: plain ones, which are read first and fast
  char delimiter_;
  Rules rules_;
  bool keeps_ = false;  // any column
  CsvRow row_;
  std::vector<Labels> labels_;
  std::vector<bool> not_numbers_;
  std::vector<FormatGuess> guesses_;
  bool changed_ = false;
  std::unique_ptr<double[]> values_;
  std::size_t room_ = 0;
  std::size_t count_ = 0;
  std::uint64_t line_ = 0;
  std::optional<Fault> fault_;
  std::string bad_field_;  // what is wrong with one of the row; empty: nothing
  std::vector<std::size_t> bad_rows_;
  std::optional<Fault> first_bad_;
  std::vector<std::string> kept_;
};

}  // namespace ignd
