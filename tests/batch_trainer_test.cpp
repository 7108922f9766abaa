#include "ignd/batch_trainer.hpp"

#include "dense_algebra.hpp"
#include "ignd/gradient_check.hpp"
#include "ignd/linear.hpp"
#include "ignd/mlp.hpp"
#include "support.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <Eigen/Core>
#include <fmt/format.h>
#include <gtest/gtest.h>

namespace ignd {
namespace {

using testing::normal_vector;
using Matrix = Eigen::MatrixXd;
using Vector = Eigen::VectorXd;

// Some random samples and what they point to.
struct Samples {
  std::vector<std::vector<double>> values;
  std::vector<double> targets;  // as many for each as asked for
  std::vector<Sample<double>> all;

  std::span<const Sample<double>> first(std::size_t count) const { return std::span(all).first(count); }
};

template <class Target>
Samples random_samples(RandomStream& stream, std::size_t count, std::size_t features, std::size_t targets_each,
                       const Target& target) {
  Samples made;
  for (std::size_t s = 0; s < count; ++s) {
    made.values.push_back(normal_vector(stream, features));
    for (std::size_t k = 0; k < targets_each; ++k) made.targets.push_back(target());
  }
  for (std::size_t s = 0; s < count; ++s) made.all.push_back({{made.values[s]}, made.targets[s * targets_each]});
  return made;
}

Samples random_samples(RandomStream& stream, std::size_t count, std::size_t features, const Loss& loss) {
  return random_samples(stream, count, features, 1, [&] { return testing::random_target(loss, stream); });
}

Vector weights_of(const Model<double>& model) { return testing::to_eigen(model.parameters()); }

// The rows of J by sensitivities of single outputs: that of output c is the network with c's unit alone.
Matrix dense_sensitivities(const Mlp<double>& model, const std::vector<std::size_t>& widths, Activation activation,
                           std::span<const Sample<double>> samples) {
  const std::size_t outputs = model.outputs(), n = model.parameters().size();
  const std::size_t last = (widths.back() + 1) * outputs, before = n - last;
  Matrix j = Matrix::Zero(static_cast<Eigen::Index>(samples.size() * outputs), static_cast<Eigen::Index>(n));
  for (std::size_t c = 0; c < outputs; ++c) {
    Mlp<double> single(widths, {.activation = activation});
    std::copy_n(model.parameters().begin(), before, single.parameters().begin());
    for (std::size_t r = 0; r <= widths.back(); ++r) {
      single.parameters()[before + r] = model.parameters()[before + r * outputs + c];
    }
    for (std::size_t s = 0; s < samples.size(); ++s) {
      const auto flat = testing::flat_sensitivity<double>(single, samples[s].x);
      const auto row = static_cast<Eigen::Index>(s * outputs + c);
      for (std::size_t i = 0; i < before; ++i) j(row, static_cast<Eigen::Index>(i)) = flat[i];
      for (std::size_t r = 0; r <= widths.back(); ++r) {
        j(row, static_cast<Eigen::Index>(before + r * outputs + c)) = flat[before + r];
      }
    }
  }
  return j;
}

std::vector<double> outputs_of(const Model<double>& model, std::span<const Sample<double>> samples) {
  std::vector<Input<double>> x;
  for (const auto& sample : samples) x.push_back(sample.x);
  const auto batch = model.make_batch(x.size());
  const auto f = batch->forward(x, nullptr);
  return {f.begin(), f.end()};
}

struct DenseStep {
  Vector l;  // l_f of all outputs
  Matrix h;  // the block-diagonal curvature
};

DenseStep dense_loss(const VectorLoss& loss, double eps_c, const std::vector<double>& f,
                     const std::vector<double>& targets, std::span<const Sample<double>> samples) {
  const std::size_t n = f.size() / samples.size(), each = targets.size() / samples.size();
  const auto rows = static_cast<Eigen::Index>(f.size());
  DenseStep made{Vector::Zero(rows), Matrix::Zero(rows, rows)};
  std::vector<double> d1(n), d2(n * n);
  for (std::size_t s = 0; s < samples.size(); ++s) {
    loss.at(std::span(targets).subspan(s * each, each), std::span(f).subspan(s * n, n), d1, d2);
    for (std::size_t a = 0; a < n; ++a) {
      const auto row = static_cast<Eigen::Index>(s * n + a);
      made.l(row) = samples[s].weight * d1[a];
      for (std::size_t b = 0; b < n; ++b) {
        made.h(row, static_cast<Eigen::Index>(s * n + b)) = samples[s].weight * (d2[a * n + b] + (a == b ? eps_c : 0));
      }
    }
  }
  return made;
}

double total_weight(std::span<const Sample<double>> samples) {
  double sum = 0;
  for (const auto& sample : samples) sum += sample.weight;
  return sum;
}

double mean_loss(const VectorLoss& loss, const Model<double>& model, const Samples& data) {
  const std::size_t n = model.outputs(), each = data.targets.size() / data.all.size();
  const auto f = outputs_of(model, data.all);
  std::vector<double> d1(n), d2(n * n);
  double sum = 0;
  for (std::size_t s = 0; s < data.all.size(); ++s) {
    sum += data.all[s].weight *
           loss.at(std::span(data.targets).subspan(s * each, each), std::span(f).subspan(s * n, n), d1, d2);
  }
  return sum / total_weight(data.all);
}

// The step as its definition has it, a system as large as the model.
Vector dense_solution(const Matrix& j, const DenseStep& step, double weight, double lambda, const Vector& p) {
  Matrix system = testing::quadratic_form(step.h, j) / weight;
  system.diagonal() += lambda * p.cwiseInverse();
  return -testing::solve_definite(system, j.transpose() * step.l / weight);
}

void expect_near(const Vector& actual, const Vector& expected, double tolerance) {
  ASSERT_EQ(actual.size(), expected.size());
  EXPECT_LE((actual - expected).norm(), tolerance * (expected.norm() + 1e-12));
}

struct Case {
  std::vector<std::size_t> widths;
  Activation activation;
  std::size_t outputs, samples;
};

Case random_case(RandomStream& stream, std::size_t most_outputs) {
  Case made{{1 + stream.below(5)}, stream.below(2) == 0 ? Activation::relu : Activation::tanh, 1, 1};
  for (std::uint64_t layers = stream.below(3); layers > 0; --layers) made.widths.push_back(1 + stream.below(6));
  made.outputs = 1 + stream.below(most_outputs);
  made.samples = 1 + stream.below(16);
  return made;
}

TEST(BatchTrainer, ExactStepsAreThoseOfADenseSolveForEveryLoss) {
  RandomStream stream(1, "exact");
  for (const auto& loss : testing::all_losses()) {
    for (int repeat = 0; repeat < 40; ++repeat) {
      const Case c = random_case(stream, 1);
      SCOPED_TRACE(fmt::format("{} repeat {} samples {}", loss->spec(), repeat, c.samples));
      Mlp<double> model(c.widths, {.activation = c.activation, .seed = stream.bits32()});
      Samples data = random_samples(stream, c.samples, c.widths[0], *loss);
      if (repeat % 3 == 0) {
        for (auto& sample : data.all) sample.weight = stream.uniform(0.2, 3);
      }
      const bool metric = repeat % 2 == 1;
      const double lambda = std::pow(10, stream.uniform(-3, 1));
      BatchTrainer<double> trainer(
          model, {.loss = as_vector_loss(loss),
                  .schedule = Schedule::constant(0.7),
                  .preconditioner = metric ? PreconditionerKind::second_moment : PreconditionerKind::identity,
                  .batch = {.size = 16, .mode = BatchMode::exact, .lambda = lambda}});
      Vector p = Vector::Ones(static_cast<Eigen::Index>(model.parameters().size()));
      const std::size_t width = c.widths.size() > 1 ? c.widths[1] : 1;
      for (std::size_t i = 0; metric && i < c.widths[0]; ++i) {
        double squares = 0;
        for (const auto& x : data.values) squares += x[i] * x[i];
        p.segment(static_cast<Eigen::Index>(i * width), static_cast<Eigen::Index>(width))
            .setConstant(static_cast<double>(c.samples) / squares);
      }
      const Matrix j = dense_sensitivities(model, c.widths, c.activation, data.all);
      const DenseStep step = dense_loss(*as_vector_loss(loss), loss->curvature_floor(), outputs_of(model, data.all),
                                        data.targets, data.all);
      const Vector before = weights_of(model);
      const auto info = trainer.step(data.all);
      EXPECT_EQ(info.status, StepStatus::learned);
      EXPECT_EQ(info.lambda, lambda);
      expect_near(weights_of(model) - before, 0.7 * dense_solution(j, step, total_weight(data.all), lambda, p), 1e-7);
    }
  }
}

TEST(BatchTrainer, ExactStepsOfSeveralOutputsAreThoseOfADenseSolve) {
  RandomStream stream(2, "several outputs");
  for (const auto* name : {"softmax", "squared"}) {
    const auto loss = make_vector_loss(name);
    for (int repeat = 0; repeat < 60; ++repeat) {
      Case c = random_case(stream, 4);
      ++c.outputs;
      SCOPED_TRACE(fmt::format("{} repeat {} samples {} outputs {}", name, repeat, c.samples, c.outputs));
      Mlp<double> model(c.widths, {.activation = c.activation, .seed = stream.bits32(), .outputs = c.outputs});
      const Samples data = random_samples(stream, c.samples, c.widths[0], loss->targets(c.outputs), [&]() -> double {
        return std::string(name) == "softmax" ? static_cast<double>(stream.below(c.outputs)) : stream.normal();
      });
      const double lambda = std::pow(10, stream.uniform(-3, 1));
      const double eps_c = repeat % 2 == 0 ? 0 : loss->curvature_floor();
      BatchTrainer<double> trainer(model,
                                   {.loss = loss,
                                    .optimizer = {repeat % 2 == 0 ? "gauss-newton:eps_c=0" : "gauss-newton", "plain"},
                                    .schedule = Schedule::constant(1),
                                    .batch = {.size = c.samples, .mode = BatchMode::exact, .lambda = lambda}});
      const Matrix j = dense_sensitivities(model, c.widths, c.activation, data.all);
      const DenseStep step = dense_loss(*loss, eps_c, outputs_of(model, data.all), data.targets, data.all);
      const Vector before = weights_of(model);
      const bool apart = loss->targets(c.outputs) > 1;
      EXPECT_EQ(
          trainer.step(data.all, apart ? std::span<const double>(data.targets) : std::span<const double>()).status,
          StepStatus::learned);
      const Vector p = Vector::Ones(before.size());
      expect_near(weights_of(model) - before, dense_solution(j, step, static_cast<double>(c.samples), lambda, p), 1e-7);
    }
  }
}

TEST(BatchTrainer, AnExactStepOfOneSampleIsThatOfTheTrainer) {
  RandomStream stream(3, "one sample");
  for (const auto& loss : testing::all_losses()) {
    for (const auto* spec : {"linear:features=4", "linear:features=4,bias=0", "mlp:widths=4x6x3,activation=relu",
                             "mlp:widths=4x6x3,activation=tanh"}) {
      for (const auto* transform : {"plain", "momentum", "adam"}) {
        for (const auto metric : {PreconditionerKind::identity, PreconditionerKind::second_moment}) {
          SCOPED_TRACE(fmt::format("{} {} {} {}", loss->spec(), spec, transform, to_string(metric)));
          const auto one = make_model<double>(spec, 5), batched = make_model<double>(spec, 5);
          Trainer<double> trainer(*one, {.loss = loss,
                                         .optimizer = {"gauss-newton:eps_lm=0.3", transform},
                                         .schedule = Schedule::constant(0.05),
                                         .preconditioner = metric});
          BatchTrainer<double> batch_trainer(*batched, {.loss = as_vector_loss(loss),
                                                        .optimizer = {"gauss-newton", transform},
                                                        .schedule = Schedule::constant(0.05),
                                                        .preconditioner = metric,
                                                        .batch = {.size = 1, .mode = BatchMode::exact, .lambda = 0.3}});
          const Samples data = random_samples(stream, 20, 4, *loss);
          for (std::size_t s = 0; s < 20; ++s) {
            trainer.step(data.all[s]);
            batch_trainer.step(std::span(data.all).subspan(s, 1));
          }
          expect_near(weights_of(*batched), weights_of(*one), 1e-9);
        }
      }
    }
  }
}

// A loss of the user's own whose minimum is another one for each target.
class Raised final : public Loss {
 public:
  LossAt at(double y, double f) const override { return {(f - y) * (f - y) / 2 + y * y, f - y, 1}; }
  double minimum(double y) const override { return y * y; }
  std::string spec() const override { return "raised"; }
};

TEST(BatchTrainer, AveragedStepsAreTheMeanOfWhatEachSampleAloneWouldDo) {
  RandomStream stream(4, "averages");
  const std::shared_ptr<const Loss> squared = make_loss("squared"), raised = std::make_shared<Raised>();
  for (const auto& rule : step_rule_names()) {
    if (make_step_rule(rule)->memory() > 0) continue;  // its samples know of each other
    for (const auto* spec : {"linear:features=3", "mlp:widths=3x5x4", "mlp:widths=3x5x4,activation=tanh"}) {
      for (const auto& [loss, l2] : {std::pair(squared, 0.0), std::pair(squared, 0.01), std::pair(raised, 0.0)}) {
        if (l2 > 0 && !make_step_rule(rule)->allows_l2()) continue;
        SCOPED_TRACE(fmt::format("{} {} {} l2 {}", rule, spec, loss->spec(), l2));
        const auto model = make_model<double>(spec, 1);
        Samples data = random_samples(stream, 7, 3, *loss);
        const Vector before = weights_of(*model);
        Vector mean = Vector::Zero(before.size());
        for (auto& sample : data.all) {
          const auto alone = model->clone();
          Trainer<double> trainer(
              *alone, {.loss = loss, .optimizer = {rule, "plain"}, .schedule = Schedule::constant(0.1), .l2 = l2});
          trainer.step(sample);
          sample.weight = stream.uniform(0.2, 3);
          mean += sample.weight * (weights_of(*alone) - before);
        }
        mean /= total_weight(data.all);
        BatchTrainer<double> trainer(*model, {.loss = as_vector_loss(loss),
                                              .optimizer = {rule, "plain"},
                                              .schedule = Schedule::constant(0.1),
                                              .l2 = l2,
                                              .batch = {.size = 9}});
        trainer.step(data.all);
        expect_near(weights_of(*model) - before, mean, 1e-10);
      }
    }
  }
}

TEST(BatchTrainer, AveragedStepsOfSeveralOutputsAreTheMeanOfExactOnes) {
  RandomStream stream(5, "averaged outputs");
  const auto loss = make_vector_loss("softmax");
  for (int repeat = 0; repeat < 10; ++repeat) {
    const Mlp<double> start({3, 5}, {.seed = stream.bits32(), .outputs = 4});
    const Samples data = random_samples(stream, 6, 3, 1, [&] { return static_cast<double>(stream.below(4)); });
    const Vector before = weights_of(start);
    Vector mean = Vector::Zero(before.size());
    for (const auto& sample : data.all) {
      Mlp<double> alone = start;
      BatchTrainer<double> trainer(alone,
                                   {.loss = loss, .batch = {.size = 1, .mode = BatchMode::exact, .lambda = 0.2}});
      trainer.step({&sample, 1});
      mean += (weights_of(alone) - before) / 6;
    }
    Mlp<double> model = start;
    BatchTrainer<double> trainer(
        model, {.loss = loss, .optimizer = {"gauss-newton:eps_lm=0.2", "plain"}, .batch = {.size = 6}});
    trainer.step(data.all);
    expect_near(weights_of(model) - before, mean, 1e-9);
  }
}

TEST(BatchTrainer, GradientStepsOfSeveralOutputsFollowFiniteDifferences) {
  RandomStream stream(6, "gradients");
  for (const auto* name : {"softmax", "squared"}) {
    const auto loss = make_vector_loss(name);
    Mlp<double> model({3, 5, 4}, {.activation = Activation::tanh, .seed = 3, .outputs = 3});
    const std::size_t each = loss->targets(3);
    const Samples data = random_samples(stream, 5, 3, each, [&]() -> double {
      return each == 1 ? static_cast<double>(stream.below(3)) : stream.normal();
    });
    const double loss_before = mean_loss(*loss, model, data);
    const Vector before = weights_of(model);
    Vector gradient = Vector::Zero(before.size());
    for (Eigen::Index i = 0; i < before.size(); ++i) {
      Mlp<double> probe = model;
      const auto w = probe.parameters();
      w[static_cast<std::size_t>(i)] = before(i) + 1e-6;
      const double above = mean_loss(*loss, probe, data);
      w[static_cast<std::size_t>(i)] = before(i) - 1e-6;
      gradient(i) = (above - mean_loss(*loss, probe, data)) / 2e-6;
    }
    BatchTrainer<double> trainer(
        model,
        {.loss = loss, .optimizer = find_optimizer("sgd"), .schedule = Schedule::constant(1), .batch = {.size = 5}});
    const auto info =
        trainer.step(data.all, each > 1 ? std::span<const double>(data.targets) : std::span<const double>());
    EXPECT_NEAR(info.loss, loss_before, 1e-12);
    expect_near(before - weights_of(model), gradient, 1e-7);
  }
}

TEST(BatchTrainer, TheOrderOfABatchDoesNotMatter) {
  RandomStream stream(7, "order");
  for (const auto mode : {BatchMode::average, BatchMode::exact}) {
    Mlp<double> model({4, 6}, {.seed = 1}), other = model;
    Samples data = random_samples(stream, 11, 4, *make_loss("logistic"));
    const BatchTrainerOptions options{.loss = make_vector_loss("logistic"),
                                      .batch = {.size = 11, .mode = mode, .lambda = 0.01}};
    BatchTrainer<double>(model, options).step(data.all);
    std::reverse(data.all.begin(), data.all.end());
    std::swap(data.all[2], data.all[7]);
    BatchTrainer<double>(other, options).step(data.all);
    expect_near(weights_of(other), weights_of(model), 1e-12);
  }
}

TEST(BatchTrainer, CopiesOfOneSampleAreOneSample) {
  RandomStream stream(8, "copies");
  for (const auto mode : {BatchMode::average, BatchMode::exact}) {
    for (const std::size_t copies : {2U, 5U, 16U}) {
      Mlp<double> model({4, 6}, {.seed = 1}), other = model, weighted = model;
      const Samples data = random_samples(stream, 1, 4, *make_loss("logistic"));
      const BatchTrainerOptions options{.loss = make_vector_loss("logistic"),
                                        .batch = {.size = 16, .mode = mode, .lambda = 0.01}};
      BatchTrainer<double>(model, options).step(data.all);
      BatchTrainer<double>(other, options).step(std::vector(copies, data.all[0]));
      expect_near(weights_of(other), weights_of(model), 1e-9);
      Sample<double> heavy = data.all[0];
      heavy.weight = 7;
      BatchTrainer<double>(weighted, options).step({&heavy, 1});
      expect_near(weights_of(weighted), weights_of(model), 1e-9);
    }
  }
}

TEST(BatchTrainer, WeightsAreRepetitions) {
  RandomStream stream(9, "repetitions");
  for (const auto mode : {BatchMode::average, BatchMode::exact}) {
    Mlp<double> model({4, 6}, {.seed = 1}), other = model;
    Samples data = random_samples(stream, 3, 4, *make_loss("logistic"));
    const BatchTrainerOptions options{.loss = make_vector_loss("logistic"),
                                      .batch = {.size = 16, .mode = mode, .lambda = 0.1}};
    BatchTrainer<double>(other, options).step(std::vector{data.all[0], data.all[0], data.all[2]});
    data.all[0].weight = 2;
    data.all[1].weight = 0;
    BatchTrainer<double>(model, options).step(data.all);
    expect_near(weights_of(model), weights_of(other), 1e-9);
  }
}

TEST(BatchTrainer, WeightsAreRepetitionsOfSeveralOutputsToo) {
  RandomStream stream(22, "repetitions of several");
  const auto loss = make_vector_loss("squared");
  for (const auto mode : {BatchMode::average, BatchMode::exact}) {
    for (const auto* rule : {"gradient", "gauss-newton:eps_lm=0.2"}) {
      if (mode == BatchMode::exact && std::string(rule) == "gradient") continue;
      SCOPED_TRACE(fmt::format("{} {}", to_string(mode), rule));
      Mlp<double> model({4, 6}, {.seed = 1, .outputs = 2}), other = model;
      Samples data = random_samples(stream, 3, 4, 2, [&] { return stream.normal(); });
      const BatchTrainerOptions options{
          .loss = loss, .optimizer = {rule, "plain"}, .batch = {.size = 4, .mode = mode, .lambda = 0.1}};
      const auto& y = data.targets;
      BatchTrainer<double>(other, options)
          .step(std::vector{data.all[0], data.all[2], data.all[2], data.all[2]},
                std::vector{y[0], y[1], y[4], y[5], y[4], y[5], y[4], y[5]});
      data.all[1].weight = 0;
      data.all[2].weight = 3;
      BatchTrainer<double>(model, options).step(data.all, y);
      expect_near(weights_of(model), weights_of(other), 1e-9);
    }
  }
}

TEST(BatchTrainer, WithoutCurvatureAStepIsAGradientStep) {
  RandomStream stream(10, "no curvature");
  Mlp<double> model({3, 5}, {.seed = 1}), other = model;
  Samples data = random_samples(stream, 8, 3, *make_loss("pinball"));
  BatchTrainer<double> exact(model, {.loss = make_vector_loss("pinball"),
                                     .optimizer = {"gauss-newton:eps_c=0", "plain"},
                                     .schedule = Schedule::constant(1),
                                     .batch = {.size = 8, .mode = BatchMode::exact, .lambda = 4}});
  BatchTrainer<double> gradient(other, {.loss = make_vector_loss("pinball"),
                                        .optimizer = find_optimizer("sgd"),
                                        .schedule = Schedule::constant(0.25),
                                        .batch = {.size = 8}});
  exact.step(data.all);
  gradient.step(data.all);
  expect_near(weights_of(model), weights_of(other), 1e-12);
}

TEST(BatchTrainer, ASampleWithoutSensitivityMovesNothing) {
  Linear<double> model(3, false);
  const std::vector<double> zero(3, 0);
  const Sample<double> sample{{zero}, 5};
  BatchTrainer<double> trainer(model, {.batch = {.size = 4, .mode = BatchMode::exact, .lambda = 0.1}});
  EXPECT_EQ(trainer.step(std::vector(3, sample)).status, StepStatus::learned);
  EXPECT_EQ(weights_of(model), Vector::Zero(3));
}

TEST(BatchTrainer, WithoutDampingTheBatchIsFittedOrRefused) {
  RandomStream stream(11, "undamped");
  Linear<double> model(6);
  const Samples data = random_samples(stream, 4, 6, *make_loss("squared"));
  BatchTrainer<double> trainer(
      model, {.schedule = Schedule::constant(1), .batch = {.size = 8, .mode = BatchMode::exact, .lambda = 0}});
  trainer.step(data.all);
  for (const auto& sample : data.all) EXPECT_NEAR(model.predict(sample.x), sample.y, 1e-9);

  const Vector before = weights_of(model);
  std::vector<Sample<double>> dependent(data.all);
  dependent.push_back(data.all[1]);
  try {
    trainer.step(dependent);
    FAIL() << "two samples are the same";
  } catch (const SingularSystem& fault) {
    EXPECT_STREQ(fault.what(), "the system of the batch is singular to rounding with lambda 0; use a larger one");
  }
  EXPECT_EQ(weights_of(model), before);
  EXPECT_EQ(trainer.steps(), 1U);
  EXPECT_EQ(trainer.step(data.first(2)).status, StepStatus::learned);  // and the run goes on
}

// The damping may be as small as it likes beside the sensitivity.
TEST(BatchTrainer, AnExactStepOfOneSampleIsThatOfTheTrainerWithLittleDamping) {
  RandomStream stream(17, "little damping");
  for (const double lambda : {1e-5, 1e-9, 1e-12}) {
    for (const auto* spec : {"linear:features=4", "mlp:widths=4x6,activation=tanh"}) {
      const auto one = make_model<double>(spec, 5), batched = make_model<double>(spec, 5);
      Trainer<double> trainer(*one, {.optimizer = {fmt::format("gauss-newton:eps_lm={}", lambda), "plain"},
                                     .schedule = Schedule::constant(0.5)});
      BatchTrainer<double> batch_trainer(*batched, {.schedule = Schedule::constant(0.5),
                                                    .batch = {.size = 1, .mode = BatchMode::exact, .lambda = lambda}});
      Samples data = random_samples(stream, 20, 4, *make_loss("squared"));
      for (auto& values : data.values) {
        for (double& value : values) value *= 1000;
      }
      for (std::size_t s = 0; s < 20; ++s) {
        trainer.step(data.all[s]);
        batch_trainer.step(std::span(data.all).subspan(s, 1));
      }
      expect_near(weights_of(*batched), weights_of(*one), 1e-6);
    }
  }
}

TEST(BatchTrainer, SeveralOutputsAreFittedWithLittleDampingToo) {
  const auto loss = make_vector_loss("squared");
  for (const double lambda : {1e-5, 1e-9}) {
    for (const auto mode : {BatchMode::average, BatchMode::exact}) {
      Mlp<double> model({2}, {.outputs = 3});
      const std::vector<double> x{1000, -2000}, y{1, 2, 3};
      const Sample<double> sample{{x}, 0};
      BatchTrainer<double> trainer(model, {.loss = loss,
                                           .optimizer = {fmt::format("gauss-newton:eps_lm={}", lambda), "plain"},
                                           .schedule = Schedule::constant(1),
                                           .batch = {.size = 1, .mode = mode, .lambda = lambda}});
      trainer.step({&sample, 1}, y);
      const auto f = outputs_of(model, {&sample, 1});
      for (std::size_t c = 0; c < 3; ++c) EXPECT_NEAR(f[c], y[c], 1e-8);
    }
  }
}

// Some samples in single precision whose targets a linear model could learn.
struct FloatSamples {
  std::vector<std::vector<float>> values;
  std::vector<Sample<float>> all;

