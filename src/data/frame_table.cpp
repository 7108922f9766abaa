#include "base/text.hpp"
#include "data/csv.hpp"
#include "data/csv_parser.hpp"
#include "data/table.hpp"
#include "ignd/error.hpp"
#include "ignd/frame.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace ignd {
namespace {

constexpr std::size_t block_rows = 1024;

void check_frame(const Frame& frame) {
  std::vector<std::string> faults;
  std::set<std::string> names;
  for (const auto& [name, cells] : frame.columns) {
    if (name.empty()) faults.emplace_back("a column has no name");
    if (!name.empty() && !names.insert(name).second) {
      faults.push_back(fmt::format("there are two columns {}", in_quotes(name)));
    }
  }
  if (frame.columns.empty()) faults.emplace_back("the table has no columns");
  if (frame.rows == 0) faults.emplace_back("the table has no rows");
  if (!faults.empty()) throw InvalidArgument(list_faults(faults));
}

// A number or a date as it would stand in a file; empty if it is missing.
std::string cell_text(FrameColumn::Kind kind, double value) {
  if (std::isnan(value)) return "";
  return kind == FrameColumn::Kind::dates ? date_text(value) : format_number(value);
}

// Reads the columns of a frame block by block.
class FrameLoader {
 public:
  using Kind = FrameColumn::Kind;

  FrameLoader(const Frame& frame, const std::vector<CsvColumn>& read_as, const TableOptions& options)
      : frame_(frame), skip_(options.skip_bad_rows), store_(frame.columns.size(), options.memory) {
    for (std::size_t c = 0; c < read_as.size(); ++c) {
      const auto& [name, cells] = frame.columns[c];
      const bool number = read_as[c].kind == ColumnKind::number;
      const bool as_it_is = (cells->kind() == Kind::numbers && read_as[c].format.kind == CellFormat::Kind::plain) ||
                            (cells->kind() == Kind::dates && read_as[c].format.is_date());
      direct_.push_back(number && as_it_is);
      readers_.emplace_back(read_as[c], name);
    }
  }

  void load() {
    const std::size_t width = frame_.columns.size();
    std::vector<double> cells(block_rows), rows(block_rows * width);
    for (std::size_t first = 0; first < frame_.rows; first += block_rows) {
      const std::size_t count = std::min(block_rows, frame_.rows - first);
      faults_.assign(count, "");
      for (std::size_t c = 0; c < width; ++c) {
        read(c, first, std::span(cells).first(count));
        for (std::size_t i = 0; i < count; ++i) rows[i * width + c] = cells[i];
      }
      mark_bad_rows(first, std::span(rows).first(count * width));
      store_.append(std::span(rows).first(count * width));
    }
  }

  CellReader& reader(std::size_t column) { return readers_[column]; }
  std::vector<std::size_t> bad_rows() { return std::move(bad_rows_); }
  std::string first_fault() { return std::move(first_fault_); }
  RowStore rows() { return std::move(store_); }

 private:
  void read(std::size_t c, std::size_t first, std::span<double> values) {
    const FrameColumn& column = *frame_.columns[c].second;
    const bool is_text = column.kind() == Kind::texts || column.kind() == Kind::categories;
    if (!is_text) column.read(first, values);
    if (direct_[c]) return;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (!is_text) {
        values[i] = readers_[c].read(cell_text(column.kind(), values[i]), faults_[i]);
        continue;
      }
      const auto text = column.text(first + i);
      const bool exact = column.kind() == Kind::categories && readers_[c].is_text();
      if (!text) {
        values[i] = std::numeric_limits<double>::quiet_NaN();
      } else {
        values[i] = exact ? readers_[c].read_category(*text) : readers_[c].read(*text, faults_[i]);
      }
    }
  }

