#pragma once

#include "learn/trained_model.hpp"

#include <memory>

// Models of images and of texts, which tell two classes apart.
namespace ignd {

// Throw FileError for a checkpoint without such a model, or with one that does not fit together.
std::unique_ptr<TrainedModel> load_image_model(const Checkpoint& checkpoint);
std::unique_ptr<TrainedModel> load_text_model(const Checkpoint& checkpoint);

}  // namespace ignd
