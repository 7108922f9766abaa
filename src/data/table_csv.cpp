// Reads comma-separated values into a table: block by block, the halves of a block side by side.
#include "core/text.hpp"
#include "data/byte_source.hpp"
#include "data/csv_head.hpp"
#include "data/csv_part.hpp"
#include "data/side_thread.hpp"
#include "data/table.hpp"
#include "data/text_window.hpp"
#include "ignd/error.hpp"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace ignd {
namespace {

// The first rows decide what the columns are, so that a file need not be read again for every text column.
void guess_kinds(std::vector<Column>& columns, std::string_view beginning, char delimiter) {
  CsvRow row(delimiter);
  const char* at = beginning.data();
  const char* end = at + beginning.size();
  constexpr int rows = 1000;
  for (int i = 0; i < rows && at < end; ++i) {
    at = row.split(at, end, false);
    if (at == nullptr) return;
    for (std::size_t c = 0; c < std::min(columns.size(), row.size()); ++c) {
      double value = 0;
      if (!is_number(row[c], value) && !is_missing(row[c])) columns[c].kind = ColumnKind::text;
    }
  }
}

// Where to cut a text in two so that both halves are whole rows: none where quotes might hide a line end.
std::size_t middle_row(std::string_view text) {
  if (text.find('"') != std::string_view::npos) return text.size();
  const std::size_t line = text.find('\n', text.size() / 2);
  return line == std::string_view::npos ? text.size() : line + 1;
}

// Reads the rows below the header.
class CsvLoader {
 public:
  CsvLoader(TextWindow& text, const std::vector<Column>& columns, char delimiter, std::uint64_t line,
            const TableOptions& options)
      : text_(text),
        line_(line),
        store_(columns.size(), options.memory),
        block_(std::max<std::size_t>(1, options.block) * (options.threads > 1 ? 2 : 1)),
        look_(block_),
        first_(columns, delimiter) {
    if (options.threads < 2) return;
    second_.emplace(columns, delimiter);
    side_.emplace();
  }

  void load_block() {
    text_.fill(look_);
    const std::string_view text = text_.text().substr(0, look_);
    const std::size_t used = parse(text, text_.ended() && text.size() == text_.text().size());
    text_.drop(used);
    look_ = used > 0 || text.empty() ? block_ : more_bytes(look_, text_, line_);
  }
  bool done() const { return text_.ended() && text_.text().empty(); }

  // A column was taken for numbers and is not: no more rows are kept.
  bool changed() const { return changed_; }
  bool not_numbers(std::size_t column) const {
    return first_.not_numbers()[column] || (second_ && second_->not_numbers()[column]);
  }

  // These give away what has been read.
  RowStore rows() { return std::move(store_); }
  Labels labels(std::size_t column) {
    Labels labels = std::move(first_.labels(column));
    if (second_) labels.merge(second_->labels(column));
    if (labels.size() > most_labels) labels.clear();
    return labels;
  }

 private:
  std::size_t parse(std::string_view text, bool all) {
    const std::size_t cut = second_ ? middle_row(text) : text.size();
    if (cut == text.size()) {
      const std::size_t used = first_.parse(text, all, line_);
      keep(first_, 0);
      return used;
    }
    // Its lines are counted from zero: how many come before them is not known yet.
    side_->start([this, half = text.substr(cut), all] { second_used_ = second_->parse(half, all, 0); });
    first_.parse(text.substr(0, cut), false, line_);
    side_->finish();
    keep(first_, 0);
    keep(*second_, line_);
    return cut + second_used_;
  }

  void keep(const CsvPart& part, std::uint64_t lines_before) {
    if (const auto& fault = part.fault()) {
      throw FileError(fmt::format("{}, line {}: {}", text_.name(), lines_before + fault->line, fault->what));
    }
    line_ = lines_before + part.next_line();
    changed_ = changed_ || part.changed();
    if (!changed_) store_.append(part.values());
  }

  TextWindow& text_;
  std::uint64_t line_;
  RowStore store_;
  std::size_t block_;
  std::size_t look_;  // bytes of text; more than a block where a row is longer
  bool changed_ = false;
  CsvPart first_;
  std::optional<CsvPart> second_;
  std::size_t second_used_ = 0;
  std::optional<SideThread> side_;
};

[[noreturn]] void refuse_to_read_again(const TextWindow& text, const std::vector<std::string>& names) {
  std::vector<std::string> quoted(names.size());
  std::ranges::transform(names, quoted.begin(), [](const std::string& name) { return in_quotes(name); });
  throw FileError(fmt::format("{}, column {}: was numbers at first and is not; use a file, which can be read again",
                              text.name(), join(quoted, " and ")));
}

}  // namespace

Table Table::load_csv(const OpenBytes& open, bool can_open_again, const TableOptions& options) {
  std::set<std::string, std::less<>> texts(options.texts.begin(), options.texts.end());
  while (true) {
    TextWindow text(open());
    const CsvHead head = read_csv_head(text, options.dialect);
    std::vector<Column> columns;
    for (const std::string& name : head.names) {
      columns.push_back({.name = name, .kind = ColumnKind::number, .labels = {}});
    }
    guess_kinds(columns, text.text(), head.delimiter);
    for (Column& column : columns) {
      if (texts.contains(column.name)) column.kind = ColumnKind::text;
    }
    CsvLoader loader(text, columns, head.delimiter, head.line, options);
    while (!loader.done() && (can_open_again || !loader.changed())) loader.load_block();
    if (!loader.changed()) {
      for (std::size_t c = 0; c < columns.size(); ++c) columns[c].labels = loader.labels(c);
      RowStore rows = loader.rows();
      if (rows.size() == 0) throw FileError(fmt::format("{} has no rows below its header", text.name()));
      Table table(std::move(columns), std::move(rows), {head.delimiter, head.header});
      table.header_note_ = head.header_note;
      return table;
    }
    std::vector<std::string> changed;
    for (std::size_t c = 0; c < columns.size(); ++c) {
      if (loader.not_numbers(c)) changed.push_back(columns[c].name);
    }
    if (!can_open_again) refuse_to_read_again(text, changed);
    texts.insert(changed.begin(), changed.end());
  }
}

Table Table::read_csv(const std::string& path, const TableOptions& options) {
  std::error_code unknown;  // then opening it says more
  const bool is_file = path != "-" && std::filesystem::is_regular_file(path, unknown);
  return load_csv([&] { return open_bytes(path); }, is_file, options);
}

Table Table::parse_csv(std::string_view text, const TableOptions& options) {
  return load_csv([&] { return bytes_of(text, "the text"); }, true, options);
}

std::string list_columns(std::string_view beginning, const CsvDialect& dialect) {
  std::vector<Column> columns;
  try {
    // The last row may be cut off.
    const std::size_t newline = beginning.rfind('\n');
    columns = Table::parse_csv(beginning.substr(0, newline), {.dialect = dialect}).columns();
  } catch (const Error&) {
    return "";
  }
  if (columns.size() < 2) return "";
  constexpr std::size_t most = 20;
  std::vector<std::string> listed;
  for (const Column& column : std::span(columns).first(std::min(columns.size(), most))) {
    listed.push_back(
        fmt::format("{} ({})", in_quotes(column.name), column.kind == ColumnKind::number ? "number" : "text"));
  }
  if (columns.size() > most) listed.push_back(fmt::format("and {} more", columns.size() - most));
  return ": " + join(listed, ", ");
}

}  // namespace ignd
