#include "data/csv_texts.hpp"

#include "data/byte_source.hpp"
#include "data/csv_head.hpp"
#include "data/text_window.hpp"
#include "ignd/error.hpp"

#include <algorithm>
#include <cstddef>

#include <fmt/format.h>

namespace ignd {
namespace {

void check_row(const CsvRow& row, const TextWindow& text, const CsvHead& head) {
  if (row.in_quotes()) {
    throw FileError(fmt::format("{}, line {}: opens quotes that are never closed", text.name(), head.line));
  }
  if (row.size() == head.names.size()) return;
  throw FileError(fmt::format("{}, line {}: has {} field{} instead of {}", text.name(), head.line, row.size(),
                              row.size() == 1 ? "" : "s", head.names.size()));
}

}  // namespace

std::string visit_csv(const std::string& path, const CsvDialect& dialect, const std::vector<std::string>& columns,
                      const CsvVisitor& visit) {
  constexpr std::size_t block = std::size_t{1} << 18;
  TextWindow text(open_bytes(path));
  CsvHead head = read_csv_head(text, dialect);
  std::vector<std::size_t> places(columns.size());
  std::ranges::transform(columns, places.begin(),
                         [&](const std::string& column) { return find_column(head.names, column, head.header_note); });
  std::vector<std::string_view> fields(columns.size());
  CsvRow row(head.delimiter);
  for (std::uint64_t rows = 0;;) {
    const std::string_view rest = text.text();
    if (rest.empty() && text.ended()) {
      if (rows == 0) throw FileError(fmt::format("{} has no rows below its header", text.name()));
      return head.header_note;
    }
    const char* next = row.split(rest.data(), rest.data() + rest.size(), text.ended());
    if (next == nullptr) {
      text.fill(more_bytes(std::max(rest.size(), block), text, head.line));
      continue;
    }
    if (!row.blank() || head.names.size() == 1) {
      check_row(row, text, head);
      for (std::size_t i = 0; i < fields.size(); ++i) fields[i] = row[places[i]];
      visit(++rows, fields);
    }
    head.line += row.lines();
    text.drop(static_cast<std::size_t>(next - rest.data()));
  }
}

}  // namespace ignd
