#include "dense_reference.hpp"

#include <gtest/gtest.h>

namespace ignd::testing {
namespace {

constexpr std::size_t features = 6;
constexpr int steps = 300;

// +-10^U(-4, 4) for each feature
std::vector<double> random_scales(RandomStream& stream) {
  std::vector<double> scales(features);
  for (double& s : scales) s = std::pow(10, stream.uniform(-4, 4)) * (stream.below(2) == 0 ? 1 : -1);
  return scales;
}

// All predictions of a run in which feature i is multiplied by scales[i] and the weights that multiply it start
// divided by it, so that the first prediction is the same.
std::vector<double> predictions(const std::string& spec, const TrainerOptions& options,
                                const std::vector<double>& scales) {
  const auto model = make_model<double>(spec);
  const bool sparse = spec.starts_with("hashed");
  const std::size_t per_input = spec.starts_with("mlp") ? 8 : 1;
  for (std::size_t i = 0; i < features * per_input; ++i) model->parameters()[i] /= scales[i / per_input];
  Trainer<double> trainer(*model, options);
  RandomStream stream(31, "metric");
  std::vector<double> all;
  for (int step = 0; step < steps; ++step) {
    RandomInput x(stream, features, sparse);
    for (std::size_t k = 0; k < x.values.size(); ++k) x.values[k] *= scales[sparse ? x.index[k] : k];
    const double y = random_target(*options.loss, stream);
    all.push_back(trainer.step({x.input(), y}).prediction);
  }
  return all;
}

TrainerOptions with_metric(const std::string& loss, PreconditionerKind preconditioner) {
  return {.loss = make_loss(loss), .schedule = Schedule::constant(0.3), .preconditioner = preconditioner};
}

class EveryModel : public ::testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(All, EveryModel,
                         ::testing::Values("linear:features=6", "hashed-linear:bits=3",
                                           "mlp:widths=6x8x3,activation=relu", "mlp:widths=6x8,activation=tanh"),
                         [](const auto& spec) { return "model" + std::to_string(spec.index); });

TEST_P(EveryModel, MetricMakesPredictionsIndependentOfEachFeaturesScale) {
  RandomStream stream(32, "metric");
  for (const char* loss : {"squared", "logistic", "huber"}) {
    const TrainerOptions options = with_metric(loss, PreconditionerKind::second_moment);
    const auto plain = predictions(GetParam(), options, std::vector<double>(features, 1));
    for (int trial = 0; trial < 3; ++trial) {
      // The scaled run rounds differently; nothing but rounding may differ.
      EXPECT_LT(largest_difference(predictions(GetParam(), options, random_scales(stream)), plain), 1e-8) << loss;
    }
  }
}

TEST_P(EveryModel, SoDoesTheFadingMetric) {
  RandomStream stream(37, "metric");
  const TrainerOptions options = with_metric("squared", PreconditionerKind::fading_second_moment);
  const auto plain = predictions(GetParam(), options, std::vector<double>(features, 1));
  EXPECT_LT(largest_difference(predictions(GetParam(), options, random_scales(stream)), plain), 1e-8);
}

TEST(Preconditioner, FadingDividesByTheRootOfHowOftenAnInputWasSeen) {
  HashedLinear<double> model(4, false);
  Trainer<double> trainer(model, {.preconditioner = PreconditionerKind::fading_second_moment});
  const std::vector<double> two{2, 2};
  const std::vector<std::uint32_t> often{3}, both{3, 5};
  for (int step = 1; step <= 8; ++step) {
    EXPECT_DOUBLE_EQ(trainer.step({{std::span(two).first(1), often}, 1}).sensitivity, 1 / std::sqrt(step));
  }
  EXPECT_DOUBLE_EQ(trainer.step({{two, both}, 1}).sensitivity, 1 / std::sqrt(9.0) + 1);
}

// The weight learned from a first value near zero is huge; the next value is of another size, and takes it back.
TEST(Preconditioner, FadingScalesAWeightDownWhenItsInputTurnsOutToBeLarger) {
  Linear<double> model(1, false);
  Trainer<double> trainer(model, with_metric("squared", PreconditionerKind::fading_second_moment));
  const std::vector<double> tiny{1e-6};
  const std::vector<double> usual{2};
  trainer.step({{tiny}, 1});
  const double learned = model.parameters()[0];
  EXPECT_GT(learned, 1e5);
  // The mean square grows from 1e-12 to the mean of 1e-12 and 4.
  const double expected = learned * 1e-12 / ((1e-12 + 4) / 2) * 2;
  EXPECT_NEAR(trainer.step({{usual}, 1}).prediction, expected, 1e-12 * std::abs(expected));
  // A value that is not larger than those before leaves the weight alone.
  const double kept = model.parameters()[0];
  EXPECT_EQ(trainer.step({{std::vector<double>{1.5}}, 0}).prediction, 1.5 * kept);
}

TEST(Preconditioner, AStepThatIsNotTakenGivesTheWeightBack) {
  Linear<double> model(1, false);
  Trainer<double> trainer(model, with_metric("squared", PreconditionerKind::fading_second_moment));
  trainer.step({{std::vector<double>{1e-6}}, 1});
  const double learned = model.parameters()[0];
  const std::vector<double> larger{2};
  EXPECT_EQ(trainer.step({{larger}, 1, 0}).status, StepStatus::zero_weight);
  EXPECT_EQ(model.parameters()[0], learned);
  const std::vector<double> bad{std::numeric_limits<double>::quiet_NaN()};
  EXPECT_THROW(trainer.step({{bad}, 1}), BadSample);
  EXPECT_EQ(model.parameters()[0], learned);
}

TEST(Preconditioner, FadingRefusesL2) {
  Linear<double> model(1);
  EXPECT_THROW(Trainer<double>(model, {.l2 = 0.1, .preconditioner = PreconditionerKind::fading_second_moment}),
               InvalidArgument);
}

TEST_P(EveryModel, WithoutMetricTheyDoDependOnIt) {
  RandomStream stream(33, "metric");
  const TrainerOptions options = with_metric("squared", PreconditionerKind::identity);
  const auto plain = predictions(GetParam(), options, std::vector<double>(features, 1));
  EXPECT_GT(largest_difference(predictions(GetParam(), options, random_scales(stream)), plain), 1e-2);
}

TEST(Preconditioner, InputsOfZeroAndOneAreLeftAsTheyAre) {
  // One-hot features have mean square 1 wherever they are present.
  HashedLinear<double> with(4);
  HashedLinear<double> without(4);
  Trainer<double> a(with, {.preconditioner = PreconditionerKind::second_moment});
  Trainer<double> b(without, {});
  RandomStream stream(34, "metric");
  const std::vector<double> one{1, 1};
  for (int step = 0; step < 200; ++step) {
    const auto first = static_cast<std::uint32_t>(stream.below(8));
    const std::vector<std::uint32_t> index{first, first + 8};
    const double y = stream.normal();
    ASSERT_EQ(a.step({{one, index}, y}).prediction, b.step({{one, index}, y}).prediction);
  }
}

TEST(Preconditioner, AFeatureThatIsAlwaysZeroHurtsNobody) {
  Linear<double> model(2);
  Trainer<double> trainer(model, {.preconditioner = PreconditionerKind::second_moment});
  RandomStream stream(35, "metric");
  for (int step = 0; step < 100; ++step) {
    const std::vector<double> x{stream.normal(), 0};
    ASSERT_EQ(trainer.step({{x}, 1}).status, StepStatus::learned);
  }
  EXPECT_EQ(model.parameters()[1], 0);
}

TEST(Preconditioner, SensitivityIsMeasuredInTheMetric) {
  Linear<double> model(2);
  Trainer<double> trainer(model, {.preconditioner = PreconditionerKind::second_moment});
  const std::vector<double> x{1000, 0.001};
  // Each feature alone has been seen once: x^2 / x^2 = 1 each, and 1 for the bias.
  EXPECT_DOUBLE_EQ(trainer.step({{x}, 1}).sensitivity, 3);
}

TEST(Preconditioner, ARefusedStepLeavesNoTrace) {
  Linear<double> model(1);
  Trainer<double> trainer(model, {.optimizer = find_optimizer("sgd"),
                                  .schedule = Schedule::constant(2),
                                  .l2 = 1,
                                  .preconditioner = PreconditionerKind::second_moment});
  const std::vector<double> x{1};
  EXPECT_THROW(trainer.step({{x}, 1}), InvalidArgument);
  Checkpoint checkpoint;
  trainer.save(checkpoint);
  EXPECT_EQ(checkpoint.array<std::uint64_t>("metric.seen", 1)[0], 0U);
}

TEST(Preconditioner, AnInputWhoseSquareOverflowsEndsTheRun) {
  Linear<double> model(1, false);
  Trainer<double> trainer(model, {.preconditioner = PreconditionerKind::second_moment});
  const std::vector<double> x{1e200};
  EXPECT_EQ(trainer.step({{x}, 1}).status, StepStatus::sensitivity_not_finite);
}

TEST(Preconditioner, ScaledTransformsAreInvariantToo) {
  // Plain steps are; Adam sees c P j, which still carries 1 / scale, and so is not: stated, not hidden.
  RandomStream stream(36, "metric");
  const auto scales = random_scales(stream);
  TrainerOptions options = with_metric("squared", PreconditionerKind::second_moment);
  options.optimizer = {"gauss-newton", "momentum"};
  options.schedule = Schedule::constant(0.05);
  const std::vector<double> ones(features, 1);
  const std::string linear = "linear:features=6";
  EXPECT_LT(largest_difference(predictions(linear, options, scales), predictions(linear, options, ones)), 1e-8);
  options.optimizer = {"gauss-newton", "adam"};
  EXPECT_GT(largest_difference(predictions(linear, options, scales), predictions(linear, options, ones)), 1e-2);
}

}  // namespace
}  // namespace ignd::testing
