#pragma once

#include "learn/run.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>

namespace ignd {

struct RunSpec;
class StepObserver;

// Looks at a run between its samples: records its curves, prints its epochs, saves it. What it does changes nothing of
// the run. Each run has an observer of its own, which one thread calls at a time.
class RunObserver {
 public:
  virtual ~RunObserver() = default;

  // Before the first sample: here a saved run is restored.
  virtual void begin(RunView& /*run*/) {}

  // Where every step is to be shown to, from the first sample on; null: nowhere.
  virtual StepObserver* step_observer() { return nullptr; }

  // At how many samples in all it wants to look at the run next. At the end of each epoch it does so anyway.
  virtual std::uint64_t next_look(const RunView& /*run*/) { return std::numeric_limits<std::uint64_t>::max(); }

  // At the end of an epoch, with its report; where it wanted to look; and where the run failed.
  virtual void look(RunView& /*run*/, const std::optional<EpochReport>& /*epoch*/) {}

  // Now and then, while it learns.
  virtual void progress(const RunView& /*run*/) {}

  // Once, whatever the outcome: a run that was stopped is still running, and can be saved here.
  virtual void end(RunView& /*run*/) {}
};

// A run of a group.
struct RunSlot {
  const TrainingOptions* options = nullptr;
  RunObserver* observer = nullptr;
  // That of the group with another split, or one that was read from the same source; null: that of the group.
  const Dataset* dataset = nullptr;
};

// Trains groups of runs that share a dataset and an architecture. Which engine trained a run changes nothing but the
// time it took and, between kinds of hardware, the last digits.
class Engine {
 public:
  virtual ~Engine() = default;

  virtual std::string name() const = 0;  // "cpu"

  // Why it cannot train such a run; "" if it can.
  virtual std::string refusal(const Dataset& dataset, const TrainingOptions& options) const = 0;

  // The most runs that it gains from training together.
  virtual std::size_t group_size() const = 0;

  // Trains a group, all of whose runs it does not refuse, and returns once all have ended or, after `stop` was set,
  // have been stopped; a run that had not begun by then does not begin. May be called from several threads. Throws
  // what a run or its observer throws; other runs of the group may not begin then.
  virtual void train(std::span<const RunSlot> group, const Dataset& dataset, const std::atomic<bool>& stop) const = 0;
};

// Trains on the thread that calls it, one run after the other.
const Engine& cpu_engine();

// Trains as many runs of a group at a time as the machine has cores.
const Engine& parallel_cpu_engine();

// Who else computes on this machine meanwhile: nobody, or the other jobs of a sweep.
enum class Machine { own, shared };

// The engine to train with. Whoever trains asks here, not for one of the above.
const Engine& engine_for(Machine machine);

// Trains a group: by the engine the runs that it does not refuse, and by the CPU the others.
void train_group(const Engine& engine, std::span<const RunSlot> group, const Dataset& dataset,
                 const std::atomic<bool>& stop);

// What runs must have in common to be a group: the data and the architecture.
std::string group_key(const RunSpec& spec);

}  // namespace ignd
