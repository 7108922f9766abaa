#include "dense_reference.hpp"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace ignd::testing {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

std::vector<double> copy(std::span<const double> w) { return {w.begin(), w.end()}; }

TEST(StepInfo, TellsWhatTheStepDid) {
  Linear<double> model(1);
  model.parameters()[0] = 2;  // f = 2 x + 0
  Trainer<double> trainer(
      model, {.optimizer = {"gauss-newton:eps_c=0,eps_lm=1", "plain"}, .schedule = Schedule::constant(0.5)});
  const std::vector<double> x{3};
  const StepInfo info = trainer.step({{x}, 4});
  EXPECT_EQ(info.step, 1U);
  EXPECT_EQ(info.prediction, 6);
  EXPECT_EQ(info.loss.value, 2);
  EXPECT_EQ(info.loss.d1, 2);
  EXPECT_EQ(info.loss.d2, 1);
  EXPECT_EQ(info.sensitivity, 10);  // 3^2 and the bias
  EXPECT_DOUBLE_EQ(info.coefficient, 2.0 / 11);
  EXPECT_EQ(info.rate, 0.5);
  EXPECT_DOUBLE_EQ(info.h, -0.5 * 2.0 / 11 * 10);
  EXPECT_EQ(info.status, StepStatus::learned);
  EXPECT_DOUBLE_EQ(model.predict({x}), 6 + info.h);
  EXPECT_NE(to_string(info).find("step 1 f 6 loss 2 "), std::string::npos) << to_string(info);
}

// Importance weights: a weight is so many repetitions of the sample.

class EveryLoss : public ::testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(All, EveryLoss, ::testing::ValuesIn(loss_names()), [](const auto& name) {
  std::string text = name.param;
  std::replace(text.begin(), text.end(), '-', '_');
  return text;
});

TEST_P(EveryLoss, WeightIsTheNumberOfRepetitions) {
  RandomStream stream(41, "weights");
  const auto loss = make_loss(GetParam());
  for (const auto& rule : step_rule_names()) {
    for (const unsigned weight : {1U, 2U, 5U}) {
      Linear<double> repeated(3);
      for (double& w : repeated.parameters()) w = 0.3 * stream.normal();
      Linear<double> weighted = repeated;
      const TrainerOptions options{.loss = loss, .optimizer = {rule, "plain"}, .schedule = Schedule::constant(0.1)};
      Trainer<double> one_by_one(repeated, options);
      Trainer<double> at_once(weighted, options);
      const auto x = normal_vector(stream, 3);
      const double y = random_target(*loss, stream);
      for (unsigned i = 0; i < weight; ++i) one_by_one.step({{x}, y});
      at_once.step({{x}, y, static_cast<double>(weight)});
      EXPECT_LT(largest_difference(repeated.parameters(), weighted.parameters()), 1e-12) << rule << " " << weight;
    }
  }
}

TEST_P(EveryLoss, WeightTwoDiffersFromOneAndZeroIsNoStep) {
  const auto loss = make_loss(GetParam());
  const TrainerOptions options{.loss = loss, .optimizer = {"gauss-newton", "adam"}};
  std::vector<std::vector<double>> after;
  const std::vector<double> x{1, -2};
  for (const double weight : {0.0, 0.5, 1.0, 2.0}) {
    Linear<double> model(2);
    model.parameters()[0] = 0.7;  // not at the target of any loss
    Trainer<double> trainer(model, options);
    trainer.step({{x}, 1});
    const auto before = copy(model.parameters());
    const StepInfo info = trainer.step({{x}, 1, weight});
    if (weight == 0) {
      EXPECT_EQ(info.status, StepStatus::zero_weight);
      EXPECT_EQ(trainer.steps(), 1U);
      EXPECT_EQ(copy(model.parameters()), before);
      EXPECT_EQ(info.loss.value, loss->at(1, info.prediction).value);  // still a prediction to be scored
    }
    after.push_back(copy(model.parameters()));
  }
  for (std::size_t i = 1; i < after.size(); ++i) EXPECT_NE(after[i - 1], after[i]);
}

TEST(Weight, ZeroWeightLeavesLaterStepsUntouched) {
  for (const auto& transform : transform_names()) {
    HashedLinear<double> with(3);
    HashedLinear<double> without(3);
    const TrainerOptions options{.optimizer = {"gauss-newton", transform}};
    Trainer<double> a(with, options);
    Trainer<double> b(without, options);
    RandomStream stream(43, "weights");
    for (int step = 0; step < 50; ++step) {
      const RandomInput x(stream, 8, true);
      const RandomInput ignored(stream, 8, true);
      const double y = stream.normal();
      a.step({ignored.input(), 100, 0});
      a.step({x.input(), y});
      b.step({x.input(), y});
    }
    // The rows of an ignored sample are brought up to date earlier, which rounds differently and does no more.
    EXPECT_LT(largest_difference(a.snapshot()->parameters(), b.snapshot()->parameters()), 1e-13) << transform;
  }
}

