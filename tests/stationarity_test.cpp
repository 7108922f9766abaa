// The stationarity theorem (section 4.6 and appendix B of the paper), numerically, with its constants where they are
// known: on data sets so small that expectations over a sample are finite sums.
#include "dense_algebra.hpp"
#include "support.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include <Eigen/Core>
#include <fmt/format.h>
#include <gtest/gtest.h>

namespace ignd::testing {
namespace {

using Matrix = Eigen::MatrixXd;
using Vector = Eigen::VectorXd;

constexpr std::size_t samples = 50;

TrainerOptions options_for(const std::string& loss, const std::string& rule, const Schedule& schedule) {
  TrainerOptions options;
  options.loss = make_loss(loss);
  options.optimizer = {rule, "plain"};
  options.schedule = schedule;
  return options;
}

// A fixed data set and what one sample drawn from it has as its expectations at a model's weights.
struct Problem {
  std::shared_ptr<const Loss> loss;
  std::vector<std::vector<double>> x;
  std::vector<double> y;

  struct Moments {
    Vector gradient;         // of the mean loss
    Vector scaled_gradient;  // mean of xi g, the direction of the rule
    double square = 0;       // mean of ||g||^2
    double scaled_square = 0;
    double value = 0;
  };

  Moments moments(const Model<double>& model, const StepRule& rule) const {
    const auto size = static_cast<Eigen::Index>(model.parameters().size());
    Moments mean{Vector::Zero(size), Vector::Zero(size)};
    Trace<double> trace(model);
    Vector j(size);
    const double share = 1 / static_cast<double>(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      const LossAt l = loss->at(y[i], model.predict({x[i]}, trace));
      model.sensitivity({x[i]}, trace);
      write_dense<double>(trace.j, {j.data(), static_cast<std::size_t>(size)});
      const double xi = rule.scale({l, loss->minimum(y[i]), loss->curvature_floor(), j.squaredNorm(), 0});
      mean.gradient += share * l.d1 * j;
      mean.scaled_gradient += share * xi * l.d1 * j;
      mean.square += share * l.d1 * l.d1 * j.squaredNorm();
      mean.scaled_square += share * xi * xi * l.d1 * l.d1 * j.squaredNorm();
      mean.value += share * l.value;
    }
    return mean;
  }

