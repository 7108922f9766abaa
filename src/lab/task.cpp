#include "lab/task.hpp"

#include "base/text.hpp"
#include "ignd/error.hpp"
#include "lab/classification_task.hpp"
#include "lab/frozen_lake_task.hpp"
#include "lab/lqr_task.hpp"
#include "lab/table_study_task.hpp"
#include "lab/tabular_task.hpp"

#include <fmt/format.h>

namespace ignd {
namespace {

const std::vector<const Task*>& tasks() {
  static const std::vector<const Task*> all{&classification_task(), &frozen_lake_task(), &lqr_task(),
                                            &table_study_task(), &tabular_task()};
  return all;
}

}  // namespace

std::vector<std::string> task_names() {
  std::vector<std::string> names;
  for (const Task* task : tasks()) names.push_back(task->name());
  return names;
}

const Task& find_task(std::string_view name) {
  for (const Task* task : tasks()) {
    if (task->name() == name) return *task;
  }
  throw InvalidArgument(fmt::format("there is no task {}{}", in_quotes(name), suggestion(name, task_names())));
}

}  // namespace ignd
