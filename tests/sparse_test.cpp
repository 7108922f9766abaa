// Rows that nobody reads are brought up to date later: a run on sparse features equals the run on the same features
// written out densely.
#include "dense_reference.hpp"

#include <gtest/gtest.h>

namespace ignd::testing {
namespace {

constexpr std::size_t features = 16;

struct Runs {
  HashedLinear<double> sparse{4};
  Linear<double> dense{features};
};

// Few features per sample, so that rows are idle for long; some are read only once, at the start and at the end.
RandomInput rare_input(RandomStream& stream, int step, int last) {
  RandomInput x(stream, 0, true);
  x.dense.assign(features, 0);
  const auto put = [&](std::uint32_t i, double value) {
    x.dense[i] = value;
    x.index.push_back(i);
    x.values.push_back(value);
  };
  if (step == 0 || step == last) put(0, 1.5);
  const auto i = static_cast<std::uint32_t>(1 + stream.below(features - 1));
  put(i, stream.normal());
  return x;
}

struct Setting {
  std::string rule;
  std::string transform;
  Schedule schedule = Schedule::constant(0.02);
  std::uint64_t average_from = 0;
  double l2 = 0;
  double scale = 1;  // of the inputs
  PreconditionerKind preconditioner = PreconditionerKind::identity;
};

void expect_same_run(const Setting& setting, double tolerance) {
  SCOPED_TRACE(setting.rule + " " + setting.transform + " " + setting.schedule.spec());
  Runs runs;
  const TrainerOptions options{.optimizer = {setting.rule, setting.transform},
                               .schedule = setting.schedule,
                               .l2 = setting.l2,
                               .preconditioner = setting.preconditioner,
                               .average_from = setting.average_from};
  Trainer<double> sparse(runs.sparse, options);
  Trainer<double> dense(runs.dense, options);
  RandomStream stream(21, "sparse");
  const int last = 1000;
  for (int step = 0; step <= last; ++step) {
    RandomInput x = rare_input(stream, step, last);
    for (double& value : x.values) value *= setting.scale;
    for (double& value : x.dense) value *= setting.scale;
    const double y = stream.normal();
    const StepInfo a = sparse.step({x.input(), y});
    const StepInfo b = dense.step({{x.dense}, y});
    ASSERT_NEAR(a.prediction, b.prediction, tolerance * std::max(1.0, std::abs(b.prediction))) << "at step " << step;
  }
  EXPECT_LE(largest_difference(sparse.snapshot()->parameters(), runs.dense.parameters()), tolerance);
  if (setting.average_from != 0) {
    EXPECT_LE(largest_difference(sparse.snapshot(Iterate::averaged)->parameters(),
                                 dense.snapshot(Iterate::averaged)->parameters()),
              tolerance);
  }
}

// Missed steps are added up instead of taken one by one: the same to rounding.
constexpr double rounding = 1e-11;

class EveryTransform : public ::testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(All, EveryTransform, ::testing::ValuesIn(transform_names()),
                         [](const auto& name) { return name.param; });

TEST_P(EveryTransform, EqualsTheDenseRun) {
  for (const auto& rule : step_rule_names()) expect_same_run({.rule = rule, .transform = GetParam()}, rounding);
}

TEST_P(EveryTransform, EqualsTheDenseRunUnderASchedule) {
  expect_same_run({"gauss-newton", GetParam(), Schedule::cosine(0.1, 800, 0.01).with_warmup(50)}, rounding);
  expect_same_run({"gradient", GetParam(), Schedule::robbins_monro(0.1, 100, 0.7)}, rounding);
}

TEST_P(EveryTransform, EqualsTheDenseRunWithAveraging) {
  expect_same_run({.rule = "gauss-newton", .transform = GetParam(), .average_from = 1}, rounding);
  expect_same_run({.rule = "gauss-newton", .transform = GetParam(), .average_from = 400}, rounding);
}

TEST_P(EveryTransform, EqualsTheDenseRunForTinyGradients) {
  // With directions of 1e-8 Adam's epsilon is as large as the square root of its second moment.
  expect_same_run({.rule = "gradient", .transform = GetParam(), .scale = 1e-8}, rounding);
}

TEST_P(EveryTransform, EqualsTheDenseRunUnderAMetric) {
  expect_same_run(
      {.rule = "gauss-newton", .transform = GetParam(), .preconditioner = PreconditionerKind::second_moment}, rounding);
}

// A network with a layer that is large enough for its rows to wait.
struct LargeNetwork {
  std::vector<std::size_t> widths;
  Activation activation;
  std::uint64_t inputs_per_active_one;
  const char* stamps;  // of the large layer, in a checkpoint
  std::size_t rows;
};

// Averaging looks at every row at every step, so that with it nothing waits: that is the dense run.
template <class T>
std::vector<double> network_after(const LargeNetwork& network, const std::string& transform, const std::string& loss,
                                  bool dense) {
  Mlp<T> model(network.widths, {.activation = network.activation, .seed = 3});
  Trainer<T> trainer(model, {.loss = make_loss(loss),
                             .optimizer = {"gradient", transform},
                             .schedule = Schedule::constant(1e-4),
                             .average_from = dense ? 1U : 0U});
  RandomStream stream(22, "network");
  for (int step = 0; step < 1000; ++step) {
    auto x = normal_vector<T>(stream, network.widths[0]);
    for (T& input : x) input = stream.below(network.inputs_per_active_one) == 0 ? input : T{0};
    trainer.step({{x}, static_cast<double>(x[0] * x[1] + x[2])});
  }
  Checkpoint saved;
  trainer.save(saved);
  const std::size_t waiting = make_transform<T>(transform)->drifts() && !dense ? network.rows : 0;
  EXPECT_NO_THROW(saved.array<std::uint64_t>(network.stamps, waiting)) << transform;
  const auto last = trainer.snapshot();
  return {last->parameters().begin(), last->parameters().end()};
}

// With this delta all derivatives of the loss are 1e-8, Adam's epsilon.
const std::vector<std::string> losses{"squared", "huber:delta=1e-8"};

TEST_P(EveryTransform, DeadUnitsAreCaughtUpInANetwork) {
  const LargeNetwork network{{4, 256, 400, 8}, Activation::relu, 1, "rows.1.stamp", 257};
  for (const std::string& loss : losses) {
    EXPECT_LT(largest_difference(network_after<double>(network, GetParam(), loss, false),
                                 network_after<double>(network, GetParam(), loss, true)),
              1e-9)
        << loss;
  }
}

// In float a unit may be at its kink to rounding, and active in one run alone: here inputs come and go, and units do
// not.
TEST_P(EveryTransform, RowsOfAbsentInputsAreCaughtUpInANetworkInFloat) {
  const LargeNetwork network{{399, 256}, Activation::tanh, 10, "rows.0.stamp", 400};
  for (const std::string& loss : losses) {
    EXPECT_LT(largest_difference(network_after<float>(network, GetParam(), loss, false),
                                 network_after<float>(network, GetParam(), loss, true)),
              1e-5)
        << loss;
  }
}

// Past the point where Adam's corrections are one, rows that were last read before it and rows read just now are caught
// up side by side.
TEST(Adam, RowsFromBeforeTheCorrectionsSettledAreCaughtUpAmongLaterOnes) {
  for (const char* transform : {"adam:beta1=0,beta2=0", "adam:beta2=0.9", "adam:beta1=0.5,beta2=0.9", "adamw:beta2=0.9",
                                "adam:beta1=0.95,beta2=0.9"}) {
    for (const Schedule& schedule : {Schedule::constant(1e-3), Schedule::constant(1e-3).with_warmup(300)}) {
      SCOPED_TRACE(std::string(transform) + " " + schedule.spec());
      Runs runs;
      const TrainerOptions options{.optimizer = {"gradient", transform}, .schedule = schedule};
      Trainer<double> sparse(runs.sparse, options);
      Trainer<double> dense(runs.dense, options);
      RandomStream stream(23, "sparse");
      for (int step = 0; step < 1500; ++step) {
        std::vector<double> x(features);
        // Feature k is read at steps below 10 k and again from 1000 on; feature 15 always.
        for (std::size_t k = 0; k < features; ++k) {
          if (step < 10 * static_cast<int>(k) || (step >= 1000 && stream.below(40) == 0) || k == 15)
            x[k] = stream.normal();
        }
        std::vector<std::uint32_t> index;
        std::vector<double> values;
        for (std::uint32_t k = 0; k < features; ++k) {
          if (x[k] == 0) continue;
          index.push_back(k);
          values.push_back(x[k]);
        }
        const double y = stream.normal();
        sparse.step({{values, index}, y});
        dense.step({{x}, y});
      }
      EXPECT_LT(largest_difference(sparse.snapshot()->parameters(), runs.dense.parameters()), rounding);
    }
  }
}

TEST(L2, EqualsTheDenseRunToRounding) {
  for (const auto preconditioner : {PreconditionerKind::identity, PreconditionerKind::second_moment}) {
    expect_same_run({.rule = "gradient", .transform = "plain", .l2 = 0.1, .preconditioner = preconditioner}, rounding);
    expect_same_run({.rule = "gauss-newton", .transform = "plain", .l2 = 0.1, .preconditioner = preconditioner},
                    rounding);
  }
}

}  // namespace
}  // namespace ignd::testing
