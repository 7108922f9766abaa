#include "ignd/model_file.hpp"

#include "base/text.hpp"
#include "data/data_file.hpp"
#include "ignd/checkpoint.hpp"
#include "ignd/error.hpp"
#include "learn/model_file_content.hpp"
#include "learn/model_outputs.hpp"
#include "learn/softmax.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

namespace ignd {
namespace {

// Another field of a line of comma-separated values.
void append_cell(std::string& line, const std::string& cell) {
  if (!line.empty()) line += ',';
  line += '"';
  for (const char c : cell) line.append(c == '"' ? 2 : 1, c);
  line += '"';
}

Prediction prediction_from(const TableModel& model, std::span<const double> outputs) {
  const Target& target = model.target;
  if (!target.is_class()) return {.value = model.prediction(outputs[0])};
  Prediction made;
  made.probabilities.resize(target.classes.size());
  std::size_t best = 0;
  if (target.is_multiclass()) {
    softmax_probabilities(outputs, made.probabilities);
    best = most_probable(outputs);
  } else {
    const double probability = model.prediction(outputs[0]);
    made.probabilities = {1 - probability, probability};
    best = outputs[0] >= 0 ? 1 : 0;
  }
  made.value = static_cast<double>(best);
  made.label = target.classes[best];
  return made;
}

std::vector<Prediction> predictions_of(const TableModel& model, const Table& table) {
  const auto at = model.encoder.match(table);
  ModelOutputs outputs_of(*model.model);
  std::vector<double> outputs(outputs_of.count());
  std::vector<float> x(model.encoder.features());
  std::vector<Prediction> made;
  made.reserve(table.size());
  for (std::size_t row = 0; row < table.size(); ++row) {
    model.encoder.encode(table[row], at, x);
    outputs_of({x}, outputs);
    made.push_back(prediction_from(model, outputs));
  }
  return made;
}

}  // namespace

ModelFile::ModelFile(std::shared_ptr<const Content> content) : content_(std::move(content)) {}

ModelFile ModelFile::load(const std::string& path) {
  const Checkpoint checkpoint = Checkpoint::read(path);
  try {
    return ModelFile(std::make_shared<const Content>(Content{TableModel::load(checkpoint)}));
  } catch (const FileError& fault) {
    throw FileError(fmt::format("{} cannot be used: {}", quoted_path(path), fault.what()));
  }
}

void ModelFile::save(const std::string& path) const {
  const TableModel& model = content_->model;
  Checkpoint checkpoint;
  checkpoint.set("kind", std::string(table_model_kind));
  model.encoder.save(checkpoint);
  save_trained_model(checkpoint, model.target, model.loss, *model.model);
  checkpoint.write(path);
}

const std::string& ModelFile::target() const { return content_->model.target.name; }
const std::vector<std::string>& ModelFile::classes() const { return content_->model.target.classes; }
std::string ModelFile::spec() const { return content_->model.model->spec(); }

std::vector<std::string> ModelFile::columns() const {
  std::vector<std::string> names;
  for (const ColumnCode& code : content_->model.encoder.columns()) {
    if (code.form != ColumnCode::Form::dropped) names.push_back(code.name);
  }
  return names;
}

Prediction ModelFile::predict(const std::map<std::string, std::string>& row) const {
  std::string header, cells;
  std::vector<std::string> faults;
  for (const std::string& name : columns()) {
    const auto cell = row.find(name);
    if (cell == row.end()) {
      faults.push_back(fmt::format("the column {} is missing", in_quotes(name)));
      continue;
    }
    append_cell(header, name);
    append_cell(cells, cell->second);
  }
  if (!faults.empty()) throw InvalidArgument(list_faults(faults));
  TableOptions rules = reading_rules(content_->model);
  rules.dialect = {.delimiter = ',', .header = true};
  try {
    return predictions_of(content_->model, Table::parse_csv(header + "\n" + cells + "\n", rules)).at(0);
  } catch (const FileError& fault) {
    throw BadSample(fault.what());
  }
}

std::vector<Prediction> ModelFile::predict_file(const std::string& path) const {
  DataFile data;
  data.path = path;
  data.columns = columns();
  try {
    return predictions_of(content_->model, data.read(reading_rules(content_->model)));
  } catch (const InvalidArgument& fault) {
    throw FileError(fmt::format("{} does not fit the model: {}", data.name(), fault.what()));
  }
}

}  // namespace ignd
