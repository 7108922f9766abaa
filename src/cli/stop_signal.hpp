#pragma once

#include "base/pinned.hpp"

#include <atomic>
#include <csignal>
#include <vector>

namespace ignd::cli {

// What a shell reports of a program that Ctrl-C ended.
inline constexpr int interrupted_code = 130;

// While one of these lives, Ctrl-C, SIGTERM, a terminal that closes and an output that nobody reads any more set a
// flag, so that long work can end in good order. A second Ctrl-C or SIGTERM ends the program at once. What the program
// was started to ignore (nohup) stays ignored.
class StopSignal : Pinned {
 public:
  StopSignal();
  ~StopSignal();

  const std::atomic<bool>& flag() const;
  // Can be read from once the flag is set: for poll().
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
