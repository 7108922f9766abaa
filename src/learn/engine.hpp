#pragma once

#include "learn/run_result.hpp"
#include "learn/run_spec.hpp"

#include <cstddef>
#include <functional>
#include <span>
#include <string>

namespace ignd {

// A run of a group: what to train, and what it is told meanwhile.
struct RunSlot {
  const RunSpec* spec = nullptr;  // complete
  const RunControl* control = nullptr;
};

// Trains groups of runs that share a dataset and an architecture. Which engine trained a run changes nothing but the
// time it took and, between kinds of hardware, the last digits.
class Engine {
 public:
  virtual ~Engine() = default;

  virtual std::string name() const = 0;  // "cpu"

  // Why it cannot train such a run; "" if it can.
  virtual std::string refusal(const RunSpec& spec) const = 0;

  // The most runs that it gains from training together.
  virtual std::size_t group_size() const = 0;

  // Called with the place of a run in its group as soon as it has ended.
  using Ended = std::function<void(std::size_t run, RunResult result)>;

  // Trains a group, all of whose specs it does not refuse. May be called from several threads. Throws Stopped once a
  // run was stopped, after it has saved itself where its control names a file; what had ended was reported.
  virtual void train(std::span<const RunSlot> group, const Dataset& dataset, const Ended& ended) const = 0;
};

// One run after the other, on the thread that calls it.
const Engine& cpu_engine();

// What runs must have in common to be a group: the data and the architecture.
std::string group_key(const RunSpec& spec);

}  // namespace ignd
