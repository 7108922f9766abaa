#pragma once

#include "data/cell_format.hpp"
#include "data/csv.hpp"
#include "data/table.hpp"

#include <algorithm>
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
#include <utility>
#include <vector>

namespace ignd {

// How to read a column of comma-separated values.
struct CsvColumn {
  ColumnKind kind = ColumnKind::number;
  CellFormat format = {};  // how its numbers are written
  bool given = false;      // the format is fixed, whatever the cells look like
  bool watched = false;    // a text column that may turn out to have a format
};

// Visits the first rows of a table, as the texts of their fields, until `visit` returns false.
using RowVisitor = std::function<bool(std::span<const std::string_view> fields)>;
using FirstRows = std::function<void(const RowVisitor& visit)>;
inline constexpr std::size_t first_row_count = 1000;

// Decides how to read the columns of a table. The first rows decide, so that most files are read once. If later rows
// contradict them, the plan is updated and the file is read again.
class ColumnPlan {
 public:
  // `formats` are fixed by a model, `decimal_comma` by the user.
  ColumnPlan(std::set<std::string, std::less<>> texts, std::map<std::string, CellFormat> formats,
             std::optional<bool> decimal_comma);

  std::vector<CsvColumn> columns(const std::vector<std::string>& names, const FirstRows& first_rows);
  std::vector<CsvColumn> columns(const std::vector<std::string>& names, std::string_view beginning, char delimiter);

  // Some cells of a numeric column are not numbers: the next pass examines all of its cells.
  void watch(const std::string& name);

  // The format that all cells of a column share; take() makes it the format of the next pass.
  std::optional<CellFormat> decide(const FormatGuess& guess) const;
  void take(const std::string& name, const CellFormat& format) { decided_[name] = format; }

  // Why a column that looks like numbers or dates is read as text; usually empty.
  std::string doubt(const FormatGuess& guess) const;

 private:
  std::vector<FormatGuess> guess_formats(const std::vector<bool>& plain, const FirstRows& first_rows);
  CsvColumn column(const std::string& name, bool plain, const FormatGuess& guess) const;

  std::set<std::string, std::less<>> texts_;
  std::map<std::string, CellFormat> given_;
  std::optional<bool> decimal_comma_;
  std::set<std::string, std::less<>> watched_;
  std::map<std::string, CellFormat> decided_;
  std::optional<bool> comma_in_file_;  // not given: the file shows no decimal mark, or both
};

// Reads the cells of one column as numbers, and learns meanwhile whether they are what the plan took them for.
class CellReader {
 public:
  CellReader(const CsvColumn& column, std::string name) : column_(column), name_(std::move(name)) {}

  // NaN for a missing value. A cell that contradicts a format which is given makes its row bad: `fault`, where it is
  // empty, says why.
  double read(std::string_view field, std::string& fault);
  double read_category(std::string_view text);  // whatever it looks like

  bool is_plain() const { return column_.kind == ColumnKind::number && column_.format.kind == CellFormat::Kind::plain; }
  bool is_text() const { return column_.kind == ColumnKind::text; }
  bool not_numbers() const { return not_numbers_; }    // what was taken for numbers is something else
  const FormatGuess& guess() const { return guess_; }  // what the cells of a watched text column look like
  Labels& labels() { return labels_; }

 private:
  double misfit(std::string_view field, std::string& fault);

  CsvColumn column_;
  std::string name_;
  Labels labels_;
  FormatGuess guess_;
  bool not_numbers_ = false;
};

// The end of the message about a bad row.
inline constexpr const char* bad_row_remedy = "; --bad-rows skip ignores such rows";

// Turns rows of text into rows of numbers, one block of text at a time.
class CsvPart {
 public:
  // What is wrong with a row.
  struct Fault {
    std::uint64_t line = 0;
    std::string what;
    bool is_field = false;  // a single field is wrong, not the row as a whole
  };

  struct Rules {
    std::vector<std::string> names = {};  // of the columns, for messages
    std::vector<bool> keep = {};          // for each column: whether to keep its fields unchanged
    bool skip_bad_rows = false;           // count them, and leave their values missing
  };

  CsvPart(const std::vector<CsvColumn>& columns, char delimiter, Rules rules);

  // Parses rows up to the first bad one; `all` says that nothing follows the text. Returns the number of bytes used:
  // the rest is an incomplete row.
  std::size_t parse(std::string_view text, bool all, std::uint64_t first_line);

  // About the last block: its complete rows, the line after them, and the row that could not be used.
  std::span<const double> values() const { return {values_.get(), count_}; }
  std::uint64_t next_line() const { return line_; }
  const std::optional<Fault>& fault() const { return fault_; }
  std::size_t rows() const { return count_ / plain_.size(); }
  const std::vector<std::size_t>& bad_rows() const { return bad_rows_; }  // from 0
  const std::optional<Fault>& first_bad_row() const { return first_bad_; }
  std::vector<std::string>& kept() { return kept_; }  // row by row

  // About all blocks: whether a numeric column turned out not to be one, and what each column has learned.
  bool changed() const { return std::ranges::any_of(readers_, &CellReader::not_numbers); }
  CellReader& reader(std::size_t column) { return readers_[column]; }
  const CellReader& reader(std::size_t column) const { return readers_[column]; }

 private:
  const char* plain_row(const char* at, const char* end);
  const char* any_row(const char* at, const char* end, bool all);
  void end_row(std::uint64_t lines);
  void skip_row(std::string what);
  void make_room(std::size_t values);

  std::vector<CellReader> readers_;
  std::vector<char> plain_;  // 1: columns of plain numbers, which have a fast path
  char delimiter_;
  Rules rules_;
  bool keeps_ = false;  // any column
  CsvRow row_;
  std::unique_ptr<double[]> values_;
  std::size_t room_ = 0;
  std::size_t count_ = 0;
  std::uint64_t line_ = 0;
  std::optional<Fault> fault_;
  std::string bad_field_;  // what is wrong with a field of the row; empty: nothing
  std::vector<std::size_t> bad_rows_;
  std::optional<Fault> first_bad_;
  std::vector<std::string> kept_;
};

}  // namespace ignd
