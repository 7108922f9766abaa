// The rule `relative`: Gauss-Newton steps damped by rho times the usual curvature (docs/math.md).
#include "ignd/batch_trainer.hpp"
#include "ignd/checkpoint.hpp"
#include "ignd/error.hpp"
#include "support.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include <Eigen/Dense>
#include <fmt/format.h>
#include <gtest/gtest.h>

namespace ignd::testing {
namespace {

using Vector = std::vector<double>;

TrainerOptions with_rule(const std::string& rule, const std::string& loss = "squared", double rate = 0.3) {
  return {.loss = make_loss(loss), .optimizer = {rule, "plain"}, .schedule = Schedule::constant(rate)};
}

struct Row {
  Vector x;
  double y = 0, weight = 1;
};

std::vector<Row> random_rows(const Loss& loss, std::size_t features, int count) {
  RandomStream stream(3, "rows");
  std::vector<Row> rows;
  for (int i = 0; i < count; ++i) {
    rows.push_back({normal_vector(stream, features, std::exp(stream.normal())), random_target(loss, stream)});
  }
  return rows;
}

Vector weights_of(const Model<double>& model) { return {model.parameters().begin(), model.parameters().end()}; }

// By the definition, over all samples so far.
class MeanCurvature {
 public:
  double with(double curvature) { return (sum_ += curvature) / ++count_; }

