// Tables to train on.
#include "cli/output.hpp"
#include "cli/quality_table.hpp"
#include "cli/training_data.hpp"
#include "core/text.hpp"
#include "data/csv.hpp"
#include "ignd/error.hpp"
#include "train/table_model.hpp"
#include "train/table_task.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace ignd::cli {
namespace {

Table read_table(const TrainOptions& options) {
  DataFile data = options.data;
  data.columns = options.task.columns();
  return data.read();
}

class TableData final : public TrainingData {
 public:
  explicit TableData(const TrainOptions& options) : table_(read_table(options)), task_(table_, options.task) {}

  const LearningTask& task() const override { return task_; }
  std::string samples() const override { return "rows"; }
  void print_warnings() const override;
  std::uint64_t size() const override { return table_.size(); }
  std::vector<std::string> details() const override;
  std::string inputs() const override { return fmt::format("{} features", task_.encoder().features()); }
  void describe(JsonLine& line) const override;
  std::vector<Predictor> baselines() const override { return fit_baselines(task_); }
  RaceSize race_size() const override { return {.samples = 20'000}; }
  std::optional<Shape> measured_shape() const override { return std::nullopt; }

 private:
  Table table_;
  TableTask task_;
};

// A column of numbers with a stray word among them would be learned as texts, each a thing of its own.
void TableData::print_warnings() const {
  for (const Column& column : table_.columns()) {
    double value = 0;
    const auto is_text = [&](const auto& label) { return !is_number(label.second, value); };
    const auto texts = static_cast<std::size_t>(std::ranges::count_if(column.labels, is_text));
    if (texts == 0 || 10 * texts > column.labels.size()) continue;
    const std::string& stray = std::ranges::find_if(column.labels, is_text)->second;
    print_error("ignd: warning: column {} is taken for texts because of {}; most of its values are numbers\n",
                in_quotes(column.name), in_quotes(stray));
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
    const bool remarkable = code.form == ColumnCode::Form::dropped;
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
  set_dropped(line, task_.encoder().columns());
  if (table_.dialect().header) line.set("header", *table_.dialect().header);
  if (!table_.header_note().empty()) line.set("header_note", table_.header_note());
}

void complete(TrainOptions& options) {
  if (options.task.target.empty()) options.data.refuse_without_target();
  refuse_options(options, {"--size"}, " can only be given for images");
  refuse_options(options, {"--length"}, " can only be given for texts");
  model_spec(options.run.model, 1);
  if (!options.task.loss.empty()) check_loss(options.task.loss);
  options.data.dialect();
}

std::unique_ptr<TrainingData> read(const TrainOptions& options) { return std::make_unique<TableData>(options); }

}  // namespace

const DataKind table_data{"a table", table_model_kind, complete, read};

}  // namespace ignd::cli