  FloatSamples(RandomStream& stream, std::size_t count) : values(count), all(count) {
    for (std::size_t s = 0; s < count; ++s) {
      values[s] = normal_vector<float>(stream, 4);
      all[s] = {{values[s]}, values[s][0] - 2 * values[s][3] + 0.1 * stream.normal()};
    }
  }
};

// In single precision the Gram matrix of more samples than weights is definite to rounding only.
TEST(BatchTrainer, FloatIsRefusedWhatItCannotResolve) {
  RandomStream stream(18, "float");
  for (const double lambda : {0.0, 1e-12}) {
    Linear<float> model(4);
    const FloatSamples samples(stream, 32);
    BatchTrainer<float> trainer(model, {.batch = {.size = 32, .mode = BatchMode::exact, .lambda = lambda}});
    EXPECT_THROW(trainer.step(samples.all), SingularSystem);
    EXPECT_EQ(model.parameters()[0], 0);
    EXPECT_EQ(trainer.status(), StepStatus::learned);
  }
}

TEST(BatchTrainer, AnAdaptiveLambdaStaysAboveTheRoundingOfFloat) {
  RandomStream stream(19, "adaptive float");
  Linear<float> model(4);
  BatchTrainer<float> trainer(model, {.schedule = Schedule::constant(0.1),
                                      .batch = {.size = 64, .mode = BatchMode::exact, .lambda = 1, .adaptive = true}});
  for (int step = 0; step < 200; ++step) {
    const FloatSamples samples(stream, 64);
    ASSERT_EQ(trainer.step(samples.all).status, StepStatus::learned) << step;
  }
  EXPECT_NEAR(model.parameters()[0], 1, 0.1);
  EXPECT_NEAR(model.parameters()[3], -2, 0.1);
  EXPECT_LT(trainer.lambda(), 1e-3);
}

// Second derivatives that are negative somewhere.
class Bent final : public Loss {
 public:
  LossAt at(double y, double f) const override { return {f - y, 1, f > 0.5 ? -1.0 : 1.0}; }
  std::string spec() const override { return "bent"; }
};

TEST(BatchTrainer, ARefusedBatchLeavesTheMetricAsItWas) {
  RandomStream stream(20, "refused");
  const Samples data = random_samples(stream, 4, 2, *make_loss("squared"));
  const BatchTrainerOptions options{.loss = as_vector_loss(std::make_shared<Bent>()),
                                    .preconditioner = PreconditionerKind::second_moment,
                                    .batch = {.size = 2, .mode = BatchMode::exact, .lambda = 0.1}};
  Linear<double> model(2), other(2);
  BatchTrainer<double> trainer(model, options), undisturbed(other, options);
  trainer.step(std::span(data.all).first(2));
  undisturbed.step(std::span(data.all).first(2));
  model.parameters()[2] += 5;  // beyond the bend
  EXPECT_THROW(trainer.step(std::span(data.all).first(2)), NonConvexLoss);
  model.parameters()[2] = other.parameters()[2];
  trainer.step(std::span(data.all).subspan(2));
  undisturbed.step(std::span(data.all).subspan(2));
  EXPECT_EQ(weights_of(model), weights_of(other));
}

// What is refused only when its system is solved has been observed already.
TEST(BatchTrainer, ASingularBatchLeavesTheMetricAsItWas) {
  RandomStream stream(25, "singular");
  const Samples data = random_samples(stream, 5, 2, *make_loss("squared"));
  const BatchTrainerOptions options{.preconditioner = PreconditionerKind::second_moment,
                                    .batch = {.size = 2, .mode = BatchMode::exact, .lambda = 0}};
  Linear<double> model(2), other(2);
  BatchTrainer<double> trainer(model, options), undisturbed(other, options);
  trainer.step(std::span(data.all).first(2));
  undisturbed.step(std::span(data.all).first(2));
  EXPECT_THROW(trainer.step(std::vector(2, data.all[4])), SingularSystem);
  trainer.step(std::span(data.all).subspan(2, 2));
  undisturbed.step(std::span(data.all).subspan(2, 2));
  EXPECT_EQ(weights_of(model), weights_of(other));
}

TEST(BatchTrainer, WeightsMayBeOfAnySize) {
  RandomStream stream(21, "weights");
  Samples data = random_samples(stream, 3, 4, *make_loss("squared"));
  Vector expected;
  for (const double weight : {1.0, 1e-300, 1e6}) {
    Linear<double> model(4);
    for (auto& sample : data.all) sample.weight = weight;
    BatchTrainer<double>(model, {.batch = {.size = 3, .mode = BatchMode::exact, .lambda = 0.1}}).step(data.all);
    if (weight == 1) expected = weights_of(model);
    expect_near(weights_of(model), expected, 1e-12);
  }
}

TEST(BatchTrainer, OneTrainerRefusesTheRunsOfTheOther) {
  Linear<double> model(2), other(2);
  Checkpoint of_batches, of_samples;
  BatchTrainer<double> batches(model, {});
  Trainer<double> samples(other, {});
  batches.save(of_batches);
  samples.save(of_samples);
  EXPECT_THROW(samples.restore(of_batches), FileError);
  EXPECT_THROW(batches.restore(of_samples), FileError);
}

TEST(BatchTrainer, SoftmaxOfTwoIsTheLogisticLoss) {
  const auto softmax = make_vector_loss("softmax");
  const auto logistic = make_loss("logistic");
  for (const double f : {-800.0, -30.0, -2.0, 0.0, 0.3, 5.0, 40.0, 900.0}) {
    for (const double y : {0.0, 1.0}) {
      double d1[2], d2[4];
      const double logits[2] = {0, f};
      const double value = softmax->at({&y, 1}, logits, d1, d2);
      const LossAt expected = logistic->at(y, f);
      EXPECT_NEAR(value, expected.value, 1e-14 * (1 + expected.value)) << f << " " << y;
      EXPECT_NEAR(d1[1], expected.d1, 1e-15) << f << " " << y;
      EXPECT_NEAR(d1[0], -expected.d1, 1e-15) << f << " " << y;
      EXPECT_NEAR(d2[3], expected.d2, 1e-15) << f << " " << y;
      EXPECT_NEAR(d2[1], -expected.d2, 1e-15) << f << " " << y;
    }
  }
}

TEST(BatchTrainer, SoftmaxIsSymmetricAndAgreesWithDifferences) {
  RandomStream stream(12, "softmax");
  const auto loss = make_vector_loss("softmax");
  for (int repeat = 0; repeat < 100; ++repeat) {
    const std::size_t n = 2 + stream.below(5);
    const auto f = normal_vector(stream, n, 2);
    const auto y = static_cast<double>(stream.below(n));
    std::vector<double> d1(n), d2(n * n), scratch(n), scratch2(n * n);
    loss->at({&y, 1}, f, d1, d2);
    for (std::size_t a = 0; a < n; ++a) {
      auto above = f, below = f;
      above[a] += 1e-5;
      below[a] -= 1e-5;
      std::vector<double> d1_above(n), d1_below(n);
      const double difference =
          loss->at({&y, 1}, above, d1_above, scratch2) - loss->at({&y, 1}, below, d1_below, scratch2);
      EXPECT_NEAR(d1[a], difference / 2e-5, 1e-8);
      for (std::size_t b = 0; b < n; ++b) EXPECT_NEAR(d2[a * n + b], (d1_above[b] - d1_below[b]) / 2e-5, 1e-8);
    }
  }
}

// What is added to all logits changes nothing: derivatives add up to zero, and where they are tiny to their own digits.
TEST(BatchTrainer, SoftmaxKeepsTheDigitsOfACertainPrediction) {
  RandomStream stream(23, "certain");
  const auto loss = make_vector_loss("softmax");
  for (int repeat = 0; repeat < 200; ++repeat) {
    const std::size_t n = 2 + stream.below(5);
    const auto f = normal_vector(stream, n, 40);
    const auto y = static_cast<double>(stream.below(n));
    std::vector<double> d1(n), d2(n * n);
    loss->at({&y, 1}, f, d1, d2);
    const double slope = std::abs(d1[static_cast<std::size_t>(y)]);
    EXPECT_NEAR(std::accumulate(d1.begin(), d1.end(), 0.0), 0, 1e-14 * slope);
    for (std::size_t r = 0; r < n; ++r) {
      const auto row = std::span(d2).subspan(r * n, n);
      EXPECT_GT(row[r], 0);
      EXPECT_NEAR(std::accumulate(row.begin(), row.end(), 0.0), 0, 1e-14 * row[r]);
    }
  }
}

// Two classes as two logits or as one: what counts is their difference.
TEST(BatchTrainer, TwoLogitsMoveApartAsTheLogisticOutputMoves) {
  RandomStream stream(13, "two logits");
  for (int repeat = 0; repeat < 20; ++repeat) {
    Mlp<double> two({4}, {.outputs = 2});
    Linear<double> one(4);
    std::fill(two.parameters().begin(), two.parameters().end(), 0.0);
    for (std::size_t i = 0; i < 5; ++i) {
      one.parameters()[i] = stream.normal();
      two.parameters()[2 * i + 1] = one.parameters()[i];
    }
    const Samples data = random_samples(stream, 1, 4, *make_loss("logistic"));
    // With eps_c = 0 the sum of the logits has no curvature, and no gradient either.
    const double tiny = 1e-9;
    BatchTrainer<double> trainer(two, {.loss = make_vector_loss("softmax"),
                                       .optimizer = {"gauss-newton:eps_c=0", "plain"},
                                       .schedule = Schedule::constant(1),
                                       .batch = {.size = 1, .mode = BatchMode::exact, .lambda = tiny}});
    Trainer<double> logistic(one, {.loss = make_loss("logistic"),
                                   .optimizer = {"gauss-newton:eps_c=0,eps_lm=0", "plain"},
                                   .schedule = Schedule::constant(1)});
    const double before = one.predict(data.all[0].x);
    trainer.step(data.all);
    logistic.step(data.all[0]);
    const auto f = outputs_of(two, data.all);
    const double moved = one.predict(data.all[0].x) - before;
    EXPECT_NEAR(f[1] - f[0] - before, moved, 1e-5 * std::abs(moved));
  }
}

// Batches of a hashed model read some rows only; a dense model with the same features reads all.
TEST(BatchTrainer, SparseRowsAreCaughtUpAsInADenseModel) {
  RandomStream stream(14, "sparse rows");
  constexpr std::size_t features = 8;
  for (const auto* transform : {"plain", "momentum", "adam", "adamw:decay=0.1", "adagrad"}) {
    for (const auto mode : {BatchMode::average, BatchMode::exact}) {
      for (const std::uint64_t average_from : {0U, 4U}) {
        SCOPED_TRACE(fmt::format("{} {} {}", transform, to_string(mode), average_from));
        HashedLinear<double> sparse(3);
        Linear<double> dense(features);
        const BatchTrainerOptions options{.optimizer = {"gauss-newton", transform},
                                          .schedule = Schedule::constant(0.05),
                                          .average_from = average_from,
                                          .batch = {.size = 4, .mode = mode, .lambda = 0.1}};
        BatchTrainer<double> sparse_trainer(sparse, options), dense_trainer(dense, options);
        for (int step = 0; step < 30; ++step) {
          std::vector<std::vector<double>> values, written;
          std::vector<std::vector<std::uint32_t>> index;
          std::vector<Sample<double>> sparse_samples, dense_samples;
          for (int s = 0; s < 4; ++s) {
            const auto a = static_cast<std::uint32_t>(stream.below(3)),
                       b = static_cast<std::uint32_t>(3 + stream.below(5));
            values.push_back(normal_vector(stream, 2));
            index.push_back({a, b});
            written.emplace_back(features, 0.0);
            written.back()[a] = values.back()[0];
            written.back()[b] = values.back()[1];
          }
          for (std::size_t s = 0; s < 4; ++s) {
            const double y = stream.normal();
            sparse_samples.push_back({{values[s], index[s]}, y});
            dense_samples.push_back({{written[s]}, y});
          }
          sparse_trainer.step(sparse_samples);
          dense_trainer.step(dense_samples);
        }
        expect_near(weights_of(*sparse_trainer.snapshot()), weights_of(*dense_trainer.snapshot()), 1e-9);
        if (average_from == 0) continue;
        expect_near(weights_of(*sparse_trainer.snapshot(Iterate::averaged)),
                    weights_of(*dense_trainer.snapshot(Iterate::averaged)), 1e-9);
      }
    }
  }
}

struct SparseCase {
  const char *loss, *rule, *transform;
  BatchMode mode = BatchMode::average;
  PreconditionerKind preconditioner = PreconditionerKind::identity;

