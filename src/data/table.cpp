#include "data/table.hpp"

#include "data/csv_head.hpp"

#include <algorithm>
#include <utility>

#include <xxhash.h>

namespace ignd {

std::uint64_t text_code(std::string_view text) {
  constexpr std::uint64_t bits_of_a_double = (std::uint64_t{1} << 53) - 1;
  return XXH3_64bits(text.data(), text.size()) & bits_of_a_double;
}

Table::Table(std::vector<Column> columns, RowStore rows, CsvDialect dialect)
    : columns_(std::move(columns)), rows_(std::move(rows)), dialect_(std::move(dialect)) {}

Table Table::of_numbers(const std::vector<std::string>& names, std::span<const double> rows) {
  std::vector<Column> columns;
  for (const std::string& name : names) columns.push_back({.name = name, .kind = ColumnKind::number, .labels = {}});
  RowStore store(names.size());
  store.append(rows);
  return {std::move(columns), std::move(store), {}};
}

std::vector<std::string> Table::kept(std::size_t row) const {
  std::vector<std::string> fields;
  for (const std::size_t place : kept_order_) fields.push_back(kept_[row * kept_width_ + place]);
  return fields;
}

std::size_t Table::find(std::string_view column) const {
  std::vector<std::string> names(columns_.size());
  std::ranges::transform(columns_, names.begin(), &Column::name);
  return find_column(names, column, header_note_);
}

}  // namespace ignd