  // Of a linear model with weights for x and, if asked for, a bias.
  Matrix second_moment(bool bias) const {
    Matrix sum =
        Matrix::Zero(static_cast<Eigen::Index>(x[0].size() + bias), static_cast<Eigen::Index>(x[0].size() + bias));
    for (auto j : x) {
      if (bias) j.push_back(1);
      sum += to_eigen(j) * to_eigen(j).transpose() / static_cast<double>(x.size());
    }
    return sum;
  }
};

// The weighted average of ||grad L||^2 at some steps, as means over runs.
struct Averages {
  std::vector<double> gradient;  // sum of alpha_t ||grad L||^2
  std::vector<double> rates;     // sum of alpha_t
  std::vector<double> squares;   // sum of alpha_t^2
  double average(std::size_t i) const { return gradient[i] / rates[i]; }
};

constexpr std::array<std::uint64_t, 3> checkpoints{1'000, 10'000, 100'000};

// Several runs from one start, samples drawn independently. After 1000 steps the gradient is looked at in every tenth
// and counts for ten: over so few steps neither it nor the rate changes on average.
Averages run(const Problem& problem, const Model<double>& start, const TrainerOptions& options, std::uint64_t runs) {
  const auto rule = make_step_rule(options.optimizer.rule);
  Averages mean{std::vector<double>(3), std::vector<double>(3), std::vector<double>(3)};
  for (std::uint64_t seed = 1; seed <= runs; ++seed) {
    const auto model = start.clone();
    Trainer<double> trainer(*model, options);
    RandomStream stream(seed, "data order");
    double gradient = 0, rates = 0, squares = 0;
    std::size_t next = 0;
    for (std::uint64_t t = 1; t <= checkpoints.back(); ++t) {
      const double rate = options.schedule.rate(t);
      rates += rate;
      squares += rate * rate;
      const std::uint64_t stride = t <= 1000 ? 1 : 10;
      if (t % stride == 0) {
        const double norm = problem.moments(*model, *rule).gradient.norm();
        gradient += static_cast<double>(stride) * rate * norm * norm;
      }
      const std::size_t i = stream.below(problem.x.size());
      EXPECT_EQ(trainer.step({{problem.x[i]}, problem.y[i]}).status, StepStatus::learned);
      if (t == checkpoints[next]) {
        const double share = 1 / static_cast<double>(runs);
        mean.gradient[next] += share * gradient;
        mean.rates[next] += share * rates;
        mean.squares[next] += share * squares;
        ++next;
      }
    }
  }
  return mean;
}

// Noisy targets on a circle, so that with the bias every sample has ||j||^2 = 2: xi is a constant, and the scaled
// gradient is aligned with mu = xi exactly, while the noise keeps M_0 > 0.
Problem noisy_circle() {
  RandomStream stream(1, "stationarity");
  Problem problem{make_loss("squared"), {}, {}};
  for (std::size_t i = 0; i < samples; ++i) {
    const double angle = 2 * std::numbers::pi * stream.uniform();
    problem.x.push_back({std::cos(angle), std::sin(angle)});
    problem.y.push_back(2 * std::cos(angle) - std::sin(angle) + 0.5 + stream.normal());
  }
  return problem;
}

TEST(Theorem, BoundsTheWeightedSumOfSquaredGradientsWithItsConstants) {
  constexpr double eps_lm = 0.1, xi = 1 / (2 + eps_lm);
  const Problem problem = noisy_circle();
  const Linear<double> start(2);
  // 20 steps near the full rate; the power is between 1/2 and 1, so that the sums below differ visibly.
  const auto options = options_for("squared", "gauss-newton:eps_lm=0.1", Schedule::robbins_monro(0.5, 20, 0.75));
  const Averages mean = run(problem, start, options, 5);

  // The loss is quadratic: its constants are eigenvalues, and its minimum is that of least squares.
  const auto rule = make_step_rule(options.optimizer.rule);
  const Vector spectrum = eigenvalues(problem.second_moment(true));
  const double smoothness = spectrum.maxCoeff();
  const auto at_start = problem.moments(start, *rule);
  Linear<double> best(2);
  const Vector optimum = solve_definite(problem.second_moment(true), -at_start.gradient);
  std::ranges::copy(optimum, best.parameters().begin());
  const auto at_best = problem.moments(best, *rule);
  ASSERT_LT(at_best.gradient.norm(), 1e-12);
  // ||g||^2 = 2 r^2 has the mean 4 L, and L - L* is at most ||grad L||^2 / (2 lambda_min).
  const double m0 = xi * xi * 4 * at_best.value, m2 = xi * xi * 2 / spectrum.minCoeff();
  const double slope = xi - smoothness / 2 * 0.5 * m2;  // mu - L/2 alpha M_2 at the largest rate
  ASSERT_GT(slope, 0);
  for (std::size_t i = 0; i < checkpoints.size(); ++i) {
    const double bound = (at_start.value - at_best.value + smoothness / 2 * m0 * mean.squares[i]) / slope;
    EXPECT_LE(mean.gradient[i], bound) << checkpoints[i];
  }
  // The sum of the squared rates is 10 in all and 8.7 after 1000 steps, so the weighted sum has almost stopped
  // growing and the average falls as the sum of the rates grows: by 0.45 and 0.50 per decade.
  for (std::size_t i = 0; i + 1 < checkpoints.size(); ++i) {
    EXPECT_LT(mean.average(i + 1), 0.6 * mean.average(i)) << checkpoints[i];
  }
}

TEST(Theorem, NeedsRatesThatFall) {
  const Problem problem = noisy_circle();
  const Linear<double> start(2);
  const auto options = options_for("squared", "gauss-newton:eps_lm=0.1", Schedule::constant(0.5));
  const Averages mean = run(problem, start, options, 2);
  // The noise keeps the gradient where it is: a hundred times as many steps do not make it smaller.
  EXPECT_GT(mean.average(2), 0.7 * mean.average(0));
}

// Two inconsistent samples of different sensitivity: the expected scaled gradient vanishes at w = 1/2, where both
// residuals are equal, and the gradient at w = 1/10. Without alignment the theorem says nothing, and rightly so.
TEST(Theorem, NeedsAlignment) {
  const Problem problem{make_loss("squared"), {{1}, {3}}, {1, 0}};
  Linear<double> model(1, false);
  const auto options = options_for("squared", "gauss-newton:eps_lm=0", Schedule::robbins_monro(0.5, 100, 1));
  Trainer<double> trainer(model, options);
  RandomStream stream(1, "data order");
  for (int t = 0; t < 100'000; ++t) {
    const std::size_t i = stream.below(2);
    trainer.step({{problem.x[i]}, problem.y[i]});
  }
  // The spread at the end is about sqrt(alpha) times the noise: 0.01.
  EXPECT_NEAR(model.parameters()[0], 0.5, 0.05);
  const auto moments = problem.moments(model, *make_step_rule(options.optimizer.rule));
  EXPECT_LT(moments.scaled_gradient.norm(), 0.05);
  EXPECT_GT(moments.gradient.norm(), 1);
}

// A network with tanh units and targets that another one of its kind has: not convex, and smooth.
TEST(Theorem, GradientsOfANetworkVanishAsTheRatesFall) {
  RandomStream stream(2, "stationarity");
  Problem problem{make_loss("log-cosh"), {}, {}};
  const Mlp<double> teacher({2, 3}, {Activation::tanh, InitialWeights::he, 7});
  for (std::size_t i = 0; i < samples; ++i) {
    problem.x.push_back(normal_vector(stream, 2));
    problem.y.push_back(teacher.predict({problem.x.back()}));
  }
  const Mlp<double> start({2, 4}, {Activation::tanh, InitialWeights::lecun, 8});
  const auto options = options_for("log-cosh", "gauss-newton:eps_lm=0.5", Schedule::robbins_monro(0.5, 100, 0.6));
  const Averages mean = run(problem, start, options, 3);
  // Where all samples can be right there is no noise at the end (M_0 = 0): the weighted sum stays what the first steps
  // made it, and the average falls about as the sum of the rates grows, by 0.30 and 0.36 per decade.
  EXPECT_LT(mean.average(1), 0.45 * mean.average(0));
  EXPECT_LT(mean.average(2), 0.45 * mean.average(1));
}

TEST(Lemma, TheScaleStaysBetweenItsBounds) {
  // The largest second derivative of each loss.
  const std::vector<std::pair<std::string, double>> curvatures{
      {"squared", 1}, {"logistic", 0.25}, {"huber", 1}, {"log-cosh", 1}, {"pinball", 0}};
  constexpr double eps_lm = 0.05;
  for (const auto& [name, largest] : curvatures) {
    for (const double eps_c : {0.0, 0.1}) {
      RandomStream stream(3, "stationarity");
      const auto rule = fmt::format("gauss-newton:eps_c={},eps_lm={}", eps_c, eps_lm);
      Linear<double> model(3, false);
      Trainer<double> trainer(model, options_for(name, rule, Schedule::robbins_monro(0.5, 100, 0.75)));
      const double bound = 4;  // on ||j||^2
      const double low = 1 / ((largest + eps_c) * bound + eps_lm), high = 1 / eps_lm;
      double least = high, most = low;
      for (int t = 0; t < 10'000; ++t) {
        auto x = normal_vector(stream, 3);
        const double radius = 2 * (t % 10 == 0 ? 1 : stream.uniform());
        const double norm = to_eigen(x).norm();
        for (double& value : x) value *= radius / norm;
        const StepInfo info = trainer.step({{x}, random_target(*make_loss(name), stream)});
        if (info.loss.d1 == 0) continue;
        const double xi = info.coefficient / info.loss.d1;
        ASSERT_GE(xi, low * (1 - 1e-14)) << name;
        ASSERT_LE(xi, high * (1 + 1e-14)) << name;
        least = std::min(least, xi);
        most = std::max(most, xi);
      }
      // Both are approached: the lemma cannot be sharpened.
      EXPECT_LT(least, 1.05 * low) << name;
      EXPECT_GT(most, 0.95 * high) << name;
    }
  }
}

// A linear model that can be right about every sample, in a ball around its optimum. There
//   g_i = a_i j_i j_i^T v  with v = w - w*, a_i = tanh(e)/e in [a_min, 1], so that with B = mean of a j j^T
//   mean ||g||^2 <= Q v^T B v  and  ||grad L||^2 >= lambda_min(B) v^T B v:  strong growth with Q / lambda_min(B).
struct Interpolation {
  static constexpr double radius = 0.5;
  Problem problem{make_loss("log-cosh"), {}, {}};
  Vector optimum;
  double q = 0;
  double growth = 0;      // rho
  double smoothness = 0;  // L

  Interpolation() {
    RandomStream stream(4, "stationarity");
    optimum = to_eigen(normal_vector(stream, 3));
    for (std::size_t i = 0; i < samples; ++i) {
      auto x = normal_vector(stream, 3);
      const double norm = to_eigen(x).norm(), wanted = stream.uniform(0.8, 1.2);
      for (double& value : x) value *= wanted / norm;
      problem.x.push_back(x);
      problem.y.push_back(optimum.dot(to_eigen(x)));
      q = std::max(q, to_eigen(x).squaredNorm());
    }
    const Vector spectrum = eigenvalues(problem.second_moment(false));
    const double largest_error = radius * std::sqrt(q);
    growth = q / (std::tanh(largest_error) / largest_error * spectrum.minCoeff());
    smoothness = spectrum.maxCoeff();
  }

  Linear<double> point(RandomStream& stream) const {
    const Vector direction = to_eigen(normal_vector(stream, 3));
    const Vector w = optimum + radius * stream.uniform() * direction / direction.norm();
    Linear<double> model(3, false);
    std::ranges::copy(w, model.parameters().begin());
    return model;
  }
};

TEST(Proposition, StrongGrowthAndEnoughDampingGiveAlignmentAndTheMomentBound) {
  const Interpolation at;
  RandomStream stream(5, "stationarity");
  // mu > 0 needs eps_LM > Q/2 sqrt(rho - 1), with curvatures of at most 1 and eps_c = 0: some more than that.
  for (const double excess : {1.1, 2.0, 10.0}) {
    const double eps_lm = excess * at.q / 2 * std::sqrt(at.growth - 1);
    const auto rule = make_step_rule(fmt::format("gauss-newton:eps_c=0,eps_lm={}", eps_lm));
    const double low = 1 / (at.q + eps_lm), high = 1 / eps_lm;
    const double mu = low - (high - low) / 2 * std::sqrt(at.growth - 1), m2 = high * high * at.growth;
    ASSERT_GT(mu, 0);
    for (int trial = 0; trial < 500; ++trial) {
      const auto mean = at.problem.moments(at.point(stream), *rule);
      const double square = mean.gradient.squaredNorm();
      ASSERT_LE(mean.square, at.growth * square);  // the assumption
      EXPECT_GE(mean.gradient.dot(mean.scaled_gradient), mu * square);
      EXPECT_LE(mean.scaled_square, m2 * square);
    }
  }
}

TEST(Lemma, OneStepDescendsInExpectationAsMuchAsSmoothnessAllows) {
  const Interpolation at;
  RandomStream stream(6, "stationarity");
  for (const double eps_lm : {0.01, 1.0}) {
    const auto spec = fmt::format("gauss-newton:eps_lm={}", eps_lm);
    const auto rule = make_step_rule(spec);
    for (const double rate : {0.1, 1.0}) {
      for (int trial = 0; trial < 20; ++trial) {
        const Linear<double> model = at.point(stream);
        const auto before = at.problem.moments(model, *rule);
        // The expectation over the sample that the library learns from.
        double after = 0;
        for (std::size_t i = 0; i < samples; ++i) {
          Linear<double> moved = model;
          Trainer<double> trainer(moved, options_for("log-cosh", spec, Schedule::constant(rate)));
          trainer.step({{at.problem.x[i]}, at.problem.y[i]});
          after += at.problem.moments(moved, *rule).value / samples;
        }
        const double first_order = -rate * before.gradient.dot(before.scaled_gradient);
        const double second_order = at.smoothness / 2 * rate * rate * before.scaled_square;
        EXPECT_LE(after - before.value, first_order + second_order + 1e-15);
        EXPECT_GE(after - before.value, first_order - 1e-15);  // the loss is convex: no less than its tangent
      }
    }
  }
}

}  // namespace
}  // namespace ignd::testing
