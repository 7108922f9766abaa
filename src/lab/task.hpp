#pragma once

#include "base/settings.hpp"
#include "base/stopped.hpp"
#include "ignd/optimizer.hpp"
#include "learn/engine.hpp"
#include "learn/run_result.hpp"

#include <cstdint>
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
  virtual void run_group(std::span<const TaskRun> group, const Engine& engine, const Engine::Ended& ended) const;

  // The same result for the same configuration, always, interrupted or not. Looks at `control.stop()` every few
  // milliseconds and throws Stopped; a run that resumes writes its unfinished file first.
  virtual RunResult run(const RunConfig& config, const RunControl& control) const = 0;
};

// Throws InvalidArgument, with the nearest known name, for a task that does not exist.
const Task& find_task(std::string_view name);
std::vector<std::string> task_names();

// Q-learning on FrozenLake. The curve is the trailing mean of the returns, the score their mean over the last tenth of
// the episodes, and the extra "early" that over the first half. Failing is worth a return of 0 from there to the end.
const Task& frozen_lake_task();

// "lqr": policy iteration on a linear system with quadratic rewards. The metric is the policy error ||K* - K||_F,
// recorded after each improvement (0: the initial policy).
//
// A run has diverged, and has no score, where a number is not finite any more, where three improvements in a row are
// rejected while the weights grow, or where the last improvement is rejected: its policy is then not the outcome of its
// values, and a run that never improves would be scored by its initial policy. Rejections that the run recovers from
// are no failure; the extra "rejections" counts them.
const Task& lqr_task();

// "training": a model trained on a table, on images or on texts, as `ignd train` does it with the same options and
// seed, with its learning curves.
const Task& training_task();

}  // namespace ignd
