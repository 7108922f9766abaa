#pragma once

#include "base/pinned.hpp"
#include "cli/console.hpp"
#include "cli/train.hpp"
#include "learn/dataset.hpp"
#include "learn/table_baselines.hpp"
#include "models/layer.hpp"

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ignd::cli {

// Samples that were read to be learned from, and what there is to say of them.
class TrainingData : Pinned {
 public:
  virtual ~TrainingData() = default;

  virtual const Dataset& task() const = 0;
  virtual std::string samples() const = 0;  // what they are called: "rows"

  // What the user should know before anything else, on the standard error.
  virtual void print_warnings() const = 0;
  virtual std::uint64_t size() const = 0;
  virtual std::uint64_t left_out() const { return 0; }   // of these, samples that cannot be used
  virtual std::vector<std::string> details() const = 0;  // a line each
  virtual std::string inputs() const = 0;                // of the model: "9 features"
  virtual void describe(JsonLine& line) const = 0;       // what is not the same for all kinds of data

  virtual std::vector<Predictor> baselines() const = 0;

  // How many samples each rate of a race is given, and how many it is judged by.
  struct RaceSize {
    std::uint64_t samples = 0;
    std::size_t judged = std::numeric_limits<std::size_t>::max();
  };
  virtual RaceSize race_size() const = 0;

  // Where a run may take long, what its model reads, so that its steps can be measured.
  virtual std::optional<Shape> measured_shape() const = 0;
};

// How models are trained on a kind of data.
struct TrainingKind {
  const char* name;        // "a table"
  const char* samples;     // "tables": what options may be refused for
  const char* model_kind;  // of the model files
  RunKey::Use use;
  // Refuses what cannot be. Throws InvalidArgument.
  void (*check)(const TrainOptions& options);
  // Throws FileError or InvalidArgument; Stopped where Ctrl-C was pressed.
  std::unique_ptr<TrainingData> (*read)(const TrainOptions& options);
};

extern const TrainingKind table_training;
extern const TrainingKind image_training;
extern const TrainingKind text_training;

// Throws InvalidArgument, with the reason, where the user gave one of the options.
void refuse_options(const TrainOptions& options, const std::vector<std::string>& refused, const std::string& why);

}  // namespace ignd::cli
