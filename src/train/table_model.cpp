#include "train/table_model.hpp"

#include "core/text.hpp"
#include "ignd/checkpoint.hpp"
#include "ignd/error.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace ignd {

std::string model_spec(const std::string& text, std::size_t features) {
  if (text == "linear") return fmt::format("linear:features={}", features);
  if (text.starts_with("mlp:") && text.find('=') == std::string::npos) {
    std::string widths = text.substr(4);
    std::ranges::replace(widths, ',', 'x');
    return fmt::format("mlp:widths={}x{}", features, widths);
  }
  throw InvalidArgument(
      fmt::format("there is no model {}; use linear, or mlp: with the widths of its layers, such as mlp:32,64,32",
                  in_quotes(text)));
}

double TableModel::prediction(double output) const {
  if (target.is_class()) return 1 / (1 + std::exp(-output));
  return target.in_units(loss.starts_with("poisson") ? std::exp(output) : output);
}

void TableModel::save(Checkpoint& checkpoint) const {
  checkpoint.set("kind", std::string("table model"));
  encoder.save(checkpoint);
  target.save(checkpoint);
  checkpoint.set("table.loss", loss);
  checkpoint.set("table.model", model->spec());
  checkpoint.set("table.weights", std::span<const float>(model->parameters()));
}

TableModel TableModel::load(const Checkpoint& checkpoint) {
  if (!checkpoint.has("kind") || checkpoint.text("kind") != "table model") {
    throw FileError("the file is not a model trained on a table");
  }
  TableModel loaded{.encoder = Encoder::load(checkpoint),
                    .target = Target::load(checkpoint),
                    .loss = checkpoint.text("table.loss"),
                    .model = make_model<float>(checkpoint.text("table.model"))};
  const auto weights = loaded.model->parameters();
  std::ranges::copy(checkpoint.array<float>("table.weights", weights.size()), weights.begin());
  Trace<float> trace(*loaded.model);
  const std::vector<float> zeros(loaded.encoder.features());
  loaded.model->predict({zeros}, trace);  // refuses a model for another number of features
  return loaded;
}

}  // namespace ignd
