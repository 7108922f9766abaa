#include "dense_reference.hpp"

#include <limits>

#include <gtest/gtest.h>

namespace ignd::testing {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

struct Case {
  const char* spec;
  std::size_t inputs;
  bool sparse;
};

const std::vector<Case> cases{
    {"linear:features=5", 5, false},
    {"linear:features=5,bias=0", 5, false},
    {"hashed-linear:bits=3", 8, true},
    {"hashed-linear:bits=3,bias=0", 8, true},
    {"mlp:widths=4", 4, false},  // no hidden layer: a linear model
    {"mlp:widths=3x5,activation=relu", 3, false},
    {"mlp:widths=3x5,activation=tanh", 3, false},
    {"mlp:widths=3x4x2x5,activation=relu", 3, false},
    {"mlp:widths=3x4x2x5,activation=tanh", 3, false},
    {"mlp:widths=2x3x1,activation=identity", 2, false},
};

std::unique_ptr<Model<double>> random_model(const Case& model, RandomStream& stream) {
  auto made = make_model<double>(model.spec);
  for (double& w : made->parameters()) w = stream.normal();
  return made;
}

TEST(Sensitivity, EqualsFiniteDifferences) {
  RandomStream stream(1, "model");
  for (const Case& model : cases) {
    SCOPED_TRACE(model.spec);
    for (int trial = 0; trial < 20; ++trial) {
      const auto made = random_model(model, stream);
      const RandomInput x(stream, model.inputs, model.sparse);
      // Central differences with step 1e-6 are good to about 1e-9 here; a ReLU's kink within 1e-6 of a random
      // number does not occur with this seed.
      EXPECT_LT(largest_difference(flat_sensitivity(*made, x.input()), numeric_sensitivity(*made, x.input())), 1e-7);
    }
  }
}

TEST(Sensitivity, InnerProductEqualsDenseOne) {
  RandomStream stream(2, "model");
  for (const Case& model : cases) {
    SCOPED_TRACE(model.spec);
    for (int trial = 0; trial < 20; ++trial) {
      const auto made = random_model(model, stream);
      const RandomInput x(stream, model.inputs, model.sparse);
      const RandomInput other(stream, model.inputs, model.sparse);
      Trace<double> a(*made);
      Trace<double> b(*made);
      made->predict(x.input(), a);
      made->predict(other.input(), b);
      made->sensitivity(x.input(), a);
      made->sensitivity(other.input(), b);
      const auto dense_a = flat_sensitivity(*made, x.input());
      const auto dense_b = flat_sensitivity(*made, other.input());
      double squared = 0;
      double product = 0;
      for (std::size_t i = 0; i < dense_a.size(); ++i) {
        squared += dense_a[i] * dense_a[i];
        product += dense_a[i] * dense_b[i];
      }
      EXPECT_NEAR(squared_norm(a.j), squared, 1e-12 * (1 + squared));
      EXPECT_NEAR(inner_product(a.j, b.j), product, 1e-12 * (1 + squared));
    }
  }
}

TEST(Sensitivity, DependsOnlyOnTheLastForward) {
  RandomStream stream(3, "model");
  for (const Case& model : cases) {
    const auto made = random_model(model, stream);
    const RandomInput x(stream, model.inputs, model.sparse);
    const auto fresh = flat_sensitivity(*made, x.input());
    Trace<double> used(*made);
    for (int i = 0; i < 5; ++i) {
      const RandomInput other(stream, model.inputs, model.sparse);
      made->predict(other.input(), used);
      made->sensitivity(other.input(), used);
    }
    made->predict(x.input(), used);
    made->sensitivity(x.input(), used);
    std::vector<double> again(fresh.size());
    write_dense<double>(used.j, again);
    EXPECT_EQ(fresh, again) << model.spec;
  }
}

TEST(Model, FloatAgreesWithDouble) {
  RandomStream stream(4, "model");
  for (const Case& model : cases) {
    SCOPED_TRACE(model.spec);
    const auto in_double = random_model(model, stream);
    const auto in_float = make_model<float>(model.spec);
    std::ranges::transform(in_double->parameters(), in_float->parameters().begin(),
                           [](double w) { return static_cast<float>(w); });
    const RandomInput x(stream, model.inputs, model.sparse);
    std::vector<float> values(x.values.begin(), x.values.end());
    // Float carries 24 bits, and the outputs are sums of some dozen numbers of order 1 to 10.
    EXPECT_NEAR(in_float->predict({values, x.index}), in_double->predict(x.input()), 1e-4);
  }
}

TEST(Model, SpecNamesTheArchitecture) {
  for (const Case& model : cases) {
    const auto made = make_model<double>(model.spec);
    const auto again = make_model<double>(made->spec());
    EXPECT_EQ(made->spec(), again->spec());
    EXPECT_EQ(made->parameters().size(), again->parameters().size());
    EXPECT_EQ(made->clone()->spec(), made->spec());
  }
}

TEST(Mlp, OutputIsTheNetworkWrittenOut) {
  // 2 inputs, 2 hidden units, 1 output; weights by input unit, the bias as the last row of a layer.
  Mlp<double> model({2, 2}, {.activation = Activation::relu});
  const std::vector<double> w{1, -2, 3, 4, 0.5, -0.25, 10, 100, 1000};
  ASSERT_EQ(model.parameters().size(), w.size());
  std::ranges::copy(w, model.parameters().begin());
  const double a = 0.3;
  const double b = -0.1;
  const double unit0 = std::max(1 * a + 3 * b + 0.5, 0.0);
  const double unit1 = std::max(-2 * a + 4 * b - 0.25, 0.0);
  EXPECT_GT(unit0, 0);
  EXPECT_EQ(unit1, 0);
  EXPECT_DOUBLE_EQ(model.predict({std::vector{a, b}}), 10 * unit0 + 100 * unit1 + 1000);
}

TEST(Mlp, ReluPassesNaNOnAndHasNoSlopeAtZero) {
  Mlp<double> model({1, 1}, {.activation = Activation::relu});
  const std::vector<double> w{1, 0, 1, 0};
  std::ranges::copy(w, model.parameters().begin());
  EXPECT_TRUE(std::isnan(model.predict({std::vector{nan}})));
  EXPECT_EQ(model.predict({std::vector{-3.0}}), 0);
  EXPECT_EQ(flat_sensitivity(model, {std::vector{0.0}}), (std::vector<double>{0, 0, 0, 1}));
}

TEST(Mlp, SeedDecidesTheInitialWeightsAndBiasesAreZero) {
  const Mlp<float> a({3, 4}, {.seed = 1});
  const Mlp<float> b({3, 4}, {.seed = 1});
  const Mlp<float> c({3, 4}, {.seed = 2});
  EXPECT_TRUE(std::ranges::equal(a.parameters(), b.parameters()));
  EXPECT_FALSE(std::ranges::equal(a.parameters(), c.parameters()));
  for (std::size_t unit = 0; unit < 4; ++unit) EXPECT_EQ(a.parameters()[12 + unit], 0);
  EXPECT_EQ(a.parameters().back(), 0);
}

TEST(Mlp, ImpossibleShapesAreRefused) {
  EXPECT_THROW(Mlp<double>({}), InvalidArgument);
  EXPECT_THROW(Mlp<double>({3, 0, 2}), InvalidArgument);
  EXPECT_THROW(Mlp<double>({100'000, 100'000}), InvalidArgument);
  EXPECT_THROW(Mlp<double>({std::numeric_limits<std::size_t>::max(), 2}), InvalidArgument);
  EXPECT_THROW(HashedLinear<double>(0), InvalidArgument);
  EXPECT_THROW(HashedLinear<double>(32), InvalidArgument);
  EXPECT_THROW(Linear<double>(0, false), InvalidArgument);
}

TEST(HashedLinear, EqualsLinearOnTheSameFeatures) {
  RandomStream stream(5, "model");
  HashedLinear<double> hashed(3);
  Linear<double> dense(8);
  const auto w = normal_vector(stream, 9);
  std::ranges::copy(w, hashed.parameters().begin());
  std::ranges::copy(w, dense.parameters().begin());
  for (int trial = 0; trial < 50; ++trial) {
    const RandomInput x(stream, 8, true);
    EXPECT_NEAR(hashed.predict(x.input()), dense.predict({x.dense}), 1e-14);
    EXPECT_EQ(flat_sensitivity(hashed, x.input()), flat_sensitivity(dense, {x.dense}));
  }
}

TEST(HashedLinear, AFeatureNamedTwiceIsTheSum) {
  HashedLinear<double> model(4);
  for (std::size_t i = 0; i < 16; ++i) model.parameters()[i] = static_cast<double>(i);
  const std::vector<std::uint32_t> index{7, 2, 7, 2 + 16};  // 18 falls on 2 in a table of 16
  const std::vector<double> values{1, 10, 0.5, 100};
  EXPECT_DOUBLE_EQ(model.predict({values, index}), 7 * 1.5 + 2 * 110.0);
  const auto j = flat_sensitivity(model, {values, index});
  EXPECT_EQ(j[7], 1.5);
  EXPECT_EQ(j[2], 110);
  // Were the two added as squares, the norm would be too small and the step too long.
  Trace<double> trace(model);
  model.predict({values, index}, trace);
  model.sensitivity({values, index}, trace);
  EXPECT_DOUBLE_EQ(squared_norm(trace.j), 1.5 * 1.5 + 110 * 110 + 1);
}

TEST(HashedLinear, OrderOfFeaturesDoesNotMatter) {
  RandomStream stream(6, "model");
  HashedLinear<double> model(5);
  for (double& w : model.parameters()) w = stream.normal();
  std::vector<std::uint32_t> index{1, 4, 9, 20, 31};
  std::vector<double> values{1, 2, 3, 4, 5};
  const double sorted = model.predict({values, index});
  std::ranges::reverse(index);
  std::ranges::reverse(values);
  EXPECT_EQ(model.predict({values, index}), sorted);
}

TEST(HashedLinear, HashOfANameIsTheSameEverywhere) {
  // The low half of XXH3's published value for no bytes at all: models in files depend on it.
  EXPECT_EQ(hash_feature(""), 0x38d394c2U);
  EXPECT_EQ(hash_feature("price"), hash_feature(std::string("pri") + "ce"));
  EXPECT_NE(hash_feature("price"), hash_feature("Price"));
}

TEST(Check, SamplesOfTheWrongFormAreRefused) {
  const Linear<double> linear(3);
  const Mlp<double> mlp({3, 2});
  const HashedLinear<double> hashed(4);
  const std::vector<double> two{1, 2};
  const std::vector<double> three{1, 2, 3};
  const std::vector<std::uint32_t> index{0, 1, 2};
  EXPECT_THROW(linear.predict({two}), BadSample);
  EXPECT_THROW(linear.predict({{}}), BadSample);
  EXPECT_THROW(linear.predict({three, index}), BadSample);
  EXPECT_THROW(mlp.predict({two}), BadSample);
  EXPECT_THROW(mlp.predict({three, index}), BadSample);
  EXPECT_THROW(hashed.predict({two, index}), BadSample);
  EXPECT_THROW(hashed.predict({three}), BadSample);
  EXPECT_EQ(hashed.predict({}), 0);  // no active feature is a sample like any other
}

}  // namespace
}  // namespace ignd::testing
