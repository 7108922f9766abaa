#pragma once

#include "data/encoder.hpp"
#include "ignd/model.hpp"
#include "train/target.hpp"

#include <memory>
#include <string>

namespace ignd {

class Checkpoint;

// "linear" or "mlp:32,64,32" for so many inputs, as make_model wants it. Throws InvalidArgument.
std::string model_spec(const std::string& text, std::size_t features);

// A trained model and all it needs to make predictions from a table.
struct TableModel {
  Encoder encoder;
  Target target;
  std::string loss;
  std::unique_ptr<Model<float>> model;

  // What an output means: a number in the target's units, or for classes the probability of the positive one.
  double prediction(double output) const;

  // Loading throws FileError for a checkpoint that holds no such model, or one that does not fit together.
  void save(Checkpoint& checkpoint) const;
  static TableModel load(const Checkpoint& checkpoint);
};

}  // namespace ignd
