#include "ignd/model_file.hpp"

#include "ignd/checkpoint.hpp"
#include "ignd/error.hpp"
#include "learn/recorded_run.hpp"
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
const std::string& ModelFile::target() const { return model_->target_name(); }
std::vector<std::string> ModelFile::classes() const { return model_->classes(); }
std::vector<std::string> ModelFile::columns() const { return model_->columns(); }
std::string ModelFile::spec() const { return model_->spec(); }

Prediction ModelFile::predict(const std::map<std::string, std::string>& row) const { return model_->predict_row(row); }

PredictionInterval ModelFile::interval(double predicted, double level) const {
  return model_->intervals().at(predicted, level);
}

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

namespace {

const TableModel& table_model(const TrainedModel& model) {
  const auto* of_table = dynamic_cast<const TableModel*>(&model);
  if (of_table == nullptr) throw InvalidArgument("the model was not trained on a table, and cannot read one in memory");
  return *of_table;
}

}  // namespace

namespace {

Importance importance_on(const TrainedModel& model, const NewData& data, const ImportanceOptions& options) {
  if (options.rows == 0 || options.repeats == 0)
    throw InvalidArgument("there must be rows, and shuffles of each column");
  Explanation made = table_model(model).explain(
      data, {.seed = options.seed, .rows = options.rows, .repeats = options.repeats, .curves = 0});
  return {.measure = std::move(made.measure),
          .score = made.score,
          .rows = made.rows,
          .columns = std::move(made.importance)};
}

}  // namespace

Importance ModelFile::importance(const std::string& path, const ImportanceOptions& options) const {
  NewData data;
  data.file.path = path;
  return importance_on(*model_, data, options);
}

Importance ModelFile::importance(const Frame& frame, const ImportanceOptions& options) const {
  NewData data;
  data.file.frame = &frame;
  return importance_on(*model_, data, options);
}

std::string ModelFile::loss() const { return model_->loss(); }

EncodedRows ModelFile::encode_frame(const Frame& frame) const { return table_model(*model_).encode(frame); }

std::unique_ptr<Model<float>> ModelFile::model() const { return table_model(*model_).model().clone(); }

ModelFile ModelFile::with_model(const Model<float>& model) const {
  const TableModel& before = table_model(*model_);
  const std::vector<float> row(before.features());
  bool fits = model.outputs() == before.model().outputs();
  try {
    model.check({row});
  } catch (const BadSample&) {
    fits = false;
  }
  if (!fits) {
    throw InvalidArgument(
        fmt::format("the model is '{}' and cannot take the place of '{}'", model.spec(), before.spec()));
  }
  Checkpoint checkpoint;
  before.save_with(checkpoint, model);
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
