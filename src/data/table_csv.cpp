// Reads comma-separated values into a table: block by block, the parts of a block side by side.
#include "core/text.hpp"
#include "data/byte_source.hpp"
#include "data/number.hpp"
#include "data/table.hpp"
#include "ignd/error.hpp"

#include <algorithm>
#include <exception>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include <fmt/format.h>

namespace ignd {
namespace {

constexpr std::size_t block_bytes = std::size_t{1} << 20;  // for each thread
constexpr std::size_t longest_row = std::size_t{4} << 20;
constexpr std::size_t most_columns = 100'000;
constexpr double missing = std::numeric_limits<double>::quiet_NaN();

// A row that cannot be used.
struct Fault {
  std::uint64_t line = 0;
  std::string what;
};

// A column was taken for numbers and is not: the file has to be read again.
struct KindChanged {
  std::size_t column;
};

// Whole rows of text, and what has been read of the next.
class RowText {
 public:
  explicit RowText(const std::string& path) : source_(open_bytes(path)) {}

  // Reads until there are `bytes` of text, or all. False if nothing could be added.
  bool fill(std::size_t bytes) {
    const std::size_t before = text_.size();
    while (!ended_ && text_.size() < bytes) {
      const std::size_t had = text_.size();
      text_.resize(bytes);
      const std::size_t count = source_->read(std::span(text_).subspan(had));
      text_.resize(had + count);
      ended_ = count == 0;
    }
    return text_.size() > before;
  }

  std::string_view text() const { return text_; }
  bool ended() const { return ended_; }
  void drop(std::size_t bytes) { text_.erase(0, bytes); }
  const std::string& name() const { return source_->name(); }

 private:
  std::unique_ptr<ByteSource> source_;
  std::string text_;
  bool ended_ = false;
};

// Turns rows of text into rows of numbers. Used again for every block, one for each thread.
class PartParser {
 public:
  PartParser(const std::vector<Column>& columns, char delimiter) : columns_(columns), row_(delimiter) {
    delimiter_ = delimiter;
    labels_.resize(columns.size());
  }

  // Parses all rows of the text; `all` says that nothing follows it. Returns how much of the text that was: the rest is
  // a row that is not complete.
  std::size_t parse(std::string_view text, bool all, std::uint64_t first_line) {
    values_.clear();
    line_ = first_line;
    fault_.reset();
    const char* at = text.data();
    const char* end = at + text.size();
    while (at < end) {
      const char* next = quick_row(at, end);
      if (next == nullptr) next = any_row(at, end, all);
      if (next == nullptr || fault_) break;
      at = next;
    }
    return static_cast<std::size_t>(at - text.data());
  }

  const std::vector<double>& values() const { return values_; }
  std::uint64_t next_line() const { return line_; }
  const std::optional<Fault>& fault() const { return fault_; }
  Labels& labels(std::size_t column) { return labels_[column]; }

 private:
  // A row of plain numbers and of texts without quotes, which is what most rows are. Null if it is anything else; then
  // nothing has been kept of it.
  const char* quick_row(const char* at, const char* end) {
    const std::size_t before = values_.size();
    values_.resize(before + columns_.size());
    double* value = values_.data() + before;
    for (std::size_t c = 0; c < columns_.size(); ++c, ++value) {
      const char* stop = nullptr;
      if (columns_[c].kind == ColumnKind::number) {
        stop = read_number(at, end, *value);
      } else if (at < end && *at != '"') {
        stop = at;
        while (stop < end && *stop != delimiter_ && *stop != '\n' && *stop != '\r') ++stop;
        *value = text_value(c, std::string_view(at, static_cast<std::size_t>(stop - at)));
      }
      const bool last = c + 1 == columns_.size();
      if (stop != nullptr && last && stop < end && *stop == '\r') ++stop;
      if (stop == nullptr || stop == end || *stop != (last ? '\n' : delimiter_)) {
        values_.resize(before);
        return nullptr;
      }
      at = stop + 1;
    }
    ++line_;
    return at;
  }

  const char* any_row(const char* at, const char* end, bool all) {
    const char* next = row_.split(at, end, all);
    if (next == nullptr) return nullptr;
    if (row_.blank() && columns_.size() > 1) {
      line_ += row_.lines();
      return next;
    }
    if (row_.size() != columns_.size()) {
      fault_ = Fault{line_, fmt::format("has {} fields instead of {}", row_.size(), columns_.size())};
      return next;
    }
    for (std::size_t c = 0; c < columns_.size(); ++c) values_.push_back(field_value(c, row_[c]));
    line_ += row_.lines();
    return next;
  }

  double field_value(std::size_t column, std::string_view field) {
    if (columns_[column].kind == ColumnKind::text) return text_value(column, field);
    double value = missing;
    if (!is_number(field, value) && !is_missing(field)) throw KindChanged{column};
    return value;
  }

  double text_value(std::size_t column, std::string_view field) {
    if (is_missing(field)) return missing;
    const std::string_view text = trimmed(field);
    const std::uint64_t code = text_code(text);
    Labels& known = labels_[column];
    if (!known.contains(code) && known.size() < most_labels) known.emplace(code, text);
    return static_cast<double>(code);
  }

