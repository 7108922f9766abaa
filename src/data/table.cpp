#include "data/table.hpp"

#include "core/text.hpp"
#include "ignd/error.hpp"

#include <utility>

#include <fmt/format.h>
#include <xxhash.h>

namespace ignd {

std::uint64_t text_code(std::string_view text) {
  constexpr std::uint64_t bits_of_a_double = (std::uint64_t{1} << 53) - 1;
  return XXH3_64bits(text.data(), text.size()) & bits_of_a_double;
}

Table::Table(std::vector<Column> columns, RowStore rows, CsvDialect dialect)
    : columns_(std::move(columns)), rows_(std::move(rows)), dialect_(dialect) {}

std::size_t Table::find(std::string_view column) const {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (columns_[i].name == column) return i;
    names.push_back(columns_[i].name);
  }
  const std::string near = suggestion(column, names);
  constexpr std::size_t most_listed = 12;
  std::string listed;
  if (near.empty() && names.size() <= most_listed) listed = "; there are " + join(names, ", ");
  throw InvalidArgument(fmt::format("there is no column {}{}{}", in_quotes(column), near, listed));
}

}  // namespace ignd
