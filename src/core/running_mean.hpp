#pragma once

#include "ignd/checkpoint.hpp"
#include "ignd/error.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <string>

namespace ignd {

// A mean over all numbers so far, and after `memory` of them one that forgets: each further number has the share
// 1 / memory. A number of weight 2 counts twice. What is added counts once it is committed: a step may fail.
class RunningMean {
 public:
  explicit RunningMean(double memory) : memory_(memory) {}

  // Forgets what was added and not committed.
  void begin() { next_ = now_; }

  // The mean with this number in it, and those added before it.
  double add(double number, double weight) {
    next_.weight += weight;
    next_.mean += (number - next_.mean) * std::min(1.0, weight / std::min(next_.weight, memory_));
    return next_.mean;
  }

  void commit() {
    next_.weight = std::min(next_.weight, memory_);
    now_ = next_;
  }

  void save(Checkpoint& checkpoint, const std::string& name) const {
    set_number(checkpoint, name + ".mean", now_.mean);
    set_number(checkpoint, name + ".weight", now_.weight);
  }
  void restore(const Checkpoint& checkpoint, const std::string& name) {
    const double mean = checkpoint.array<double>(name + ".mean", 1)[0];
    const double weight = checkpoint.array<double>(name + ".weight", 1)[0];
    if (!(mean >= 0) || !std::isfinite(mean) || !(weight >= 0) || weight > memory_) {
      throw FileError("the checkpoint's running mean is damaged");
    }
    now_ = next_ = {mean, weight};
  }

 private:
  static void set_number(Checkpoint& checkpoint, const std::string& name, double number) {
    checkpoint.set(name, std::span<const double>(&number, 1));
  }

  struct State {
    double mean = 0, weight = 0;
  };
  double memory_;
  State now_, next_;
};

// Its name in checkpoints, where a rule has a memory.
inline constexpr const char* usual_curvature_name = "usual-curvature";

}  // namespace ignd