  const std::vector<Column>& columns_;
  char delimiter_;
  CsvRow row_;
  std::vector<Labels> labels_;
  std::vector<double> values_;
  std::uint64_t line_ = 0;
  std::optional<Fault> fault_;
};

std::vector<Column> read_names(RowText& text, const CsvDialect& dialect, std::uint64_t& line) {
  CsvRow row(*dialect.delimiter);
  std::vector<Column> columns;
  const std::string_view all = text.text();
  const char* next = row.split(all.data(), all.data() + all.size(), text.ended());
  if (next == nullptr) throw FileError(fmt::format("{}, line 1: is longer than 4 MiB; is it a table?", text.name()));
  if (row.size() > most_columns) {
    throw FileError(
        fmt::format("{}, line 1: has {} fields; at most {} are allowed", text.name(), row.size(), most_columns));
  }
  std::set<std::string, std::less<>> seen;
  for (std::size_t i = 0; i < row.size(); ++i) {
    std::string name = *dialect.header ? std::string(trimmed(row[i])) : fmt::format("c{}", i + 1);
    if (name.empty()) name = fmt::format("c{}", i + 1);
    if (!seen.insert(name).second) {
      throw FileError(fmt::format("{}, line 1: two columns have the name {}", text.name(), in_quotes(name)));
    }
    columns.push_back({.name = std::move(name), .kind = ColumnKind::number, .labels = {}});
  }
  if (*dialect.header) {
    line += row.lines();
    text.drop(static_cast<std::size_t>(next - all.data()));
  }
  return columns;
}

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

// Reads one file. The kinds that turn out wrong are set right in `columns`, and KindChanged is thrown.
class CsvLoader {
 public:
  CsvLoader(RowText& text, std::vector<Column>& columns, char delimiter, std::uint64_t line,
            const TableOptions& options)
      : text_(text), columns_(columns), line_(line), store_(columns.size(), options.memory), threads_(options.threads) {
    for (unsigned i = 0; i < std::max(1U, threads_); ++i) parsers_.emplace_back(columns_, delimiter);
  }

  RowStore load() {
    bool more = true;
    while (more || !text_.text().empty()) {
      more = text_.fill(std::max(text_.text().size() + 1, block_bytes * parsers_.size()));
      const std::size_t used = parse_block();
      if (used == 0 && text_.text().size() > longest_row) {
        throw FileError(fmt::format("{}, line {}: is longer than 4 MiB; is a quote missing?", text_.name(), line_));
      }
      text_.drop(used);
    }
    for (PartParser& parser : parsers_) {
      for (std::size_t c = 0; c < columns_.size(); ++c) columns_[c].labels.merge(parser.labels(c));
    }
    return std::move(store_);
  }

 private:
  std::size_t parse_block() {
    const std::string_view text = text_.text();
    const std::size_t cut = parsers_.size() > 1 ? middle_row(text) : text.size();
    std::exception_ptr thrown;
    std::size_t second_used = 0;
    std::jthread second;
    if (cut < text.size()) {
      // Its lines are counted from zero: how many come before them is not known yet.
      second = std::jthread([&] {
        try {
          second_used = parsers_[1].parse(text.substr(cut), text_.ended(), 0);
        } catch (...) {
          thrown = std::current_exception();
        }
      });
    }
    const std::size_t used = parsers_[0].parse(text.substr(0, cut), text_.ended() && cut == text.size(), line_);
    if (second.joinable()) second.join();
    keep(parsers_[0], 0);
    if (cut == text.size()) return used;
    if (thrown) std::rethrow_exception(thrown);
    keep(parsers_[1], line_);
    return cut + second_used;
  }

  void keep(const PartParser& parser, std::uint64_t lines_before) {
    store_.append(parser.values());
    if (const auto& fault = parser.fault()) {
      throw FileError(fmt::format("{}, line {}: {}", text_.name(), lines_before + fault->line, fault->what));
    }
    line_ = lines_before + parser.next_line();
  }

  RowText& text_;
  std::vector<Column>& columns_;
  std::uint64_t line_;
  RowStore store_;
  unsigned threads_;
  std::vector<PartParser> parsers_;
};

}  // namespace

Table Table::read_csv(const std::string& path, const TableOptions& options) {
  std::set<std::size_t> texts;  // columns that turned out not to be numbers
  while (true) {
    RowText text(path);
    text.fill(block_bytes);
    if (text.text().starts_with("\xef\xbb\xbf")) text.drop(3);  // the mark that some programs put before UTF-8
    if (text.text().empty()) throw FileError(fmt::format("{} is empty", text.name()));
    CsvDialect dialect = options.dialect;
    if (!dialect.delimiter) dialect.delimiter = guess_delimiter(text.text());
    if (!dialect.header) dialect.header = guess_header(text.text(), *dialect.delimiter);
    std::uint64_t line = 1;
    if (text.text().find('\n') == std::string_view::npos) text.fill(longest_row);
    std::vector<Column> columns = read_names(text, dialect, line);
    guess_kinds(columns, text.text(), *dialect.delimiter);
    for (const std::size_t column : texts) columns[column].kind = ColumnKind::text;
    try {
      RowStore rows = CsvLoader(text, columns, *dialect.delimiter, line, options).load();
      if (rows.size() == 0) throw FileError(fmt::format("{} has no rows below its header", text.name()));
      return {std::move(columns), std::move(rows), dialect};
    } catch (const KindChanged& changed) {
      if (path == "-") {
        throw FileError(
            fmt::format("the standard input, column {}: was numbers at first and is not; "
                        "use a file, which can be read again",
                        in_quotes(columns[changed.column].name)));
      }
      texts.insert(changed.column);
    }
  }
}

}  // namespace ignd
