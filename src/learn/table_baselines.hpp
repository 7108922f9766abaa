#pragma once

#include "learn/table_dataset.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace ignd {

struct Predictor {
  std::string name;
  OutputsOf outputs;
};

// What rows count as in a fit: as in the metrics, or as in the loss, where classes may be balanced.
enum class FitWeights { metrics, loss };

// Called before each row of each pass; what it throws ends the fit.
using BeforeRow = std::function<void()>;

// The constant with the lowest squared or logistic loss on the training rows; of more than two classes how often each
// is there.
Predictor fit_constant(const Dataset& task, FitWeights weights, const BeforeRow& before_row = {});

// The linear model with the lowest one: least squares for numbers, Poisson regression for counts, logistic regression
// for two classes, with a ridge that the validation rows choose. None for more classes, and where there are too many
// features.
std::optional<Predictor> fit_linear(const TableDataset& task, FitWeights weights, const BeforeRow& before_row = {});

// Both, as they are shown beside the metrics of a model.
std::vector<Predictor> fit_baselines(const TableDataset& task);

}  // namespace ignd
