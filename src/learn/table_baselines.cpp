#include "learn/table_baselines.hpp"

#include "learn/baselines.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace ignd {
namespace {

ForEachRow visit_rows(const Dataset& task, std::span<const std::uint32_t> rows, FitWeights weights,
                      const BeforeRow& before_row) {
  return [&task, rows, weights, &before_row](const RowVisitor& visit) {
    std::vector<float> room(task.scratch_size());
    for (const std::uint32_t row : rows) {
      if (before_row) before_row();
      const Sample<float> sample = task.sample(row, room);
      visit(sample.x.values, sample.y, weights == FitWeights::loss ? sample.weight : task.row_weight(row));
    }
  };
}

ForEachRow training_rows(const Dataset& task, FitWeights weights, const BeforeRow& before_row) {
  return visit_rows(task, task.split().train, weights, before_row);
}

OutputsOf one_output(OutputOf output) {
  return [output = std::move(output)](const Input<float>& x, std::span<double> outputs) { outputs[0] = output(x); };
}

// The logarithms of the classes' weights. One that no row has counts as half a row.
std::vector<double> best_constant_logits(const ForEachRow& rows, std::size_t classes) {
  std::vector<double> weights(classes);
  double total = 0, count = 0;
  rows([&](std::span<const float>, double y, double weight) {
    weights[static_cast<std::size_t>(y)] += weight;
    total += weight;
    ++count;
  });
  for (double& weight : weights) weight = std::log(weight > 0 ? weight : total / count / 2);
  return weights;
}

double output_for(const Target& target, double fitted) {
  return target.is_class() ? fitted : target.output_for(fitted);
}

}  // namespace

Predictor fit_constant(const Dataset& task, FitWeights weights, const BeforeRow& before_row) {
  const ForEachRow rows = training_rows(task, weights, before_row);
  const Target& target = task.target();
  if (target.is_multiclass()) {
    return {"best constant",
            [logits = best_constant_logits(rows, target.outputs())](const Input<float>&, std::span<double> outputs) {
              std::ranges::copy(logits, outputs.begin());
            }};
  }
  const double fitted = target.is_class() ? best_constant_for_logistic(rows) : best_constant_for_squared(rows);
  return {"best constant",
          one_output([constant = output_for(target, fitted)](const Input<float>&) { return constant; })};
}

std::optional<Predictor> fit_linear(const TableDataset& task, FitWeights weights, const BeforeRow& before_row) {
  if (task.target().is_multiclass()) return std::nullopt;
  const ForEachRow rows = training_rows(task, weights, before_row);
  const std::size_t features = task.encoder().features();
  const bool classes = task.target().is_class(), counts = task.target().logarithm;
  RidgeChoice choice;
  if (!task.split().validation.empty()) {
    choice.validation = visit_rows(task, task.split().validation, weights, before_row);
  }
  const auto linear = classes  ? logistic_regression(rows, features, choice)
                      : counts ? poisson_regression(rows, features, choice)
                               : least_squares(rows, features, choice);
  if (!linear) return std::nullopt;
  return Predictor{classes  ? "logistic regression"
                   : counts ? "Poisson regression"
                            : "least squares",
                   one_output([fitted = *linear](const Input<float>& x) { return fitted(x.values); })};
}

std::vector<Predictor> fit_baselines(const TableDataset& task) {
  std::vector<Predictor> baselines{fit_constant(task, FitWeights::metrics)};
  if (auto linear = fit_linear(task, FitWeights::metrics)) baselines.push_back(std::move(*linear));
  return baselines;
}

}  // namespace ignd
