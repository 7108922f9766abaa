#include "ignd/model_file.hpp"

#include "ignd/checkpoint.hpp"
#include "ignd/error.hpp"
#include "learn/recorded_run.hpp"
#include "learn/trained_model.hpp"

#include <utility>

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
const std::string& ModelFile::target() const { return model_->target_name(); }
std::vector<std::string> ModelFile::classes() const { return model_->classes(); }
std::vector<std::string> ModelFile::columns() const { return model_->columns(); }
std::string ModelFile::spec() const { return model_->spec(); }

Prediction ModelFile::predict(const std::map<std::string, std::string>& row) const { return model_->predict_row(row); }

std::vector<Prediction> ModelFile::predict_file(const std::string& path) const {
  return ignd::predict_file(*model_, path);
}

std::map<std::string, double> ModelFile::evaluate(const std::string& path, const std::string& weight) const {
  NewData data;
  data.file.path = path;
  if (!weight.empty()) data.weight = weight;
  const bool has_rows = kind() == ModelKind::table || kind() == ModelKind::stream;
  if (data.weight && !has_rows) throw InvalidArgument("only rows have weights, and the model is of files");
  return blaming(data.file, [&] {
    const Evaluation made = model_->evaluate(data);
    check_measured(made);
    return named_scores(made.scores);
  });
}

}  // namespace ignd
