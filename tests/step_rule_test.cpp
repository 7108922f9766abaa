#include "support.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace ignd::testing {
namespace {

// A model at random weights with a random input.
struct Setting {
  std::shared_ptr<Model<double>> model;
  std::vector<double> x;
};

std::vector<Setting> settings(RandomStream& stream) {
  const std::vector<std::pair<std::string, std::size_t>> models{{"linear:features=1,bias=0", 1},
                                                                {"linear:features=7,bias=0", 7},
                                                                {"linear:features=7,bias=1", 7},
                                                                {"mlp:widths=3x5,activation=tanh", 3},
                                                                {"mlp:widths=4x6x3,activation=relu", 4}};
  std::vector<Setting> all;
  for (const auto& [spec, inputs] : models) {
    Setting setting{make_model<double>(spec), normal_vector(stream, inputs, std::exp(stream.normal()))};
    for (double& w : setting.model->parameters()) w = 0.5 * stream.normal();
    all.push_back(std::move(setting));
  }
  return all;
}

double dot(std::span<const double> a, std::span<const double> b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

TrainerOptions with(const std::shared_ptr<const Loss>& loss, const std::string& rule, double rate) {
  TrainerOptions options;
  options.loss = loss;
  options.optimizer = {rule, "plain"};
  options.schedule = Schedule::constant(rate);
  return options;
}

struct Taken {
  StepInfo info;
  std::vector<double> change;  // of the weights
};

Taken take_step(const Model<double>& model, const TrainerOptions& options, std::span<const double> x, double y) {
  const auto copy = model.clone();
  Trainer<double> trainer(*copy, options);
  Taken taken{trainer.step({{x}, y}), {}};
  for (std::size_t i = 0; i < model.parameters().size(); ++i) {
    taken.change.push_back(copy->parameters()[i] - model.parameters()[i]);
  }
  return taken;
}

// A row of the paper's table 1: the first-order prediction change h for learning rate 1.
using Row = std::function<double(const LossAt& l, double excess, double s)>;

// The h that the trainer reports and the one that the weights show are both rate * h.
void expect_prediction_change(const std::string& rule, const Row& row) {
  RandomStream stream(1, rule);
  for (const auto& loss : all_losses()) {
    for (int trial = 0; trial < 20; ++trial) {
      for (const auto& [model, x] : settings(stream)) {
        const double y = random_target(*loss, stream), rate = 1 - stream.uniform();
        const auto j = flat_sensitivity(*model, {x});
        const double s = dot(j, j);
        const LossAt l = loss->at(y, model->predict({x}));
        const double h = rate * row(l, l.value - loss->minimum(y), s);
        const Taken taken = take_step(*model, with(loss, rule, rate), x, y);
        const std::string what = rule + " " + loss->spec() + " " + model->spec() + " " + to_string(taken.info);
        ASSERT_EQ(taken.info.status, StepStatus::learned) << what;
        EXPECT_NEAR(taken.info.h, h, 1e-12 * std::abs(h)) << what;
        EXPECT_NEAR(taken.info.sensitivity, s, 1e-12 * s) << what;
        // Differences of weights are exact to the rounding of the weights.
        double rounding = 0;
        for (std::size_t i = 0; i < j.size(); ++i) {
          rounding += 1e-15 * std::abs(j[i]) * (std::abs(model->parameters()[i]) + std::abs(taken.change[i]));
        }
        EXPECT_NEAR(dot(j, taken.change), h, 1e-12 * std::abs(h) + rounding) << what;
        // Nothing moves but along j.
        for (std::size_t i = 0; i < j.size(); ++i) {
          const double largest = std::abs(model->parameters()[i]) + std::abs(taken.change[i]);
          EXPECT_NEAR(taken.change[i], h / s * j[i], 1e-12 * std::abs(h / s * j[i]) + 1e-15 * largest) << what;
        }
      }
    }
  }
}

TEST(Table, Gradient) {
  expect_prediction_change("gradient", [](const LossAt& l, double, double s) { return -l.d1 * s; });
}

TEST(Table, NormalizedGradient) {
  for (const double eps : {1e-8, 0.1, 10.0}) {
    expect_prediction_change(fmt::format("normalized:eps={}", eps), [&](const LossAt& l, double, double s) {
      return -l.d1 * s / (std::abs(l.d1) * std::sqrt(s) + eps);
    });
  }
}

TEST(Table, NormalizedGradientWithoutEpsilonMovesByTheNormOfTheSensitivity) {
  expect_prediction_change("normalized:eps=0", [](const LossAt& l, double, double s) {
    return l.d1 == 0 ? 0 : std::copysign(std::sqrt(s), -l.d1);
  });
}

TEST(Table, StochasticPolyak) {
  for (const double k : {0.5, 1.0, 3.0}) {
    expect_prediction_change(fmt::format("polyak:k={}", k), [&](const LossAt& l, double excess, double) {
      return l.d1 == 0 ? 0 : -excess / (k * l.d1);
    });
  }
}

TEST(Table, UndampedGaussNewton) {
  expect_prediction_change("gauss-newton:eps_c=0,eps_lm=0", [](const LossAt& l, double, double) {
    return l.d2 == 0 ? 0 : -l.d1 / l.d2;  // no curvature: the pseudo-inverse of 0 is 0
  });
}

TEST(Table, DampedGaussNewton) {
  for (const double eps_c : {0.0, 0.25, 2.0}) {
    for (const double eps_lm : {1e-5, 0.5, 100.0}) {
      const auto rule = fmt::format("gauss-newton:eps_c={},eps_lm={}", eps_c, eps_lm);
      expect_prediction_change(rule,
                               [&](const LossAt& l, double, double s) { return -l.d1 / (l.d2 + eps_c + eps_lm / s); });
    }
  }
}

TEST(Table, SquaredLossIsNormalizedLeastMeanSquares) {
  RandomStream stream(2, "step rule");
  const auto squared = make_loss("squared");
  for (int trial = 0; trial < 100; ++trial) {
    for (const auto& [model, x] : settings(stream)) {
      const double y = 10 * stream.normal();
      const Taken taken = take_step(*model, with(squared, find_optimizer("nlms").rule, 0.7), x, y);
      EXPECT_NEAR(taken.info.h, 0.7 * (y - model->predict({x})), 1e-12 * std::abs(taken.info.h)) << model->spec();
    }
  }
}

TEST(GaussNewton, AutomaticFloorIsTheOneOfTheLoss) {
  RandomStream stream(3, "step rule");
  for (const auto& loss : all_losses()) {
    for (const auto& [model, x] : settings(stream)) {
      const double y = random_target(*loss, stream);
      const auto by_hand = fmt::format("gauss-newton:eps_c={},eps_lm=1e-5", loss->curvature_floor());
      const Taken expected = take_step(*model, with(loss, by_hand, 1), x, y);
      for (const std::string rule : {"gauss-newton", "gauss-newton:eps_c=auto", "gauss-newton:eps_lm=1e-5"}) {
        EXPECT_EQ(take_step(*model, with(loss, rule, 1), x, y).change, expected.change) << rule << " " << loss->spec();
      }
    }
  }
}

const std::vector<std::string>& all_rules() {
  static const std::vector<std::string> rules{"gradient",
                                              "normalized",
                                              "normalized:eps=0",
                                              "polyak",
                                              "polyak:k=2,cap=0.1",
                                              "polyak:cap=0",
                                              "gauss-newton",
                                              "gauss-newton:eps_c=0,eps_lm=0",
                                              "gauss-newton:eps_c=0",
                                              "gauss-newton:eps_c=1,eps_lm=0"};
  return rules;
}

bool is_zero(std::span<const double> change) {
  return std::ranges::all_of(change, [](double c) { return c == 0; });
}

TEST(Degenerate, NoSensitivityIsNoStep) {
  RandomStream stream(4, "step rule");
  Linear<double> model(3, false);
  std::ranges::copy(normal_vector(stream, 3), model.parameters().begin());
  const std::vector<double> x(3);
  for (const auto& loss : all_losses()) {
    for (const auto& rule : all_rules()) {
      const Taken taken = take_step(model, with(loss, rule, 1), x, 1);
      EXPECT_EQ(taken.info.status, StepStatus::learned) << rule << " " << loss->spec();
      EXPECT_EQ(taken.info.h, 0) << rule << " " << loss->spec();
      EXPECT_TRUE(is_zero(taken.change)) << rule << " " << loss->spec();
    }
  }
}

TEST(Degenerate, NoInputMovesTheBiasAlone) {
  RandomStream stream(5, "step rule");
  Linear<double> model(3, true);
  std::ranges::copy(normal_vector(stream, 4), model.parameters().begin());
  const std::vector<double> x(3);
  const double y = 5, error = model.parameters()[3] - y;
  const Taken taken = take_step(model, with(make_loss("squared"), "gauss-newton:eps_lm=0.25", 1), x, y);
  EXPECT_TRUE(is_zero({taken.change.data(), 3}));
  EXPECT_NEAR(taken.change[3], -error / 1.25, 1e-15 * std::abs(error));
}

// Targets that the outputs below are right about.
TEST(Degenerate, NoSlopeIsNoStep) {
  const std::vector<double> x{0.5, -2};
  for (const auto* spec : {"squared", "huber", "log-cosh", "pinball", "poisson"}) {
    const auto loss = make_loss(spec);
    Linear<double> model(2);  // predicts 0
    const double y = loss->spec().starts_with("poisson") ? 1 : 0;
    for (const auto& rule : all_rules()) {
      const Taken taken = take_step(model, with(loss, rule, 1), x, y);
      ASSERT_EQ(taken.info.loss.d1, 0) << spec;
      EXPECT_EQ(taken.info.status, StepStatus::learned) << rule << " " << spec;
      EXPECT_EQ(taken.info.h, 0) << rule << " " << spec;
      EXPECT_TRUE(is_zero(taken.change)) << rule << " " << spec;
    }
  }
}

TEST(Degenerate, NoCurvatureLeavesTheDamping) {
  const std::vector<double> x{3, 4};
  const double s = 26;  // with the bias
  for (const auto& [spec, slope] : {std::pair{"pinball", 0.5}, std::pair{"huber", 1.0}}) {
    Linear<double> model(2);
    model.parameters()[2] = 10;
    const auto h = [&, loss = make_loss(spec)](const std::string& rule) {
      const Taken taken = take_step(model, with(loss, rule, 1), x, 0);
      EXPECT_EQ(taken.info.loss.d2, 0);
      EXPECT_EQ(taken.info.status, StepStatus::learned);
      return taken.info.h;
    };
    EXPECT_DOUBLE_EQ(h("gauss-newton:eps_c=0.5,eps_lm=2"), -slope * s / (0.5 * s + 2));
    EXPECT_DOUBLE_EQ(h("gauss-newton:eps_c=0.5,eps_lm=0"), -slope / 0.5);
    EXPECT_DOUBLE_EQ(h("gauss-newton:eps_c=0,eps_lm=2"), -slope * s / 2);
    EXPECT_EQ(h("gauss-newton:eps_c=0,eps_lm=0"), 0);
  }
}

TEST(Degenerate, ACapBoundsThePolyakStep) {
  RandomStream stream(6, "step rule");
  for (const auto& loss : all_losses()) {
    for (const auto& [model, x] : settings(stream)) {
      const double y = random_target(*loss, stream),
                   s = dot(flat_sensitivity(*model, {x}), flat_sensitivity(*model, {x}));
      const LossAt l = loss->at(y, model->predict({x}));
      if (l.d1 == 0) continue;
      const double uncapped = (l.value - loss->minimum(y)) / (0.5 * l.d1 * l.d1 * s);
      for (const double share : {0.0, 0.5, 0.999, 1.001, 1e3}) {
        const Taken taken = take_step(*model, with(loss, fmt::format("polyak:cap={}", share * uncapped), 1), x, y);
        const double h = -l.d1 * s * uncapped * std::min(share, 1.0);
        EXPECT_NEAR(taken.info.h, h, 1e-12 * std::abs(h)) << loss->spec() << " " << share;
      }
    }
  }
}

TEST(Degenerate, NoCombinationOfExtremesIsNotANumber) {
  const std::vector<double> sizes{0, 5e-324, 1e-310, 1e-160, 1e-8, 1, 1e8, 1e160, 1e300};
  for (const auto& spec : all_rules()) {
    const auto rule = make_step_rule(spec);
    for (const double value : sizes) {
      for (const double slope : sizes) {
        for (const double curvature : sizes) {
          for (const double s : sizes) {
            for (const double sign : {-1.0, 1.0}) {
              const StepInput in{{value, sign * slope, curvature}, 0, 1e-2, s, 0};
              const double c = rule->coefficient(in);
              ASSERT_FALSE(std::isnan(c))
                  << spec << " l " << value << " l_f " << slope << " l_ff " << curvature << " s " << s;
              ASSERT_TRUE(slope != 0 || c == 0) << spec << " l_ff " << curvature << " s " << s;
              ASSERT_GE(c * sign, 0) << spec;  // never up the slope
            }
          }
        }
      }
    }
  }
}

// The smallest inputs whose square is not zero: 1/s is infinite, but there is nothing to learn.
TEST(Degenerate, ASampleThatIsRightDoesNotEndTheRunHoweverSmallItIs) {
  const std::vector<double> x{1e-160};
  Linear<double> model(1, false);
  for (const auto& rule : all_rules()) {
    const Taken taken = take_step(model, with(make_loss("squared"), rule, 1), x, 0);
    EXPECT_EQ(taken.info.status, StepStatus::learned) << rule << " " << to_string(taken.info);
    EXPECT_TRUE(is_zero(taken.change)) << rule;
  }
}

// Every step adds about 1/k to the margin, whatever the loss has shrunk to: denormal numbers are reached after 355.
TEST(Polyak, GoesOnWhereTheLossIsAlmostZero) {
  const std::vector<double> x{1};
  Linear<double> model(1, false);
  Trainer<double> trainer(model, with(make_loss("logistic"), "polyak", 1));
  for (int step = 0; step < 500; ++step) {
    const StepInfo info = trainer.step({{x}, 1});
    ASSERT_EQ(info.status, StepStatus::learned) << to_string(info);
    ASSERT_LE(std::abs(info.h), 3) << to_string(info);
  }
}

// l - l* is second order in the distance to the minimum and the slope first order: h is about half the distance over k.
// A difference of rounded values is not small enough for that.
TEST(Polyak, StepsNoFurtherThanTheDistanceWhenNearTheMinimum) {
  const std::vector<double> x{1};
  for (const auto* spec : {"squared", "huber", "log-cosh", "poisson"}) {
    for (const double y : {0.5, 1.0, 3.0, 1000.0}) {
      const double target = std::string(spec) == "poisson" ? std::log(y) : y;
      for (const double distance : {0.0, 1e-15, 1e-12, 1e-9, 1e-6, 1e-3}) {
        for (const double sign : {-1.0, 1.0}) {
          Linear<double> model(1, false);
          model.parameters()[0] = target + sign * distance;
          const Taken taken = take_step(model, with(make_loss(spec), "polyak:k=0.5", 1), x, y);
          EXPECT_LE(std::abs(taken.info.h), 2 * distance + 1e-6) << spec << " " << y << " " << to_string(taken.info);
        }
      }
    }
  }
}

// The squared loss with a part that no prediction can remove.
class Raised final : public Loss {
 public:
  LossAt at(double y, double f) const override { return {(f - y) * (f - y) / 2 + 5, f - y, 1}; }
  double minimum(double /*y*/) const override { return 5; }
  std::string spec() const override { return "raised"; }
};

TEST(Polyak, MeasuresTheLossAgainstItsMinimum) {
  RandomStream stream(8, "step rule");
  for (const auto& [model, x] : settings(stream)) {
    const double y = stream.normal();
    const double h = take_step(*model, with(make_loss("squared"), "polyak:k=0.7", 1), x, y).info.h;
    // Adding 5 and taking it away again rounds by up to 1e-15, which the slope divides.
    EXPECT_NEAR(take_step(*model, with(std::make_shared<Raised>(), "polyak:k=0.7", 1), x, y).info.h, h,
                1e-14 * (1 / std::abs(h) + std::abs(h)))
        << model->spec();
  }
}

std::string refusal(const std::string& spec) {
  try {
    make_step_rule(spec);
  } catch (const InvalidArgument& fault) {
    return fault.what();
  }
  return "accepted";
}

TEST(Factory, ASpecReadsBackAsTheSameRule) {
  RandomStream stream(7, "step rule");
  const auto number = [&](double log_size) { return std::exp(stream.uniform(-log_size, log_size)); };
  auto specs = all_rules();
  for (int trial = 0; trial < 200; ++trial) {
    specs.push_back(fmt::format("normalized:eps={}", number(300)));
    specs.push_back(fmt::format("polyak:k={},cap={}", number(20), number(300)));
    specs.push_back(fmt::format("gauss-newton:eps_c={},eps_lm={}", number(300), number(300)));
    specs.push_back(fmt::format("gauss-newton:eps_lm={}", number(300)));
  }
  for (const auto& spec : specs) {
    const auto rule = make_step_rule(spec), read = make_step_rule(rule->spec());
    EXPECT_EQ(read->spec(), rule->spec());
    for (int trial = 0; trial < 5; ++trial) {
      const StepInput in{
          {stream.uniform(), stream.normal(), stream.uniform()}, 0, stream.uniform(), stream.uniform(), 0};
      EXPECT_EQ(read->scale(in), rule->scale(in)) << spec;
    }
  }
}

TEST(Factory, DefaultsAreTheDocumentedOnes) {
  EXPECT_EQ(make_step_rule("gradient")->spec(), "gradient");
  EXPECT_EQ(make_step_rule("normalized")->spec(), "normalized:eps=1e-08");
  EXPECT_EQ(make_step_rule("polyak")->spec(), "polyak:k=0.5,cap=inf");
  EXPECT_EQ(make_step_rule("gauss-newton")->spec(), "gauss-newton:eps_c=auto,eps_lm=1e-05");
  for (const auto& name : step_rule_names()) EXPECT_TRUE(make_step_rule(name)->spec().starts_with(name)) << name;
}

TEST(Factory, GarbledRulesAreRefused) {
  const std::vector<std::string> garbage{"",
                                         " ",
                                         ":",
                                         ",",
                                         "=",
                                         "gauss-newton:",
                                         "gauss-newton:,",
                                         "gauss-newton:=",
                                         "gauss-newton:eps_c",
                                         "gauss-newton:eps_c=",
                                         "gauss-newton:eps_c=1,",
                                         "gauss-newton:eps_c=-1",
                                         "gauss-newton:eps_c=nan",
                                         "gauss-newton:eps_c=inf",
                                         "gauss-newton:eps_c=automatic",
                                         "gauss-newton:eps_c=1,eps_c=2",
                                         "gauss-newton:eps_c=auto,eps_c=auto",
                                         "gauss-newton:eps_lm=-1e-5",
                                         "gauss-newton:eps_lm=nan",
                                         "gauss-newton:eps_lm=inf",
                                         "gauss-newton:eps_lm=auto",
                                         "gauss-newton:eps_lm=1e-400",
                                         "gauss-newton:eps_lm=1e-5x",
                                         "gauss-newton:eps_lm=1 2",
                                         "gauss-newton:eps_lm==1",
                                         "gauss-newton:cap=1",
                                         "gauss-newton;eps_c=1",
                                         "Gauss-Newton",
                                         "gauss-newton\n",
                                         "gradient:eps=1",
                                         "gradient:rate=1",
                                         "normalized:eps=-1e-8",
                                         "normalized:eps=inf",
                                         "polyak:k=0",
                                         "polyak:k=-1",
                                         "polyak:k=nan",
                                         "polyak:cap=-1",
                                         "polyak:cap=nan",
                                         std::string("gradient\0", 9),
                                         "\xff\xfe",
                                         std::string(10'000, 'g'),
                                         std::string(10'000, ':'),
                                         std::string(10'000, ','),
                                         "gauss-newton:" + std::string(10'000, 'e') + "=1",
                                         "gauss-newton:eps_lm=" + std::string(10'000, '1')};
  for (const auto& text : garbage) EXPECT_THROW(make_step_rule(text), InvalidArgument) << text.substr(0, 60);
}

TEST(Factory, ARefusalSaysWhatIsWrong) {
  const std::vector<std::pair<std::string, std::string>> bad{
      {"gauss_newton", "did you mean 'gauss-newton'?"},
      {"gradent", "did you mean 'gradient'?"},
      {"newton", "gradient, normalized, polyak, gauss-newton, relative"},
      {"gauss-newton:epslm=1", "did you mean 'eps_lm'?"},
      {"gauss-newton:eps_lm=-1", "eps_lm is -1"},
      {"gauss-newton:eps_c=-1", "eps_c is -1"},
      {"gauss-newton:eps_lm=tiny", "'tiny', which is not a number"},
      {"gauss-newton:eps_lm=1,eps_lm=2", "'eps_lm' is given twice"},
      {"gauss-newton:eps_lm", "'eps_lm' is not of the form key=value"},
      {"polyak:k=0,cap=-1", "k is 0"},
      {"polyak:k=0,cap=-1", "cap is -1"},  // all faults at once
  };
  for (const auto& [spec, message] : bad) {
    EXPECT_NE(refusal(spec).find(message), std::string::npos) << spec << ": " << refusal(spec);
  }
}

TEST(Optimizers, AreTheDocumentedPairs) {
  const std::vector<std::vector<std::string>> pairs{{"sgd", "gradient", "plain"},
                                                    {"ignd", "gauss-newton", "plain"},
                                                    {"adam", "gradient", "adam"},
                                                    {"adam-ignd", "gauss-newton", "adam"},
                                                    {"sps", "polyak", "plain"},
                                                    {"ngd", "normalized", "plain"},
                                                    {"relative-ignd", "relative", "plain"},
                                                    {"adam-relative-ignd", "relative", "adam"},
                                                    {"nlms", "gauss-newton:eps_c=0,eps_lm=0", "plain"}};
  std::vector<std::string> names;
  for (const auto& pair : pairs) {
    const Optimizer found = find_optimizer(pair[0]);
    // By what they mean, not by how they are written.
    EXPECT_EQ(make_step_rule(found.rule)->spec(), make_step_rule(pair[1])->spec()) << pair[0];
    EXPECT_EQ(make_transform<double>(found.transform)->spec(), make_transform<double>(pair[2])->spec()) << pair[0];
    names.push_back(pair[0]);
  }
  EXPECT_TRUE(std::ranges::is_permutation(optimizer_names(), names));
}

TEST(Optimizers, UnknownNamesAreRefusedWithTheNearest) {
  for (const std::string wrong : {"igdn", "", "SGD", "ignd:eps_c=1", "gauss-newton"}) {
    EXPECT_THROW(find_optimizer(wrong), InvalidArgument) << wrong;
  }
  try {
    find_optimizer("idnd");
    FAIL() << "accepted";
  } catch (const InvalidArgument& fault) {
    EXPECT_NE(std::string(fault.what()).find("did you mean 'ignd'?"), std::string::npos) << fault.what();
  }
}

TEST(Optimizers, TheDefaultIsIncrementalGaussNewton) {
  EXPECT_EQ(TrainerOptions{}.optimizer.rule, find_optimizer("ignd").rule);
  EXPECT_EQ(TrainerOptions{}.optimizer.transform, find_optimizer("ignd").transform);
}

}  // namespace
}  // namespace ignd::testing
