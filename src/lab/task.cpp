#include "lab/task.hpp"

#include "base/text.hpp"
#include "ignd/error.hpp"

#include <fmt/format.h>

namespace ignd {
namespace {

const std::vector<const Task*>& tasks() {
  static const std::vector<const Task*> all{&frozen_lake_task(), &lqr_task(), &prediction_changes_task(),
                                            &stationarity_task(), &training_task()};
  return all;
}

}  // namespace

std::string RunConfig::text() const {
  return fmt::format("task={}\nrule={}\ntransform={}\nrate={}\nseed={}\n{}", task, optimizer.rule, optimizer.transform,
                     format_number(rate), seed, settings.text());
}

void Task::run_group(std::span<const TaskRun> group, const Engine& /*engine*/, const RunEnded& ended) const {
  for (std::size_t i = 0; i < group.size(); ++i) ended(i, run(*group[i].config, *group[i].control));
}

std::vector<std::string> task_names() {
  std::vector<std::string> names;
  for (const Task* task : tasks()) names.push_back(task->name());
  return names;
}

const Task& find_task(std::string_view name) {
  for (const Task* task : tasks()) {
    if (task->name() == name) return *task;
  }
  if (name == "tabular" || name == "classification" || name == "table") {
    throw InvalidArgument(fmt::format(
        "the task {} of ignd 0.1 is 'training' now, with other settings (docs/experiments.md); results that "
        "were made with it cannot be read by this version",
        in_quotes(name)));
  }
  throw InvalidArgument(fmt::format("there is no task {}{}", in_quotes(name), suggestion(name, task_names())));
}

}  // namespace ignd
