#pragma once

#include "data/encoder.hpp"
#include "learn/trained_model.hpp"

#include <string>

namespace ignd {

class Checkpoint;

// "linear", "mlp:32,64,32" or "network:dense 32; tanh; dense 1" for so many inputs and outputs, as make_model wants it.
// Throws InvalidArgument.
std::string model_spec(const std::string& text, std::size_t features, std::size_t outputs = 1);

struct TableModel;

// How a table must be read for a model: columns that it knows as texts are texts, even if here they hold nothing but
// numbers; what it knows as numbers or dates must be such.
TableOptions reading_rules(const TableModel& model);

// The kind of a model file.
inline constexpr const char* table_model_kind = "table model";

// A trained model and all it needs to make predictions from a table.
struct TableModel : TrainedModel {
  Encoder encoder;

  // Throws FileError for a checkpoint that holds no such model, or one that does not fit together.
  static TableModel load(const Checkpoint& checkpoint);
};

}  // namespace ignd
