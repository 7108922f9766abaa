#include "core/idle_steps.hpp"
#include "dense_reference.hpp"

#include <gtest/gtest.h>

namespace ignd::testing {
namespace {

constexpr double alpha = 0.01;

// A single weight under a constant direction g for n steps.
double after(const std::string& spec, double g, int n, double start = 0) {
  const auto transform = make_transform<double>(spec);
  auto state = transform->initial_state(1);
  std::vector<double> w{start};
  const std::vector<double> one{1};
  const Sensitivity<double> j{Dense<double>{0, one}};
  for (int t = 1; t <= n; ++t)
    transform->apply(w, state, j, j, {.t = static_cast<std::uint64_t>(t), .alpha = alpha, .c = g, .s = 1});
  return w[0];
}

TEST(Transform, ConstantDirectionGivesTheClosedForms) {
  const double g = 0.7;
  const int n = 25;
  const double steps = n;
  // The sums of the geometric series that each recursion is under a constant direction.
  const double beta = 0.9;
  const double beta_n = std::pow(beta, n);
  const double momentum = (steps - beta * (1 - beta_n) / (1 - beta)) / (1 - beta);
  EXPECT_NEAR(after("plain", g, n), -alpha * g * steps, 1e-14);
  EXPECT_NEAR(after("momentum", g, n), -alpha * g * momentum, 1e-13);
  EXPECT_NEAR(after("nesterov", g, n), -alpha * g * (steps + beta * momentum), 1e-13);
  // Bias-corrected moments of a constant are the constant and its square from the first step on.
  EXPECT_NEAR(after("adam", g, n), -alpha * steps * g / (g + 1e-8), 1e-13);
  double adagrad = 0;
  double rmsprop = 0;
  for (int t = 1; t <= n; ++t) {
    adagrad -= alpha * g / (g * std::sqrt(t) + 1e-10);
    rmsprop -= alpha * g / (g * std::sqrt(1 - std::pow(0.9, t)) + 1e-8);
  }
  EXPECT_NEAR(after("adagrad", g, n), adagrad, 1e-13);
  EXPECT_NEAR(after("rmsprop", g, n), rmsprop, 1e-13);
  // Zeiler's first step: sqrt(eps) / sqrt(.05 g^2 + eps) g.
  EXPECT_NEAR(after("adadelta", g, 1), -alpha * std::sqrt(1e-6 / (0.05 * g * g + 1e-6)) * g, 1e-15);
  // Without a direction AdamW is pure decay; with decay 0 it is Adam.
  EXPECT_NEAR(after("adamw:decay=0.5", 0, n, 3), 3 * std::pow(1 - alpha * 0.5, n), 1e-13);
  EXPECT_EQ(after("adamw:decay=0", g, n), after("adam", g, n));
}

TEST(Transform, AdamStepsDoNotDependOnTheScaleOfTheDirection) {
  EXPECT_NEAR(after("adam:eps=0", 1e-3, 10), after("adam:eps=0", 1e3, 10), 1e-14);
}

TEST(Transform, AdamIgndIsAdamFedWithTheScaledGradient) {
  RandomStream stream(11, "transform");
  Mlp<double> model({3, 5, 4}, {.activation = Activation::tanh, .seed = 4});
  const auto fed = model.clone();
  const auto rule = make_step_rule("gauss-newton");
  const auto loss = make_loss("logistic");
  // The paper's Adam, written out: moments of the scaled gradient xi * l_f * j as one flat vector.
  std::vector<double> m(model.parameters().size());
  std::vector<double> v(m.size());
  Trainer<double> trainer(
      model, {.loss = loss, .optimizer = find_optimizer("adam-ignd"), .schedule = Schedule::constant(alpha)});
  for (int t = 1; t <= 100; ++t) {
    const auto x = normal_vector(stream, 3);
    const double y = random_target(*loss, stream);
    trainer.step({{x}, y});

    const auto j = flat_sensitivity(*fed, {x});
    double s = 0;
    for (const double e : j) s += e * e;
    const double p = 1 / (1 + std::exp(-fed->predict({x})));
    const double xi = 1 / ((p * (1 - p) + 1e-2) * s + 1e-5);
    for (std::size_t i = 0; i < j.size(); ++i) {
      const double g = xi * (p - y) * j[i];
      m[i] = 0.9 * m[i] + 0.1 * g;
      v[i] = 0.999 * v[i] + 0.001 * g * g;
      const double first = m[i] / (1 - std::pow(0.9, t));
      const double second = v[i] / (1 - std::pow(0.999, t));
      fed->parameters()[i] -= alpha * first / (std::sqrt(second) + 1e-8);
    }
    ASSERT_LT(largest_difference(model.parameters(), fed->parameters()), 1e-10) << "at step " << t;
  }
}

class EveryTransform : public ::testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(All, EveryTransform, ::testing::ValuesIn(transform_names()),
                         [](const auto& name) { return name.param; });

// The same numbers as one outer product, one dense vector and rows of a table give the same weights, bit by bit; and
// cutting a vector into blocks changes nothing: the step is counted once, not once per block.
TEST_P(EveryTransform, TreatsAllFormsAlike) {
  RandomStream stream(12, "transform");
  const auto transform = make_transform<double>(GetParam());
  const std::vector<std::uint32_t> all_rows{0, 1, 2};
  auto outer = normal_vector(stream, 12);
  auto dense = outer;
  auto rows = outer;
  auto pieces = outer;
  auto outer_state = transform->initial_state(12);
  auto dense_state = outer_state;
  auto rows_state = outer_state;
  auto pieces_state = outer_state;
  for (std::uint64_t t = 1; t <= 20; ++t) {
    // Powers of two, so that c * u * v has the same bits whatever is multiplied first.
    std::vector<double> u(3);
    for (double& e : u) e = std::ldexp(1.0, static_cast<int>(stream.below(5)) - 2);
    const auto v = normal_vector(stream, 4);
    std::vector<double> flat;
    for (const double a : u) {
      for (const double b : v) flat.push_back(a * b);
    }
    const Step step{.t = t, .alpha = alpha, .c = stream.normal(), .decay = 0.125};
    const std::span<const double> whole = flat;
    const Sensitivity<double> as_outer{Outer<double>{0, u, v, all_rows}};
    const Sensitivity<double> as_dense{Dense<double>{0, whole}};
    const Sensitivity<double> as_rows{SparseRows<double>{0, 4, all_rows, whole}};
    const Sensitivity<double> as_pieces{Dense<double>{0, whole.first(5)}, Dense<double>{5, whole.subspan(5)}};
    const double h = transform->apply(outer, outer_state, as_outer, as_outer, step);
    EXPECT_NEAR(transform->apply(dense, dense_state, as_dense, as_dense, step), h, 1e-14);
    EXPECT_NEAR(transform->apply(rows, rows_state, as_rows, as_rows, step), h, 1e-14);
    EXPECT_NEAR(transform->apply(pieces, pieces_state, as_pieces, as_pieces, step), h, 1e-14);
  }
  EXPECT_EQ(outer, dense);
  EXPECT_EQ(outer, rows);
  EXPECT_EQ(outer, pieces);
  EXPECT_EQ(outer_state, dense_state);
  EXPECT_EQ(outer_state, rows_state);
  EXPECT_EQ(outer_state, pieces_state);
}

// Steps without a direction, one by one and all at once; also where Adam's epsilon is no longer small.
TEST_P(EveryTransform, IdleStepsAddUpToStepsWithoutDirection) {
  const auto transform = make_transform<double>(GetParam());
  for (const Schedule& schedule :
       {Schedule::constant(alpha), Schedule::cosine(alpha, 300), Schedule::robbins_monro(alpha, 20).with_warmup(9)}) {
    for (const double size : {1.0, 1e-4, 1e-8}) {
      for (const std::uint64_t count : {1, 2, 7, 40, 1000}) {
        SCOPED_TRACE(schedule.spec() + " size " + std::to_string(size) + " count " + std::to_string(count));
        RandomStream stream(13, "transform");
        auto stepped = normal_vector(stream, 6);
        auto stepped_state = transform->initial_state(6);
        const auto j = normal_vector(stream, 6, size);
        const Sensitivity<double> direction{Dense<double>{0, j}};
        for (std::uint64_t t = 1; t <= 3; ++t) {
          transform->apply(stepped, stepped_state, direction, direction, {.t = t, .alpha = alpha, .c = 1});
        }
        auto at_once = stepped;
        auto state = stepped_state;
        const auto before = stepped;
        const std::vector<double> zero(6);
        const Sensitivity<double> nothing{Dense<double>{0, zero}};
        for (std::uint64_t t = 4; t < 4 + count; ++t) {
          transform->apply(stepped, stepped_state, nothing, nothing, {.t = t, .alpha = schedule.rate(t)});
        }
        IdleSteps<double> steps;
        transform->sum_idle_steps(4, 3 + count, schedule, steps);
        transform->idle(at_once, state, 0, 6, steps);
        // The weights move by up to alpha per step; all but rounding of that must agree.
        EXPECT_LT(largest_difference(at_once, stepped), 1e-13);
        for (std::size_t i = 0; i < state.size(); ++i) {
          for (std::size_t k = 0; k < 6; ++k) {
            EXPECT_NEAR(state[i][k], stepped_state[i][k], 1e-12 * std::abs(stepped_state[i][k]));
          }
        }
        // Rows that need no catching up are exactly those that such steps leave alone.
        EXPECT_TRUE(transform->drifts() || stepped == before);
      }
    }
  }
}

TEST_P(EveryTransform, StateHasOneNamedArrayPerRememberedNumber) {
  const auto transform = make_transform<float>(GetParam());
  const auto state = transform->initial_state(5);
  EXPECT_EQ(state.size(), transform->state_names().size());
  for (const auto& array : state) EXPECT_EQ(array, AlignedVector<float>(5));
}

TEST_P(EveryTransform, SpecRoundTrips) {
  const auto transform = make_transform<double>(GetParam());
  EXPECT_EQ(make_transform<double>(transform->spec())->spec(), transform->spec());
  EXPECT_EQ(make_transform<float>(transform->spec())->spec(), transform->spec());
}

TEST(Transform, BadConstantsAreRefused) {
  for (const char* spec : {"", "adm", "adam:beta1=1", "adam:beta2=-0.1", "adam:eps=-1", "adam:decay=1", "plain:x=1",
                           "momentum:beta=nan", "momentum:beta=2", "rmsprop:rho=1", "adadelta:rho=x", "adam:beta1"}) {
    EXPECT_THROW(make_transform<double>(spec), InvalidArgument) << spec;
  }
}

}  // namespace
}  // namespace ignd::testing
