#pragma once

#include "base/communicator.hpp"
#include "base/pinned.hpp"
#include "learn/engine.hpp"

#include <atomic>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace ignd {

// Trains the runs of a group on several ranks, `jobs` at a time on each, with the results of the usual engine, bit by
// bit. Rank 0 trains with it; the others have read the same data, and serve it. A run is named by its model and seed,
// and must be one of those that the others know. Observers look at runs of other ranks where these send their states.
class RankEngine final : public Engine, Pinned {
 public:
  RankEngine(Communicator& ranks, unsigned jobs) : ranks_(ranks), jobs_(jobs), asked_(ranks.size()) {}
  ~RankEngine() override;  // lets the other ranks go

  std::string name() const override { return "ranks"; }
  std::string refusal(const Dataset& /*dataset*/, const TrainingOptions& /*options*/) const override { return ""; }
  std::size_t group_size() const override { return jobs_ * static_cast<std::size_t>(ranks_.size()); }
  void train(std::span<const RunSlot> group, const Dataset& dataset, const std::atomic<bool>& stop) const override;

 private:
  class Group;

  Communicator& ranks_;
  unsigned jobs_;
  mutable std::vector<std::size_t> asked_;  // how many runs each rank has room for
  mutable bool stopped_ = false;            // by a signal to any rank
};

// Whether ranks send the states of their runs to rank 0 after every epoch as well.
enum class RankStates { at_the_end, after_every_epoch };

// What the other ranks do: they train those of these runs that rank 0 names, until it lets them go. `stop` stops the
// training on all ranks. Observers of the runs are not used.
void serve_training(Communicator& ranks, unsigned jobs, std::span<const RunSlot> runs, const Dataset& dataset,
                    RankStates states, const std::atomic<bool>& stop);

// The same for a rank that cannot: rank 0 throws the fault as an Error.
void refuse_training(Communicator& ranks, const std::string& fault);

}  // namespace ignd