  void mark_bad_rows(std::size_t first, std::span<double> rows) {
    const std::size_t width = frame_.columns.size();
    for (std::size_t i = 0; i < faults_.size(); ++i) {
      if (faults_[i].empty()) continue;
      if (!skip_) throw BadSample(fmt::format("row {}: {}{}", first + i + 1, faults_[i], bad_row_remedy));
      if (bad_rows_.empty()) first_fault_ = faults_[i];
      bad_rows_.push_back(first + i);
      std::ranges::fill(rows.subspan(i * width, width), std::numeric_limits<double>::quiet_NaN());
    }
  }

  const Frame& frame_;
  bool skip_;
  RowStore store_;
  std::vector<bool> direct_;  // columns whose numbers need no text
  std::vector<CellReader> readers_;
  std::vector<std::string> faults_;  // of the rows of a block
  std::vector<std::size_t> bad_rows_;
  std::string first_fault_;
};

void visit_first_rows(const Frame& frame, const RowVisitor& visit) {
  const std::size_t width = frame.columns.size();
  std::vector<std::string> texts(width);
  std::vector<std::string_view> fields(width);
  for (std::size_t row = 0; row < std::min(frame.rows, first_row_count); ++row) {
    for (std::size_t c = 0; c < width; ++c) {
      const FrameColumn& column = *frame.columns[c].second;
      double value = 0;
      if (column.kind() == FrameColumn::Kind::texts) {
        texts[c] = column.text(row).value_or("");
      } else if (column.kind() == FrameColumn::Kind::numbers) {
        column.read(row, {&value, 1});
        texts[c] = cell_text(column.kind(), value);
      }
      fields[c] = texts[c];
    }
    if (!visit(fields)) return;
  }
}

// What the kind of a frame's column says, unless the options say otherwise.
CsvColumn known_column(const FrameColumn& cells, const CsvColumn& planned) {
  if (planned.given || planned.kind == ColumnKind::text) return planned;
  if (cells.kind() == FrameColumn::Kind::categories) return {.kind = ColumnKind::text};
  if (cells.kind() == FrameColumn::Kind::dates) {
    return {.kind = ColumnKind::number, .format = {.kind = CellFormat::Kind::date}, .given = true};
  }
  // An option for decimal commas is about texts.
  return cells.kind() == FrameColumn::Kind::numbers ? CsvColumn() : planned;
}

}  // namespace

FrameColumn::~FrameColumn() = default;

Table Table::of_frame(const Frame& frame, const TableOptions& options) {
  check_frame(frame);
  if (!options.keep.empty()) throw InvalidArgument("columns of a table in memory cannot be kept");
  ColumnPlan plan({options.texts.begin(), options.texts.end()}, options.formats, options.decimal_comma);
  std::vector<std::string> names;
  for (const auto& column : frame.columns) names.push_back(column.first);
  while (true) {
    std::vector<CsvColumn> read_as =
        plan.columns(names, [&](const RowVisitor& visit) { visit_first_rows(frame, visit); });
    for (std::size_t c = 0; c < names.size(); ++c) read_as[c] = known_column(*frame.columns[c].second, read_as[c]);
    FrameLoader loader(frame, read_as, options);
    loader.load();
    std::vector<Column> columns;
    bool again = false;
    for (std::size_t c = 0; c < names.size(); ++c) {
      CellReader& reader = loader.reader(c);
      columns.push_back({.name = names[c],
                         .kind = read_as[c].kind,
                         .labels = std::move(reader.labels()),
                         .format = read_as[c].format});
      if (columns[c].labels.size() > most_labels) columns[c].labels.clear();
      if (reader.not_numbers()) {
        plan.watch(names[c]);
        again = true;
      } else if (read_as[c].watched) {
        if (const auto format = plan.decide(reader.guess())) {
          plan.take(names[c], *format);
          again = true;
        }
        columns[c].doubt = plan.doubt(reader.guess());
      }
    }
    if (again) continue;
    Table table(std::move(columns), loader.rows(), {});
    table.bad_rows_ = loader.bad_rows();
    table.first_fault_ = loader.first_fault();
    return table;
  }
}

}  // namespace ignd
