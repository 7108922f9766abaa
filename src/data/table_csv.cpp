// Reads comma-separated values into a table: block by block, the halves of a block side by side.
#include "base/text.hpp"
#include "data/byte_source.hpp"
#include "data/column_plan.hpp"
#include "data/csv_head.hpp"
#include "data/csv_part.hpp"
#include "data/table.hpp"
#include "data/text_window.hpp"
#include "data/worker_thread.hpp"
#include "ignd/error.hpp"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace ignd {
namespace {

// Where to cut a text in two so that both halves are whole rows: none where quotes might hide a line end.
std::size_t middle_row(std::string_view text) {
  if (text.find('"') != std::string_view::npos) return text.size();
  const std::size_t line = text.find('\n', text.size() / 2);
  return line == std::string_view::npos ? text.size() : line + 1;
}

// Reads the rows below the header.
class CsvLoader {
 public:
  CsvLoader(TextWindow& text, const std::vector<CsvColumn>& columns, const CsvHead& head, const CsvPart::Rules& rules,
            const TableOptions& options)
      : text_(text),
        line_(head.line),
        store_(columns.size(), options.memory),
        block_(std::max<std::size_t>(1, options.block) * (options.threads > 1 ? 2 : 1)),
        look_(block_),
        first_(columns, head.delimiter, rules) {
    if (options.threads < 2) return;
    second_.emplace(columns, head.delimiter, rules);
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

  FormatGuess guess(std::size_t column) const {
    FormatGuess guess = first_.guess(column);
    if (second_) guess.merge(second_->guess(column));
    return guess;
  }
  const std::vector<std::size_t>& bad_rows() const { return bad_rows_; }
  const std::string& first_fault() const { return first_fault_; }

  // These give away what has been read.
  std::vector<std::string> kept() { return std::move(kept_); }
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

  void keep(CsvPart& part, std::uint64_t lines_before) {
    if (const auto& fault = part.fault()) {
      const std::string row = fault->is_field ? fmt::format(" (row {})", store_.size() + part.rows() + 1) : "";
      throw FileError(fmt::format("{}, line {}{}: {}", text_.name(), lines_before + fault->line, row, fault->what));
    }
    line_ = lines_before + part.next_line();
    changed_ = changed_ || part.changed();
    if (changed_) return;
    if (const auto& fault = part.first_bad_row(); fault && bad_rows_.empty()) {
      first_fault_ = fmt::format("line {}: {}", lines_before + fault->line, fault->what);
    }
    for (const std::size_t row : part.bad_rows()) bad_rows_.push_back(store_.size() + row);
    std::ranges::move(part.kept(), std::back_inserter(kept_));
    store_.append(part.values());
  }

  TextWindow& text_;
  std::uint64_t line_;
  RowStore store_;
  std::size_t block_;
  std::size_t look_;  // bytes of text; more than a block where a row is longer
  bool changed_ = false;
  std::vector<std::size_t> bad_rows_;
  std::string first_fault_;
  std::vector<std::string> kept_;
  CsvPart first_;
  std::optional<CsvPart> second_;
  std::size_t second_used_ = 0;
  std::optional<WorkerThread> side_;
};

[[noreturn]] void refuse_to_read_again(const TextWindow& text, const std::vector<std::string>& names) {
  std::vector<std::string> quoted(names.size());
  std::ranges::transform(names, quoted.begin(), [](const std::string& name) { return in_quotes(name); });
  throw FileError(fmt::format("{}, column {}: was numbers at first and is not; use a file, which can be read again",
                              text.name(), join(quoted, " and ")));
}

}  // namespace

Table Table::load_csv(const OpenBytes& open, bool can_open_again, const TableOptions& options) {
  ColumnPlan plan({options.texts.begin(), options.texts.end()}, options.formats, options.decimal_comma);
  while (true) {
    TextWindow text(open());
    const CsvHead head = read_csv_head(text, options.dialect);
    const std::vector<CsvColumn> read_as = plan.columns(head.names, text.text(), head.delimiter);
    CsvPart::Rules rules{
        .names = head.names, .keep = std::vector<bool>(head.names.size()), .skip_bad_rows = options.skip_bad_rows};
    for (const std::string& name : options.keep) rules.keep[find_column(head.names, name, head.header_note)] = true;
    CsvLoader loader(text, read_as, head, rules, options);
    while (!loader.done() && (can_open_again || !loader.changed())) loader.load_block();
    std::vector<Column> columns;
    std::vector<std::string> changed;
    bool again = false;
    for (std::size_t c = 0; c < head.names.size(); ++c) {
      const std::string& name = head.names[c];
      columns.push_back({.name = name, .kind = read_as[c].kind, .labels = {}, .format = read_as[c].format});
      if (loader.not_numbers(c)) {
        changed.push_back(name);
        plan.watch(name);
      } else if (read_as[c].watched) {
        const FormatGuess guess = loader.guess(c);
        const auto format = plan.decide(guess);
        again = again || format.has_value();
        if (format) plan.take(name, *format);
        columns[c].doubt = format
                               ? fmt::format("all of it is a {}, but only a file can be read again", format->describe())
                               : plan.doubt(guess);
      }
    }
    if (!changed.empty() && !can_open_again) refuse_to_read_again(text, changed);
    if ((again && can_open_again) || !changed.empty()) continue;
    for (std::size_t c = 0; c < columns.size(); ++c) columns[c].labels = loader.labels(c);
    RowStore rows = loader.rows();
    if (rows.size() == 0) throw FileError(fmt::format("{} has no rows below its header", text.name()));
    Table table(std::move(columns), std::move(rows), {head.delimiter, head.header});
    table.header_note_ = head.header_note;
    table.bad_rows_ = loader.bad_rows();
    table.first_fault_ = loader.first_fault();
    table.kept_ = loader.kept();
    table.kept_width_ = static_cast<std::size_t>(std::ranges::count(rules.keep, true));
    for (const std::string& name : options.keep) {
      const auto place = static_cast<std::ptrdiff_t>(find_column(head.names, name));
      table.kept_order_.push_back(
          static_cast<std::size_t>(std::count(rules.keep.begin(), rules.keep.begin() + place, true)));
    }
    return table;
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
    const bool number = column.kind == ColumnKind::number;
    listed.push_back(fmt::format("{} ({})", in_quotes(column.name), number ? column.format.describe() : "text"));
  }
  if (columns.size() > most) listed.push_back(fmt::format("and {} more", columns.size() - most));
  return ": " + join(listed, ", ");
}

}  // namespace ignd
