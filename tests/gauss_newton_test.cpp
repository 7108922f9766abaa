// The paper's propositions about one step, against dense linear algebra that knows nothing of the closed forms.
#include "dense_algebra.hpp"
#include "support.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <Eigen/Core>
#include <fmt/format.h>
#include <gtest/gtest.h>

namespace ignd::testing {
namespace {

using Matrix = Eigen::MatrixXd;
using Vector = Eigen::VectorXd;

struct Case {
  std::string model;
  std::size_t inputs;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all{{"linear:features=1,bias=0", 1},        {"linear:features=6,bias=0", 6},
                                     {"linear:features=6,bias=1", 6},        {"mlp:widths=1x1,activation=tanh", 1},
                                     {"mlp:widths=3x4,activation=tanh", 3},  {"mlp:widths=3x4,activation=relu", 3},
                                     {"mlp:widths=2x3x4,activation=relu", 2}};
  return all;
}

std::unique_ptr<Model<double>> random_model(const std::string& spec, RandomStream& stream, double scale = 0.6) {
  auto model = make_model<double>(spec);
  for (double& w : model->parameters()) w = scale * stream.normal();
  return model;
}

TrainerOptions options_for(const std::shared_ptr<const Loss>& loss, const std::string& rule, double rate = 1) {
  TrainerOptions options;
  options.loss = loss;
  options.optimizer = {rule, "plain"};
  options.schedule = Schedule::constant(rate);
  return options;
}

// Everything about one step: what was there before it, and the direction that the weights took.
struct Step {
  StepInfo info;
  Vector j, w;
  Vector d;  // change of the weights, divided by the rate
  Vector gradient() const { return info.loss.d1 * j; }
  Matrix curvature(double eps_c = 0) const { return (info.loss.d2 + eps_c) * j * j.transpose(); }
};

Step take_step(Model<double>& model, Trainer<double>& trainer, const Input<double>& x, double y) {
  Step step;
  step.j = to_eigen(flat_sensitivity(model, x));
  // The blocks are right about j as far as differences can tell; the dense systems are made of the exact one.
  EXPECT_LE((step.j - to_eigen(numeric_sensitivity(model, x))).norm(), 1e-7 * (1 + step.j.norm())) << model.spec();
  step.w = to_eigen(model.parameters());
  step.info = trainer.step({x, y});
  EXPECT_EQ(step.info.status, StepStatus::learned) << to_string(step.info);
  step.d = (to_eigen(model.parameters()) - step.w) / step.info.rate;
  return step;
}

// Calls `check` with first steps of all losses and models on random samples.
void for_random_steps(TrainerOptions options, const std::function<void(const Step&, const std::string& what)>& check) {
  RandomStream stream(1, "gauss newton");
  for (const auto& loss : all_losses()) {
    options.loss = loss;
    for (const auto& [spec, inputs] : cases()) {
      for (int trial = 0; trial < 5; ++trial) {
        const auto model = random_model(spec, stream);
        Trainer<double> trainer(*model, options);
        const auto x = normal_vector(stream, inputs);
        const Step step = take_step(*model, trainer, {x}, random_target(*loss, stream));
        check(step, fmt::format("{} {} {}", loss->spec(), spec, to_string(step.info)));
      }
    }
  }
}

// The solution of a system of n unknowns is known to about n * 1e-16 times its condition number, and a direction read
// from the weights to the rounding of the weights. Damping of 0.1 and more keeps the systems below at condition numbers
// under 1e5, where a wrong term would show from 1e-9 of the step on.
void expect_solves(const Matrix& system, const Vector& right, const Step& step, const std::string& what) {
  const Vector solution = solve_definite(system, right), spectrum = eigenvalues(system);
  const double condition = spectrum.maxCoeff() / spectrum.minCoeff();
  ASSERT_LT(condition, 1e5) << what;
  EXPECT_LE((step.d - solution).norm(), 1e-14 * condition * solution.norm() + 1e-15 * step.w.norm()) << what;
}

Matrix identity(const Vector& like) { return Matrix::Identity(like.size(), like.size()); }

TEST(ClosedForm, SolvesTheDampedSystem) {
  for (const double eps_c : {0.0, 0.3, 5.0}) {
    for (const double eps_lm : {0.1, 3.0}) {
      const auto rule = fmt::format("gauss-newton:eps_c={},eps_lm={}", eps_c, eps_lm);
      for_random_steps(options_for(nullptr, rule, 0.5), [&](const Step& step, const std::string& what) {
        expect_solves(step.curvature(eps_c) + eps_lm * identity(step.j), -step.gradient(), step, what);
      });
    }
  }
}

TEST(ClosedForm, IsThePseudoInverseDirectionWithoutDamping) {
  for_random_steps(options_for(nullptr, "gauss-newton:eps_c=0,eps_lm=0"),
                   [](const Step& step, const std::string& what) {
                     // The shortest solution, and zero for a zero matrix (pinball).
                     const Vector expected = least_squares_solution(step.curvature(), -step.gradient());
                     EXPECT_LE((step.d - expected).norm(), 1e-12 * expected.norm() + 1e-15 * step.w.norm()) << what;
                   });
}

// The projection onto the vectors that are orthogonal to j.
Matrix null_space(const Vector& j) { return identity(j) - j * j.transpose() / j.squaredNorm(); }

// Appendix A.2: of all minimisers of the rank-one quadratic model it is the shortest.
TEST(ClosedForm, IsTheShortestMinimiserOfTheQuadraticModelWithoutDamping) {
  RandomStream stream(2, "gauss newton");
  for_random_steps(
      options_for(nullptr, "gauss-newton:eps_c=0,eps_lm=0"), [&](const Step& step, const std::string& what) {
        const auto& l = step.info.loss;
        if (l.d2 == 0) return;
        const auto model = [&](const Vector& d) {
          const double h = step.j.dot(d);
          return l.d2 * h * h / 2 + l.d1 * h;
        };
        const double size = l.d1 * l.d1 / l.d2, rounding = 1e-12 * size;
        EXPECT_NEAR(model(step.d), -size / 2, rounding) << what;  // the minimum over all h
        for (int trial = 0; trial < 5; ++trial) {
          const Vector aside = to_eigen(normal_vector(stream, static_cast<std::size_t>(step.j.size()), step.d.norm()));
          EXPECT_GE(model(step.d + aside), model(step.d) - rounding) << what;
          if (step.j.size() == 1) continue;
          const Vector invisible = null_space(step.j) * aside;
          EXPECT_NEAR(model(step.d + invisible), model(step.d), rounding) << what;
          EXPECT_GT((step.d + invisible).norm(), step.d.norm()) << what;
        }
      });
}

TEST(ClosedForm, SolvesTheProblemThatPenalisesTheNullSpace) {
  for_random_steps(options_for(nullptr, "gauss-newton:eps_c=0,eps_lm=0"),
                   [](const Step& step, const std::string& what) {
                     // The penalty has eigenvalue 1 and the curvature one only: flat losses have no solution, and the
                     // saturated ones that would be badly conditioned say nothing new.
                     if (step.info.loss.d2 * step.j.squaredNorm() < 1e-2) return;
                     expect_solves(step.curvature() + null_space(step.j), -step.gradient(), step, what);
                   });
}

// The input of sample t and all before it, and the form in which a model reads it.
struct Inputs {
  std::vector<std::vector<double>> history;
  std::vector<double> values;
  std::vector<std::uint32_t> index;