  std::size_t outputs() const { return loss == std::string("softmax") ? 3 : 1; }
  BatchTrainerOptions options(std::size_t size) const {
    return {.loss = make_vector_loss(loss),
            .optimizer = {rule, transform},
            .preconditioner = preconditioner,
            .batch = {.size = size, .mode = mode}};
  }
};

const std::vector<SparseCase>& sparse_cases() {
  static const std::vector<SparseCase> cases{
      {"squared", "gradient", "adam"},        {"squared", "gradient", "momentum"},
      {"logistic", "gauss-newton", "plain"},  {"squared", "gauss-newton", "plain", BatchMode::exact},
      {"softmax", "gauss-newton", "adagrad"}, {"softmax", "gauss-newton", "plain", BatchMode::exact}};
  return cases;
}

// A number that is not zero but adds nothing to any sum keeps a feature from being left out.
TEST(BatchTrainer, FeaturesThatAreZeroInABatchAreLeftOutAndNothingChanges) {
  constexpr double next_to_nothing = 1e-200;
  constexpr std::size_t features = 40, size = 6;
  for (const SparseCase& c : sparse_cases()) {
    Mlp<double> sparse({features, 8, 8}, {.outputs = c.outputs()}), dense({features, 8, 8}, {.outputs = c.outputs()});
    BatchTrainer<double> left_out(sparse, c.options(size)), kept(dense, c.options(size));
    RandomStream stream(7, c.rule);
    // No unit stands at its kink where all features are zero.
    for (double& w : sparse.parameters()) w += 0.1 * stream.normal();
    std::ranges::copy(sparse.parameters(), dense.parameters().begin());
    for (int step = 0; step < 30; ++step) {
      std::vector<std::vector<double>> zeros(size), nearly(size);
      std::vector<Sample<double>> of_zeros, of_nearly;
      for (std::size_t s = 0; s < size; ++s) {
        for (std::size_t k = 0; k < features; ++k) {
          const bool is_zero = step % 10 == 0 || stream.below(10) > 0;  // all of them now and then
          zeros[s].push_back(is_zero ? 0 : stream.normal());
          nearly[s].push_back(is_zero ? next_to_nothing : zeros[s].back());
        }
        const double y = static_cast<double>(stream.below(c.outputs() > 1 ? 3 : 2));
        of_zeros.push_back({{zeros[s]}, y});
        of_nearly.push_back({{nearly[s]}, y});
      }
      ASSERT_EQ(left_out.step(of_zeros).status, StepStatus::learned);
      ASSERT_EQ(kept.step(of_nearly).status, StepStatus::learned);
      for (std::size_t i = 0; i < sparse.parameters().size(); ++i) {
        ASSERT_NEAR(sparse.parameters()[i], dense.parameters()[i], 1e-9) << c.rule << " " << c.transform;
      }
    }
    std::vector<double> some(features);
    some[3] = 1;
    some[features - 1] = -2;
    const std::vector<Input<double>> inputs(size, Input<double>{some});
    const DerivativeReport report = check_model<double>(sparse, inputs);
    EXPECT_TRUE(report.ok) << report.text;
  }
}

// Features that are never used might as well not exist.
TEST(BatchTrainer, FeaturesThatAreLeftOutTakeTheirPlaceInThePreconditioner) {
  constexpr std::size_t used = 10, every = 4, units = 5, size = 6;
  for (SparseCase c : sparse_cases()) {
    c.preconditioner = PreconditionerKind::second_moment;
    Mlp<double> small({used, units}, {.outputs = c.outputs()}), large({used * every, units}, {.outputs = c.outputs()});
    const auto place = [&](std::size_t i) {  // of a parameter of the small model in the large one
      const std::size_t row = i / units;
      return row < used ? row * every * units + i % units : i + used * (every - 1) * units;
    };
    for (std::size_t i = 0; i < small.parameters().size(); ++i) large.parameters()[place(i)] = small.parameters()[i];
    BatchTrainer<double> of_small(small, c.options(size)), of_large(large, c.options(size));
    RandomStream stream(8, c.rule);
    for (int step = 0; step < 30; ++step) {
      std::vector<std::vector<double>> few(size), many(size, std::vector<double>(used * every));
      std::vector<Sample<double>> of_few, of_many;
      for (std::size_t s = 0; s < size; ++s) {
        for (std::size_t k = 0; k < used; ++k) {
          few[s].push_back(stream.below(3) == 0 ? 0 : stream.normal());
          many[s][k * every] = few[s][k];
        }
        const double y = static_cast<double>(stream.below(c.outputs() > 1 ? 3 : 2));
        of_few.push_back({{few[s]}, y});
        of_many.push_back({{many[s]}, y});
      }
      ASSERT_EQ(of_small.step(of_few).status, StepStatus::learned);
      ASSERT_EQ(of_large.step(of_many).status, StepStatus::learned);
      for (std::size_t i = 0; i < small.parameters().size(); ++i) {
        ASSERT_NEAR(small.parameters()[i], large.parameters()[place(i)], 1e-9) << c.rule << " " << c.transform;
      }
    }
  }
}

TEST(BatchTrainer, AnAdaptiveLambdaFollowsTheGain) {
  RandomStream stream(15, "adaptive");
  // A linear model with the squared loss is what the quadratic model says: lambda falls to next to nothing.
  Linear<double> linear(3);
  BatchTrainer<double> exact_model(linear,
                                   {.optimizer = {"gauss-newton:eps_c=0", "plain"},
                                    .schedule = Schedule::constant(1),
                                    .batch = {.size = 8, .mode = BatchMode::exact, .lambda = 1, .adaptive = true}});
  const Samples data = random_samples(stream, 8, 3, *make_loss("squared"));
  double lambda = 1;
  for (int step = 0; step < 4; ++step) {
    const auto info = exact_model.step(data.all);
    EXPECT_EQ(info.lambda, lambda);
    ASSERT_TRUE(info.gain.has_value());
    EXPECT_NEAR(*info.gain, 1, 1e-6);
    EXPECT_NEAR(exact_model.lambda(), lambda / 1.5, 1e-15);
    lambda = exact_model.lambda();
  }
  // A bent network cannot always hold what the quadratic model promises, least of all with next to no damping.
  Mlp<double> network({3, 8, 8}, {.activation = Activation::tanh, .seed = 1});
  for (double& w : network.parameters()) w *= 3;
  BatchTrainer<double> bent(network,
                            {.schedule = Schedule::constant(1),
                             .batch = {.size = 8, .mode = BatchMode::exact, .lambda = 1e-8, .adaptive = true}});
  bool rose = false;
  for (int step = 0; step < 10; ++step) {
    const auto info = bent.step(data.all);
    ASSERT_TRUE(info.gain.has_value());
    const double factor = *info.gain > 0.75 ? 1 / 1.5 : *info.gain < 0.25 ? 1.5 : 1;
    EXPECT_NEAR(bent.lambda(), info.lambda * factor, 1e-12 * info.lambda) << to_string(info);
    rose |= factor > 1;
  }
  EXPECT_TRUE(rose);
}

// The gain is the decrease of the mean loss over that of its quadratic model, both of the step that was made.
TEST(BatchTrainer, TheGainIsTheShareOfThePromiseThatWasKept) {
  RandomStream stream(24, "gain");
  for (const auto* name : {"softmax", "squared"}) {
    const auto loss = make_vector_loss(name);
    for (int repeat = 0; repeat < 40; ++repeat) {
      Case c = random_case(stream, 3);
      ++c.outputs;
      const std::size_t each = loss->targets(c.outputs);
      SCOPED_TRACE(fmt::format("{} repeat {} samples {} outputs {}", name, repeat, c.samples, c.outputs));
      Mlp<double> model(c.widths, {.activation = c.activation, .seed = stream.bits32(), .outputs = c.outputs});
      Samples data = random_samples(stream, c.samples, c.widths[0], each, [&]() -> double {
        return each == 1 ? static_cast<double>(stream.below(c.outputs)) : stream.normal();
      });
      for (auto& sample : data.all) sample.weight = stream.uniform(0.2, 3);
      BatchTrainer<double> trainer(
          model, {.loss = loss,
                  .schedule = Schedule::constant(0.6),
                  .batch = {.size = c.samples, .mode = BatchMode::exact, .lambda = 0.1, .adaptive = true}});
      const Matrix j = dense_sensitivities(model, c.widths, c.activation, data.all);
      const DenseStep at =
          dense_loss(*loss, loss->curvature_floor(), outputs_of(model, data.all), data.targets, data.all);
      const double before = mean_loss(*loss, model, data);
      const Vector start = weights_of(model);
      const auto info =
          trainer.step(data.all, each > 1 ? std::span<const double>(data.targets) : std::span<const double>());
      const Vector change = j * (weights_of(model) - start);
      const double promised = -(at.l.dot(change) + change.dot(at.h * change) / 2) / total_weight(data.all);
      ASSERT_TRUE(info.gain.has_value());
      EXPECT_NEAR(info.loss, before, 1e-12 * before);
      EXPECT_NEAR(*info.gain, (before - mean_loss(*loss, model, data)) / promised, 1e-6);
    }
  }
}

// Samples for dense models of three inputs, or for sparse ones of any.
template <class T>
struct SavedRunData {
  std::vector<std::vector<T>> values;
  std::vector<std::vector<std::uint32_t>> index;
  std::vector<Sample<T>> all;

