#include "learn/baselines.hpp"

#include "dense_algebra.hpp"
#include "support.hpp"

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include <Eigen/Core>
#include <gtest/gtest.h>

namespace ignd::testing {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

struct Data {
  std::size_t features = 0;
  std::vector<float> x;  // row by row
  std::vector<double> y, weight;

  std::size_t size() const { return y.size(); }
  std::span<const float> row(std::size_t i) const { return std::span(x).subspan(i * features, features); }
  float& at(std::size_t i, std::size_t k) { return x[i * features + k]; }

  ForEachRow rows() const {
    return [this](const RowVisitor& visit) {
      for (std::size_t i = 0; i < size(); ++i) visit(row(i), y[i], weight[i]);
    };
  }
};

// Next to none: what is fitted is the likelihood itself. A plane that separates the labels needs something.
const RidgeChoice no_ridge{.validation = {}, .ridges = {0}};
const RidgeChoice tiny_ridge{.validation = {}, .ridges = {1e-8}};

Data random_data(RandomStream& stream, std::size_t rows, std::size_t features) {
  Data data{features, normal_vector<float>(stream, rows * features), normal_vector(stream, rows), {}};
  for (std::size_t i = 0; i < rows; ++i) data.weight.push_back(stream.uniform(0.1, 3));
  return data;
}

// What real tables do to a solver: one-hot groups, constants, units of their own, copies, near copies, means far from
// zero. Copies are of columns that are finished, so that rounding does not make them nearly the same instead.
void make_difficult(Data& data, RandomStream& stream) {
  for (std::size_t k = 0; k < data.features; ++k) {
    const auto kind = stream.below(8);
    const auto other = stream.below(k + 1);
    for (std::size_t i = 0; i < data.size(); ++i) {
      float& x = data.at(i, k);
      if (kind == 0) x = static_cast<float>((i + k) % 3 == 0);
      if (kind == 1) x = 3.3F;
      if (kind == 2) x *= 1e6F;
      if (kind == 3) x *= 1e-6F;
      if (kind == 4) x = 2 * data.at(i, other);
      if (kind == 5) x = data.at(i, other) * (1 + 1e-3F * x);
      if (kind == 6) x = 1000 + x;
    }
  }
}

void make_labels(Data& data, RandomStream& stream) {
  for (std::size_t i = 0; i < data.size(); ++i) {
    const double logit = 0.3 + (data.features > 0 ? data.row(i)[0] : 0);
    data.y[i] = stream.uniform() < 1 / (1 + std::exp(-logit)) ? 1 : 0;
  }
}

// The fitted values of weighted least squares, by an orthogonal decomposition of centred columns of norm 1. Unlike the
// weights they are unique, whatever the columns.
VectorXd fitted_by_qr(const Data& data) {
  const auto n = static_cast<Eigen::Index>(data.size()), d = static_cast<Eigen::Index>(data.features);
  MatrixXd x(n, d);
  VectorXd y(n), root(n);
  for (Eigen::Index i = 0; i < n; ++i) {
    const auto row = static_cast<std::size_t>(i);
    for (Eigen::Index k = 0; k < d; ++k) x(i, k) = static_cast<double>(data.row(row)[static_cast<std::size_t>(k)]);
    y[i] = data.y[row];
    root[i] = std::sqrt(data.weight[row]);
  }
  const VectorXd w = root.cwiseAbs2() / root.squaredNorm();
  for (Eigen::Index k = 0; k < d; ++k) {
    const double size = x.col(k).cwiseAbs().maxCoeff();
    x.col(k).array() -= w.dot(x.col(k));
    const double norm = x.col(k).norm();
    x.col(k) *= norm > 1e-12 * size ? 1 / norm : 0;
  }
  const double mean = w.dot(y);
  if (d == 0) return VectorXd::Constant(n, mean);
  const VectorXd right = root.asDiagonal() * (y.array() - mean).matrix();
  return (x * least_squares_solution(root.asDiagonal() * x, right)).array() + mean;
}

double largest_difference_from_qr(const Data& data) {
  const auto fit = least_squares(data.rows(), data.features, no_ridge);
  const VectorXd fitted = fitted_by_qr(data);
  double largest = 0;
  for (std::size_t i = 0; i < data.size(); ++i) {
    const double gap = std::abs((*fit)(data.row(i)) - fitted[static_cast<Eigen::Index>(i)]);
    largest = std::isnan(gap) ? nan : std::max(largest, gap);
  }
  return largest;
}

double log_likelihood(const Data& data, const LinearBaseline& fit) {
  const auto loss = make_loss("logistic");
  double sum = 0;
  for (std::size_t i = 0; i < data.size(); ++i) sum -= data.weight[i] * loss->at(data.y[i], fit(data.row(i))).value;
  return sum;
}

bool is_finite(const LinearBaseline& fit) {
  for (const double weight : fit.weights) {
    if (!std::isfinite(weight)) return false;
  }
  return std::isfinite(fit.bias);
}

Data targets(std::vector<double> y, std::vector<double> weight) { return {0, {}, std::move(y), std::move(weight)}; }

TEST(BestConstant, IsTheWeightedMean) {
  EXPECT_DOUBLE_EQ(best_constant_for_squared(targets({1, 2, 6}, {1, 0.5, 1}).rows()), 8 / 2.5);
  EXPECT_DOUBLE_EQ(best_constant_for_squared(targets({1, 99}, {1, 0}).rows()), 1);
}

TEST(BestConstant, IsTheLogOddsOfTheWeightedShare) {
  EXPECT_NEAR(best_constant_for_logistic(targets({1, 0, 1}, {1, 2, 5}).rows()), std::log(3), 1e-15);
  EXPECT_NEAR(best_constant_for_logistic(targets({1, 0}, {1e-12, 1}).rows()), std::log(1e-12), 1e-12);
}

TEST(BestConstant, OfOneClassCountsHalfARowOfTheOther) {
  EXPECT_DOUBLE_EQ(best_constant_for_logistic(targets({1, 1, 1}, {.1, .1, .1}).rows()), std::log(6));
  EXPECT_DOUBLE_EQ(best_constant_for_logistic(targets({0, 0, 1}, {7, 1, 0}).rows()), -std::log(4));
}

TEST(LeastSquares, FindsTheLineThatMadeTheData) {
  RandomStream stream(1, "baselines");
  Data data = random_data(stream, 50, 3);
  for (std::size_t i = 0; i < 50; ++i) {
    data.y[i] = 4 + 2 * static_cast<double>(data.row(i)[0]) - 3 * static_cast<double>(data.row(i)[2]);
  }
  const auto fit = least_squares(data.rows(), 3, no_ridge).value();
  EXPECT_NEAR(fit.bias, 4, 1e-12);
  EXPECT_NEAR(fit.weights[0], 2, 1e-12);
  EXPECT_NEAR(fit.weights[1], 0, 1e-12);
  EXPECT_NEAR(fit.weights[2], -3, 1e-12);
}

TEST(LeastSquares, EqualsADenseSolveForManyShapes) {
  RandomStream stream(2, "baselines");
  for (const std::size_t rows : {1, 2, 3, 10, 127, 128, 129, 400}) {
    for (const std::size_t features : {0, 1, 2, 5, 20, 60}) {
      const Data data = random_data(stream, rows, features);
      // A square random matrix may be near to singular, and normal equations square its condition.
      EXPECT_LT(largest_difference_from_qr(data), rows == features + 1 ? 1e-5 : 1e-8) << rows << "x" << features;
    }
  }
}

TEST(LeastSquares, EqualsADenseSolveForDifficultColumns) {
  RandomStream stream(3, "baselines");
  for (int trial = 0; trial < 300; ++trial) {
    const std::size_t features = 1 + stream.below(12);
    Data data = random_data(stream, 30 + stream.below(200), features);
    make_difficult(data, stream);
    EXPECT_LT(largest_difference_from_qr(data), 1e-7) << trial;
  }
}

TEST(LeastSquares, KeepsWeightsSmallIfThereAreFewerRowsThanFeatures) {
  RandomStream stream(4, "baselines");
  for (int trial = 0; trial < 50; ++trial) {
    const Data data = random_data(stream, 5, 40);
    const auto fit = least_squares(data.rows(), 40, no_ridge).value();
    double squares = 0;
    for (const double weight : fit.weights) squares += weight * weight;
    EXPECT_LT(squares, 10) << "five targets of size 1 need no large weights in 40 directions";
  }
}

TEST(LeastSquares, GivesAConstantColumnNoWeight) {
  RandomStream stream(5, "baselines");
  Data data = random_data(stream, 300, 2);
  for (std::size_t i = 0; i < 300; ++i) data.at(i, 1) = 0.1F;
  EXPECT_EQ(least_squares(data.rows(), 2, no_ridge).value().weights[1], 0);
}

TEST(LeastSquares, WeightsAreRepetitions) {
  RandomStream stream(6, "baselines");
  Data data = random_data(stream, 20, 3), repeated{3, {}, {}, {}};
  for (std::size_t i = 0; i < 20; ++i) {
    data.weight[i] = static_cast<double>(i % 4);
    for (std::size_t k = 0; k < i % 4; ++k) {
      repeated.x.insert(repeated.x.end(), data.row(i).begin(), data.row(i).end());
      repeated.y.push_back(data.y[i]);
      repeated.weight.push_back(1);
    }
  }
  const auto a = least_squares(data.rows(), 3, no_ridge).value(),
             b = least_squares(repeated.rows(), 3, no_ridge).value();
  EXPECT_NEAR(a.bias, b.bias, 1e-12);
  for (std::size_t k = 0; k < 3; ++k) EXPECT_NEAR(a.weights[k], b.weights[k], 1e-12);
}

TEST(LogisticRegression, GradientIsZeroByFiniteDifferencesOfTheLikelihood) {
  RandomStream stream(7, "baselines");
  for (int trial = 0; trial < 30; ++trial) {
    const std::size_t features = stream.below(5);
    Data data = random_data(stream, 200, features);
    make_labels(data, stream);
    const auto fit = logistic_regression(data.rows(), features, tiny_ridge).value();
    double total = 0;
    for (const double weight : data.weight) total += weight;
    for (std::size_t k = 0; k <= features; ++k) {
      constexpr double step = 1e-4;
      LinearBaseline above = fit, below = fit;
      (k < features ? above.weights[k] : above.bias) += step;
      (k < features ? below.weights[k] : below.bias) -= step;
      const double gradient = (log_likelihood(data, above) - log_likelihood(data, below)) / (2 * step);
      // The ridge leaves 1e-10 of the weight; central differences err by step^2 / 6 of a third derivative below 1.
      EXPECT_NEAR(gradient / total, 0, 1e-8) << trial << " " << k;
    }
  }
}

// The gradient in units of each column's own spread, so that a column of 1e6 counts like any other.
TEST(LogisticRegression, GradientIsZeroForDifficultColumns) {
  RandomStream stream(8, "baselines");
  const auto loss = make_loss("logistic");
  for (int trial = 0; trial < 100; ++trial) {
    const std::size_t features = 1 + stream.below(8);
    Data data = random_data(stream, 300, features);
    make_labels(data, stream);
    make_difficult(data, stream);
    const auto fit = logistic_regression(data.rows(), features, tiny_ridge).value();
    ASSERT_TRUE(is_finite(fit));
    for (std::size_t k = 0; k < features; ++k) {
      double gradient = 0, size = 0;
      for (std::size_t i = 0; i < data.size(); ++i) {
        const double gap = static_cast<double>(data.at(i, k)) - static_cast<double>(data.at(0, k));
        const double slope = data.weight[i] * loss->at(data.y[i], fit(data.row(i))).d1 * gap;
        gradient += slope;
        size += std::abs(slope);
      }
      EXPECT_LE(std::abs(gradient), 1e-6 * size) << trial << " " << k;
    }
  }
}

TEST(LogisticRegression, NoPointNearbyIsMoreLikely) {
  RandomStream stream(9, "baselines");
  Data data = random_data(stream, 200, 3);
  make_labels(data, stream);
  const auto fit = logistic_regression(data.rows(), 3, tiny_ridge).value();
  for (int trial = 0; trial < 200; ++trial) {
    LinearBaseline other = fit;
    for (double& weight : other.weights) weight += 1e-3 * stream.normal();
    other.bias += 1e-3 * stream.normal();
    EXPECT_LT(log_likelihood(data, other), log_likelihood(data, fit));
  }
}

TEST(LogisticRegression, WithoutFeaturesIsTheBestConstant) {
  const Data data = targets({1, 0, 1, 1}, {1, 3, 1, 0.5});
  const auto fit = logistic_regression(data.rows(), 0, tiny_ridge).value();
  EXPECT_NEAR(fit.bias, best_constant_for_logistic(data.rows()), 1e-6);
}

TEST(LogisticRegression, RareLabelsAreFitted) {
  RandomStream stream(10, "baselines");
  Data data = random_data(stream, 20000, 1);
  for (std::size_t i = 0; i < data.size(); ++i) {
    data.weight[i] = 1;
    data.y[i] = i % 5000 == 0 ? 1 : 0;
  }
  const auto fit = logistic_regression(data.rows(), 1, tiny_ridge).value();
  double expected = 0;
  for (std::size_t i = 0; i < data.size(); ++i) expected += 1 / (1 + std::exp(-fit(data.row(i))));
  EXPECT_NEAR(expected, 4, 1e-2);
}

TEST(LogisticRegression, SeparableDataStayFiniteAndAreSeparated) {
  RandomStream stream(11, "baselines");
  for (int trial = 0; trial < 50; ++trial) {
    const std::size_t features = 1 + stream.below(30);
    Data data = random_data(stream, 2 + stream.below(40), features);
    for (std::size_t i = 0; i < data.size(); ++i) data.y[i] = data.row(i)[0] > 0 ? 1 : 0;
    const auto fit = logistic_regression(data.rows(), features, tiny_ridge).value();
    ASSERT_TRUE(is_finite(fit));
    for (std::size_t i = 0; i < data.size(); ++i) {
      EXPECT_EQ(fit(data.row(i)) > 0, data.y[i] == 1) << trial;
      EXPECT_LT(std::abs(fit(data.row(i))), 1e4) << trial;
    }
  }
}

TEST(LogisticRegression, OneClassStaysFinite) {
  RandomStream stream(12, "baselines");
  for (const double label : {0.0, 1.0}) {
    Data data = random_data(stream, 20, 2);
    data.y.assign(20, label);
    const auto fit = logistic_regression(data.rows(), 2, tiny_ridge).value();
    ASSERT_TRUE(is_finite(fit));
    for (std::size_t i = 0; i < 20; ++i) EXPECT_EQ(fit(data.row(i)) > 0, label == 1);
  }
}

TEST(LogisticRegression, TakesFewPasses) {
  RandomStream stream(13, "baselines");
  Data data = random_data(stream, 100, 3);
  for (const bool separable : {false, true}) {
    make_labels(data, stream);
    if (separable) {
      for (std::size_t i = 0; i < 100; ++i) data.y[i] = data.row(i)[0] > 0 ? 1 : 0;
    }
    int passes = 0;
    logistic_regression(
        [&](const RowVisitor& visit) {
          ++passes;
          data.rows()(visit);
        },
        3, tiny_ridge);
    EXPECT_LE(passes, separable ? 25 : 8);
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// The ridge

// The gradient of the sum of losses plus ridge / 2 ||w||^2, in the coefficients of features brought to variance 1. Rows
// of other weights than 1 count as so many of the mean weight.
double largest_gradient(const Data& data, const Loss& loss, const LinearBaseline& fit, double ridge) {
  const auto n = static_cast<double>(data.size());
  double total = 0;
  for (const double weight : data.weight) total += weight;
  double largest = 0, intercept = 0;
  for (std::size_t i = 0; i < data.size(); ++i) {
    intercept += data.weight[i] * n / total * loss.at(data.y[i], fit(data.row(i))).d1;
  }
  largest = std::abs(intercept);
  for (std::size_t k = 0; k < data.features; ++k) {
    double mean = 0, variance = 0, gradient = 0;
    for (std::size_t i = 0; i < data.size(); ++i) mean += data.weight[i] / total * static_cast<double>(data.row(i)[k]);
    for (std::size_t i = 0; i < data.size(); ++i) {
      variance += data.weight[i] / total * std::pow(static_cast<double>(data.row(i)[k]) - mean, 2);
    }
    const double spread = std::sqrt(variance);
    for (std::size_t i = 0; i < data.size(); ++i) {
      const double z = (static_cast<double>(data.row(i)[k]) - mean) / spread;
      gradient += data.weight[i] * n / total * loss.at(data.y[i], fit(data.row(i))).d1 * z;
    }
    largest = std::max(largest, std::abs(gradient + ridge * fit.weights[k] * spread));
  }
  return largest;
}

TEST(Ridge, IsOnStandardizedFeaturesAndLeavesTheInterceptFree) {
  RandomStream stream(21, "baselines");
  for (const double ridge : {0.1, 1.0, 100.0}) {
    Data data = random_data(stream, 80, 4);
    for (std::size_t i = 0; i < data.size(); ++i) {
      data.at(i, 1) *= 1000;
      data.at(i, 2) += 50;
      data.y[i] = 100 + 3 * stream.normal() + static_cast<double>(data.row(i)[0]);
    }
    const RidgeChoice choice{.validation = {}, .ridges = {ridge}};
    const auto squares = least_squares(data.rows(), 4, choice).value();
    EXPECT_EQ(squares.ridge, ridge);
    // Beside gradients of 80 rows of size 3 that cancel.
    EXPECT_LT(largest_gradient(data, *make_loss("squared"), squares, ridge), 1e-7) << ridge;
    for (std::size_t i = 0; i < data.size(); ++i) data.y[i] = std::floor(5 * stream.uniform());
    EXPECT_LT(largest_gradient(data, *make_loss("poisson"), poisson_regression(data.rows(), 4, choice).value(), ridge),
              1e-3)
        << ridge;
    make_labels(data, stream);
    EXPECT_LT(
        largest_gradient(data, *make_loss("logistic"), logistic_regression(data.rows(), 4, choice).value(), ridge),
        1e-3)
        << ridge;
  }
}

// Where a plane separates the labels of few training rows, fits without a ridge are certain and wrong on others.
TEST(Ridge, ThatValidationRowsChooseKeepsSeparableLabelsModest) {
  RandomStream stream(22, "baselines");
  for (int trial = 0; trial < 10; ++trial) {
    constexpr std::size_t features = 40;
    const auto sample = [&](std::size_t rows) {
      Data data = random_data(stream, rows, features);
      make_labels(data, stream);
      return data;
    };
    const Data training = sample(50), validation = sample(50), test = sample(2000);
    const auto log_loss = [&](const LinearBaseline& fit) {
      double total = 0;
      for (const double weight : test.weight) total += weight;
      return -log_likelihood(test, fit) / total;
    };
    const RidgeChoice chosen{.validation = validation.rows()};
    const double with_ridge = log_loss(logistic_regression(training.rows(), features, chosen).value());
    // A constant has 0.69. What 50 rows choose is a little worse at the most; what is certain and wrong costs several.
    EXPECT_LT(with_ridge, 0.85) << trial;
    EXPECT_GT(log_loss(logistic_regression(training.rows(), features, tiny_ridge).value()), 2) << trial;
    EXPECT_LT(log_loss(logistic_regression(training.rows(), features).value()), 2) << "the default, " << trial;
  }
}

// The one of the lowest loss among all: found by trying each by itself.
TEST(Ridge, IsTheOneThatValidationRowsLikeBest) {
  RandomStream stream(23, "baselines");
  for (int trial = 0; trial < 20; ++trial) {
    const std::size_t features = 1 + stream.below(30);
    const auto sample = [&](std::size_t rows) {
      Data data = random_data(stream, rows, features);
      for (std::size_t i = 0; i < rows; ++i) data.y[i] += static_cast<double>(data.row(i)[0]);
      return data;
    };
    const Data training = sample(40), validation = sample(30);
    const auto loss_with = [&](const LinearBaseline& fit) {
      double sum = 0;
      for (std::size_t i = 0; i < validation.size(); ++i) {
        sum += validation.weight[i] * std::pow(fit(validation.row(i)) - validation.y[i], 2);
      }
      return sum;
    };
    const RidgeChoice choice{.validation = validation.rows()};
    const auto chosen = least_squares(training.rows(), features, choice).value();
    for (const double ridge : choice.ridges) {
      const auto other = least_squares(training.rows(), features, {.validation = {}, .ridges = {ridge}}).value();
      EXPECT_LE(loss_with(chosen), loss_with(other) * (1 + 1e-12)) << trial << " " << ridge;
    }
    EXPECT_EQ(least_squares(training.rows(), features).value().ridge, default_ridge) << "without validation rows";
  }
}

TEST(PoissonRegression, FindsTheRatesThatMadeTheCounts) {
  RandomStream stream(24, "baselines");
  Data data = random_data(stream, 20000, 2);
  for (std::size_t i = 0; i < data.size(); ++i) {
    data.weight[i] = 1;
    const double rate = std::exp(0.5 + 0.7 * static_cast<double>(data.row(i)[0]));
    double left = std::exp(-rate), drawn = stream.uniform(), sum = left;  // by inversion
    for (data.y[i] = 0; drawn > sum && data.y[i] < 200; sum += left) left *= rate / ++data.y[i];
  }
  const auto fit = poisson_regression(data.rows(), 2, no_ridge).value();
  // Coefficients from 20,000 counts of mean 2 have deviations of about .005.
  EXPECT_NEAR(fit.bias, 0.5, 0.03);
  EXPECT_NEAR(fit.weights[0], 0.7, 0.03);
  EXPECT_NEAR(fit.weights[1], 0, 0.03);
}

TEST(Extremes, TheLargestAndSmallestFloatsGiveFiniteFits) {
  RandomStream stream(14, "baselines");
  const float large = std::numeric_limits<float>::max(), small = std::numeric_limits<float>::denorm_min();
  Data data = random_data(stream, 100, 3);
  make_labels(data, stream);
  for (std::size_t i = 0; i < 100; ++i) {
    data.at(i, 0) = i % 3 == 0 ? large : -large;
    data.at(i, 1) = i % 2 == 0 ? small : 0;
    data.weight[i] = i % 5 == 0 ? 1e6 : 1e-6;
  }
  EXPECT_LT(largest_difference_from_qr(data), 1e-7);
  EXPECT_TRUE(is_finite(logistic_regression(data.rows(), 3, tiny_ridge).value()));
}

TEST(Refused, MoreFeaturesThanTheLimit) {
  const ForEachRow never = [](const RowVisitor&) { FAIL() << "no row needs to be read to know"; };
  EXPECT_FALSE(least_squares(never, most_baseline_features + 1));
  EXPECT_FALSE(logistic_regression(never, most_baseline_features + 1));
}

TEST(Refused, NoRows) {
  const std::string nothing = "there is nothing to fit: no row has a weight above 0";
  for (const Data& data : {targets({}, {}), targets({1, 0}, {0, 0})}) {
    EXPECT_EQ(message_of([&] { best_constant_for_squared(data.rows()); }), nothing);
    EXPECT_EQ(message_of([&] { best_constant_for_logistic(data.rows()); }), nothing);
    EXPECT_EQ(message_of([&] { least_squares(data.rows(), 0, no_ridge); }), nothing);
    EXPECT_EQ(message_of([&] { logistic_regression(data.rows(), 0, tiny_ridge); }), nothing);
  }
}

TEST(Refused, BadRows) {
  const Data good{1, {1, 2}, {0, 1}, {1, 1}};
  Data bad = good;
  bad.y[1] = nan;
  EXPECT_EQ(message_of([&] { least_squares(bad.rows(), 1); }), "the target of row 2 is nan");
  EXPECT_EQ(message_of([&] { best_constant_for_squared(bad.rows()); }), "the target of row 2 is nan");
  bad.y[1] = 0.5;
  EXPECT_EQ(message_of([&] { logistic_regression(bad.rows(), 1); }), "the label of row 2 is 0.5; it must be 0 or 1");
  bad = good;
  bad.weight[0] = -1;
  EXPECT_EQ(message_of([&] { least_squares(bad.rows(), 1); }),
            "the weight of row 1 is -1; it must be a number of at least 0");
  bad = good;
  bad.x[1] = std::numeric_limits<float>::infinity();
  EXPECT_EQ(message_of([&] { least_squares(bad.rows(), 1); }), "feature 1 of row 2 is inf");
  const std::string too_large = "the weights or the targets are too large: their sum is not finite";
  bad = good;
  bad.weight = {1e308, 1e308};
  EXPECT_EQ(message_of([&] { logistic_regression(bad.rows(), 1); }), too_large);
  bad = good;
  bad.y = {1e308, 1e308};
  EXPECT_EQ(message_of([&] { least_squares(bad.rows(), 1); }), too_large);
  EXPECT_EQ(message_of([&] { logistic_regression(good.rows(), 2); }), "row 1 has 1 features, not 2");
}

}  // namespace
}  // namespace ignd::testing
