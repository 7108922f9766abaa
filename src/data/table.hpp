#pragma once

#include "data/csv.hpp"
#include "data/row_store.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace ignd {

enum class ColumnKind { number, text };

// The texts of a column by their codes, as far as they are kept: a column of a million different ones would fill the
// memory with names that nobody prints.
using Labels = std::unordered_map<std::uint64_t, std::string>;
inline constexpr std::size_t most_labels = 10'000;

struct Column {
  std::string name;
  ColumnKind kind = ColumnKind::number;
  Labels labels;  // of a text column
};

// The number that stands for a text in a table: 53 bits of its hash, which a double holds.
std::uint64_t text_code(std::string_view text);

struct TableOptions {
  CsvDialect dialect;
  unsigned threads = 1;  // that parse; what is read does not depend on it
  std::size_t memory = RowStore::default_memory;
};

// A file as it is, before anything is learned from it: a column is numbers if all of its values are, and text
// otherwise. A value that is missing is NaN.
class Table {
 public:
  // Comma-separated values, or the like. Throws FileError with the line where the file is not what it should be.
  static Table read_csv(const std::string& path, const TableOptions& options);

  const std::vector<Column>& columns() const { return columns_; }
  std::size_t size() const { return rows_.size(); }
  std::span<const double> operator[](std::size_t row) const { return rows_[row]; }
  const CsvDialect& dialect() const { return dialect_; }

  // Throws InvalidArgument, and offers the nearest name there is.
  std::size_t find(std::string_view column) const;

 private:
  Table(std::vector<Column> columns, RowStore rows, CsvDialect dialect);

  std::vector<Column> columns_;
  RowStore rows_;
  CsvDialect dialect_;
};

}  // namespace ignd
