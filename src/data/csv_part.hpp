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
#include <utility>
#include <vector>

namespace ignd {

// Turns rows of text into rows of numbers, one part of a text after the other.
class CsvPart {
 public:
  // A row that cannot be used.
  struct Fault {
    std::uint64_t line = 0;
    std::string what;
  };

  CsvPart(const std::vector<CsvColumn>& columns, char delimiter);

  // Parses the rows of a text up to the first that cannot be used; `all` says that nothing follows the text. Returns
  // how much of the text that was: the rest is a row that is not complete.
  std::size_t parse(std::string_view text, bool all, std::uint64_t first_line);

  // Of the last text: whole rows, the line after them, and the row that could not be used.
  std::span<const double> values() const { return {values_.get(), count_}; }
  std::uint64_t next_line() const { return line_; }
  const std::optional<Fault>& fault() const { return fault_; }

  // Of all texts: whether a column was taken for numbers and is not, which ones, and what the texts of the others were.
  bool changed() const { return changed_; }
  const std::vector<bool>& not_numbers() const { return not_numbers_; }
  // Of text columns that are watched: what their cells look like. Of columns whose format was given: what did not fit.
  const FormatGuess& guess(std::size_t column) const { return guesses_[column]; }
  std::uint64_t unfit(std::size_t column) const { return unfit_[column]; }
  const std::string& unfit_cell(std::size_t column) const { return unfit_cells_[column]; }
  Labels& labels(std::size_t column) { return labels_[column]; }

 private:
  const char* plain_row(const char* at, const char* end);
  const char* any_row(const char* at, const char* end, bool all);
  double field_value(std::size_t column, std::string_view field);
  double text_value(std::size_t column, std::string_view field);
  double formatted_value(std::size_t column, std::string_view field);
  double misfit(std::size_t column, std::string_view field);
  void count_unfit();

  std::vector<CsvColumn> columns_;
  std::vector<ColumnKind> kinds_;  // numbers: plain ones, which are read first and fast
  char delimiter_;
  CsvRow row_;
  std::vector<Labels> labels_;
  std::vector<bool> not_numbers_;
  std::vector<FormatGuess> guesses_;
  std::vector<std::uint64_t> unfit_;
  std::vector<std::string> unfit_cells_;
  std::vector<std::pair<std::size_t, std::string>> unfit_in_row_;
  bool changed_ = false;
  std::unique_ptr<double[]> values_;
  std::size_t room_ = 0;
  std::size_t count_ = 0;
  std::uint64_t line_ = 0;
  std::optional<Fault> fault_;
};

}  // namespace ignd
