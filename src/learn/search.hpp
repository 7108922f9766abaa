#pragma once

#include "learn/engine.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace ignd {

// What trying a candidate found.
struct Trial {
  std::optional<double> score = {};  // lower is better; none if it failed
  bool collapsed = false;            // its predictions are all the same: chosen only where every other candidate failed
};

// Tries candidates on the part of the budget that a rung gives them, and returns a trial for each, in order. Nothing
// where the trials of this rung are not known yet.
using TryRung =
    std::function<std::optional<std::vector<Trial>>(std::size_t rung, std::span<const std::size_t> candidates)>;

struct SearchResult {
  std::size_t rungs = 0;                // that are complete
  std::vector<std::size_t> candidates;  // of the rung that is not; after the last rung, what was chosen
  bool complete = false;

  // None if the search is not complete, or every candidate failed.
  std::optional<std::size_t> chosen() const {
    return complete && !candidates.empty() ? std::optional(candidates[0]) : std::nullopt;
  }
};

// Successive halving: tries `count` candidates, keeps the best `keep[0]` of them for the next rung, and so on; without
// `keep`, one rung chooses one candidate. Of equal candidates the first is better. Where one is chosen, it is the first
// whose score is within `tolerance`, as a share, of the lowest.
SearchResult successive_halving(std::size_t count, std::span<const std::uint64_t> keep, const TryRung& try_rung,
                                double tolerance = 0);

// A learning rate that was tried.
struct TriedRate {
  double rate = 0;
  double loss = 0;         // on the validation rows, at the end; infinite if it diverged
  bool collapsed = false;  // all its predictions are the same
};

struct RateSearch {
  std::vector<TriedRate> rates;  // in increasing order
  std::size_t rows = 0;          // training rows used,
  std::uint64_t samples = 0;     // and how many samples each rate was given
  std::optional<double> best;    // none if all diverged, or if it was stopped
};

// The rates worth trying with an optimizer. They differ by orders of magnitude: with some, a rate is a fraction of the
// way to the target, with others the size of a step per weight.
std::vector<double> usual_rates(const Optimizer& optimizer);

// Called now and then, by one thread at a time, with the samples learned of all that there may be, over all rates.
using SearchProgress = std::function<void(std::uint64_t done, std::uint64_t total)>;

// Trains with each rate on part of the training rows and chooses the smallest whose validation loss is near the lowest:
// a short run favours large rates. The budget is counted in samples and not in seconds, so that the outcome does not
// depend on the machine.
RateSearch search_rate(const Engine& engine, const Dataset& dataset, const TrainingOptions& options,
                       const SearchBudget& budget, const std::atomic<bool>& stop, const SearchProgress& progress = {});

}  // namespace ignd
