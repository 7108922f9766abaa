#pragma once

#include "base/settings.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ignd {

enum class RunStatus {
  running,
  finished,       // all epochs, or all that a study asks for
  stopped_early,  // the validation loss no longer got better
  diverged,       // an output, a loss or a weight is not finite, or far beyond every reasonable range
  collapsed       // it predicts a constant
};

const char* to_string(RunStatus status);
std::optional<RunStatus> parse_run_status(const std::string& text);

// The column by which timed runs say how many seconds of learning a unit of their curve's x took.
inline constexpr const char* seconds_column = "seconds";

// What one run of an experiment leaves behind. A run is a pure function of its configuration and seed, and so is this.
struct RunResult {
  RunStatus status = RunStatus::finished;
  std::uint64_t failed_at = 0;  // the step, episode or iteration at which it failed

  // The experiment's score at the end, and what the learning rate is chosen by where that is not the same. A failed
  // run has a score only where its kind defines what failing is worth (a return of 0).
  std::optional<double> score;
  std::optional<double> validation;

  // Learning curves: the score along the way on the samples that it is of, and on the validation samples. The latter
  // is empty where none is recorded; `y` is empty in results of versions that recorded the validation samples only.
  std::vector<double> x, y;
  std::vector<double> validation_y = {};

  // What the steps were like, as StepLog has it in numbers; empty where that was not asked for.
  std::vector<double> steps = {};

  // Further numbers by name: columns of the table for experiments that ask for them.
  std::vector<std::pair<std::string, double>> extras;

  // What a run has learned or compares with, by name, where that is a matrix.
  std::vector<std::pair<std::string, MatrixRows>> matrices = {};

  bool operator==(const RunResult&) const = default;
};

// What a run is told from outside while it is under way.
class RunControl {
 public:
  // A run that cannot be resumed.
  RunControl(const std::atomic<bool>& stop)  // NOLINT(google-explicit-constructor): a flag is all that most runs need
      : stop_(stop) {}
  RunControl(const std::atomic<bool>& stop, std::filesystem::path unfinished, std::atomic<double>* share)
      : stop_(stop), unfinished_(std::move(unfinished)), share_(share) {}

  const std::atomic<bool>& stop() const { return stop_; }

  // The checkpoint of a run that is under way: it is saved there and resumed from there. Empty: it is not saved.
  const std::filesystem::path& unfinished() const { return unfinished_; }

  // How far the run is, between 0 and 1. A run that resumes says so as soon as it knows.
  void set_share(double done) const {
    if (share_ != nullptr) *share_ = done > 0 ? std::min(done, 1.0) : 0.0;
  }

 private:
  const std::atomic<bool>& stop_;
  std::filesystem::path unfinished_;
  std::atomic<double>* share_ = nullptr;
};

}  // namespace ignd