 private:
  double sum_ = 0, count_ = 0;
};

TEST(RelativeRule, SolvesTheDampedSystem) {
  for (const double rho : {0.1, 1.0, 30.0}) {
    const auto loss = make_loss("logistic");
    const auto model = make_model<double>("mlp:widths=3x4,activation=tanh", 5);
    Trainer<double> trainer(*model, with_rule(fmt::format("relative:eps_c=0.2,rho={}", rho), "logistic", 1));
    MeanCurvature usual;
    for (const Row& row : random_rows(*loss, 3, 30)) {
      const Vector before = weights_of(*model), j = flat_sensitivity(*model, {row.x});
      const LossAt l = loss->at(row.y, model->predict({row.x}));
      const auto n = static_cast<Eigen::Index>(j.size());
      const Eigen::Map<const Eigen::VectorXd> column(j.data(), n);
      const double mu = rho * usual.with((l.d2 + 0.2) * column.squaredNorm());
      const Eigen::MatrixXd system = (l.d2 + 0.2) * column * column.transpose() + mu * Eigen::MatrixXd::Identity(n, n);
      const Eigen::VectorXd d = system.ldlt().solve(-l.d1 * column);
      trainer.step({{row.x}, row.y});
      for (Eigen::Index i = 0; i < n; ++i) {
        const auto k = static_cast<std::size_t>(i);
        EXPECT_NEAR(model->parameters()[k] - before[k], d[i], 1e-10 * (1 + d.norm()));
      }
    }
  }
}

// Scaling the inputs by phi and the first weights by 1 / phi scales every sensitivity: predictions must not change.
double largest_change_of_predictions(const std::string& rule, double phi) {
  const auto loss = make_loss("squared");
  Linear<double> plain(4, false), scaled(4, false);
  Trainer<double> first(plain, with_rule(rule)), second(scaled, with_rule(rule));
  double largest = 0;
  for (const Row& row : random_rows(*loss, 4, 200)) {
    Vector x = row.x;
    for (double& value : x) value *= phi;
    const double a = first.step({{row.x}, row.y}).prediction, b = second.step({{x}, row.y}).prediction;
    largest = std::max(largest, std::abs(a - b));
  }
  return largest;
}

TEST(RelativeRule, DoesNotDependOnTheScaleOfTheSensitivity) {
  for (const double phi : {1e-6, 1e-3, 1e3, 1e6}) {
    EXPECT_LT(largest_change_of_predictions("relative", phi), 1e-9) << phi;
    EXPECT_LT(largest_change_of_predictions("relative:rho=100,memory=20", phi), 1e-9) << phi;
  }
  EXPECT_GT(largest_change_of_predictions("gauss-newton", 1e-3), 0.1) << "an absolute damping is not invariant";
}

TEST(RelativeRule, WithAPreconditionerDoesNotDependOnTheScaleOfAnyFeature) {
  const auto loss = make_loss("squared");
  const Vector scales{1e-3, 1, 50, 1e4};
  Linear<double> plain(4, false), scaled(4, false);
  TrainerOptions options = with_rule("relative");
  options.preconditioner = PreconditionerKind::second_moment;
  Trainer<double> first(plain, options), second(scaled, options);
  for (const Row& row : random_rows(*loss, 4, 200)) {
    Vector x = row.x;
    for (std::size_t i = 0; i < 4; ++i) x[i] *= scales[i];
    const double f = first.step({{row.x}, row.y}).prediction;
    EXPECT_NEAR(second.step({{x}, row.y}).prediction, f, 1e-9 * (1 + std::abs(f)));
  }
}

// Rates for which both runs take equal steps in the limit.
void expect_equal_runs(const TrainerOptions& a, const TrainerOptions& b, double tolerance) {
  const auto one = make_model<double>("mlp:widths=3x5,activation=tanh", 2), other = one->clone();
  Trainer<double> first(*one, a), second(*other, b);
  for (const Row& row : random_rows(*a.loss, 3, 50)) {
    first.step({{row.x}, row.y});
    second.step({{row.x}, row.y});
  }
  for (std::size_t i = 0; i < one->parameters().size(); ++i) {
    EXPECT_NEAR(one->parameters()[i], other->parameters()[i], tolerance);
  }
}

TEST(RelativeRule, WithoutDampingIsGaussNewton) {
  for (const char* loss : {"squared", "logistic", "huber"}) {
    expect_equal_runs(with_rule("relative:rho=0", loss), with_rule("gauss-newton:eps_lm=0", loss), 1e-13);
  }
}

// With c = l_f / (q + rho m) and the rate alpha rho, the step tends to alpha l_f / m: that of SGD at the rate alpha /
// m, whatever the scale of the sensitivity.
TEST(RelativeRule, WithALotOfDampingTakesGradientSteps) {
  const auto loss = make_loss("logistic");
  constexpr double rho = 1e9, alpha = 0.1;
  const auto model = make_model<double>("mlp:widths=3x5,activation=tanh", 2);
  Trainer<double> trainer(*model, with_rule(fmt::format("relative:rho={}", rho), "logistic", alpha * rho));
  MeanCurvature usual;
  for (const Row& row : random_rows(*loss, 3, 50)) {
    const Vector before = weights_of(*model), j = flat_sensitivity(*model, {row.x});
    const LossAt l = loss->at(row.y, model->predict({row.x}));
    const double s = std::inner_product(j.begin(), j.end(), j.begin(), 0.0);
    const double m = usual.with((l.d2 + loss->curvature_floor()) * s);
    trainer.step({{row.x}, row.y});
    for (std::size_t i = 0; i < j.size(); ++i) {
      EXPECT_NEAR(model->parameters()[i] - before[i], -alpha * l.d1 / m * j[i], 1e-6);
    }
  }
}

// |dw| = alpha |l_f| sqrt(s) / (q + rho m) is largest where q = rho m.
TEST(RelativeRule, NoStepIsLongerThanItsBound) {
  RandomStream stream(9, "sizes");
  const auto loss = make_loss("squared");
  for (const double rho : {0.01, 1.0, 10.0}) {
    Linear<double> model(2, false);
    Trainer<double> trainer(model, with_rule(fmt::format("relative:rho={}", rho), "squared", 1));
    MeanCurvature usual;
    double reached = 0;
    for (int i = 0; i < 2000; ++i) {
      const double size = std::exp(3 * stream.normal());
      const Vector x{size * stream.normal(), size * stream.normal()}, before = weights_of(model);
      const double s = x[0] * x[0] + x[1] * x[1], m = usual.with(s);
      const StepInfo info = trainer.step({{x}, 100 * stream.normal()});
      if (i >= 900) break;  // beyond its memory the mean is another one
      const double length = std::hypot(model.parameters()[0] - before[0], model.parameters()[1] - before[1]);
      const double bound = std::abs(info.loss.d1) / (2 * std::sqrt(rho * m));
      EXPECT_LE(length, bound * (1 + 1e-9));
      EXPECT_LE(std::abs(info.h), std::abs(info.loss.d1) * (1 + 1e-12)) << "never past a linear model's target";
      reached = std::max(reached, length / bound);
    }
    EXPECT_GT(reached, 0.9) << "the bound is tight";
  }
}

// After `memory` samples, each further one has the share 1 / memory.
TEST(RelativeRule, ForgetsWhatIsOlderThanItsMemory) {
  Linear<double> model(1, false);
  Trainer<double> trainer(model, with_rule("relative:rho=1,memory=4", "squared", 1));
  RandomStream stream(2, "memory");
  double mean = 0;
  for (int t = 1; t <= 30; ++t) {
    const Vector x{stream.normal()};
    const double q = x[0] * x[0];
    mean += (q - mean) / std::min(t, 4);
    const StepInfo info = trainer.step({{x}, stream.normal()});
    EXPECT_NEAR(info.coefficient, info.loss.d1 / (q + mean), 1e-12 * (1 + std::abs(info.coefficient)));
  }
}

TEST(RelativeRule, SamplesWithoutASensitivityMoveNothing) {
  Linear<double> model(2, false);
  Trainer<double> trainer(model, with_rule("relative"));
  const Vector zero{0, 0}, one{1, 2};
  for (int i = 0; i < 3; ++i) EXPECT_EQ(trainer.step({{zero}, 1.0}).coefficient, 0);
  EXPECT_EQ(weights_of(model), (Vector{0, 0}));
  const StepInfo info = trainer.step({{one}, 1.0});
  EXPECT_NEAR(info.coefficient, -1 / (5 + 5.0 / 4), 1e-12) << "they count in the mean";
}

TEST(RelativeRule, AFailedStepIsForgotten) {
  const auto loss = make_loss("squared");
  const auto one = make_model<double>("mlp:widths=3x4", 2), other = one->clone();
  Trainer<double> disturbed(*one, with_rule("relative")), plain(*other, with_rule("relative"));
  const Vector bad{1, std::numeric_limits<double>::quiet_NaN(), 1};
  for (const Row& row : random_rows(*loss, 3, 30)) {
    EXPECT_THROW(disturbed.step({{bad}, 0.0}), BadSample);
    EXPECT_EQ(disturbed.step({{row.x}, row.y, 0.0}).status, StepStatus::zero_weight);
    disturbed.step({{row.x}, row.y});
    plain.step({{row.x}, row.y});
  }
  EXPECT_EQ(weights_of(*one), weights_of(*other));
}

template <class MakeTrainer, class Take>
void expect_resumes_bit_by_bit(const MakeTrainer& make, const Take& take) {
  const auto whole = make_model<float>("mlp:widths=3x4", 2), half = whole->clone(), rest = whole->clone();
  auto first = make(*whole);
  auto second = make(*half);
  for (int i = 0; i < 40; ++i) take(first, i);
  for (int i = 0; i < 20; ++i) take(second, i);
  Checkpoint saved;
  second.save(saved);
  auto third = make(*rest);
  third.restore(saved);
  for (int i = 20; i < 40; ++i) take(third, i);
  EXPECT_TRUE(std::ranges::equal(whole->parameters(), rest->parameters()));

  const double negative[] = {-1};
  saved.set("usual-curvature.mean", std::span<const double>(negative));
  EXPECT_THROW(third.restore(saved), FileError);
}

std::vector<std::vector<float>> float_rows() {
  RandomStream stream(5, "floats");
  std::vector<std::vector<float>> rows;
  for (int i = 0; i < 200; ++i) rows.push_back(normal_vector<float>(stream, 3));
  return rows;
}

TEST(RelativeRule, IsSavedAndRestored) {
  const auto rows = float_rows();
  const auto target = [](const std::vector<float>& x) { return x[0] > x[1] ? 1.0 : 0.0; };
  for (const char* transform : {"plain", "adam"}) {
    expect_resumes_bit_by_bit(
        [&](Model<float>& model) {
          return Trainer<float>(model, {.loss = make_loss("logistic"),
                                        .optimizer = {"relative:memory=7", transform},
                                        .schedule = Schedule::constant(0.01)});
        },
        [&](Trainer<float>& trainer, int i) {
          const auto& x = rows[static_cast<std::size_t>(i)];
          trainer.step({{x}, target(x), 1.0 + i % 3});
        });
  }
  for (const BatchMode mode : {BatchMode::average, BatchMode::exact}) {
    expect_resumes_bit_by_bit(
        [&](Model<float>& model) {
          return BatchTrainer<float>(model, {.loss = make_vector_loss("logistic"),
                                             .optimizer = {"relative:memory=7", "plain"},
                                             .schedule = Schedule::constant(0.1),
                                             .batch = {.size = 4, .mode = mode, .adaptive = mode == BatchMode::exact}});
        },
        [&](BatchTrainer<float>& trainer, int i) {
          std::vector<Sample<float>> batch;
          for (std::size_t k = 0; k < 4; ++k) {
            const auto& x = rows[4 * static_cast<std::size_t>(i) + k];
            batch.push_back({{x}, target(x)});
          }
          trainer.step(batch);
        });
  }
}

// A batch of one is a sample, in every mode.
TEST(RelativeRule, BatchesOfOneAreSingleSamples) {
  const auto loss = make_loss("logistic");
  const auto single = make_model<double>("mlp:widths=3x5,activation=tanh", 2);
  const auto averaged = single->clone(), exact = single->clone();
  Trainer<double> trainer(*single, with_rule("relative:rho=2,memory=10", "logistic"));
  const auto batches = [&](Model<double>& model, BatchMode mode) {
    return BatchTrainer<double>(model, {.loss = make_vector_loss("logistic"),
                                        .optimizer = {"relative:rho=2,memory=10", "plain"},
                                        .schedule = Schedule::constant(0.3),
                                        .batch = {.size = 1, .mode = mode}});
  };
  auto average_trainer = batches(*averaged, BatchMode::average), exact_trainer = batches(*exact, BatchMode::exact);
  for (const Row& row : random_rows(*loss, 3, 40)) {
    const Sample<double> sample{{row.x}, row.y};
    trainer.step(sample);
    average_trainer.step({&sample, 1});
    exact_trainer.step({&sample, 1});
  }
  for (std::size_t i = 0; i < single->parameters().size(); ++i) {
    EXPECT_NEAR(averaged->parameters()[i], single->parameters()[i], 1e-9);
    EXPECT_NEAR(exact->parameters()[i], single->parameters()[i], 1e-9);
  }
}

TEST(RelativeRule, AveragedBatchesShareTheirMean) {
  RandomStream stream(4, "batch");
  const auto loss = make_loss("squared");
  Linear<double> model(3);
  BatchTrainer<double> trainer(model, {.loss = make_vector_loss("squared"),
                                       .optimizer = {"relative:rho=0.5", "plain"},
                                       .schedule = Schedule::constant(1),
                                       .batch = {.size = 6}});
  double sum = 0, weight = 0;
  for (int step = 0; step < 10; ++step) {
    auto rows = random_rows(*loss, 3, 6);
    for (Row& row : rows) row.weight = stream.uniform(0.2, 3);
    std::vector<Sample<double>> batch;
    for (const Row& row : rows) batch.push_back({{row.x}, row.y, row.weight});
    double batch_weight = 0;
    std::vector<Vector> j;
    for (const Row& row : rows) {
      j.push_back(flat_sensitivity(model, {row.x}));
      const double s = std::inner_product(j.back().begin(), j.back().end(), j.back().begin(), 0.0);
      sum += row.weight * s;
      batch_weight += row.weight;
    }
    weight += batch_weight;
    Vector expected = weights_of(model);
    for (std::size_t k = 0; k < rows.size(); ++k) {
      const double s = std::inner_product(j[k].begin(), j[k].end(), j[k].begin(), 0.0);
      const double c = (model.predict({rows[k].x}) - rows[k].y) / (s + 0.5 * sum / weight);
      for (std::size_t i = 0; i < expected.size(); ++i) expected[i] -= rows[k].weight / batch_weight * c * j[k][i];
    }
    trainer.step(batch);
    for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(model.parameters()[i], expected[i], 1e-10);
  }
}

// A linear model of several classes has the Gram matrix (|x|^2 + 1) I for each sample, and the curvature of a sample is
// the mean over its outputs: one output is a special case.
TEST(RelativeRule, SeveralOutputsSolveTheDampedSystem) {
  constexpr Eigen::Index classes = 4;
  constexpr double rho = 0.7, alpha = 0.5;
  for (const BatchMode mode : {BatchMode::average, BatchMode::exact}) {
    RandomStream stream(6, "classes");
    Mlp<double> model({3}, {.outputs = classes});
    const auto loss = make_vector_loss("softmax");
    BatchTrainer<double> trainer(model, {.loss = loss,
                                         .optimizer = {fmt::format("relative:rho={}", rho), "plain"},
                                         .schedule = Schedule::constant(alpha),
                                         .batch = {.size = 1, .mode = mode}});
    const auto outputs_at = [&](const Sample<double>& sample) {
      const auto batch = model.make_batch(1);
      const auto f = batch->forward(std::span(&sample.x, 1), nullptr);
      return Eigen::VectorXd(Eigen::Map<const Eigen::VectorXd>(f.data(), classes));
    };
    MeanCurvature usual;
    for (int step = 0; step < 40; ++step) {
      const Vector x = normal_vector(stream, 3, std::exp(stream.normal()));
      const Sample<double> sample{{x}, static_cast<double>(stream.below(classes))};
      const double gram = 1 + x[0] * x[0] + x[1] * x[1] + x[2] * x[2];
      const Eigen::VectorXd f = outputs_at(sample);
      const Eigen::VectorXd p = f.array().exp() / f.array().exp().sum();
      Eigen::MatrixXd curvature = -p * p.transpose();
      curvature.diagonal() += p;
      curvature.diagonal().array() += loss->curvature_floor();
      Eigen::VectorXd gradient = p;
      gradient[static_cast<Eigen::Index>(sample.y)] -= 1;
      const double mu = rho * usual.with(gram * curvature.trace() / classes);
      const Eigen::MatrixXd system = gram * curvature + mu * Eigen::MatrixXd::Identity(classes, classes);
      const Eigen::VectorXd moved = -alpha * gram * system.ldlt().solve(gradient);
      trainer.step({&sample, 1});
      EXPECT_LT((outputs_at(sample) - f - moved).norm(), 1e-10) << "at step " << step;
    }
  }
}

}  // namespace
}  // namespace ignd::testing
