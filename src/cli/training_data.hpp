#pragma once

#include "base/pinned.hpp"
#include "cli/console.hpp"
#include "cli/train.hpp"
#include "learn/baselines.hpp"
#include "learn/dataset.hpp"
#include "models/layer.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ignd::cli {

// A dataset to learn from, and what there is to say of it.
class TrainingData : Pinned {
 public:
  virtual ~TrainingData() = default;

  virtual const Dataset& dataset() const = 0;
  virtual std::string samples() const = 0;  // what they are called: "rows"

  // What the user should know before anything else, on the standard error.
  virtual void print_warnings() const = 0;
  virtual std::uint64_t size() const = 0;
  virtual std::uint64_t left_out() const { return 0; }   // of these, samples that cannot be used
  virtual std::vector<std::string> details() const = 0;  // a line each
  virtual std::string inputs() const = 0;                // of the model: "9 features"
  virtual void describe(JsonLine& line) const = 0;       // what differs between kinds of data

  virtual std::vector<Predictor> baselines() const = 0;

  // As `ignd predict` names a sample: "row" and its number from 1, or "file" and its name.
  virtual const char* name_heading() const { return "row"; }
  virtual std::string name_of(std::uint32_t row) const = 0;

  // Where a run may take long, what its model reads, so that its steps can be measured.
  virtual std::optional<Shape> measured_shape() const = 0;
};

// Reads the data of `options`, with a progress bar while images are decoded. Throws FileError or InvalidArgument;
// Stopped where Ctrl-C was pressed.
std::unique_ptr<TrainingData> read_training_data(const TrainOptions& options, DataKind kind);

}  // namespace ignd::cli
