#pragma once

#include "learn/run.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace ignd {

struct RacedRate {
  double rate = 0;
  double loss = 0;         // on the validation rows, after the race; infinite if it diverged
  bool collapsed = false;  // all its predictions are the same
};

struct Race {
  std::vector<RacedRate> rates;  // in increasing order
  std::size_t rows = 0;          // training rows used,
  std::uint64_t samples = 0;     // and how many samples each rate was given
  std::optional<double> best;    // none if all diverged, or if it was stopped
};

// The rates worth trying with an optimizer: those that move the prediction by a share of the way, or each weight by a
// step of that size, are of different orders.
std::vector<double> race_rates(const Optimizer& optimizer);

// What each rate is given where the data are a table.
inline constexpr std::uint64_t table_race_samples = 20'000;

// With the samples learned of all that there may be, over all rates.
using RaceProgress = std::function<void(std::uint64_t done, std::uint64_t total)>;

// Trains with each rate on part of the training rows, at most `samples` samples (at least one epoch of one row), and
// takes the smallest rate whose validation loss is about the lowest. Counted in samples and not in seconds, so that
// the outcome does not depend on the machine. Now and then `progress` is called.
Race race(const Dataset& task, const TrainingOptions& options, std::uint64_t samples, const std::atomic<bool>& stop,
          const RaceProgress& progress = {});

}  // namespace ignd
