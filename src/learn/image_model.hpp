#pragma once

#include "data/image.hpp"
#include "learn/trained_model.hpp"

namespace ignd {

class Checkpoint;

// A trained model and the size of the images that it reads.
struct ImageModel : TrainedModel {
  ImageSize size;

  // Throws FileError for a checkpoint that holds no such model, or one that does not fit together.
  static ImageModel load(const Checkpoint& checkpoint);
};

}  // namespace ignd
