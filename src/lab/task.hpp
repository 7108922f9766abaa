#pragma once

#include "base/settings.hpp"
#include "base/stopped.hpp"
#include "ignd/optimizer.hpp"
#include "learn/engine.hpp"
#include "learn/open_dataset.hpp"
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

  // Further numbers that its runs return, which experiments may show as columns, and what each means.
  struct Column {
    std::string name, meaning;
  };
  virtual std::vector<Column> columns() const { return {}; }

  // Whether its runs have a validation score, which rates can be chosen by.
  virtual bool validates() const { return false; }

  // Faults of settings that are well-formed one by one; one text each.
  virtual std::vector<std::string> faults(const Settings& settings) const = 0;

  // What a run with these settings lacks, such as a data set that is not on this machine.
  virtual MissingData missing(const Settings& /*settings*/) const { return {}; }

  // What a user should know of these settings before runs are made, and what to do; one sentence or more each. May take
  // a second.
  virtual std::vector<std::string> advice(const Settings& /*settings*/) const { return {}; }

  // An estimate of a run's seconds; the longest are started first. Called often: a task that measures must cache.
  virtual double cost(const RunConfig& config) const = 0;

  // Whether the cost was measured on this machine. Otherwise it is a guess.
  virtual bool measures_cost(const Settings& /*settings*/) const { return false; }

  // Whether its runs can be resumed after an interruption.
  virtual bool resumes() const { return false; }

  // Runs with the same text may be trained together, as a group; "": such a run is trained alone.
  virtual std::string group_of(const RunConfig& /*config*/) const { return ""; }

  // Makes the runs of a group by an engine, or by the CPU if the engine refuses them, and reports each as it ends.
  // Throws like run().
  virtual void run_group(std::span<const TaskRun> group, const Engine& engine, const RunEnded& ended) const;

  // Returns the same result for the same configuration, interrupted or not. Checks `control.stop()` every few
  // milliseconds and throws Stopped; a run that can be resumed writes its checkpoint first.
  virtual RunResult run(const RunConfig& config, const RunControl& control) const = 0;
};

// Throws InvalidArgument, with the nearest known name, for a task that does not exist.
const Task& find_task(std::string_view name);
std::vector<std::string> task_names();

// Q-learning on FrozenLake. The curve is the trailing mean of the returns, the score their mean over the last tenth of
// the episodes, and the extra "early" that over the first half. A failed run counts with a return of 0 from the failure
// on.
const Task& frozen_lake_task();

// "prediction-changes": how far one step moves a prediction, against the formulas of the paper's table 1.
const Task& prediction_changes_task();

// "stationarity": the weighted averages of squared gradients of the paper's theorem, and the constants it rests on.
const Task& stationarity_task();

// "lqr": policy iteration on a linear system with quadratic rewards. The metric is the policy error ||K* - K||_F,
// recorded after each accepted improvement (0: the initial policy). A run ends early when an improvement no longer
// changes the policy.
//
// A run has diverged, and has no score, if a number is no longer finite, if three improvements in a row are rejected
// while the weights grow, or if the last improvement is rejected: the policy then does not follow from the values, and
// a run that never improves would be scored by its initial policy. A run may recover from rejections; the extra
// "rejections" counts them.
const Task& lqr_task();

// "training": a model trained on a table, on images or on texts, as `ignd train` does it with the same options and
// seed, with its learning curves.
const Task& training_task();

}  // namespace ignd