  SavedRunData(RandomStream& stream, bool sparse) {
    for (int s = 0; s < 40; ++s) {
      values.emplace_back();
      for (int k = 0; k < 3; ++k) values.back().push_back(static_cast<T>(stream.normal()));
      const auto first = static_cast<std::uint32_t>(stream.below(10));
      index.push_back({first, first + 2, first + 5});
    }
    for (std::size_t s = 0; s < values.size(); ++s) {
      all.push_back({{values[s], sparse ? std::span<const std::uint32_t>(index[s]) : std::span<const std::uint32_t>()},
                     stream.normal()});
    }
  }
};

template <class T>
struct SavedRun {
  std::unique_ptr<Model<T>> model;
  BatchTrainer<T> trainer;

  SavedRun(const std::string& spec, const BatchTrainerOptions& options)
      : model(make_model<T>(spec)), trainer(*model, options) {}

  void learn(std::span<const Sample<T>> samples) {
    for (std::size_t s = 0; s < samples.size(); s += 4) trainer.step(samples.subspan(s, 4));
  }
  std::vector<T> weights() const { return {model->parameters().begin(), model->parameters().end()}; }
};

// Bit by bit, also in averages and in what rows wait for; and a checkpoint with any damaged part changes nothing.
template <class T>
void expect_goes_on(const std::string& spec, const BatchTrainerOptions& options) {
  RandomStream stream(16, "saved");
  const SavedRunData<T> data(stream, spec.starts_with("hashed"));
  const auto all = std::span(data.all);
  SavedRun<T> whole(spec, options), half(spec, options), rest(spec, options);
  whole.learn(all);
  half.learn(all.first(20));
  Checkpoint checkpoint;
  half.trainer.save(checkpoint);
  const auto untouched = rest.weights();
  for (const auto& [name, entry] : checkpoint.entries()) {
    Checkpoint damaged = checkpoint;
    damaged.set(name, std::span<const double>(std::vector<double>(1000)));
    EXPECT_THROW(rest.trainer.restore(damaged), FileError) << name;
    EXPECT_EQ(rest.weights(), untouched) << name;
    EXPECT_EQ(rest.trainer.steps(), 0U) << name;
  }
  BatchTrainerOptions others = options;
  others.batch.size = 5;
  EXPECT_THROW(SavedRun<T>(spec, others).trainer.restore(checkpoint), FileError);

  rest.trainer.restore(checkpoint);
  EXPECT_EQ(rest.trainer.steps(), 5U);
  rest.learn(all.subspan(20));
  EXPECT_EQ(rest.trainer.lambda(), whole.trainer.lambda());
  const Iterate shown = options.average_from == 0 ? Iterate::last : Iterate::averaged;
  for (const auto which : {Iterate::last, shown}) {
    const auto went_on = rest.trainer.snapshot(which), uninterrupted = whole.trainer.snapshot(which);
    EXPECT_TRUE(std::ranges::equal(went_on->parameters(), uninterrupted->parameters()));
  }
}

TEST(BatchTrainer, ARunGoesOnBitByBit) {
  constexpr auto exact = BatchMode::exact;
  const std::vector<std::pair<std::string, BatchTrainerOptions>> cases{
      {"mlp:widths=3x5",
       {.preconditioner = PreconditionerKind::second_moment,
        .batch = {.size = 4, .mode = exact, .lambda = 0.5, .adaptive = true}}},
      {"mlp:widths=3x5",
       {.optimizer = {"gauss-newton", "adam"}, .average_from = 3, .batch = {.size = 4, .mode = exact, .lambda = 0.5}}},
      {"mlp:widths=3x5", {.optimizer = {"gradient", "momentum"}, .l2 = 0.1, .batch = {.size = 4}}},
      {"hashed-linear:bits=4", {.optimizer = {"gauss-newton", "adam"}, .average_from = 2, .batch = {.size = 4}}},
      {"hashed-linear:bits=4", {.optimizer = {"gradient", "plain"}, .l2 = 0.1, .batch = {.size = 4}}},
      {"linear:features=3", {.optimizer = {"gradient", "adam"}, .batch = {.size = 4}}}};
  for (const auto& [spec, options] : cases) {
    SCOPED_TRACE(spec + " " + options.optimizer.rule + " " + options.optimizer.transform);
    expect_goes_on<double>(spec, options);
    expect_goes_on<float>(spec, options);
  }
}

TEST(BatchTrainer, RefusesWhatCannotBe) {
  Linear<double> model(2);
  const auto fault = [&](const BatchTrainerOptions& options) {
    return testing::message_of([&] { BatchTrainer<double> trainer(model, options); });
  };
  constexpr auto exact = BatchMode::exact;
  EXPECT_EQ(fault({.batch = {.size = 0}}), "a batch needs at least one sample");
  EXPECT_EQ(fault({.batch = {.mode = exact, .lambda = -1}}), "lambda is -1, but must be a finite number of at least 0");
  EXPECT_EQ(fault({.batch = {.mode = exact, .lambda = std::nan("")}}),
            "lambda is nan, but must be a finite number of at least 0");
  EXPECT_EQ(fault({.batch = {.mode = exact, .lambda = 0, .adaptive = true}}),
            "an adaptive lambda needs exact steps and a lambda from 1e-12 to 1000000000000 to start with");
  EXPECT_EQ(fault({.optimizer = find_optimizer("adam-ignd"), .batch = {.mode = exact, .adaptive = true}}),
            "an adaptive lambda needs plain steps, not the transform 'adam'");
  EXPECT_EQ(fault({.optimizer = find_optimizer("sgd"), .batch = {.mode = exact}}),
            "exact steps need the rule gauss-newton or relative, not 'gradient'");
  EXPECT_EQ(fault({.l2 = 0.1, .batch = {.mode = exact}}),
            "l2 cannot be combined with exact steps of the rule 'gauss-newton:eps_c=auto,eps_lm=1e-05'");
  EXPECT_EQ(fault({.preconditioner = PreconditionerKind::fading_second_moment}),
            "the fading preconditioner works on single samples only; use second_moment");
  EXPECT_EQ(fault({.loss = make_vector_loss("softmax")}),
            "the softmax loss needs a model with one output per class, at least two");
  EXPECT_EQ(fault({.batch = {.size = 10000, .mode = exact, .memory = 1000000}}),
            "exact steps of 10000 samples with 1 output take 3200 MB, more than the 1 MB allowed; use smaller "
            "batches");
  EXPECT_EQ(fault({.batch = {.size = std::size_t{1} << 62}}),
            "there is not enough memory for a batch of 4611686018427387904 samples");
  EXPECT_EQ(fault({.loss = nullptr}), "there is no loss");
  EXPECT_NE(fault({.l2 = -1, .batch = {.size = 0, .lambda = -2}}).find("; "), std::string::npos);

  Mlp<double> several({2}, {.outputs = 3});
  EXPECT_EQ(testing::message_of([&] { Trainer<double> trainer(several, {}); }),
            "the network has 3 outputs; only batches read and train it");
  EXPECT_EQ(testing::message_of([&] { BatchTrainer<double> trainer(several, {.loss = make_vector_loss("logistic")}); }),
            "the loss 'logistic' takes one output, but the model has 3");
  BatchTrainerOptions softmax{.loss = make_vector_loss("softmax"), .batch = {.size = 1000, .memory = 1000}};
  EXPECT_EQ(testing::message_of([&] { BatchTrainer<double> trainer(several, softmax); }),
            "average steps of 1000 samples with 3 outputs take 0.144 MB, more than the 0.001 MB allowed; use smaller "
            "batches");
  softmax.optimizer = find_optimizer("sgd");
  EXPECT_NO_THROW(BatchTrainer<double>(several, softmax)) << "gradients solve no systems";
}

TEST(BatchTrainer, BadBatchesChangeNothing) {
  Linear<double> model(2);
  BatchTrainer<double> trainer(model, {.batch = {.size = 2}});
  const std::vector<double> x{1, 2}, wrong{1}, infinite{1, INFINITY};
  const Sample<double> good{{x}, 1};
  EXPECT_THROW(trainer.step({}), InvalidArgument);
  EXPECT_THROW(trainer.step(std::vector(3, good)), InvalidArgument);
  const double target = 1;
  EXPECT_THROW(trainer.step({&good, 1}, {&target, 1}), InvalidArgument);
  EXPECT_THROW(trainer.step(std::vector<Sample<double>>{good, {{wrong}, 1}}), BadSample);
  EXPECT_THROW(trainer.step(std::vector<Sample<double>>{good, {{infinite}, 1}}), BadSample);
  EXPECT_THROW(trainer.step(std::vector<Sample<double>>{good, {{x}, NAN}}), BadSample);
  EXPECT_THROW(trainer.step(std::vector<Sample<double>>{good, {{x}, 1, -1}}), BadSample);
  EXPECT_EQ(trainer.step(std::vector<Sample<double>>{{{x}, 1, 0}}).status, StepStatus::zero_weight);
  EXPECT_EQ(weights_of(model), Vector::Zero(3));
  EXPECT_EQ(trainer.steps(), 0U);
  EXPECT_EQ(trainer.step(std::vector(2, good)).status, StepStatus::learned);
}

TEST(BatchTrainer, ARunThatLeavesTheNumbersEnds) {
  Linear<double> model(1);
  BatchTrainer<double> trainer(model, {.loss = make_vector_loss("poisson"),
                                       .optimizer = find_optimizer("sgd"),
                                       .schedule = Schedule::constant(1e6),
                                       .batch = {.size = 1}});
  const std::vector<double> x{1e3};
  const Sample<double> sample{{x}, 5};
  BatchStepInfo info;
  for (int step = 0; step < 5; ++step) info = trainer.step({&sample, 1});
  EXPECT_NE(info.status, StepStatus::learned);
  EXPECT_EQ(trainer.status(), info.status);
  const Vector kept = weights_of(model);
  trainer.step({&sample, 1});
  EXPECT_EQ(weights_of(model), kept);
}

}  // namespace
}  // namespace ignd
