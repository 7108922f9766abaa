#pragma once

#include "learn/table_dataset.hpp"

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

// What any result is compared with: the best constant, and the best linear model.
namespace ignd {

// Rows come through a callback, so that the data are not copied. Every call gives the same rows. Weights are as in
// metrics.hpp: 2 means two rows, 0 that the row does not count. A value that cannot be used, a row of another size or
// no rows at all: InvalidArgument, which counts rows from 1.
using RowVisitor = std::function<void(std::span<const float> x, double y, double weight)>;
using ForEachRow = std::function<void(const RowVisitor&)>;

struct LinearBaseline {
  std::vector<double> weights;
  double bias = 0;
  double ridge = 0;  // the one it was fitted with

  double operator()(std::span<const float> x) const;  // the prediction, for logistic regression a logit
};

// The mean of the targets.
double best_constant_for_squared(const ForEachRow& rows);

// The log odds of label 1. Of labels that are all the same they would be infinite; then they are those of n rows and
// half a row with the other label.
double best_constant_for_logistic(const ForEachRow& rows);

// The work grows with the square of the features in every row and with their cube at the end, so there is a limit: with
// more features than this there is no linear baseline.
constexpr std::size_t most_baseline_features = 2000;

// The fits minimise the sum of the losses plus ridge / 2 times the squared norm of the weights, those of features
// brought to variance 1; the intercept is free. The ridge is in units of rows of the mean weight, as in scikit-learn.
// Of several, the one with the lowest loss on the validation rows is taken, or the default where there are none.
struct RidgeChoice {
  ForEachRow validation = {};
  std::vector<double> ridges = {0.1, 1, 10, 100, 1000, 10000};
};
inline constexpr double default_ridge = 1;

// Least squares with an intercept. With a ridge of 0 and columns that depend on each other, as one-hot groups always
// do, one of the solutions with small weights. Two passes over the rows, and one over the validation rows.
std::optional<LinearBaseline> least_squares(const ForEachRow& rows, std::size_t features,
                                            const RidgeChoice& ridge = {});

// The largest likelihood less the ridge, which keeps the weights small if a plane separates the labels. A few passes
// over the rows for each ridge, of which the strong ones are tried first, as long as the validation loss falls.
std::optional<LinearBaseline> logistic_regression(const ForEachRow& rows, std::size_t features,
                                                  const RidgeChoice& ridge = {});

// The same for counts: the logarithm of the expected number is linear.
std::optional<LinearBaseline> poisson_regression(const ForEachRow& rows, std::size_t features,
                                                 const RidgeChoice& ridge = {});

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
Predictor fit_constant(const Dataset& dataset, FitWeights weights, const BeforeRow& before_row = {});

// The same from the targets that `rows` visits.
Predictor fit_constant(const Target& target, const ForEachRow& rows);

// What the linear baseline of a table is called: "least squares", "Poisson regression" or "logistic regression". None
// for more than two classes, and where there are too many features.
std::optional<std::string> linear_baseline_name(const TableDataset& dataset);

// The linear model with the lowest one: least squares for numbers, Poisson regression for counts, logistic regression
// for two classes, with a ridge that the validation rows choose. None where it has no name.
std::optional<Predictor> fit_linear(const TableDataset& dataset, FitWeights weights, const BeforeRow& before_row = {});

// Both, as they are shown beside the metrics of a model.
std::vector<Predictor> fit_baselines(const TableDataset& dataset);

}  // namespace ignd
