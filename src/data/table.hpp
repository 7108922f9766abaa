#pragma once

#include "base/atomic_file.hpp"
#include "data/cell_format.hpp"
#include "data/csv.hpp"

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

// A growing table of doubles. Beyond a limit, rows go to a nameless file that is mapped into memory: the system keeps
// in memory what is used, and nothing is left behind, however the program ends.
class RowStore {
 public:
  static constexpr std::size_t default_memory = std::size_t{64} << 20;

  // For rows of `width` numbers, at least one. What exceeds `memory` bytes goes to a file in $TMPDIR or /var/tmp.
  explicit RowStore(std::size_t width, std::size_t memory = default_memory);
  ~RowStore();
  RowStore(RowStore&& other) noexcept;
  RowStore(const RowStore&) = delete;
  RowStore& operator=(const RowStore&) = delete;
  RowStore& operator=(RowStore&&) = delete;

  std::size_t width() const { return width_; }
  std::size_t size() const { return size_; }

  // Takes complete rows, one after the other. Throws FileError if the disk is full.
  void append(std::span<const double> rows);

  std::span<const double> operator[](std::size_t row) const {
    return {chunks_[row / rows_per_chunk_] + (row % rows_per_chunk_) * width_, width_};
  }

 private:
  double* new_chunk();

  std::size_t width_;
  std::size_t memory_;
  std::size_t rows_per_chunk_;
  std::size_t size_ = 0;
  std::vector<double*> chunks_;
  Descriptor file_;
  std::size_t file_bytes_ = 0;
};

class ByteSource;
struct Frame;

enum class ColumnKind { number, text };

// The texts of a column by code. Empty if there are more than most_labels: a million different texts would fill memory
// with names that are never printed.
using Labels = std::unordered_map<std::uint64_t, std::string>;
inline constexpr std::size_t most_labels = 10'000;

struct Column {
  std::string name;
  ColumnKind kind = ColumnKind::number;
  Labels labels;           // of a text column
  CellFormat format = {};  // how its numbers are written

  // Why a column that looks like numbers or dates is read as text; usually empty.
  std::string doubt = {};
};

// The number that represents a text in a table: 53 bits of its hash, which a double holds exactly.
std::uint64_t text_code(std::string_view text);

struct TableOptions {
  CsvDialect dialect;
  // Columns to read as text even if all values are numbers, because a model has learned them so.
  std::vector<std::string> texts = {};
  // Columns with a fixed format, including plain numbers, because a model has learned them so. A row with a cell that
  // does not fit is bad.
  std::map<std::string, CellFormat> formats = {};
  // The decimal mark. If not given, it is the point in plain numbers and guessed in other formats.
  std::optional<bool> decimal_comma = {};
  std::vector<std::string> keep = {};  // columns whose fields are kept unchanged
  bool skip_bad_rows = false;          // bad rows are counted and keep their place, with missing values
  unsigned threads = 1;                // for parsing, 1 or 2; does not change the result
  std::size_t memory = RowStore::default_memory;
  std::size_t block = std::size_t{1} << 18;  // bytes of text that a thread parses at a time
};

// A file as it was read. A column holds numbers if all of its values are numbers, plain or in one format. Otherwise it
// holds text, with text_code() as values. Missing values are NaN.
class Table {
 public:
  // Comma-separated values, or with another delimiter. Throws FileError with the line.
  static Table read_csv(const std::string& path, const TableOptions& options);
  static Table parse_csv(std::string_view text, const TableOptions& options);
  // Lines "LABEL INDEX:VALUE ..." with indices up to 2,000: a column for each, and the column "label".
  static Table read_svmlight(const std::string& path, const TableOptions& options);
  // Guesses which of the two it is.
  static Table read(const std::string& path, const TableOptions& options);

  // A table in memory, to the same numbers as a file with its cells. The options of files (dialect, threads, block)
  // mean nothing here, and keep cannot be used. Throws InvalidArgument for columns without a name or of one name, and
  // BadSample, with the row, for a cell that does not fit a given format.
  static Table of_frame(const Frame& frame, const TableOptions& options);

  // Columns of numbers that were computed, row after row.
  static Table of_numbers(const std::vector<std::string>& names, std::span<const double> rows);

  // The same rows with a column of numbers as two classes: 1 above its median, 0 elsewhere; a missing number stays one.
  // Throws InvalidArgument for a column of texts.
  Table above_median(std::size_t column) const;

  const std::vector<Column>& columns() const { return columns_; }
  std::size_t size() const { return rows_.size(); }
  std::span<const double> operator[](std::size_t row) const { return rows_[row]; }
  const CsvDialect& dialect() const { return dialect_; }
  const std::string& header_note() const { return header_note_; }  // see HeaderGuess::note

  // Rows that could not be read, in order, and what is wrong with the first: "line 7: has 2 fields instead of 3".
  const std::vector<std::size_t>& bad_rows() const { return bad_rows_; }
  const std::string& first_fault() const { return first_fault_; }
  bool is_bad(std::size_t row) const { return std::ranges::binary_search(bad_rows_, row); }

  // The kept fields of a row, in the order of TableOptions::keep.
  std::vector<std::string> kept(std::size_t row) const;

  // Throws InvalidArgument with the nearest name.
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
  std::vector<std::size_t> kept_order_ = {};  // for each column of TableOptions::keep, its place among the kept
  std::size_t kept_width_ = 0;
};

// Lists the first columns of a table with their kinds, for a user who has not named the target: ": 'a' (number), 'b'
// (text)". Empty if the text is not a table, or has one column.
std::string list_columns(std::string_view beginning, const CsvDialect& dialect);

}  // namespace ignd
