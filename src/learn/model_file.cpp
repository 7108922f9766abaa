#include "ignd/model_file.hpp"

#include "ignd/checkpoint.hpp"
#include "ignd/error.hpp"
#include "learn/table_model.hpp"
#include "learn/trained_model.hpp"

#include <utility>

#include <fmt/format.h>

namespace ignd {

ModelFile::ModelFile(std::shared_ptr<const TrainedModel> model) : model_(std::move(model)) {}

ModelFile ModelFile::load(const std::string& path) {
  return ModelFile(TrainedModel::load(path, Checkpoint::read(path)));
}

void ModelFile::save(const std::string& path) const {
  Checkpoint checkpoint;
  model_->save(checkpoint);
  checkpoint.write(path);
}

ModelFile ModelFile::from_bytes(std::string_view bytes) {
  const std::string name = "model";
  return ModelFile(TrainedModel::load(name, Checkpoint::from_bytes(bytes, name)));
}

std::string ModelFile::to_bytes() const {
  Checkpoint checkpoint;
  model_->save(checkpoint);
  return checkpoint.to_bytes();
}

ModelKind ModelFile::kind() const { return model_->kind(); }
const std::string& ModelFile::target() const { return model_->target().name; }
const std::vector<std::string>& ModelFile::classes() const { return model_->target().classes; }
std::vector<std::string> ModelFile::columns() const { return model_->columns(); }
std::string ModelFile::spec() const { return model_->model().spec(); }

Prediction ModelFile::predict(const std::map<std::string, std::string>& row) const { return model_->predict_row(row); }

std::vector<Prediction> ModelFile::predict_file(const std::string& path) const {
  NewData data;
  data.file.path = path;
  std::vector<Prediction> made;
  try {
    model_->predict(data, [&](const PredictedSample& sample) {
      made.push_back(sample.prediction);
      return true;
    });
  } catch (const InvalidArgument& fault) {
    throw FileError(fmt::format("{} does not fit the model: {}", data.file.name(), fault.what()));
  }
  return made;
}

namespace {

const TableModel& table_model(const TrainedModel& model) {
  const auto* of_table = dynamic_cast<const TableModel*>(&model);
  if (of_table == nullptr) throw InvalidArgument("the model reads files, not the rows of a table");
  return *of_table;
}

}  // namespace

const std::string& ModelFile::loss() const { return model_->loss(); }

EncodedRows ModelFile::encode_frame(const Frame& frame) const { return table_model(*model_).encode(frame); }

std::unique_ptr<Model<float>> ModelFile::model() const { return model_->model().clone(); }

ModelFile ModelFile::with_model(const Model<float>& model) const {
  if (model.spec() != model_->model().spec()) {
    throw InvalidArgument(
        fmt::format("the model is '{}' and cannot take the place of '{}'", model.spec(), model_->model().spec()));
  }
  Checkpoint checkpoint;
  model_->save(checkpoint);
  save_trained_model(checkpoint, model_->target(), model_->loss(), model);
  return ModelFile(TrainedModel::load(checkpoint));
}

Predictions ModelFile::predict_frame(const Frame& frame) const {
  table_model(*model_);
  NewData data;
  data.file.frame = &frame;
  Predictions made;
  made.values.reserve(frame.rows);
  made.probabilities.reserve(frame.rows * classes().size());
  model_->predict(data, [&](const PredictedSample& sample) {
    made.values.push_back(sample.prediction.value);
    const auto& probabilities = sample.prediction.probabilities;
    made.probabilities.insert(made.probabilities.end(), probabilities.begin(), probabilities.end());
    return true;
  });
  return made;
}

}  // namespace ignd
