#include "learn/baselines.hpp"

#include "ignd/error.hpp"
#include "ignd/loss.hpp"
#include "kernels/kernels.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <fmt/format.h>

namespace ignd {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

enum class TargetKind { number, label };

void check_row(std::size_t row, double y, double weight, TargetKind target) {
  if (target == TargetKind::number && !std::isfinite(y)) {
    throw InvalidArgument(fmt::format("the target of row {} is {}", row, y));
  }
  if (target == TargetKind::label && y != 0 && y != 1) {
    throw InvalidArgument(fmt::format("the label of row {} is {}; it must be 0 or 1", row, y));
  }
  if (!std::isfinite(weight) || weight < 0) {
    throw InvalidArgument(fmt::format("the weight of row {} is {}; it must be a number of at least 0", row, weight));
  }
}

void check_features(std::size_t row, std::span<const float> x, std::size_t features) {
  if (x.size() != features) {
    throw InvalidArgument(fmt::format("row {} has {} features, not {}", row, x.size(), features));
  }
  for (std::size_t i = 0; i < features; ++i) {
    if (!std::isfinite(x[i])) throw InvalidArgument(fmt::format("feature {} of row {} is {}", i + 1, row, x[i]));
  }
}

// The targets of the rows with a weight above 0.
struct TargetMoments {
  std::size_t count = 0;
  double weight = 0;
  double sum = 0;

  void add(double y, double w) {
    ++count;
    weight += w;
    sum += w * y;
  }
  double mean() const { return sum / weight; }
};

// Calls visit for every row with a weight above 0 once the row is known to be good, and returns what the targets are.
template <class Visit>
TargetMoments visit_checked(const ForEachRow& rows, TargetKind target, const Visit& visit) {
  TargetMoments moments;
  std::size_t row = 0;
  rows([&](std::span<const float> x, double y, double w) {
    check_row(++row, y, w, target);
    if (w == 0) return;
    moments.add(y, w);
    visit(row, x, w / moments.weight);
  });
  if (moments.count == 0) throw InvalidArgument("there is nothing to fit: no row has a weight above 0");
  if (!std::isfinite(moments.weight) || !std::isfinite(moments.sum)) {
    throw InvalidArgument("the weights or the targets are too large: their sum is not finite");
  }
  return moments;
}

TargetMoments target_moments(const ForEachRow& rows, TargetKind target) {
  return visit_checked(rows, target, [](std::size_t, std::span<const float>, double) {});
}

double log_odds(const TargetMoments& labels) {
  const double odds_of_n_to_half = 2 * static_cast<double>(labels.count);
  if (labels.sum == 0) return -std::log(odds_of_n_to_half);
  if (labels.sum == labels.weight) return std::log(odds_of_n_to_half);
  return std::log(labels.sum / (labels.weight - labels.sum));
}

// Features brought to mean 0 and variance 1, and a 1 behind them for the intercept. Collinear or not is then a question
// that does not depend on units. A column that never changes becomes 0, exactly.
class Standardizer {
 public:
  Standardizer(const ForEachRow& rows, std::size_t features, TargetKind target)
      : mean_(VectorXd::Zero(static_cast<Index>(features))), inverse_spread_(mean_) {
    VectorXd variance = mean_, gap = mean_;
    targets_ = visit_checked(rows, target, [&](std::size_t row, std::span<const float> x, double share) {
      check_features(row, x, features);
      // The running mean starts at the first row, so that a constant column has gaps of exactly 0.
      gap = as_vector(x).cast<double>() - mean_;
      mean_ += share * gap;
      variance = (1 - share) * (variance + share * gap.cwiseAbs2());
    });
    for (Index i = 0; i < mean_.size(); ++i) inverse_spread_[i] = variance[i] > 0 ? 1 / std::sqrt(variance[i]) : 0;
  }

  const TargetMoments& targets() const { return targets_; }
  Index size() const { return mean_.size() + 1; }

  void apply(std::span<const float> x, VectorXd& z) const {
    z.head(mean_.size()) = (as_vector(x).cast<double>() - mean_).cwiseProduct(inverse_spread_);
    z[mean_.size()] = 1;
  }

