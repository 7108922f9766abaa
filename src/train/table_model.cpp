#include "train/table_model.hpp"

#include "core/text.hpp"
#include "ignd/checkpoint.hpp"
#include "ignd/error.hpp"
#include "ignd/loss.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace ignd {

std::string model_spec(const std::string& text, std::size_t features) {
  if (text == "linear") return fmt::format("linear:features={}", features);
  constexpr std::string_view mlp = "mlp:";
  if (!text.starts_with(mlp)) {
    throw InvalidArgument(
        fmt::format("there is no model {}; use linear, or mlp: with the widths of its layers, such as mlp:32,64,32",
                    in_quotes(text)));
  }
  std::string spec = fmt::format("mlp:widths={}", features);
  for (std::string_view left = std::string_view(text).substr(mlp.size());;) {
    const std::size_t comma = left.find(',');
    spec += fmt::format("x{}", parse_count(left.substr(0, comma), fmt::format("a width of {}", in_quotes(text))));
    if (comma == std::string_view::npos) return spec;
    left.remove_prefix(comma + 1);
  }
}

double TableModel::prediction(double output) const {
  return target.is_class() ? 1 / (1 + std::exp(-output)) : target.in_units(output);
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
    throw FileError("it is not a model trained on a table");
  }
  try {
    TableModel loaded{.encoder = Encoder::load(checkpoint),
                      .target = Target::load(checkpoint),
                      .loss = checkpoint.text("table.loss"),
                      .model = make_model<float>(checkpoint.text("table.model"))};
    make_loss(loaded.loss);
    const auto weights = loaded.model->parameters();
    std::ranges::copy(checkpoint.array<float>("table.weights", weights.size()), weights.begin());
    const std::vector<float> zeros(loaded.encoder.features());
    loaded.model->check({zeros});
    return loaded;
  } catch (const InvalidArgument& fault) {
    throw FileError(fmt::format("its model cannot be used: {}", fault.what()));
  } catch (const BadSample& fault) {
    throw FileError(fmt::format("its model and its columns do not fit together: {}", fault.what()));
  }
}

}  // namespace ignd
