#pragma once

#include "ignd/model.hpp"
#include "learn/target.hpp"

#include <memory>
#include <string>

namespace ignd {

class Checkpoint;

// A model that was trained, and what its outputs mean.
struct TrainedModel {
  Target target;
  std::string loss;
  std::unique_ptr<Model<float>> model;

  // A number in the target's units, or for classes the probability of the positive one.
  double prediction(double output) const;

  // Throws FileError for a checkpoint that holds no such model, or one that cannot be used.
  static TrainedModel load(const Checkpoint& checkpoint);
};

void save_trained_model(Checkpoint& checkpoint, const Target& target, const std::string& loss,
                        const Model<float>& model);

}  // namespace ignd
