#pragma once

#include "data/cell_format.hpp"
#include "data/csv.hpp"
#include "data/table.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ignd {

// How to read a column of comma-separated values.
struct CsvColumn {
  ColumnKind kind = ColumnKind::number;
  CellFormat format = {};  // of numbers
  bool given = false;      // the format holds, whatever the cells are
  bool watched = false;    // a text column that may turn out to be something else
};

// What the columns of a file are. The first rows decide, so that it need not be read again for every column that is
// not plain numbers. Where later rows say something else, it is read again, and the plan is told what was found.
class ColumnPlan {
 public:
  // The formats are those of a model, and hold; the decimal mark is what the user says it is.
  ColumnPlan(std::set<std::string, std::less<>> texts, std::map<std::string, CellFormat> formats,
             std::optional<bool> decimal_comma);

  std::vector<CsvColumn> columns(const std::vector<std::string>& names, std::string_view beginning, char delimiter);

  // A column was taken for numbers of some kind, and has other cells: the next time all of them are looked at.
  void watch(const std::string& name);

  // What all cells of a column say; then the next time the column is that.
  std::optional<CellFormat> decide(const FormatGuess& guess) const;
  void take(const std::string& name, const CellFormat& format) { decided_[name] = format; }

  // Why a column that looks like numbers or dates is texts; mostly empty.
  std::string doubt(const FormatGuess& guess) const;

 private:
  std::vector<FormatGuess> guess_formats(const std::vector<bool>& plain, std::string_view beginning, char delimiter);
  CsvColumn column(const std::string& name, bool plain, const FormatGuess& guess) const;

  std::set<std::string, std::less<>> texts_;
  std::map<std::string, CellFormat> given_;
  std::optional<bool> decimal_comma_;
  std::set<std::string, std::less<>> watched_;
  std::map<std::string, CellFormat> decided_;
  std::optional<bool> comma_in_file_;  // not given: it shows no decimal mark, or both
};

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
