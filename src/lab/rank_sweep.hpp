#pragma once

#include "base/communicator.hpp"
#include "base/pinned.hpp"
#include "lab/run_messages.hpp"
#include "lab/run_queue.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

namespace ignd {

// Rank 0's side of a sweep over ranks. The others ask for runs by telling that threads of theirs have nothing to do;
// they get the longest ones first, and several short ones at a time, so that handing out costs next to nothing. A
// rank gets short runs ahead of time. Long ones are only given to a thread that is free.
class RankPool : Pinned {
 public:
  explicit RankPool(Communicator& ranks);
  ~RankPool();  // lets the other ranks go

  int size() const { return ranks_.size(); }
  // Rank 0 makes runs, too, unless handing them out to many ranks keeps it busy.
  bool rank_0_makes_runs() const { return ranks_.size() < many_ranks; }

  // Hands out runs of the queue, and returns the results that have arrived. Throws what a run has thrown on its rank.
  std::vector<FinishedRun> exchange(RunQueue& queue);

  // How long a run of some estimated cost takes in truth.
  void note_pace(double cost, double seconds);

  // The ranks stop what they do.
  void cancel();
  bool was_stopped() const { return stopped_; }  // a rank got a signal to stop
  bool is_idle() const;                          // no rank has runs under way

  // As RunQueue has it.
  void look_at_shares(SweepProgress& now);

  // What its side of the sweep has cost.
  struct Traffic {
    std::uint64_t sent = 0, received = 0;  // messages
    double seconds = 0;                    // of this thread's time, waiting excluded
  };
  const Traffic& traffic() const { return traffic_; }

 private:
  static constexpr int many_ranks = 32;

  struct Rank {
    RankState state;
    std::size_t sent = 0;   // messages with runs
    std::size_t given = 0;  // runs that it has not returned
    bool present = false;   // it has reported
  };

  void hand_out(RunQueue& queue);
  bool give(Rank& rank, int number, RunQueue& queue, bool ahead);
  double seconds_of_parcel(const RunQueue::Load& load) const;
  void send(int to, const Checkpoint& message);

  Communicator& ranks_;
  std::vector<Rank> others_;  // by number; that of rank 0 is not used
  double cost_noted_ = 0, seconds_noted_ = 0;
  std::uint64_t runs_noted_ = 0;
  double resumed_ = 0;
  bool cancelled_ = false, stopped_ = false;
  Traffic traffic_;
};

// What the other ranks do in a sweep: they make the runs that rank 0 gives them, `jobs` at a time, until it lets them
// go. `stop` stops the sweep on all ranks.
void serve_runs(Communicator& ranks, unsigned jobs, const Engine& engine, const std::atomic<bool>& stop,
                const FindTask& task_named = find_task);

}  // namespace ignd