TEST(Weight, NoWeightPassesTheTarget) {
  for (const double weight : {1.5, 3.0, 100.0, 1e6}) {
    Linear<double> model(1);
    Trainer<double> trainer(model, {.schedule = Schedule::constant(0.7)});
    const std::vector<double> x{2};
    trainer.step({{x}, 10, weight});
    EXPECT_LE(model.predict({x}), 10 + 1e-9) << weight;
    EXPECT_GT(model.predict({x}), 7) << weight;
  }
}

TEST(Weight, RepetitionsShrinkTheWeightsTogetherWithL2) {
  for (const double weight : {2.0, 1000.0}) {
    for (const double y : {0.0, 0.7}) {
      Linear<double> repeated(2);
      repeated.parameters()[0] = 0.4;
      repeated.parameters()[1] = 5;  // of a feature that is zero: nothing but l2 moves it
      Linear<double> weighted = repeated;
      const TrainerOptions options{.schedule = Schedule::constant(1), .l2 = 0.002};
      Trainer<double> one_by_one(repeated, options);
      Trainer<double> at_once(weighted, options);
      const std::vector<double> x{1, 0};
      for (int i = 0; i < weight; ++i) one_by_one.step({{x}, y});
      at_once.step({{x}, y, weight});
      EXPECT_NEAR(weighted.parameters()[1], repeated.parameters()[1], 1e-3) << weight << " " << y;
    }
  }
}

TEST(Weight, FractionsMoveInBetween) {
  double last = 0;
  for (const double weight : {0.25, 0.5, 1.0, 1.5, 2.0, 2.5}) {
    Linear<double> model(1);
    Trainer<double> trainer(model, {.schedule = Schedule::constant(0.2)});
    const std::vector<double> x{2};
    trainer.step({{x}, 10, weight});
    EXPECT_GT(model.predict({x}), last) << weight;
    last = model.predict({x});
  }
}

// Bad samples: an exception, and nothing has changed.

TEST(BadSample, ChangesNothing) {
  Linear<double> model(2);
  Trainer<double> trainer(model, {.loss = make_loss("logistic"), .optimizer = {"gauss-newton", "adam"}});
  const std::vector<double> good{1, 2};
  trainer.step({{good}, 1});
  const auto before = copy(model.parameters());
  const std::vector<std::vector<double>> inputs{{1}, {1, 2, 3}, {}, {1, nan}, {infinity, 1}, {-infinity, 0}};
  for (const auto& x : inputs) EXPECT_THROW(trainer.step({{x}, 1}), BadSample);
  for (const double y : {nan, infinity, 2.0, -1.0, 0.5}) EXPECT_THROW(trainer.step({{good}, y}), BadSample);
  for (const double weight : {-1.0, nan, infinity, 2e6}) EXPECT_THROW(trainer.step({{good}, 1, weight}), BadSample);
  EXPECT_EQ(copy(model.parameters()), before);
  EXPECT_EQ(trainer.steps(), 1U);
  EXPECT_EQ(trainer.step({{good}, 1}).status, StepStatus::learned);
}

// Inputs are looked at only once something has come out that is not finite; nothing may slip through.
TEST(BadSample, InputsThatAreNotFiniteAreRefusedByEveryModelWhateverItsWeights) {
  for (const char* spec : {"linear:features=3", "hashed-linear:bits=4", "mlp:widths=3x4x4,activation=relu",
                           "mlp:widths=3x4x4,activation=tanh"}) {
    for (const float scale : {0.0F, 1.0F, -1.0F}) {
      for (const auto metric : {PreconditionerKind::identity, PreconditionerKind::second_moment}) {
        const auto model = make_model<float>(spec);
        for (float& w : model->parameters()) w *= scale;
        const std::vector<float> before(model->parameters().begin(), model->parameters().end());
        Trainer<float> trainer(*model, {.preconditioner = metric});
        const std::vector<std::uint32_t> index{1, 2, 3};
        const bool sparse = std::string_view(spec).starts_with("hashed");
        const auto input = [&](const std::vector<float>& x) {
          return sparse ? Input<float>{x, index} : Input<float>{x};
        };
        for (const double bad : {infinity, -infinity, nan}) {
          const std::vector<float> x{1, static_cast<float>(bad), 2};
          EXPECT_THROW(trainer.step({input(x), 1}), BadSample) << spec << " " << scale << " " << bad;
        }
        EXPECT_TRUE(std::ranges::equal(model->parameters(), before));
        const std::vector<float> good{1, 0, 2};
        EXPECT_EQ(trainer.step({input(good), 1}).status, StepStatus::learned) << spec;
      }
    }
  }
}

