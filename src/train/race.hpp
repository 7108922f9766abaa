#pragma once

#include "train/table_run.hpp"

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ignd {

struct RacedRate {
  double rate = 0;
  double loss = 0;        // on the validation rows, after the race
  bool finished = false;  // neither diverged nor collapsed to a constant
};

struct Race {
  std::vector<RacedRate> rates;  // in increasing order
  std::size_t rows = 0;       // training rows used,
  std::uint64_t samples = 0;  // and how many samples each rate was given
  std::optional<double> best;
};

// The rates worth trying with an optimizer: those that move the prediction by a share of the way, or each weight by a
// step of that size, are of different orders.
std::vector<double> race_rates(const Optimizer& optimizer);

// Trains with each rate on part of the training rows, as long as `samples` samples take, and takes the smallest
// rate whose validation loss is about the lowest. Counted in samples, so that the outcome does not depend on the machine. Stops when asked to,
// with no best.
Race race(const TableTask& task, const RunOptions& options, std::uint64_t samples, const std::atomic<bool>& stop);

}  // namespace ignd
