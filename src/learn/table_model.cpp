#include "learn/table_model.hpp"

#include "base/text.hpp"
#include "ignd/checkpoint.hpp"
#include "ignd/error.hpp"
#include "learn/model_outputs.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace ignd {
// A column that the model knows as text is text, even if this table has only numbers in it. What it knows as numbers or
// dates must be such.
TableOptions TableModel::reading_rules() const {
  TableOptions rules;
  rules.texts = encoder_.text_columns();
  rules.formats = encoder_.formats();
  for (const ColumnCode& code : encoder_.columns()) {
    const bool used = code.form != ColumnCode::Form::dropped;
    if (used && code.kind == ColumnKind::number) rules.formats.try_emplace(code.name);
  }
  if (target().text) rules.texts.push_back(target().name);
  return rules;
}

TableModel TableModel::load(const Checkpoint& checkpoint) {
  if (!checkpoint.has("kind") || checkpoint.text("kind") != table_model_kind) {
    throw FileError("it is not a model trained on a table");
  }
  TableModel loaded(Parts::load(checkpoint), Encoder::load(checkpoint));
  const std::vector<float> zeros(loaded.encoder_.features());
  loaded.check_reads({zeros}, "its model and its columns do not fit together");
  return loaded;
}

void TableModel::save_reader(Checkpoint& checkpoint) const {
  checkpoint.set("kind", std::string(table_model_kind));
  encoder_.save(checkpoint);
}

std::vector<std::string> TableModel::columns() const {
  std::vector<std::string> names;
  for (const ColumnCode& code : encoder_.columns()) {
    if (code.form != ColumnCode::Form::dropped) names.push_back(code.name);
  }
  return names;
}

void TableModel::describe_inputs(ModelDescription& description) const {
  description.facts.emplace_back("features", std::uint64_t{encoder_.features()});
  description.columns = encoder_.columns();
}

Table TableModel::read(const NewData& data, bool with_target) const {
  TableOptions rules = reading_rules();
  rules.keep = data.keep;
  rules.skip_bad_rows = data.skip_bad_rows;
  DataFile file = data.file;
  for (const ColumnCode& code : encoder_.columns()) file.columns.push_back(code.name);
  if (with_target && !target().text) rules.formats[target().name] = target().format;
  if (data.weight) rules.formats.try_emplace(*data.weight);
  return file.read(rules);
}

PredictionReport TableModel::predict_table(const Table& table, std::span<const ColumnPlace> at,
                                           const OnPrediction& use) const {
  PredictionReport report{
      .samples = table.size(), .bad_rows = table.bad_rows().size(), .first_fault = table.first_fault()};
  ModelOutputs outputs_of(model());
  const std::size_t width = encoder_.features(), count = outputs_of.count(), together = outputs_of.together();
  std::vector<double> outputs(together * count);
  std::vector<float> features(together * width);
  std::vector<Input<float>> inputs;
  PredictedSample sample;
  for (std::size_t first = 0; first < table.size(); first += together) {
    const std::size_t end = std::min(first + together, table.size());
    inputs.clear();
    for (std::size_t row = first; row < end; ++row) {
      if (table.is_bad(row)) continue;
      const auto x = std::span(features).subspan(inputs.size() * width, width);
      report.unknown_texts += encoder_.encode(table[row], at, x);
      inputs.push_back({x});
    }
    if (!inputs.empty()) outputs_of(inputs, outputs);
    auto next = outputs.begin();
    for (std::size_t row = first; row < end; ++row) {
      sample.prediction.name = std::to_string(row + 1);
      sample.kept = table.kept(row);
      sample.usable = !table.is_bad(row);
      if (sample.usable) {
        interpret(target(), {next, next + static_cast<std::ptrdiff_t>(count)}, sample.prediction);
        next += static_cast<std::ptrdiff_t>(count);
      }
      if (!use(sample)) return report;
    }
  }
  return report;
}

PredictionReport TableModel::predict(const NewData& data, const OnPrediction& use) const {
  const Table table = read(data, false);
  const auto at = blaming(data.file, [&] { return encoder_.match(table); });
  return predict_table(table, at, use);
}

Prediction TableModel::predict_row(const std::map<std::string, std::string>& row) const {
  check_row(row);
  std::vector<std::string> header, cells;
  for (const std::string& name : columns()) {
    header.push_back(csv_quoted(name));
    cells.push_back(csv_quoted(row.at(name)));
  }
  TableOptions rules = reading_rules();
  rules.dialect = {.delimiter = ',', .header = true};
  try {
    const Table table = Table::parse_csv(join(header, ",") + "\n" + join(cells, ",") + "\n", rules);
    Prediction made;
    predict_table(table, encoder_.match(table), [&](const PredictedSample& sample) {
      made = sample.prediction;
      return false;
    });
    made.name.clear();
    return made;
  } catch (const FileError& fault) {
    throw BadSample(fault.what());
  }
}

Evaluation TableModel::evaluate(const NewData& data) const {
  const Table table = read(data, true);
  return blaming(data.file, [&] {
    const TableDataset dataset(table, encoder_, target(), loss(), data.weight, data.skip_bad_rows);
    const auto& rows = dataset.split().test;
    ModelOutputs outputs_of(model());
    const OutputsOf outputs = [&](const Input<float>& x, std::span<double> out) { outputs_of(x, out); };
    Evaluation made{.samples = rows.size(), .rows = table.size(), .bad_rows = dataset.bad_rows()};
    made.scores = ignd::evaluate(dataset, rows, outputs, &made.judged);
    return made;
  });
}

Explanation TableModel::explain(const NewData& data, const ExplainOptions& options) const {
  const Table table = read(data, true);
  return blaming(data.file, [&] {
    const TableDataset dataset(table, encoder_, target(), loss(), data.weight, data.skip_bad_rows);
    return explain_columns(dataset, dataset.split().test, model(), options,
                           {.progress = data.progress, .stop = data.stop});
  });
}

EncodedRows TableModel::encode(const Frame& frame) const {
  NewData data;
  data.file.frame = &frame;
  const bool has_target =
      std::ranges::any_of(frame.columns, [&](const auto& column) { return column.first == target().name; });
  const Table table = read(data, has_target);
  EncodedRows rows{.features = encoder_.features()};
  rows.values.resize(table.size() * rows.features);
  blaming(data.file, [&] {
    const auto at = encoder_.match(table);
    for (std::size_t row = 0; row < table.size(); ++row) {
      encoder_.encode(table[row], at, std::span(rows.values).subspan(row * rows.features, rows.features));
    }
    if (!has_target) return;
    const TableDataset dataset(table, encoder_, target(), loss());
    std::vector<float> scratch(dataset.scratch_size());
    for (const std::uint32_t row : dataset.split().test) rows.targets.push_back(dataset.sample(row, scratch).y);
  });
  return rows;
}

}  // namespace ignd
