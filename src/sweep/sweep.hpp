#pragma once

#include "sweep/task.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

namespace ignd {

class Store;

struct SweepProgress {
  std::uint64_t done = 0;  // by this sweep
  std::uint64_t failed = 0;
};

// Makes those of the runs that the store does not have, `jobs` at a time, the longest first and equal ones by seed, and
// stores each as it ends. Ends early where `stop` is set: the runs in flight are lost, the others are there. `progress`
// is called from the caller's thread. The results do not depend on `jobs`.
void make_runs(const std::vector<RunConfig>& runs, Store& store, unsigned jobs, const std::atomic<bool>& stop,
               const std::function<void(const SweepProgress&)>& progress);

}  // namespace ignd
