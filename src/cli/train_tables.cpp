// Tables to train on.
#include "base/text.hpp"
#include "cli/console.hpp"
#include "cli/describe.hpp"
#include "cli/training_data.hpp"
#include "data/cell_format.hpp"
#include "ignd/error.hpp"
#include "learn/datasets.hpp"
#include "learn/race.hpp"
#include "learn/table_dataset.hpp"
#include "learn/table_model.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include <fmt/format.h>

namespace ignd::cli {
namespace {

class TableData final : public TrainingData {
 public:
  explicit TableData(const TrainOptions& options)
      : table_(read_table(options.spec.data, options.spec.dataset)), task_(table_, options.spec.dataset) {}

  const Dataset& task() const override { return task_; }
  std::string samples() const override { return "rows"; }
  void print_warnings() const override;
  std::uint64_t size() const override { return table_.size(); }
  std::uint64_t left_out() const override { return task_.bad_rows().count; }
  std::vector<std::string> details() const override;
  std::string inputs() const override { return fmt::format("{} features", task_.encoder().features()); }
  void describe(JsonLine& line) const override;
  std::vector<Predictor> baselines() const override { return fit_baselines(task_); }
  RaceSize race_size() const override { return {.samples = table_race_samples}; }
  std::optional<Shape> measured_shape() const override { return std::nullopt; }

 private:
  // Those that are not empty.
  std::vector<std::pair<std::string, std::span<const std::uint32_t>>> measured_parts() const {
    std::vector<std::pair<std::string, std::span<const std::uint32_t>>> parts;
    if (!task_.split().validation.empty()) parts.emplace_back("validation", task_.split().validation);
    if (!task_.split().test.empty()) parts.emplace_back("test", task_.split().test);
    return parts;
  }

  Table table_;
  TableDataset task_;
};

// Columns of whole numbers that go up by one from row to row.
std::vector<std::string> counting_columns(const Table& table, const DatasetOptions& options) {
  constexpr std::size_t enough = 20;
  if (table.size() < enough) return {};
  std::vector<std::size_t> counting;
  for (std::size_t c = 0; c < table.columns().size(); ++c) {
    const Column& column = table.columns()[c];
    const bool is_input = column.name != options.target && column.name != options.weight &&
                          column.name != options.split_by && column.name != options.split_time;
    if (is_input && column.kind == ColumnKind::number && !column.format.is_date()) counting.push_back(c);
  }
  for (std::size_t row = 0; row < table.size() && !counting.empty(); ++row) {
    const auto values = table[row];
    std::erase_if(counting, [&](std::size_t c) {
      const double expected = table[0][c] + static_cast<double>(row);
      return values[c] != expected || std::floor(expected) != expected;
    });
  }
  std::vector<std::string> names(counting.size());
  std::ranges::transform(counting, names.begin(), [&](std::size_t c) { return table.columns()[c].name; });
  return names;
}

// A column of numbers with a stray word among them would be learned as texts, each a thing of its own.
void TableData::print_warnings() const {
  for (const std::string& name : counting_columns(table_, task_.options())) {
    print_error("ignd: warning: column {} counts the rows; remove it if it is only their number\n", in_quotes(name));
  }
  for (const Column& column : table_.columns()) {
    if (!column.doubt.empty()) {
      print_error("ignd: warning: column {} is taken for texts: {}\n", in_quotes(column.name), column.doubt);
    }
    const auto is_text = [&](const auto& label) {
      FormatGuess guess;
      guess.add(label.second);
      return !guess.is_alive();
    };
    const auto texts = static_cast<std::size_t>(std::ranges::count_if(column.labels, is_text));
    if (texts == 0 && !column.labels.empty() && column.doubt.empty()) {
      print_error(
          "ignd: warning: column {} is taken for texts: its numbers or dates are not all written in the same way\n",
          in_quotes(column.name));
    }
    if (texts == 0 || 10 * texts > column.labels.size()) continue;
    const std::string& stray = std::ranges::find_if(column.labels, is_text)->second;
    print_error("ignd: warning: column {} is taken for texts because of {}; most of its values are numbers or dates\n",
                in_quotes(column.name), in_quotes(stray));
  }
  if (const std::string text = left_out_text(task_); !text.empty()) print_error("ignd: warning: {}\n", text);
  for (const auto& [name, rows] : measured_parts()) {
    const std::vector<std::string> missing = task_.classes_without(rows);
    if (missing.empty()) continue;
    print_error("ignd: warning: no {} row has the class{} {}: nothing can be measured of {} there\n", name,
                missing.size() == 1 ? "" : "es", list_classes(missing), missing.size() == 1 ? "it" : "them");
  }
}

// The first columns, and every other one that is not simply taken as it is.
std::vector<std::string> TableData::details() const {
  constexpr std::size_t most_shown = 30;
  const auto& columns = task_.encoder().columns();
  std::vector<std::string> lines;
  if (!table_.header_note().empty()) lines.push_back(table_.header_note());
  std::size_t hidden = 0;
  for (const ColumnCode& code : columns) {
    const bool remarkable = code.form == ColumnCode::Form::dropped || code.format.kind != CellFormat::Kind::plain;
    if (lines.size() < most_shown || remarkable) {
      lines.push_back(fmt::format("{:<20} {}", printable(code.name), cli::describe(code)));
    } else {
      ++hidden;
    }
  }
  if (hidden > 0) lines.push_back(fmt::format("and {} more columns", hidden));
  return lines;
}

void TableData::describe(JsonLine& line) const {
  line.set("features", std::uint64_t{task_.encoder().features()});
  set_columns(line, task_.encoder().columns());
  line.set("left_out", task_.bad_rows().count);
  for (const auto& [name, rows] : measured_parts()) {
    const std::vector<std::string> missing = task_.classes_without(rows);
    if (!missing.empty()) line.set("unmeasured." + name, std::span<const std::string>(missing));
  }
  if (table_.dialect().header) line.set("header", *table_.dialect().header);
  if (!table_.header_note().empty()) line.set("header_note", table_.header_note());
}

void check_table(const TrainOptions& options) {
  if (options.spec.dataset.target.empty()) options.spec.data.refuse_without_target();
  model_spec(options.spec.training.model, 1);
  if (!options.spec.dataset.loss.empty()) check_loss(options.spec.dataset.loss);
  options.spec.data.dialect();
}

std::unique_ptr<TrainingData> read_table_data(const TrainOptions& options) {
  return std::make_unique<TableData>(options);
}

}  // namespace

const TrainingKind table_training{"a table", "tables", table_model_kind, RunKey::tables, check_table, read_table_data};

}  // namespace ignd::cli
