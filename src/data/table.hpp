#pragma once

#include "data/cell_format.hpp"
#include "data/csv.hpp"
#include "data/row_store.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace ignd {

class ByteSource;

enum class ColumnKind { number, text };

// The texts of a column by their codes; none if there are more than most_labels: a column of a million different ones
// would fill the memory with names that nobody prints.
using Labels = std::unordered_map<std::uint64_t, std::string>;
inline constexpr std::size_t most_labels = 10'000;

struct Column {
  std::string name;
  ColumnKind kind = ColumnKind::number;
  Labels labels;           // of a text column
  CellFormat format = {};  // how its numbers are written

  // Of a text column: why its cells, which look like numbers or dates, are texts all the same; mostly empty.
  std::string doubt = {};
};

// The number that stands for a text in a table: 53 bits of its hash, which a double holds.
std::uint64_t text_code(std::string_view text);

struct TableOptions {
  CsvDialect dialect;
  // Columns that are text though all of their values may be numbers: a model has learned them as such.
  std::vector<std::string> texts = {};
  // Columns that have a known format, plain numbers included: a model has learned them so. A row with a cell that does
  // not fit is bad.
  std::map<std::string, CellFormat> formats = {};
  // The decimal mark: not given, it is the point in plain numbers, and guessed in others.
  std::optional<bool> decimal_comma = {};
  std::vector<std::string> keep = {};  // columns whose fields are kept as they stand
  bool skip_bad_rows = false;          // rows that cannot be read stay in their place, without values, and are counted
  unsigned threads = 1;                // that parse, 1 or 2; what is read does not depend on it
  std::size_t memory = RowStore::default_memory;
  std::size_t block = std::size_t{1} << 18;  // bytes of text that a thread parses at a time
};

// A file as it is, before anything is learned from it: a column is numbers if all of its values are, plain or all of
// one format, and text otherwise, with text_code() as its values. A value that is missing is NaN.
class Table {
 public:
  // Comma-separated values, or the like. Throws FileError with the line where the file is not what it should be.
  static Table read_csv(const std::string& path, const TableOptions& options);
  static Table parse_csv(std::string_view text, const TableOptions& options);
  // Lines "LABEL INDEX:VALUE ..." with indices up to 2,000: a column for each, and the column "label".
  static Table read_svmlight(const std::string& path, const TableOptions& options);
  // Whichever of the two it looks like.
  static Table read(const std::string& path, const TableOptions& options);

  // Columns of numbers that were computed, row after row.
  static Table of_numbers(const std::vector<std::string>& names, std::span<const double> rows);

  const std::vector<Column>& columns() const { return columns_; }
  std::size_t size() const { return rows_.size(); }
  std::span<const double> operator[](std::size_t row) const { return rows_[row]; }
  const CsvDialect& dialect() const { return dialect_; }
  const std::string& header_note() const { return header_note_; }  // that of a HeaderGuess

  // Rows that could not be read, in order, and what is wrong with the first: "line 7: has 2 fields instead of 3".
  const std::vector<std::size_t>& bad_rows() const { return bad_rows_; }
  const std::string& first_fault() const { return first_fault_; }
  bool is_bad(std::size_t row) const { return std::ranges::binary_search(bad_rows_, row); }

  // The fields of a row that were asked to be kept, in the order of the question.
  std::vector<std::string> kept(std::size_t row) const;

  // Throws InvalidArgument, and offers the nearest name there is.
  std::size_t find(std::string_view column) const;

 private:
  using OpenBytes = std::function<std::unique_ptr<ByteSource>()>;

  static Table load_csv(const OpenBytes& open, bool can_open_again, const TableOptions& options);
  Table(std::vector<Column> columns, RowStore rows, CsvDialect dialect);

  std::vector<Column> columns_;
  RowStore rows_;
  CsvDialect dialect_;
  std::string header_note_ = {};
  std::vector<std::size_t> bad_rows_ = {};
  std::string first_fault_ = {};
  std::vector<std::string> kept_ = {};        // row by row, in the order of the columns
  std::vector<std::size_t> kept_order_ = {};  // of the columns asked for, where they are among the kept
  std::size_t kept_width_ = 0;
};

// The columns at the beginning of a table with their kinds, for whoever did not name the target: ": 'a' (number), 'b'
// (text)". Empty for what is no table, or has one column.
std::string list_columns(std::string_view beginning, const CsvDialect& dialect);

}  // namespace ignd
