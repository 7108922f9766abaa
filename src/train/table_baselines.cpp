#include "train/table_baselines.hpp"

#include "train/baselines.hpp"

namespace ignd {

std::vector<Predictor> fit_baselines(const TableTask& task) {
  const std::size_t features = task.encoder().features();
  const bool classes = task.target().is_class();
  const ForEachRow rows = [&](const RowVisitor& visit) {
    std::vector<float> x(features);
    for (const std::uint32_t row : task.split().train) visit(x, task.sample(row, x).y, task.row_weight(row));
  };
  const auto output = [target = task.target()](double fitted) {
    return target.is_class() ? fitted : target.output_for(fitted);
  };

  std::vector<Predictor> baselines;
  const double constant = output(classes ? best_constant_for_logistic(rows) : best_constant_for_squared(rows));
  baselines.push_back({"best constant", [constant](std::span<const float>) { return constant; }});
  if (const auto linear = classes ? logistic_regression(rows, features) : least_squares(rows, features)) {
    baselines.push_back({classes ? "logistic regression" : "least squares",
                         [fitted = *linear, output](std::span<const float> x) { return output(fitted(x)); }});
  }
  return baselines;
}

}  // namespace ignd
