#include "dense_reference.hpp"

#include <gtest/gtest.h>

namespace ignd::testing {
namespace {

constexpr std::size_t features = 6;
constexpr int steps = 300;

// +-10^U(-4, 4) for each feature
std::vector<double> random_scales(Stream& stream) {
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
  Stream stream(31, "metric");
  std::vector<double> all;
  for (int step = 0; step < steps; ++step) {
    RandomInput x(stream, features, sparse);
    for (std::size_t k = 0; k < x.values.size(); ++k) x.values[k] *= scales[sparse ? x.index[k] : k];
    const double y = random_target(*options.loss, stream);
    all.push_back(trainer.step({x.input(), y}).prediction);
  }
  return all;
}

TrainerOptions with_metric(const std::string& loss, MetricKind metric) {
  return {.loss = make_loss(loss), .schedule = Schedule::constant(0.3), .metric = metric};
}

class EveryModel : public ::testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(All, EveryModel,
                         ::testing::Values("linear:features=6", "hashed-linear:bits=3",
                                           "mlp:widths=6x8x3,activation=relu", "mlp:widths=6x8,activation=tanh"),
                         [](const auto& spec) { return "model" + std::to_string(spec.index); });

TEST_P(EveryModel, MetricMakesPredictionsIndependentOfEachFeaturesScale) {
  Stream stream(32, "metric");
  for (const char* loss : {"squared", "logistic", "huber"}) {
    const TrainerOptions options = with_metric(loss, MetricKind::second_moment);
    const auto plain = predictions(GetParam(), options, std::vector<double>(features, 1));
    for (int trial = 0; trial < 3; ++trial) {
      // The scaled run rounds differently; nothing but rounding may differ.
      EXPECT_LT(largest_difference(predictions(GetParam(), options, random_scales(stream)), plain), 1e-8) << loss;
    }
  }
}

TEST_P(EveryModel, SoDoesTheFadingMetric) {
  Stream stream(37, "metric");
  const TrainerOptions options = with_metric("squared", MetricKind::fading_second_moment);
  const auto plain = predictions(GetParam(), options, std::vector<double>(features, 1));
  EXPECT_LT(largest_difference(predictions(GetParam(), options, random_scales(stream)), plain), 1e-8);
}

TEST(Metric, FadingDividesByTheRootOfHowOftenAnInputWasSeen) {
  HashedLinear<double> model(4, false);
  Trainer<double> trainer(model, {.metric = MetricKind::fading_second_moment});
  const std::vector<double> two{2, 2};
  const std::vector<std::uint32_t> often{3}, both{3, 5};
  for (int step = 1; step <= 8; ++step) {
    EXPECT_DOUBLE_EQ(trainer.step({{std::span(two).first(1), often}, 1}).sensitivity, 1 / std::sqrt(step));
  }
  EXPECT_DOUBLE_EQ(trainer.step({{two, both}, 1}).sensitivity, 1 / std::sqrt(9.0) + 1);
}

TEST(Metric, FadingRefusesL2) {
  Linear<double> model(1);
  EXPECT_THROW(Trainer<double>(model, {.l2 = 0.1, .metric = MetricKind::fading_second_moment}), InvalidArgument);
}

TEST_P(EveryModel, WithoutMetricTheyDoDependOnIt) {
  Stream stream(33, "metric");
  const TrainerOptions options = with_metric("squared", MetricKind::identity);
  const auto plain = predictions(GetParam(), options, std::vector<double>(features, 1));
  EXPECT_GT(largest_difference(predictions(GetParam(), options, random_scales(stream)), plain), 1e-2);
}

TEST(Metric, InputsOfZeroAndOneAreLeftAsTheyAre) {
  // One-hot features have mean square 1 wherever they are present.
  HashedLinear<double> with(4);
  HashedLinear<double> without(4);
  Trainer<double> a(with, {.metric = MetricKind::second_moment});
  Trainer<double> b(without, {});
  Stream stream(34, "metric");
  const std::vector<double> one{1, 1};
  for (int step = 0; step < 200; ++step) {
    const auto first = static_cast<std::uint32_t>(stream.below(8));
    const std::vector<std::uint32_t> index{first, first + 8};
    const double y = stream.normal();
    ASSERT_EQ(a.step({{one, index}, y}).prediction, b.step({{one, index}, y}).prediction);
  }
}

TEST(Metric, AFeatureThatIsAlwaysZeroHurtsNobody) {
  Linear<double> model(2);
  Trainer<double> trainer(model, {.metric = MetricKind::second_moment});
  Stream stream(35, "metric");
  for (int step = 0; step < 100; ++step) {
    const std::vector<double> x{stream.normal(), 0};
    ASSERT_EQ(trainer.step({{x}, 1}).status, StepStatus::learned);
  }
  EXPECT_EQ(model.parameters()[1], 0);
}

TEST(Metric, SensitivityIsMeasuredInTheMetric) {
  Linear<double> model(2);
  Trainer<double> trainer(model, {.metric = MetricKind::second_moment});
  const std::vector<double> x{1000, 0.001};
  // Each feature alone has been seen once: x^2 / x^2 = 1 each, and 1 for the bias.
  EXPECT_DOUBLE_EQ(trainer.step({{x}, 1}).sensitivity, 3);
}

TEST(Metric, ARefusedStepLeavesNoTrace) {
  Linear<double> model(1);
  Trainer<double> trainer(model, {.optimizer = find_optimizer("sgd"),
                                  .schedule = Schedule::constant(2),
                                  .l2 = 1,
                                  .metric = MetricKind::second_moment});
  const std::vector<double> x{1};
  EXPECT_THROW(trainer.step({{x}, 1}), InvalidArgument);
  Checkpoint checkpoint;
  trainer.save(checkpoint);
  EXPECT_EQ(checkpoint.array<std::uint64_t>("metric.seen", 1)[0], 0U);
}

TEST(Metric, AnInputWhoseSquareOverflowsEndsTheRun) {
  Linear<double> model(1, false);
  Trainer<double> trainer(model, {.metric = MetricKind::second_moment});
  const std::vector<double> x{1e200};
  EXPECT_EQ(trainer.step({{x}, 1}).status, StepStatus::sensitivity_not_finite);
}

TEST(Metric, ScaledTransformsAreInvariantToo) {
  // Plain steps are; Adam sees c P j, which still carries 1 / scale, and so is not: stated, not hidden.
  Stream stream(36, "metric");
  const auto scales = random_scales(stream);
  TrainerOptions options = with_metric("squared", MetricKind::second_moment);
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
