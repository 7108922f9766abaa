#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

// What any result is compared with: the best constant, and the best linear model.
namespace ignd {

// Rows come through a callback, so that nobody copies the data. Every call gives the same rows. Weights are as in
// metrics.hpp: 2 is two rows, 0 is none. A value that cannot be used, a row of another size and the lack of any row are
// an InvalidArgument; rows are counted from 1.
using RowVisitor = std::function<void(std::span<const float> x, double y, double weight)>;
using ForEachRow = std::function<void(const RowVisitor&)>;

struct LinearBaseline {
  std::vector<double> weights;
  double bias = 0;

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

// Least squares with an intercept. If columns depend on each other, as one-hot groups always do, one of the solutions
// with small weights. Two passes over the rows.
std::optional<LinearBaseline> least_squares(const ForEachRow& rows, std::size_t features);

// The largest likelihood less a tiny ridge, which keeps the weights finite if a plane separates the labels. At most 31
// passes over the rows.
std::optional<LinearBaseline> logistic_regression(const ForEachRow& rows, std::size_t features);

}  // namespace ignd
