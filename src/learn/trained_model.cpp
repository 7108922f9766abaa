#include "learn/trained_model.hpp"

#include "base/text.hpp"
#include "ignd/checkpoint.hpp"
#include "ignd/error.hpp"
#include "ignd/vector_loss.hpp"
#include "learn/file_dataset.hpp"
#include "learn/model_outputs.hpp"
#include "learn/run.hpp"
#include "learn/stream_model.hpp"
#include "learn/table_model.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace ignd {

RunModel::Parts RunModel::Parts::load(const Checkpoint& checkpoint) {
  // Files of earlier versions call them all models of tables.
  const std::string prefix = checkpoint.has("table.weights") ? "table." : "trained.";
  try {
    Parts loaded{.target = Target::load(checkpoint),
                 .loss = checkpoint.text(prefix + "loss"),
                 .model = make_model<float>(checkpoint.text(prefix + "model"))};
    const Link link = make_vector_loss(loaded.loss)->link();
    if (loaded.target.is_multiclass() != (link == Link::softmax) ||
        loaded.target.is_class() != (link == Link::softmax || link == Link::logit)) {
      throw FileError(fmt::format("its target cannot be learned by its loss {}", in_quotes(loaded.loss)));
    }
    if (loaded.model->outputs() != loaded.target.outputs()) {
      throw FileError(fmt::format("its model has {} outputs, but its target needs {}", loaded.model->outputs(),
                                  loaded.target.outputs()));
    }
    const auto weights = loaded.model->parameters();
    std::ranges::copy(checkpoint.array<float>(prefix + "weights", weights.size()), weights.begin());
    if (!std::ranges::all_of(weights, [](float weight) { return std::isfinite(weight); })) {
      throw FileError("its weights are not all finite");
    }
    loaded.intervals = PredictionIntervals::load(checkpoint, least_target(loaded.target));
    return loaded;
  } catch (const InvalidArgument& fault) {
    throw FileError(fmt::format("its model cannot be used: {}", fault.what()));
  }
}

std::unique_ptr<TrainedModel> TrainedModel::load(const Checkpoint& checkpoint) {
  const std::string kind = checkpoint.has("kind") ? checkpoint.text("kind") : "";
  if (kind == table_model_kind) return std::make_unique<TableModel>(TableModel::load(checkpoint));
  if (kind == image_model_kind) return load_image_model(checkpoint);
  if (kind == text_model_kind) return load_text_model(checkpoint);
  if (kind == stream_model_kind) return StreamModel::load_finished(checkpoint);
  throw FileError("it holds no model of a table, of images, of texts or of a stream");
}

std::unique_ptr<TrainedModel> TrainedModel::load(const std::string& path, const Checkpoint& checkpoint) {
  try {
    return load(checkpoint);
  } catch (const FileError& fault) {
    throw FileError(fmt::format("{} cannot be used: {}", quoted_path(path), fault.what()));
  }
}

std::vector<Prediction> predict_file(const TrainedModel& model, const std::string& path) {
  NewData data;
  data.file.path = path;
  std::vector<Prediction> made;
  blaming(data.file, [&] {
    model.predict(data, [&](const PredictedSample& sample) {
      made.push_back(sample.prediction);
      return true;
    });
  });
  return made;
}

void check_measured(const Evaluation& made) {
  if (!made.scores.is_measured()) throw Error("the model's predictions are not all finite numbers");
}

void RunModel::save(Checkpoint& checkpoint) const {
  save_with(checkpoint, model());
  if (parts_.intervals) parts_.intervals->save(checkpoint);
}

void RunModel::save_with(Checkpoint& checkpoint, const Model<float>& model) const {
  save_reader(checkpoint);
  save_trained_model(checkpoint, target(), loss(), model);
}

const PredictionIntervals& TrainedModel::intervals() const {
  throw InvalidArgument("the model of a stream holds no residuals to make intervals from");
}

const PredictionIntervals& RunModel::intervals() const {
  if (parts_.intervals) return *parts_.intervals;
  if (target().is_class()) {
    throw InvalidArgument("the model predicts classes, with their probabilities; intervals are of numbers");
  }
  throw InvalidArgument(
      "the model holds no residuals to make intervals from: it was trained without validation rows, not to its end, "
      "or by an earlier version of ignd; train it again");
}

ModelDescription RunModel::describe(const Checkpoint& file) const {
  // A model that was saved without the state of its training run has none of these entries.
  const auto text = [&](const char* name) { return file.has(name) ? file.text(name) : ""; };
  const std::string status = text("run.status"), batch = batch_of_saved(file);
  const std::uint64_t weights = model().parameters().size();
  ModelDescription about;
  about.facts = {{"model", spec()}, {"weights", weights}, {"loss", loss()}, {"target", target_name()}};
  about.lines = {fmt::format("{} ({} weights), loss {}{}", spec(), with_commas(weights), loss(),
                             status.empty() ? "" : ", " + status)};
  if (!status.empty()) {
    for (const char* name : {"rule", "transform", "schedule"}) about.facts.emplace_back(name, file.text(name));
    about.facts.emplace_back("steps", file.number("steps"));
    about.facts.emplace_back("status", status);
    about.lines.push_back(fmt::format("rule {}, transform {}{}, schedule {}, {} steps", file.text("rule"),
                                      file.text("transform"), batch.empty() ? "" : ", batch " + batch,
                                      file.text("schedule"), with_commas(file.number("steps"))));
  }
  if (!batch.empty()) about.facts.emplace_back("batch", batch);
  about.target = ignd::describe(target());
  about.made = ModelFacts::load(file);
  describe_inputs(about);
  return about;
}

void RunModel::check_reads(const Input<float>& sample, const char* what) const {
  try {
    model().check(sample);
  } catch (const BadSample& fault) {
    throw FileError(fmt::format("{}: {}", what, fault.what()));
  }
}

Explanation TrainedModel::explain(const NewData& /*data*/, const ExplainOptions& /*options*/) const {
  throw InvalidArgument(fmt::format(
      "the model is of {}, which have no columns: models of tables and of streams are explained", samples()));
}

void TrainedModel::check_row(const std::map<std::string, std::string>& row) const {
  std::vector<std::string> faults;
  for (const std::string& name : columns()) {
    if (!row.contains(name)) faults.push_back(fmt::format("the column {} is missing", in_quotes(name)));
  }
  if (!faults.empty()) throw InvalidArgument(list_faults(faults));
}

void interpret(const Target& target, std::span<const double> outputs, Prediction& prediction) {
  if (!target.is_class()) {
    prediction.value = target.in_units(outputs[0]);
    return;
  }
  std::size_t best = 0;
  prediction.probabilities.resize(target.classes.size());
  if (target.is_multiclass()) {
    softmax_probabilities(outputs, prediction.probabilities);
    best = most_probable(outputs);
  } else {
    const double probability = sigmoid(outputs[0]);
    prediction.probabilities[0] = 1 - probability;
    prediction.probabilities[1] = probability;
    best = outputs[0] >= 0 ? 1 : 0;
  }
  prediction.value = static_cast<double>(best);
  prediction.label = target.classes[best];
}

void save_trained_model(Checkpoint& checkpoint, const Target& target, const std::string& loss,
                        const Model<float>& model) {
  target.save(checkpoint);
  checkpoint.set("trained.loss", loss);
  checkpoint.set("trained.model", model.spec());
  checkpoint.set("trained.weights", std::span<const float>(model.parameters()));
}

}  // namespace ignd
