#pragma once

#include "base/settings.hpp"
#include "base/stopped.hpp"
#include "ignd/optimizer.hpp"
#include "learn/engine.hpp"
#include "learn/run_result.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ignd {

// Everything that a run depends on.
struct RunConfig {
  std::string task;
  Settings settings;
  Optimizer optimizer;
  double rate = 0;
  std::uint64_t seed = 0;

  // One line for each part, the same for the same run: the key of its result.
  std::string text() const;
};

// A run of a group.
struct TaskRun {
  const RunConfig* config = nullptr;
  const RunControl* control = nullptr;
};

// Called with the place of a run in its group as soon as it has ended; one call at a time.
using RunEnded = std::function<void(std::size_t run, RunResult result)>;

// A kind of run that experiment files can name.
class Task {
 public:
  virtual ~Task() = default;
  virtual std::string name() const = 0;
  virtual std::string meaning() const = 0;  // one line for the documentation
  virtual std::span<const SettingKey> keys() const = 0;

  // The further numbers that its runs give, and what each is: names that experiments may ask for as columns.
  struct Column {
    std::string name, meaning;
  };
  virtual std::vector<Column> columns() const { return {}; }

  // Whether its runs have a validation score, which rates can be chosen by.
  virtual bool validates() const { return false; }

  // What is wrong with settings that are each well-formed; one text each.
  virtual std::vector<std::string> faults(const Settings& settings) const = 0;

  // What a run with these settings lacks, such as a data set that is not here, and what to do about it; "" if nothing.
  virtual std::string missing(const Settings& /*settings*/) const { return ""; }

  // About how many seconds a run takes; the longest are started first. Asked for again and again: who measures keeps
  // what was measured.
  virtual double cost(const RunConfig& config) const = 0;

  // Whether the cost was measured on this machine. Otherwise it is a guess.
  virtual bool measures_cost(const Settings& /*settings*/) const { return false; }

  // Whether its runs keep what they need to go on after an interruption.
  virtual bool resumes() const { return false; }

  // Runs with the same text may be trained together, as a group; "": such a run is one of its own.
  virtual std::string group_of(const RunConfig& /*config*/) const { return ""; }

  // Makes the runs of a group by an engine, or by the CPU those that it refuses, and tells of each as it ends. Throws
  // like run().
  virtual void run_group(std::span<const TaskRun> group, const Engine& engine, const RunEnded& ended) const;

  // The same result for the same configuration, always, interrupted or not. Looks at `control.stop()` every few
  // milliseconds and throws Stopped; a run that resumes writes its unfinished file first.
  virtual RunResult run(const RunConfig& config, const RunControl& control) const = 0;
};

// Throws InvalidArgument, with the nearest known name, for a task that does not exist.
const Task& find_task(std::string_view name);
std::vector<std::string> task_names();

}  // namespace ignd
