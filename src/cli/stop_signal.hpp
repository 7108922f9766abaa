#pragma once

#include <atomic>

namespace ignd::cli {

// While one of these lives, Ctrl-C and SIGTERM set a flag, so that long work can end in good order; a second one ends
// the program at once.
class StopSignal {
 public:
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;
  StopSignal(StopSignal&&) = delete;
  StopSignal& operator=(StopSignal&&) = delete;

  const std::atomic<bool>& flag() const;
};

}  // namespace ignd::cli