TEST(BadSample, MessageNamesTheValue) {
  Linear<double> model(3);
  Trainer<double> trainer(model, {});
  const std::vector<double> x{1, nan, 2};
  try {
    trainer.step({{x}, 1});
    FAIL() << "not refused";
  } catch (const BadSample& refused) {
    EXPECT_STREQ(refused.what(), "value 1 of the sample is nan; the inputs must be finite");
  }
}

// Numbers that are no longer finite: the run ends, the weights stay, and it is said why.

void expect_run_ended(Trainer<double>& trainer, const Model<double>& model, const Sample<double>& sample,
                      StepStatus cause) {
  const auto before = copy(model.parameters());
  EXPECT_EQ(trainer.step(sample).status, cause);
  EXPECT_EQ(trainer.status(), cause);
  const StepInfo later = trainer.step(sample);
  EXPECT_EQ(later.status, cause);
  EXPECT_EQ(later.step, trainer.steps());
  EXPECT_EQ(copy(model.parameters()), before);
}

TEST(NotFinite, Output) {
  Linear<double> model(1);
  model.parameters()[0] = std::numeric_limits<double>::max();
  Trainer<double> trainer(model, {});
  const std::vector<double> x{10};
  expect_run_ended(trainer, model, {{x}, 0}, StepStatus::output_not_finite);
}

TEST(NotFinite, Loss) {
  Linear<double> model(1);
  model.parameters()[0] = 1000;
  Trainer<double> trainer(model, {.loss = make_loss("poisson")});
  const std::vector<double> x{1};
  expect_run_ended(trainer, model, {{x}, 0}, StepStatus::loss_not_finite);
}

TEST(NotFinite, Sensitivity) {
  Linear<double> model(1);
  Trainer<double> trainer(model, {});
  const std::vector<double> x{1e200};
  expect_run_ended(trainer, model, {{x}, 1}, StepStatus::sensitivity_not_finite);
}

TEST(NotFinite, Coefficient) {
  Linear<double> model(1, false);
  Trainer<double> trainer(model, {.optimizer = find_optimizer("nlms")});
  const std::vector<double> x{1.5e-154};  // s = 2.25e-308, and 10 / s overflows
  expect_run_ended(trainer, model, {{x}, 10}, StepStatus::coefficient_not_finite);
}

TEST(NotFinite, StepThatIsTooLongForAFloat) {
  Linear<float> model(1);
  Trainer<float> trainer(model, {.optimizer = find_optimizer("sgd"), .schedule = Schedule::constant(10)});
  const std::vector<float> x{1};
  EXPECT_EQ(trainer.step({{x}, 1e38}).status, StepStatus::coefficient_not_finite);
  EXPECT_EQ(model.parameters()[0], 0);
}

TEST(NotFinite, StatusesHaveNames) {
  EXPECT_STREQ(to_string(StepStatus::output_not_finite), "output not finite");
  EXPECT_STREQ(to_string(StepStatus::coefficient_not_finite), "coefficient not finite");
}

// Rounding would keep a decaying moment at the smallest number there is, and every later step would be slow.
template <class T>
void expect_moments_to_vanish() {
  Linear<T> model(2, false);
  Trainer<T> trainer(model, {.optimizer = find_optimizer("adam"), .schedule = Schedule::constant(1e-3)});
  const std::vector<T> once{1, 0};
  const std::vector<T> later{0, 1};
  trainer.step({{once}, 1});
  const double decays = std::log(std::numeric_limits<T>::min()) / std::log(0.9);
  for (int i = 0; i < 2 * decays; ++i) ASSERT_EQ(trainer.step({{later}, 1}).status, StepStatus::learned);
  Checkpoint checkpoint;
  trainer.save(checkpoint);
  EXPECT_EQ(checkpoint.array<T>("transform.first-moment", 2)[0], 0);
  EXPECT_NE(checkpoint.array<T>("transform.first-moment", 2)[1], 0);
}

TEST(Moments, OfWhatIsNeverSeenAgainVanish) {
  expect_moments_to_vanish<float>();
  expect_moments_to_vanish<double>();
}

