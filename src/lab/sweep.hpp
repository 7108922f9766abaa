#pragma once

#include "lab/task.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace ignd {

class RankPool;
class Store;

struct SweepProgress {
  std::uint64_t done = 0;  // by this sweep
  std::uint64_t failed = 0;
  double under_way = 0;  // the sum of the shares of the runs in flight
  double resumed = 0;    // of all this, what resumed runs had already done
};

using FindTask = std::function<const Task&(std::string_view name)>;

struct SweepOptions {
  unsigned jobs = 1;               // groups of runs at a time
  const Engine* engine = nullptr;  // that trains them; none: the usual one
  FindTask task_named = find_task;
  RankPool* ranks = nullptr;  // other ranks that make runs too (lab/rank_sweep.hpp)
};

// Makes those of the runs that the store does not have, the longest first and equal ones by seed, in groups as large as
// the engine wants, and stores each as it ends. Ends early where `stop` is set: of the runs in flight, those that
// resume are saved and the others are lost. `progress` is called from the caller's thread, about once a second if
// nothing else happens. The results depend neither on the number of jobs, nor on the groups, nor on the rank. Returns
// false if it was stopped.
bool make_runs(const std::vector<RunConfig>& runs, Store& store, const SweepOptions& options,
               const std::atomic<bool>& stop, const std::function<void(const SweepProgress&)>& progress);

// The runs that the store does not have.
struct SweepWork {
  std::uint64_t runs = 0;
  double seconds = 0;  // that making them takes, as far as their tasks can tell
};
SweepWork work_left(const std::vector<RunConfig>& runs, const Store& store, unsigned jobs,
                    const FindTask& task_named = find_task);

}  // namespace ignd
