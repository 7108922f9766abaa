#pragma once

#include "train/table_task.hpp"

#include <string>
#include <vector>

namespace ignd {

struct Predictor {
  std::string name;
  OutputOf output;
};

// What a model of this task is compared with, fitted on its training rows: the best constant and, unless there are too
// many features, the best linear model: least squares for numbers, logistic regression for classes.
std::vector<Predictor> fit_baselines(const TableTask& task);

}  // namespace ignd
