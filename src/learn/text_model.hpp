#pragma once

#include "learn/file_dataset.hpp"
#include "learn/trained_model.hpp"

namespace ignd {

class Checkpoint;

// A trained model and how it reads texts.
struct TextModel : TrainedModel {
  TextDataset::Reader reader;

  // Throws FileError for a checkpoint that holds no such model, or one that does not fit together.
  static TextModel load(const Checkpoint& checkpoint);
};

}  // namespace ignd
