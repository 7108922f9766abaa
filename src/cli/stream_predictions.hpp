#pragma once

#include "cli/prediction_writer.hpp"
#include "cli/train.hpp"
#include "learn/stream_model.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

// The file of the predictions that `train --stream` makes before it learns from each example.
namespace ignd::cli {

// Throws FileError if the predictions would replace the data or a model.
void check_predictions_file(const TrainOptions& options, const std::string& model);

// Opens the file at `path`. A resumed run (`before` is its model's, from the file `resume`, after `rows` rows) finds
// the predictions as they were when the model was saved: what a killed run wrote after that is cut off. Throws
// FileError.
std::unique_ptr<PredictionWriter> open_predictions(const std::string& path, const std::string& resume,
                                                   const std::optional<StreamInput>& before, std::uint64_t rows);

}  // namespace ignd::cli
