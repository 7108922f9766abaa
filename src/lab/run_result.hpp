#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ignd {

enum class RunStatus {
  finished,
  diverged,  // an output, a loss or a weight is not finite, or the run has left every reasonable range
  collapsed  // it predicts a constant
};

const char* to_string(RunStatus status);

// The number by which runs that time themselves say how many seconds of learning a unit of their curve's x took.
inline constexpr const char* seconds_column = "seconds";

// What one run of an experiment leaves behind. A run is a pure function of its configuration and seed, and so is this.
struct RunResult {
  RunStatus status = RunStatus::finished;
  std::uint64_t failed_at = 0;  // the step, episode or iteration at which it failed

  // The experiment's metric at the end, and what the learning rate is chosen by where that is not the same. A failed
  // run has a score only where its task defines what failing is worth (a return of 0).
  std::optional<double> score;
  std::optional<double> validation;

  // The metric along the way, on the samples that the score is of, and on the validation samples. The latter is empty
  // where a task records none; `y` is empty in results of versions that recorded the validation samples only.
  std::vector<double> x, y;
  std::vector<double> validation_y = {};

  // Further numbers by name: columns of the table for experiments that ask for them.
  std::vector<std::pair<std::string, double>> extras;

  bool operator==(const RunResult&) const = default;
};

}  // namespace ignd