  // The model of the features themselves that has these coefficients after standardizing.
  LinearBaseline baseline(const VectorXd& coefficients, double ridge) const {
    const VectorXd weights = coefficients.head(mean_.size()).cwiseProduct(inverse_spread_);
    return {{weights.begin(), weights.end()}, coefficients[mean_.size()] - weights.dot(mean_), ridge};
  }

 private:
  static Eigen::Map<const Eigen::VectorXf> as_vector(std::span<const float> x) {
    return {x.data(), static_cast<Index>(x.size())};
  }

  TargetMoments targets_;
  VectorXd mean_;
  VectorXd inverse_spread_;
};

// The mean loss of a linear model around some coefficients, to second order.
struct Expansion {
  double value = 0;
  VectorXd gradient;
  MatrixXd hessian;  // its lower half
};

Expansion expand(const ForEachRow& rows, const Standardizer& standardizer, const Loss& loss,
                 const VectorXd& coefficients) {
  constexpr Index rows_in_block = 128;  // one product of matrices is many times faster than as many of vectors
  const Index n = standardizer.size();
  const auto width = static_cast<std::size_t>(n);
  Expansion sum{0, VectorXd::Zero(n), MatrixXd::Zero(n, n)};
  MatrixXd block(n, rows_in_block);
  Index filled = 0;
  // With the kernel, since Eigen does not know the machine's vectors. What is above its diagonal is below Eigen's.
  const auto empty_block = [&] {
    kernels::table<double>().product({.rows = width,
                                      .depth = static_cast<std::size_t>(filled),
                                      .columns = width,
                                      .a = block.data(),
                                      .a_row_stride = 1,
                                      .a_column_stride = width,
                                      .b = block.data(),
                                      .b_stride = width,
                                      .out = sum.hessian.data(),
                                      .out_stride = width,
                                      .add = true,
                                      .upper = true});
    filled = 0;
  };
  VectorXd z(n);
  rows([&](std::span<const float> x, double y, double w) {
    if (w == 0) return;
    standardizer.apply(x, z);
    const LossAt at = loss.at(y, coefficients.dot(z));
    const double share = w / standardizer.targets().weight;
    sum.value += share * at.value;
    sum.gradient += share * at.d1 * z;
    block.col(filled++) = std::sqrt(share * at.d2) * z;
    if (filled == rows_in_block) empty_block();
  });
  empty_block();
  return sum;
}

// Factorizes the matrix plus a ridge, a larger one if rounding should have made that one not positive. The ridge is
// relative: standardized features give a diagonal of 1 times the mean curvature.
Eigen::LLT<MatrixXd> factorize(const MatrixXd& lower, double ridge) {
  Eigen::LLT<MatrixXd> factors;
  for (double added = ridge; true; added *= 10) {
    MatrixXd matrix = lower;
    matrix.diagonal().array() += added;
    factors.compute(matrix);
    if (factors.info() == Eigen::Success) return factors;
  }
}

// Solves A x = b for a positive semi-definite A of diagonal 1. Each round of refinement takes out what the ridge left:
// along an eigenvector of eigenvalue m, ridge / (m + ridge) of it. Only what no data decides stays near zero.
VectorXd solve(const MatrixXd& lower, const VectorXd& right) {
  constexpr double ridge = 1e-11;
  constexpr int rounds = 4;
  const auto factors = factorize(lower, ridge);
  VectorXd x = VectorXd::Zero(right.size());
  for (int round = 0; round < rounds; ++round) {
    x += factors.solve(right - lower.selfadjointView<Eigen::Lower>() * x);
  }
  return x;
}

// Ridges in decreasing order, for a mean over `rows` rows; a single one without validation rows to choose by.
std::vector<double> ridges_to_try(const RidgeChoice& choice) {
  std::vector<double> ridges = choice.ridges;
  std::ranges::sort(ridges, std::ranges::greater{});
  if (!choice.validation && ridges.size() > 1) return {default_ridge};
  return ridges;
}

// The ridge of a mean loss: all weights but the intercept's.
VectorXd ridge_diagonal(Index size, double ridge, const TargetMoments& targets) {
  VectorXd diagonal = VectorXd::Constant(size, ridge / static_cast<double>(targets.count));
  diagonal[size - 1] = 0;
  return diagonal;
}

// The sums of the loss over the validation rows, for each of some models.
std::vector<double> validation_losses(const ForEachRow& validation, const Loss& loss,
                                      std::span<const LinearBaseline> models) {
  std::vector<double> sums(models.size());
  validation([&](std::span<const float> x, double y, double w) {
    for (std::size_t i = 0; i < models.size(); ++i) sums[i] += w * loss.at(y, models[i](x)).value;
  });
  return sums;
}

Expansion expand_with_ridge(const ForEachRow& rows, const Standardizer& standardizer, const Loss& loss,
                            const VectorXd& coefficients, const VectorXd& ridge) {
  Expansion at = expand(rows, standardizer, loss, coefficients);
  at.value += coefficients.dot(ridge.cwiseProduct(coefficients)) / 2;
  at.gradient += ridge.cwiseProduct(coefficients);
  at.hessian.diagonal() += ridge;
  return at;
}

// Minimises by Newton's method from `best`, which it changes. With one ridge after the other, each starts where the
// one before has ended.
void minimise(const ForEachRow& rows, const Standardizer& standardizer, const Loss& loss, const VectorXd& ridge,
              VectorXd& best) {
  constexpr int most_passes = 30;
  constexpr double enough = 1e-10;  // of the loss: a Newton step that gains less is the last, and leaves its square
  constexpr double least_gain = 1e-4;
  constexpr double for_rounding = 1e-10;
  Expansion at = expand_with_ridge(rows, standardizer, loss, best, ridge);
  VectorXd step = factorize(at.hessian, for_rounding).solve(-at.gradient);
  double part = 1;
  for (int pass = 1; pass < most_passes; ++pass) {
    const double slope = at.gradient.dot(step);
    const VectorXd trial = best + part * step;
    if (-slope <= enough * at.value) {
      best = trial;
      return;
    }
    Expansion there = expand_with_ridge(rows, standardizer, loss, trial, ridge);
    if (there.value <= at.value + least_gain * part * slope) {
      best = trial;
      at = std::move(there);
      step = factorize(at.hessian, for_rounding).solve(-at.gradient);
      part = 1;
    } else {
      part /= 2;
    }
  }
}

// From strong ridges to weak ones, until the validation loss has risen: what is weaker fits noise.
LinearBaseline fit_along_ridges(const ForEachRow& rows, const Standardizer& standardizer, const Loss& loss,
                                double intercept, const RidgeChoice& choice) {
  VectorXd coefficients = VectorXd::Zero(standardizer.size());
  coefficients[coefficients.size() - 1] = intercept;
  LinearBaseline best;
  double lowest = std::numeric_limits<double>::infinity();
  for (const double ridge : ridges_to_try(choice)) {
    minimise(rows, standardizer, loss, ridge_diagonal(standardizer.size(), ridge, standardizer.targets()),
             coefficients);
    LinearBaseline model = standardizer.baseline(coefficients, ridge);
    const double sum = choice.validation ? validation_losses(choice.validation, loss, {&model, 1})[0] : 0;
    if (!(sum < lowest)) break;
    lowest = sum;
    best = std::move(model);
  }
  return best;
}

ForEachRow visit_rows(const Dataset& dataset, std::span<const std::uint32_t> rows, FitWeights weights,
                      const BeforeRow& before_row) {
  return [&dataset, rows, weights, &before_row](const RowVisitor& visit) {
    std::vector<float> scratch(dataset.scratch_size());
    for (const std::uint32_t row : rows) {
      if (before_row) before_row();
      const Sample<float> sample = dataset.sample(row, scratch);
      visit(sample.x.values, sample.y, weights == FitWeights::loss ? sample.weight : dataset.row_weight(row));
    }
  };
}

ForEachRow training_rows(const Dataset& dataset, FitWeights weights, const BeforeRow& before_row) {
  return visit_rows(dataset, dataset.split().train, weights, before_row);
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

double LinearBaseline::operator()(std::span<const float> x) const {
  double sum = bias;
  for (std::size_t i = 0; i < weights.size(); ++i) sum += weights[i] * static_cast<double>(x[i]);
  return sum;
}

double best_constant_for_squared(const ForEachRow& rows) { return target_moments(rows, TargetKind::number).mean(); }

double best_constant_for_logistic(const ForEachRow& rows) { return log_odds(target_moments(rows, TargetKind::label)); }

std::optional<LinearBaseline> least_squares(const ForEachRow& rows, std::size_t features, const RidgeChoice& choice) {
  if (features > most_baseline_features) return {};
  const auto loss = make_loss("squared");
  const Standardizer standardizer(rows, features, TargetKind::number);
  VectorXd mean = VectorXd::Zero(standardizer.size());
  mean[mean.size() - 1] = standardizer.targets().mean();
  const Expansion at = expand(rows, standardizer, *loss, mean);
  std::vector<LinearBaseline> models;
  for (const double ridge : ridges_to_try(choice)) {
    MatrixXd hessian = at.hessian;
    hessian.diagonal() += ridge_diagonal(standardizer.size(), ridge, standardizer.targets());
    models.push_back(standardizer.baseline(mean - solve(hessian, at.gradient), ridge));
  }
  if (models.size() == 1) return models[0];
  const std::vector<double> losses = validation_losses(choice.validation, *loss, models);
  return models[static_cast<std::size_t>(std::ranges::min_element(losses) - losses.begin())];
}

std::optional<LinearBaseline> logistic_regression(const ForEachRow& rows, std::size_t features,
                                                  const RidgeChoice& choice) {
  if (features > most_baseline_features) return {};
  const Standardizer standardizer(rows, features, TargetKind::label);
  return fit_along_ridges(rows, standardizer, *make_loss("logistic"), log_odds(standardizer.targets()), choice);
}

std::optional<LinearBaseline> poisson_regression(const ForEachRow& rows, std::size_t features,
                                                 const RidgeChoice& choice) {
  if (features > most_baseline_features) return {};
  const Standardizer standardizer(rows, features, TargetKind::number);
  const double mean = std::max(standardizer.targets().mean(), std::numeric_limits<double>::min());
  return fit_along_ridges(rows, standardizer, *make_loss("poisson"), std::log(mean), choice);
}

Predictor fit_constant(const Dataset& dataset, FitWeights weights, const BeforeRow& before_row) {
  return fit_constant(dataset.target(), training_rows(dataset, weights, before_row));
}

Predictor fit_constant(const Target& target, const ForEachRow& rows) {
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

std::optional<std::string> linear_baseline_name(const TableDataset& dataset) {
  const Target& target = dataset.target();
  if (target.is_multiclass() || dataset.encoder().features() > most_baseline_features) return std::nullopt;
  if (target.is_class()) return "logistic regression";
  return target.logarithm ? "Poisson regression" : "least squares";
}

std::optional<Predictor> fit_linear(const TableDataset& dataset, FitWeights weights, const BeforeRow& before_row) {
  const auto name = linear_baseline_name(dataset);
  if (!name) return std::nullopt;
  const ForEachRow rows = training_rows(dataset, weights, before_row);
  const std::size_t features = dataset.encoder().features();
  const bool classes = dataset.target().is_class(), counts = dataset.target().logarithm;
  RidgeChoice choice;
  if (!dataset.split().validation.empty()) {
    choice.validation = visit_rows(dataset, dataset.split().validation, weights, before_row);
  }
  const auto linear = classes  ? logistic_regression(rows, features, choice)
                      : counts ? poisson_regression(rows, features, choice)
                               : least_squares(rows, features, choice);
  return Predictor{*name, one_output([fitted = linear.value()](const Input<float>& x) { return fitted(x.values); })};
}

std::vector<Predictor> fit_baselines(const TableDataset& dataset) {
  std::vector<Predictor> baselines{fit_constant(dataset, FitWeights::metrics)};
  if (auto linear = fit_linear(dataset, FitWeights::metrics)) baselines.push_back(std::move(*linear));
  return baselines;
}

}  // namespace ignd