TEST(L2, ARateThatWouldShrinkPastZeroIsRefused) {
  Linear<double> model(1);
  model.parameters()[0] = 1;
  Trainer<double> trainer(model, {.optimizer = find_optimizer("sgd"), .schedule = Schedule::constant(0.5), .l2 = 2});
  const std::vector<double> x{1};
  EXPECT_THROW(trainer.step({{x}, 1}), InvalidArgument);
  EXPECT_EQ(model.parameters()[0], 1);
}

TEST(L2, PullsTheSolutionToTheRidgeRegression) {
  // Gradient steps with decreasing rate on l + lambda/2 w^2 find the ridge solution: x y / (x^2 + lambda).
  Linear<double> model(1, false);
  Trainer<double> trainer(
      model, {.optimizer = find_optimizer("sgd"), .schedule = Schedule::robbins_monro(0.2, 50), .l2 = 0.5});
  const std::vector<double> x{2};
  for (int step = 0; step < 2000; ++step) trainer.step({{x}, 3});
  EXPECT_NEAR(model.parameters()[0], 2 * 3 / (4 + 0.5), 1e-9);
}

TEST(Averaging, NeedsAStepThatHasBeenTaken) {
  Linear<double> model(1);
  Trainer<double> without(model, {});
  EXPECT_THROW(without.snapshot(Iterate::averaged), InvalidArgument);
  Trainer<double> late(model, {.average_from = 3});
  const std::vector<double> x{1};
  late.step({{x}, 1});
  late.step({{x}, 1});
  EXPECT_THROW(late.snapshot(Iterate::averaged), InvalidArgument);
  late.step({{x}, 1});
  EXPECT_EQ(copy(late.snapshot(Iterate::averaged)->parameters()), copy(model.parameters()));
}

TEST(Averaging, RemovesTheNoiseOfAConstantRate) {
  // At a constant rate IGND hovers around the solution; the mean of the iterates settles on it.
  Linear<double> model(2);
  Trainer<double> trainer(model, {.schedule = Schedule::constant(0.3), .average_from = 500});
  RandomStream stream(44, "averaging");
  for (int step = 0; step < 20000; ++step) {
    const auto x = normal_vector(stream, 2);
    trainer.step({{x}, 2 * x[0] - x[1] + 0.5 + stream.normal()});
  }
  const std::vector<double> solution{2, -1, 0.5};
  const auto distance = [&](std::span<const double> w) {
    double sum = 0;
    for (std::size_t i = 0; i < 3; ++i) sum += (w[i] - solution[i]) * (w[i] - solution[i]);
    return std::sqrt(sum);
  };
  // The noise has standard deviation 1: 20,000 samples determine three weights to about sqrt(3 / 20000) = .012.
  EXPECT_LT(distance(trainer.snapshot(Iterate::averaged)->parameters()), 0.05);
  EXPECT_GT(distance(model.parameters()), 0.1);
}

// A squared error with weight tau for targets above the prediction and 1 - tau below.
class Expectile final : public Loss {
 public:
  enum class Curvature { true_one, bound };
  Expectile(double tau, Curvature curvature) : tau_(tau), curvature_(curvature) {}
  LossAt at(double y, double f) const override {
    const double weight = y > f ? tau_ : 1 - tau_;
    const double bound = std::max(tau_, 1 - tau_);
    return {weight * (f - y) * (f - y) / 2, weight * (f - y), curvature_ == Curvature::bound ? bound : weight};
  }
  std::string spec() const override { return "expectile"; }

 private:
  double tau_;
  Curvature curvature_;
};

// Gauss-Newton divides by the curvature: if that is the side's weight it finds the mean, where gradient steps, and
// steps with a bound on the curvature, find the expectile.
TEST(Limits, CurvatureThatDependsOnTheTargetCancelsInTheStep) {
  using Curvature = Expectile::Curvature;
  const AdviceHandler before = set_advice_handler({});
  const auto settled = [](const char* rule, Curvature curvature) {
    Linear<double> model(0);
    Trainer<double> trainer(model, {.loss = std::make_shared<Expectile>(0.9, curvature),
                                    .optimizer = {rule, "plain"},
                                    .schedule = Schedule::robbins_monro(1, 10)});
    RandomStream stream(47, "limits");
    for (int step = 0; step < 20000; ++step) trainer.step({{}, stream.normal()});
    return model.parameters()[0];
  };
  // 20,000 samples of N(0, 1) fix either number to about .01; the expectile of N(0, 1) is .862.
  EXPECT_NEAR(settled("gauss-newton", Curvature::true_one), 0, 0.05);
  EXPECT_NEAR(settled("gradient", Curvature::true_one), 0.862, 0.05);
  EXPECT_NEAR(settled("gauss-newton", Curvature::bound), 0.862, 0.05);
  set_advice_handler(before);
}

