#include "learn/table_model.hpp"

#include "base/text.hpp"
#include "ignd/checkpoint.hpp"
#include "ignd/error.hpp"
#include "ignd/network.hpp"
#include "models/model_specs.hpp"

#include <vector>

#include <fmt/format.h>

namespace ignd {

std::string model_spec(const std::string& text, std::size_t features, std::size_t outputs) {
  const std::string several = outputs == 1 ? "" : fmt::format(",outputs={}", outputs);
  if (text == "linear") {
    return outputs == 1 ? fmt::format("linear:features={}", features)
                        : fmt::format("mlp:widths={},activation=identity{}", features, several);
  }
  constexpr std::string_view mlp = "mlp:";
  if (is_network_name(text)) {
    if (outputs != 1) {
      throw InvalidArgument(
          fmt::format("{} has one output, but the target needs {}; use linear or mlp:", in_quotes(text), outputs));
    }
    std::string network = named_network(text, Shape::values(features));
    check_network(network);
    return network;
  }
  if (!text.starts_with(mlp)) {
    static const std::vector<std::string> known{"linear", "mlp", "network", "cnn", "lstm"};
    const std::string near = suggestion(text.substr(0, text.find(':')), known);
    throw InvalidArgument(
        fmt::format("there is no model {}{} linear, mlp: with the widths of its layers, such as mlp:32,64,32, or "
                    "network: with its layers",
                    in_quotes(text), near.empty() ? "; use" : near + " There are"));
  }
  std::string spec = fmt::format("mlp:widths={}", features);
  for (const std::string_view width : split(std::string_view(text).substr(mlp.size()), ',')) {
    spec += fmt::format("x{}", parse_count(width, fmt::format("a width of {}", in_quotes(text))));
  }
  return spec + several;
}

TableOptions reading_rules(const TableModel& model) {
  TableOptions rules;
  rules.texts = model.encoder.text_columns();
  rules.formats = model.encoder.formats();
  for (const ColumnCode& code : model.encoder.columns()) {
    const bool used = code.form != ColumnCode::Form::dropped;
    if (used && code.kind == ColumnKind::number) rules.formats.try_emplace(code.name);
  }
  if (model.target.text) rules.texts.push_back(model.target.name);
  return rules;
}

TableModel TableModel::load(const Checkpoint& checkpoint) {
  if (!checkpoint.has("kind") || checkpoint.text("kind") != table_model_kind) {
    throw FileError("it is not a model trained on a table");
  }
  TableModel loaded{TrainedModel::load(checkpoint), Encoder::load(checkpoint)};
  try {
    const std::vector<float> zeros(loaded.encoder.features());
    loaded.model->check({zeros});
    return loaded;
  } catch (const BadSample& fault) {
    throw FileError(fmt::format("its model and its columns do not fit together: {}", fault.what()));
  }
}

}  // namespace ignd