  // Inputs of different scales; every third number is zero: an input that was not there.
  Input<double> draw(RandomStream& stream, std::size_t n, bool sparse) {
    std::vector<double> x(n);
    for (std::size_t i = 0; i < n; ++i)
      x[i] = stream.below(3) == 0 ? 0 : std::ldexp(stream.normal(), static_cast<int>(i) - 3);
    history.push_back(x);
    if (!sparse) return {history.back()};
    values.clear();
    index.clear();
    for (std::size_t i = 0; i < n; ++i) {
      if (x[i] == 0) continue;
      values.push_back(x[i]);
      index.push_back(static_cast<std::uint32_t>(i));
    }
    return {values, index};
  }

  // The mean square of input i over the samples in which it was there; 1 if there were none.
  double mean_square(std::size_t i) const {
    double sum = 0, seen = 0;
    for (const auto& x : history) {
      sum += x[i] * x[i];
      seen += x[i] == 0 ? 0 : 1;
    }
    return seen == 0 ? 1 : sum / seen;
  }
};

TEST(Preconditioner, ClosedFormSolvesTheSystemDampedByTheInverseMetric) {
  struct MetricCase {
    std::string model;
    std::size_t inputs;
    std::size_t units;  // weights per input
    bool sparse;
  };
  constexpr double eps_lm = 0.5, eps_c = 0.2;
  RandomStream stream(3, "gauss newton");
  for (const auto& [spec, inputs, units, sparse] :
       {MetricCase{"linear:features=5,bias=1", 5, 1, false}, MetricCase{"linear:features=5,bias=0", 5, 1, false},
        MetricCase{"hashed-linear:bits=3,bias=1", 8, 1, true},
        MetricCase{"mlp:widths=4x3,activation=tanh", 4, 3, false},
        MetricCase{"mlp:widths=4x3x2,activation=relu", 4, 3, false}}) {
    for (const auto& loss : all_losses()) {
      const auto model = random_model(spec, stream, 0.2);
      auto options = options_for(loss, fmt::format("gauss-newton:eps_c={},eps_lm={}", eps_c, eps_lm), 0.1);
      options.preconditioner = PreconditionerKind::second_moment;
      Trainer<double> trainer(*model, options);
      Inputs samples;
      for (int t = 0; t < 15; ++t) {
        const Input<double> x = samples.draw(stream, inputs, sparse);
        const Step step = take_step(*model, trainer, x, random_target(*loss, stream));
        // P^-1 is the mean square on the weights of an input and 1 on all others, biases included.
        Vector inverse_metric = Vector::Ones(step.j.size());
        for (std::size_t i = 0; i < inputs * units; ++i) {
          inverse_metric[static_cast<Eigen::Index>(i)] = samples.mean_square(i / units);
        }
        const auto what = fmt::format("{} {} {}", loss->spec(), spec, to_string(step.info));
        const Matrix damping = eps_lm * Matrix(inverse_metric.asDiagonal());
        // Solved in the coordinates in which the metric is the identity, where it is well conditioned.
        const Vector root = inverse_metric.cwiseSqrt(), scaled_j = step.j.cwiseQuotient(root);
        const Matrix system = (step.info.loss.d2 + eps_c) * scaled_j * scaled_j.transpose() + eps_lm * identity(step.j);
        const Vector expected = solve_definite(system, -step.info.loss.d1 * scaled_j).cwiseQuotient(root);
        EXPECT_LE((step.d - expected).norm(), 1e-10 * expected.norm() + 1e-14 * step.w.norm()) << what;
        EXPECT_NEAR(step.info.sensitivity, scaled_j.squaredNorm(), 1e-12 * step.info.sensitivity) << what;
        // And in the original ones, as it is written.
        const Vector residual = (step.curvature(eps_c) + damping) * step.d + step.gradient();
        const double size = (step.curvature(eps_c) + damping).norm() * (step.d.norm() + step.w.norm());
        EXPECT_LE(residual.norm(), 1e-13 * (size + step.gradient().norm())) << what;
      }
    }
  }
}

// With the objective l + lambda/2 ||w||^2 the exact step needs all of w apart from j; the library's is that of the
// system in which the whole matrix is replaced by its largest eigenvalue.
TEST(L2, PredictionChangesAsInTheExactSolution) {
  constexpr double eps_lm = 0.1, eps_c = 0.2;
  for (const double lambda : {0.0, 1e-3, 0.1, 2.0}) {
    auto options = options_for(nullptr, fmt::format("gauss-newton:eps_c={},eps_lm={}", eps_c, eps_lm), 0.5);
    options.l2 = lambda;
    for_random_steps(options, [&](const Step& step, const std::string& what) {
      const Matrix system = step.curvature(eps_c) + (eps_lm + lambda) * identity(step.j);
      const Vector gradient = step.gradient() + lambda * step.w;
      const double h = step.j.dot(solve_definite(system, -gradient));
      // Both sums cancel where the two parts of the gradient do.
      const double rounding = 1e-12 * (std::abs(h) + step.j.norm() * (step.w.norm() + step.d.norm()));
      EXPECT_NEAR(step.j.dot(step.d), h, rounding) << lambda << " " << what;
      EXPECT_NEAR(step.info.h, step.info.rate * h, rounding) << lambda << " " << what;
    });
  }
}

TEST(L2, DirectionSolvesTheSystemOfTheLargestEigenvalue) {
  constexpr double eps_lm = 0.1, eps_c = 0.2;
  for (const double lambda : {0.0, 1e-3, 0.1, 2.0}) {
    auto options = options_for(nullptr, fmt::format("gauss-newton:eps_c={},eps_lm={}", eps_c, eps_lm), 0.5);
    options.l2 = lambda;
    for_random_steps(options, [&](const Step& step, const std::string& what) {
      const Matrix system = step.curvature(eps_c) + (eps_lm + lambda) * identity(step.j);
      const double largest = eigenvalues(system).maxCoeff();
      const Vector expected = -(step.gradient() + lambda * step.w) / largest;
      EXPECT_LE((step.d - expected).norm(), 1e-12 * expected.norm() + 1e-15 * step.w.norm()) << lambda << " " << what;
    });
  }
}

TEST(L2, OfTheGradientRuleIsTheGradientOfTheObjective) {
  constexpr double lambda = 0.3, step_size = 1e-6;
  RandomStream stream(4, "gauss newton");
  for (const auto& loss : all_losses()) {
    const auto model = random_model("mlp:widths=3x4,activation=tanh", stream), probe = model->clone();
    auto options = options_for(loss, "gradient", 0.01);
    options.l2 = lambda;
    Trainer<double> trainer(*model, options);
    const auto x = normal_vector(stream, 3);
    const double y = random_target(*loss, stream);
    const Step step = take_step(*model, trainer, {x}, y);
    const auto objective = [&] {
      return loss->at(y, probe->predict({x})).value + lambda / 2 * to_eigen(probe->parameters()).squaredNorm();
    };
    for (Eigen::Index i = 0; i < step.d.size(); ++i) {
      double& w = probe->parameters()[static_cast<std::size_t>(i)];
      const double kept = w;
      w = kept + step_size;
      const double above = objective();
      w = kept - step_size;
      const double below = objective();
      w = kept;
      // Values of up to about 100, rounded and divided by 2e-6.
      EXPECT_NEAR(-step.d[i], (above - below) / (2 * step_size), 1e-7 * (1 + std::abs(step.d[i]))) << loss->spec();
    }
  }
}

TEST(L2, WithoutSensitivityTheWeightsShrink) {
  Linear<double> model(2, false);
  model.parameters()[0] = 3;
  model.parameters()[1] = -4;
  auto options = options_for(make_loss("squared"), "gauss-newton:eps_lm=0.1", 0.5);
  options.l2 = 0.3;
  Trainer<double> trainer(model, options);
  const std::vector<double> x(2);
  EXPECT_EQ(trainer.step({{x}, 7}).status, StepStatus::learned);
  EXPECT_DOUBLE_EQ(model.parameters()[0], 3 * (1 - 0.5 * 0.3 / 0.4));
  EXPECT_DOUBLE_EQ(model.parameters()[1], -4 * (1 - 0.5 * 0.3 / 0.4));
}

// Section 4.1: one active feature, multiplied by phi, at weights that give the same prediction.
double one_hot_change(const std::string& rule, double phi) {
  constexpr double f = 0.25, y = 1;
  Linear<double> model(3, false);
  model.parameters()[1] = f / phi;
  Trainer<double> trainer(model, options_for(make_loss("squared"), rule, 0.5));
  const std::vector<double> x{0, phi, 0};
  return trainer.step({{x}, y}).h;
}

TEST(Scale, OfAOneHotFeatureActsOnEachRuleAsThePaperSays) {
  constexpr double rate = 0.5, slope = -0.75, eps_lm = 1e-3;
  for (int exponent = -40; exponent <= 40; ++exponent) {
    for (const double phi : {std::pow(10.0, exponent / 10.0), -std::pow(10.0, exponent / 10.0)}) {
      const double square = phi * phi;
      const auto expect_near = [&](const std::string& rule, double h) {
        EXPECT_NEAR(one_hot_change(rule, phi), h, 1e-14 * std::abs(h)) << rule << " " << phi;
        EXPECT_EQ(one_hot_change(rule, phi), one_hot_change(rule, -phi)) << rule << " " << phi;
      };
      expect_near("gradient", -rate * slope * square);
      expect_near("gauss-newton:eps_c=0,eps_lm=0", -rate * slope);
      expect_near("gauss-newton:eps_c=0,eps_lm=0.001", -rate * slope * square / (square + eps_lm));
    }
  }
}

// A stream of samples of a noisy linear function, the last input constant.
struct Regression {
  std::vector<std::vector<double>> x;
  std::vector<double> y;
  Regression(std::uint64_t seed, std::size_t samples, std::size_t inputs) {
    RandomStream stream(seed, "regression");
    const auto truth = normal_vector(stream, inputs);
    for (std::size_t t = 0; t < samples; ++t) {
      x.push_back(normal_vector(stream, inputs));
      x.back().back() = 1;
      double f = 0.3 * stream.normal();
      for (std::size_t i = 0; i < inputs; ++i) f += truth[i] * x[t][i];
      y.push_back(f);
    }
  }
};

TEST(Relatives, UndampedSquaredLossIsNormalizedLeastMeanSquares) {
  constexpr double rate = 0.6;
  const Regression data(5, 200, 4);
  Linear<double> model(4, false);
  Trainer<double> trainer(model, options_for(make_loss("squared"), find_optimizer("nlms").rule, rate));
  std::vector<double> w(4);
  for (std::size_t t = 0; t < data.x.size(); ++t) {
    const auto& x = data.x[t];
    double f = 0, power = 0;
    for (std::size_t i = 0; i < 4; ++i) f += w[i] * x[i], power += x[i] * x[i];
    for (std::size_t i = 0; i < 4; ++i) w[i] += rate * (data.y[t] - f) / power * x[i];
    trainer.step({{x}, data.y[t]});
    // Each step shrinks earlier differences: rounding does not pile up.
    for (std::size_t i = 0; i < 4; ++i) ASSERT_NEAR(model.parameters()[i], w[i], 1e-13) << t;
  }
}

TEST(Relatives, PolyakStepsWithOneHalfAreUndampedGaussNewtonOnSquaredLossOnly) {
  for (const auto& [loss, same] : {std::pair{"squared", true}, std::pair{"logistic", false}}) {
    const Regression data(6, 200, 4);
    Linear<double> polyak(4, false), newton(4, false);
    Trainer<double> polyak_trainer(polyak, options_for(make_loss(loss), "polyak:k=0.5,cap=inf", 0.3));
    Trainer<double> newton_trainer(newton, options_for(make_loss(loss), "gauss-newton:eps_c=0,eps_lm=0", 0.3));
    double difference = 0;
    for (std::size_t t = 0; t < data.x.size(); ++t) {
      const double y = same ? data.y[t] : (data.y[t] > 0 ? 1 : 0);
      polyak_trainer.step({{data.x[t]}, y});
      newton_trainer.step({{data.x[t]}, y});
      difference = std::max(difference, (to_eigen(polyak.parameters()) - to_eigen(newton.parameters())).norm());
    }
    if (same) {
      EXPECT_LT(difference, 1e-13);
    } else {
      EXPECT_GT(difference, 0.1);
    }
  }
}

// Vowpal Wabbit follows the flow of the squared loss (y - p)^2 for a time eta: the weights change by this times x.
double vowpal_wabbit_update(double error, double eta, double s) { return error * -std::expm1(-2 * eta * s) / s; }

TEST(Relatives, VowpalWabbitsUpdateTendsToTheUndampedStepAsItsRateGrows) {
  RandomStream stream(7, "gauss newton");
  for (int trial = 0; trial < 100; ++trial) {
    Linear<double> model(4, false);
    Trainer<double> trainer(model, options_for(make_loss("squared"), "gauss-newton:eps_c=0,eps_lm=0"));
    const auto x = normal_vector(stream, 4, std::exp(stream.normal()));
    const double y = stream.normal();
    const StepInfo info = trainer.step({{x}, y});
    const double s = info.sensitivity;
    double last = std::abs(info.coefficient);  // the distance at eta = 0, where there is no update
    for (double eta = 1e-3 / s; eta < 15 / s; eta *= 2) {
      const double distance = std::abs(vowpal_wabbit_update(y, eta, s) + info.coefficient);
      EXPECT_LT(distance, last) << eta;
      last = distance;
    }
    // exp(-60) is below rounding.
    EXPECT_DOUBLE_EQ(vowpal_wabbit_update(y, 30 / s, s), -info.coefficient);
  }
}

TEST(Updates, BinaryCrossEntropyIsTheOneWrittenOut) {
  constexpr double rate = 0.7, eps_c = 0.05, eps_lm = 0.01;
  RandomStream stream(8, "gauss newton");
  for (int trial = 0; trial < 200; ++trial) {
    const auto model = random_model("mlp:widths=3x4,activation=tanh", stream);
    Trainer<double> trainer(*model, options_for(make_loss("logistic"), "gauss-newton:eps_c=0.05,eps_lm=0.01", rate));
    const auto x = normal_vector(stream, 3);
    const double y = static_cast<double>(trial % 2);
    const double p = 1 / (1 + std::exp(-model->predict({x})));
    const Vector j = to_eigen(numeric_sensitivity(*model, {x}));
    const Vector w = to_eigen(model->parameters());
    const Vector expected = w - rate * (p - y) / ((p * (1 - p) + eps_c) * j.squaredNorm() + eps_lm) * j;
    trainer.step({{x}, y});
    // Of the differences that j is made of.
    EXPECT_LE((to_eigen(model->parameters()) - expected).norm(), 1e-7 * (1 + (expected - w).norm()));
  }
}

// q = w.x; the target r + gamma q' is read before the step and is a number like any other then.
TEST(Updates, BellmanSemiGradientTreatsTheTargetAsFixed) {
  constexpr double rate = 0.8, eps_lm = 0.02, gamma = 0.9;
  RandomStream stream(9, "gauss newton");
  Linear<double> q(5, false);
  Trainer<double> trainer(q, options_for(make_loss("squared"), "gauss-newton:eps_c=0,eps_lm=0.02", rate));
  Vector w = Vector::Zero(5);
  for (int t = 0; t < 100; ++t) {
    auto x = normal_vector(stream, 5);
    const auto next = normal_vector(stream, 5);
    x[static_cast<std::size_t>(t % 5)] = 0;  // in the next state only: the semi-gradient does not move it
    const double reward = stream.normal();
    const double delta = reward + gamma * w.dot(to_eigen(next)) - w.dot(to_eigen(x));
    const double untouched = q.parameters()[static_cast<std::size_t>(t % 5)];
    trainer.step({{x}, reward + gamma * q.predict({next})});
    w += rate * delta / (to_eigen(x).squaredNorm() + eps_lm) * to_eigen(x);
    ASSERT_LE((to_eigen(q.parameters()) - w).norm(), 1e-11 * w.norm()) << t;
    ASSERT_EQ(q.parameters()[static_cast<std::size_t>(t % 5)], untouched);
  }
}

// Central differences of a vector-valued function of the weights, column by column.
Matrix jacobian(const Model<double>& model, const std::function<Vector(const Model<double>&)>& function) {
  constexpr double step = 1e-5;
  const auto probe = model.clone();
  const auto w = probe->parameters();
  Matrix columns(static_cast<Eigen::Index>(w.size()), static_cast<Eigen::Index>(w.size()));
  for (std::size_t i = 0; i < w.size(); ++i) {
    const double kept = w[i];
    w[i] = kept + step;
    const Vector above = function(*probe);
    w[i] = kept - step;
    columns.col(static_cast<Eigen::Index>(i)) = (above - function(*probe)) / (2 * step);
    w[i] = kept;
  }
  return columns;
}

struct Hessians {
  Matrix loss;    // of l(y, f(w))
  Matrix output;  // of f(w)
  LossAt at;
  Vector j;
};

Hessians hessians(const Model<double>& model, const Loss& loss, const std::vector<double>& x, double y) {
  const auto j = [&](const Model<double>& m) { return to_eigen(flat_sensitivity(m, {x})); };
  const auto gradient = [&](const Model<double>& m) { return Vector(loss.at(y, m.predict({x})).d1 * j(m)); };
  return {jacobian(model, gradient), jacobian(model, j), loss.at(y, model.predict({x})), j(model)};
}

TEST(Hessian, WithoutTheModelsCurvatureIsTheRankOneMatrix) {
  RandomStream stream(10, "gauss newton");
  for (const auto* spec : {"squared", "logistic", "log-cosh"}) {
    for (int trial = 0; trial < 20; ++trial) {
      const auto model = random_model("mlp:widths=2x3,activation=tanh", stream);
      const auto loss = make_loss(spec);
      const auto x = normal_vector(stream, 2);
      const double y = random_target(*loss, stream);
      const auto [full, output, at, j] = hessians(*model, *loss, x, y);
      // Differences over 2e-5 of numbers of the size of the matrices: 1e-10 of the curvature's variation and 1e-11
      // of rounding.
      const double tolerance = 1e-7 * (1 + full.norm() + std::abs(at.d1) * output.norm());
      const Matrix remainder = full - at.d1 * output;
      EXPECT_LE((remainder - at.d2 * j * j.transpose()).norm(), tolerance) << spec;
      const Vector spectrum = eigenvalues(remainder);
      EXPECT_NEAR(spectrum.maxCoeff(), at.d2 * j.squaredNorm(), tolerance) << spec;
      EXPECT_LE(spectrum.head(spectrum.size() - 1).cwiseAbs().maxCoeff(), tolerance) << spec;
      // What is left out is not small: the test would notice if it were not subtracted.
      if (std::abs(at.d1) > 0.1) {
        EXPECT_GT(std::abs(at.d1) * output.norm(), 100 * tolerance) << spec;
      }
    }
  }
}

TEST(Hessian, IsTheRankOneMatrixForALinearModelOrAPerfectPrediction) {
  RandomStream stream(11, "gauss newton");
  for (const auto* spec : {"squared", "logistic", "poisson", "log-cosh"}) {
    for (int trial = 0; trial < 20; ++trial) {
      const auto loss = make_loss(spec);
      const auto model = random_model("linear:features=5", stream);
      const auto [full, output, at, j] =
          hessians(*model, *loss, normal_vector(stream, 5), random_target(*loss, stream));
      EXPECT_LE((full - at.d2 * j * j.transpose()).norm(), 1e-7 * (1 + full.norm())) << spec;
    }
  }
  const auto model = random_model("mlp:widths=2x3,activation=tanh", stream);
  const auto x = normal_vector(stream, 2);
  const auto [full, output, at, j] = hessians(*model, *make_loss("squared"), x, model->predict({x}));
  EXPECT_LE((full - j * j.transpose()).norm(), 1e-7 * (1 + full.norm()));
  EXPECT_GT(output.norm(), 1e-3);  // the model does have curvature
}

// The predictions of a run over inputs multiplied, one by one, by `scales`.
std::vector<double> predictions(const Regression& data, const std::string& loss, const std::string& rule,
                                const std::vector<double>& scales, std::vector<double>& weights) {
  Linear<double> model(scales.size(), false);
  Trainer<double> trainer(model, options_for(make_loss(loss), rule, 0.3));
  std::vector<double> all;
  for (std::size_t t = 0; t < data.x.size(); ++t) {
    auto x = data.x[t];
    for (std::size_t i = 0; i < x.size(); ++i) x[i] *= scales[i];
    const double y = loss == "squared" ? data.y[t] : (data.y[t] > 0 ? 1 : 0);
    all.push_back(trainer.step({{x}, y}).prediction);
  }
  weights.assign(model.parameters().begin(), model.parameters().end());
  return all;
}

// A power of two changes no digit of any number on the way. eps_c may stay: it scales with the sensitivity.
TEST(Scale, OfTheWholeInputChangesNoBitOfAnUndampedLinearRun) {
  const Regression data(12, 500, 4);
  for (const auto& [loss, rule] :
       {std::pair{"squared", "gauss-newton:eps_c=0,eps_lm=0"}, std::pair{"logistic", "gauss-newton:eps_lm=0"}}) {
    std::vector<double> weights, scaled_weights;
    const auto plain = predictions(data, loss, rule, {1, 1, 1, 1}, weights);
    const auto scaled = predictions(data, loss, rule, {1024, 1024, 1024, 1024}, scaled_weights);
    EXPECT_EQ(plain, scaled) << loss;
    for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(weights[i], 1024 * scaled_weights[i]) << loss;
    EXPECT_GT(*std::ranges::max_element(plain), 0.5) << loss;  // it has learned something
  }
}

TEST(Scale, OfOneFeatureAloneDoesChangeTheRun) {
  const Regression data(13, 500, 4);
  std::vector<double> weights;
  const auto plain = predictions(data, "squared", "gauss-newton:eps_c=0,eps_lm=0", {1, 1, 1, 1}, weights);
  const auto scaled = predictions(data, "squared", "gauss-newton:eps_c=0,eps_lm=0", {1024, 1, 1, 1}, weights);
  double difference = 0;
  for (std::size_t t = 0; t < plain.size(); ++t) difference = std::max(difference, std::abs(plain[t] - scaled[t]));
  EXPECT_GT(difference, 0.1);
}

TEST(Scale, OfTheWholeInputDoesChangeTheGradientRule) {
  const Regression data(14, 20, 4);
  std::vector<double> weights;
  EXPECT_NE(predictions(data, "squared", "gradient", {1, 1, 1, 1}, weights),
            predictions(data, "squared", "gradient", {2, 2, 2, 2}, weights));
}

}  // namespace
}  // namespace ignd::testing
