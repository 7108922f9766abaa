#pragma once

#include "base/pinned.hpp"

#include <chrono>
#include <cstdint>
#include <string>

namespace ignd::cli {

// A line at the bottom of a terminal that says how far long work is: a bar and some words. Without a terminal it says
// nothing.
class Progress : Pinned {
 public:
  Progress(std::string what, std::uint64_t total, std::string unit, bool quiet);
  ~Progress();

  void update(std::uint64_t done);                    // with the rate in units per second, and the time left
  void show(double share, const std::string& words);  // for work that is not all alike
  void clear();                                       // before something else is printed

 private:
  using Clock = std::chrono::steady_clock;
  bool is_due() const;

  std::string what_;
  std::uint64_t total_;
  std::string unit_;
  std::uint64_t first_ = 0;
  bool visible_;
  bool started_ = false, drawn_ = false;
  Clock::time_point start_, last_ = Clock::now();
};

}  // namespace ignd::cli
