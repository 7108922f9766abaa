#pragma once

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
  };

  CsvPart(const std::vector<Column>& columns, char delimiter);

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
  Labels& labels(std::size_t column) { return labels_[column]; }

 private:
  const char* plain_row(const char* at, const char* end);
  const char* any_row(const char* at, const char* end, bool all);
  double field_value(std::size_t column, std::string_view field);
  double text_value(std::size_t column, std::string_view field);

  std::vector<ColumnKind> kinds_;
  char delimiter_;
  CsvRow row_;
  std::vector<Labels> labels_;
  std::vector<bool> not_numbers_;
  bool changed_ = false;
  std::unique_ptr<double[]> values_;
  std::size_t room_ = 0;
  std::size_t count_ = 0;
  std::uint64_t line_ = 0;
  std::optional<Fault> fault_;
};

}  // namespace ignd