// Where weights cancel, a trainer says so when it is made: once for all trainers, by whatever handler there is.
TEST(LossAdvice, IsGivenOnceWhereWeightsCancel) {
  using Curvature = Expectile::Curvature;
  std::vector<std::string> heard;
  const AdviceHandler before = set_advice_handler([&](const std::string& advice) { heard.push_back(advice); });
  const auto make = [](double tau, Curvature curvature, const char* rule) {
    Linear<double> model(1);
    const auto loss = std::make_shared<Expectile>(tau, curvature);
    const Trainer<double> trainer(model, {.loss = loss, .optimizer = {rule, "plain"}});
    for (const BatchOptions& batch : {BatchOptions{.size = 4}, BatchOptions{.size = 4, .mode = BatchMode::exact}}) {
      if (batch.mode == BatchMode::exact && !make_step_rule(rule)->damping()) continue;
      const BatchTrainer<double> batches(model,
                                         {.loss = as_vector_loss(loss), .optimizer = {rule, "plain"}, .batch = batch});
    }
  };
  make(0.8, Curvature::bound, "gauss-newton");
  make(0.8, Curvature::true_one, "gradient");
  make(0.8, Curvature::true_one, "normalized");
  make(0.5, Curvature::true_one, "gauss-newton");
  EXPECT_EQ(heard, std::vector<std::string>());
  for (int again = 0; again < 3; ++again) make(0.8, Curvature::true_one, "gauss-newton");
  ASSERT_EQ(heard.size(), 1U);
  EXPECT_NE(heard[0].find("'expectile'"), std::string::npos) << heard[0];
  EXPECT_NE(heard[0].find("'gradient'"), std::string::npos) << heard[0];
  set_advice_handler([](const std::string& advice) { throw InvalidArgument(advice); });
  EXPECT_THROW(make(0.7, Curvature::true_one, "gauss-newton"), InvalidArgument);
  set_advice_handler(before);
}

TEST(Limits, PoissonSettlesOnTheMean) {
  Linear<double> model(0);
  Trainer<double> trainer(model, {.loss = make_loss("poisson:largest=10"), .schedule = Schedule::robbins_monro(3, 10)});
  RandomStream stream(48, "limits");
  for (int step = 0; step < 50000; ++step) trainer.step({{}, stream.below(2) == 0 ? 0.0 : 2.0});
  EXPECT_NEAR(std::exp(model.parameters()[0]), 1, 0.03);
}

// Learning, with fixed seeds.

TEST(Learning, LinearModelFindsTheExactSolution) {
  RandomStream stream(45, "learning");
  const auto truth = normal_vector(stream, 5);
  for (const char* optimizer : {"ignd", "nlms", "sps"}) {
    Linear<double> model(4);
    Trainer<double> trainer(model, {.optimizer = find_optimizer(optimizer), .schedule = Schedule::constant(1)});
    for (int step = 0; step < 2000; ++step) {
      const auto x = normal_vector(stream, 4);
      double y = truth[4];
      for (std::size_t i = 0; i < 4; ++i) y += truth[i] * x[i];
      trainer.step({{x}, y});
    }
    // Without noise each step projects onto the samples' solution set: convergence is geometric.
    EXPECT_LT(largest_difference(model.parameters(), truth), 1e-10) << optimizer;
  }
}

TEST(Learning, NetworkFitsASine) {
  // The sine's own mean square is .45. A network that has its shape is ten times below, one with the details a
  // hundred times.
  const std::vector<std::tuple<std::string, double, double>> cases{{"ignd", 0.3, 0.045}, {"adam-ignd", 1e-3, 4.5e-3}};
  for (const auto& [optimizer, rate, bound] : cases) {
    Mlp<float> model({1, 32, 32}, {.seed = 7});
    Trainer<float> trainer(model, {.optimizer = find_optimizer(optimizer), .schedule = Schedule::cosine(rate, 20000)});
    RandomStream stream(46, "learning");
    for (int step = 0; step < 20000; ++step) {
      const std::vector<float> x{static_cast<float>(stream.uniform(-3, 3))};
      trainer.step({{x}, std::sin(x[0])});
    }
    double squared = 0;
    for (int i = -30; i <= 30; ++i) {
      const std::vector<float> x{static_cast<float>(i) / 10};
      const double error = model.predict({x}) - std::sin(static_cast<double>(x[0]));
      squared += error * error / 61;
    }
    EXPECT_LT(squared, bound) << optimizer;
  }
}

}  // namespace
}  // namespace ignd::testing
