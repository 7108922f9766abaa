#pragma once

#include "data/cell_format.hpp"
#include "data/csv.hpp"
#include "data/row_store.hpp"

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
  // Where the format was given: how many cells do not fit it and count as missing, and one of them.
  std::uint64_t unfit = 0;
  std::string unfit_cell = {};
};

// The number that stands for a text in a table: 53 bits of its hash, which a double holds.
std::uint64_t text_code(std::string_view text);

struct TableOptions {
  CsvDialect dialect;
  // Columns that are text though all of their values may be numbers: a model has learned them as such.
  std::vector<std::string> texts = {};
  // Columns that have a known format: a model has learned them so. Cells that do not fit count as missing.
  std::map<std::string, CellFormat> formats = {};
  // The decimal mark: not given, it is the point in plain numbers, and guessed in others.
  std::optional<bool> decimal_comma = {};
  unsigned threads = 1;  // that parse, 1 or 2; what is read does not depend on it
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

  const std::vector<Column>& columns() const { return columns_; }
  std::size_t size() const { return rows_.size(); }
  std::span<const double> operator[](std::size_t row) const { return rows_[row]; }
  const CsvDialect& dialect() const { return dialect_; }
  const std::string& header_note() const { return header_note_; }  // that of a HeaderGuess

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
};

// The columns at the beginning of a table with their kinds, for whoever did not name the target: ": 'a' (number), 'b'
// (text)". Empty for what is no table, or has one column.
std::string list_columns(std::string_view beginning, const CsvDialect& dialect);

}  // namespace ignd
