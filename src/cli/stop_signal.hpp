#pragma once

#include "base/pinned.hpp"

#include <atomic>
#include <csignal>
#include <vector>

namespace ignd::cli {

// The exit code of a program that Ctrl-C ended, as shells report it.
inline constexpr int interrupted_code = 130;

// During its lifetime, Ctrl-C, SIGTERM, a closing terminal and an output without a reader set a flag, so that long work
// can end in good order. A second Ctrl-C or SIGTERM ends the program at once. Signals that the program was started to
// ignore (nohup) stay ignored.
class StopSignal : Pinned {
 public:
  StopSignal();
  ~StopSignal();

  const std::atomic<bool>& flag() const;
  // Becomes readable once the flag is set: for poll().
  int descriptor() const { return descriptor_; }

 private:
  struct Before {
    int signal;
    struct sigaction action;
  };
  std::vector<Before> before_;
  int descriptor_;
};

}  // namespace ignd::cli
