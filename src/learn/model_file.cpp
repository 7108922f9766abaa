#include "ignd/model_file.hpp"

#include "ignd/checkpoint.hpp"
#include "ignd/error.hpp"
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

}  // namespace ignd
