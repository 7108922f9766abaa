#pragma once

#include "learn/run_checks.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace ignd {
class Checkpoint;
}

namespace ignd::cli {

class OutputFile;
class TrainingData;

struct TrainOptions {
  RunSpec spec;
  GivenKeys given{.open = "--", .close = ""};
  std::string save;  // empty: named after the data
  std::uint64_t save_every = 0;
  std::string resume;
  std::string log_steps;    // empty: the steps are not logged
  std::string predictions;  // file for those of a stream, or of the validation and test rows; empty: none
  std::uint64_t folds = 0;  // of a cross-validation; 0: none
  std::string budget;       // time that training may take; empty: no limit
  bool json = false;
  bool quiet = false;

  bool stream = false;  // and for streams alone:
  unsigned bits = 18;
  unsigned threads = 0;
};

// Trains on a table, on images or texts, or on a stream and says how good the model is. Returns the exit code.
int train(TrainOptions options);

// Its two ways, once the options have been checked: epochs over data that can be read again (training.cpp), beginning
// with a search for the rate or resuming a saved run; and one pass over a stream (train_stream.cpp).
int train_on(const TrainingData& data, TrainOptions options, OutputFile& file, const std::optional<Checkpoint>& saved);
int train_stream(const TrainOptions& options);

// Trains on all folds of a table but one, for each of them, and says how good the models are (cross_validate.cpp).
int cross_validate_on(const TrainOptions& options);

}  // namespace ignd::cli
