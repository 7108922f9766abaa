#include "learn/trained_model.hpp"

#include "base/text.hpp"
#include "ignd/checkpoint.hpp"
#include "ignd/error.hpp"
#include "ignd/vector_loss.hpp"
#include "learn/softmax.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace ignd {

double TrainedModel::prediction(double output) const {
  return target.is_class() ? sigmoid(output) : target.in_units(output);
}

TrainedModel TrainedModel::load(const Checkpoint& checkpoint) {
  // Files of earlier versions call them all models of tables.
  const std::string prefix = checkpoint.has("table.weights") ? "table." : "trained.";
  try {
    TrainedModel loaded{.target = Target::load(checkpoint),
                        .loss = checkpoint.text(prefix + "loss"),
                        .model = make_model<float>(checkpoint.text(prefix + "model"))};
    if (loaded.target.is_multiclass() != (make_vector_loss(loaded.loss)->link() == Link::softmax)) {
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
    return loaded;
  } catch (const InvalidArgument& fault) {
    throw FileError(fmt::format("its model cannot be used: {}", fault.what()));
  }
}

void save_trained_model(Checkpoint& checkpoint, const Target& target, const std::string& loss,
                        const Model<float>& model) {
  target.save(checkpoint);
  checkpoint.set("trained.loss", loss);
  checkpoint.set("trained.model", model.spec());
  checkpoint.set("trained.weights", std::span<const float>(model.parameters()));
}

}  // namespace ignd
