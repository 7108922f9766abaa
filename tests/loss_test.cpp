#include "run_tool.hpp"
#include "support.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numbers>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace ignd::testing {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

// A loss that is added to loss_names() is tested by everything below that does not name losses.
std::vector<std::shared_ptr<const Loss>> losses() {
  auto all = all_losses();
  for (const auto* spec : {"huber:delta=0.3", "pinball:tau=0.9", "poisson:largest=10"}) all.push_back(make_loss(spec));
  return all;
}

bool is_poisson(const Loss& loss) { return loss.spec().starts_with("poisson"); }
bool is_pinball(const Loss& loss) { return loss.spec().starts_with("pinball"); }

// Where the slope (pinball) or the curvature (huber) jumps, as values of f - y.
std::vector<double> kinks(const Loss& loss) {
  if (loss.spec() == "huber:delta=1") return {-1, 1};
  if (loss.spec() == "huber:delta=0.3") return {-0.3, 0.3};
  if (is_pinball(loss)) return {0};
  return {};
}

double distance_to_kink(const Loss& loss, double y, double f) {
  double distance = infinity;
  for (const double kink : kinks(loss)) distance = std::min(distance, std::abs(f - y - kink));
  return distance;
}

// The output at which the loss is smallest.
double target_output(const Loss& loss, double y) {
  if (loss.spec() == "logistic") return y == 1 ? infinity : -infinity;
  if (is_poisson(loss)) return std::log(y);
  return y;
}

TEST(Derivatives, EqualFiniteDifferencesAwayFromKinks) {
  constexpr double step = 1e-5;
  RandomStream stream(1, "loss");
  for (const auto& loss : losses()) {
    for (int trial = 0; trial < 2000; ++trial) {
      const double y = random_target(*loss, stream);
      const double f = 3 * stream.normal();
      if (distance_to_kink(*loss, y, f) < 2 * step) continue;
      const LossAt at = loss->at(y, f), above = loss->at(y, f + step), below = loss->at(y, f - step);
      // Central differences err by step^2/6 of a third derivative, which is at most l_ff here, and by the rounding
      // of the values divided by the step: 1e-10 and 1e-11 of their sizes.
      const double tolerance = 1e-9 * (1 + std::abs(at.value) + at.d2);
      EXPECT_NEAR(at.d1, (above.value - below.value) / (2 * step), tolerance) << loss->spec() << " " << y << " " << f;
      EXPECT_NEAR(at.d2, (above.d1 - below.d1) / (2 * step), tolerance) << loss->spec() << " " << y << " " << f;
    }
  }
}

TEST(Derivatives, AtAKinkTheSlopeLiesBetweenTheOneSidedSlopes) {
  constexpr double step = 1e-6;
  constexpr double rounding = 1e-9;  // of values near 1, divided by the step
  for (const auto& loss : losses()) {
    for (const double kink : kinks(*loss)) {
      const LossAt at = loss->at(0, kink), above = loss->at(0, kink + step), below = loss->at(0, kink - step);
      const double left = (at.value - below.value) / step, right = (above.value - at.value) / step;
      EXPECT_LE(left, right + rounding) << loss->spec();
      EXPECT_GE(at.d1, left - rounding) << loss->spec();
      EXPECT_LE(at.d1, right + rounding) << loss->spec();
      // Beside the kink the slope is that of its own side; huber's changes by the step where it is quadratic.
      EXPECT_NEAR(below.d1, left, step) << loss->spec();
      EXPECT_NEAR(above.d1, right, step) << loss->spec();
    }
  }
}

TEST(Convexity, CurvatureIsNeverNegativeAndTheSlopeNeverFalls) {
  RandomStream stream(2, "loss");
  for (const auto& loss : losses()) {
    for (int trial = 0; trial < 2000; ++trial) {
      const double y = random_target(*loss, stream);
      const double scale = std::pow(10, stream.uniform(-3, 2));  // exp(f) of poisson stays finite
      const double a = y + scale * stream.normal(), b = y + scale * stream.normal();
      EXPECT_GE(loss->at(y, a).d2, 0) << loss->spec() << " " << y << " " << a;
      EXPECT_LE(loss->at(y, std::min(a, b)).d1, loss->at(y, std::max(a, b)).d1) << loss->spec() << " " << y;
    }
  }
}

TEST(Convexity, TheLossLiesBelowItsChords) {
  RandomStream stream(3, "loss");
  for (const auto& loss : losses()) {
    for (int trial = 0; trial < 2000; ++trial) {
      const double y = random_target(*loss, stream);
      const double a = y + 3 * stream.normal(), b = y + 3 * stream.normal(), part = stream.uniform();
      const double chord = part * loss->at(y, a).value + (1 - part) * loss->at(y, b).value;
      // Only rounding may lift it: at most 1e-14 of the terms, those of poisson's difference included.
      const double size = std::abs(chord) + loss->at(y, std::max(a, b)).d2 + std::abs(y * a) + std::abs(y * b);
      EXPECT_LE(loss->at(y, part * a + (1 - part) * b).value, chord + 1e-14 * (1 + size)) << loss->spec() << " " << y;
    }
  }
}

TEST(Minimum, IsALowerBoundEverywhere) {
  RandomStream stream(4, "loss");
  for (const auto& loss : losses()) {
    for (int trial = 0; trial < 2000; ++trial) {
      const double y = random_target(*loss, stream);
      const double f = std::pow(10, stream.uniform(-8, 2.5)) * stream.normal();
      if (std::abs(f) > 600) continue;  // exp(f) of poisson stays finite
      const LossAt at = loss->at(y, f);
      EXPECT_GE(at.value, loss->minimum(y) - 1e-15 * (1 + std::abs(y * f))) << loss->spec() << " " << y << " " << f;
    }
  }
}

TEST(Minimum, IsAttainedAtTheTarget) {
  RandomStream stream(5, "loss");
  for (const auto& loss : losses()) {
    for (int trial = 0; trial < 200; ++trial) {
      const double y = random_target(*loss, stream);
      const double target = target_output(*loss, y);
      if (!std::isfinite(target)) continue;
      const LossAt at = loss->at(y, target);
      // The logarithm of a count is rounded, all other targets are hit to the bit.
      const double rounding = is_poisson(*loss) ? 1e-15 * (1 + y * y) : 0;
      EXPECT_NEAR(at.value, loss->minimum(y), rounding) << loss->spec() << " " << y;
      EXPECT_NEAR(at.d1, 0, rounding) << loss->spec() << " " << y;
    }
  }
}

TEST(Minimum, IsTheLimitWhereTheTargetIsInfinitelyFar) {
  const auto logistic = make_loss("logistic"), poisson = make_loss("poisson");
  EXPECT_EQ(logistic->minimum(0), 0);
  EXPECT_EQ(logistic->minimum(1), 0);
  EXPECT_EQ(poisson->minimum(0), 0);
  for (const double far : {10.0, 50.0, 700.0}) {
    // exp(-far), to first order: the next term is exp(-2 far).
    const double left = std::exp(-far), tolerance = left * (1e-14 + left);
    EXPECT_NEAR(logistic->at(1, far).value, left, tolerance);
    EXPECT_NEAR(logistic->at(0, -far).value, left, tolerance);
    EXPECT_NEAR(poisson->at(0, -far).value, left, tolerance);
  }
}

// exp(f) - y f less its minimum y - y log(y): two large numbers, unless it is written in u = f - log(y).
TEST(Precision, PoissonIsHalfTheDevianceNearAndFarFromTheTarget) {
  const auto poisson = make_loss("poisson");
  for (const double y : {1e-3, 1.0, 3.0, 1e3, 1e6}) {
    for (const double distance : {0.0, 1e-12, 1e-8, 1e-3, 0.5, 0.999, 1.001, 5.0, 20.0, 600.0}) {
      for (const double f : {std::log(y) - distance, std::log(y) + distance}) {
        const long double u = static_cast<long double>(f) - std::log(static_cast<long double>(y));
        const LossAt at = poisson->at(y, f);
        const double value = static_cast<double>(y * (std::expm1(u) - u));
        const double slope = static_cast<double>(y * std::expm1(u)), curvature = static_cast<double>(y * std::exp(u));
        // The logarithm and the difference are rounded: u is known to 1e-16 of their sizes, f and log(y).
        const double error_of_u = 1e-15 * (1 + std::abs(f) + std::abs(std::log(y)));
        EXPECT_NEAR(at.value, value, error_of_u * std::abs(slope)) << y << " " << f;
        EXPECT_NEAR(at.d1, slope, error_of_u * (std::abs(slope) + y)) << y << " " << f;
        EXPECT_NEAR(at.d2, curvature, error_of_u * curvature) << y << " " << f;
      }
    }
  }
}

// Where the value is e^2/2 (1 + O(e^2)), naive formulas lose all digits: log(cosh(1e-8)) is log(1).
TEST(Precision, ValuesNearTheTargetAreRelativelyExact) {
  for (const double e : {1e-150, 1e-100, 1e-8, 1e-5, 1e-3, 1e-2}) {
    for (const double sign : {-1.0, 1.0}) {
      const double square = e * e;
      for (const auto* spec : {"squared", "huber", "huber:delta=0.3"}) {
        EXPECT_DOUBLE_EQ(make_loss(spec)->at(0, sign * e).value, square / 2) << spec << " " << e;
      }
      // The series of log(cosh e); the next term is 1.4e-14 of the sum at e = 0.01.
      const double series = square / 2 * (1 - square / 6 * (1 - square * 4 / 15));
      const LossAt at = make_loss("log-cosh")->at(0, sign * e);
      EXPECT_NEAR(at.value, series, 2e-14 * series) << e;
      EXPECT_NEAR(at.d1, sign * (e - e * square / 3), 1e-8 * e) << e;
      EXPECT_NEAR(at.d2, 1 - square, 1e-8) << e;
    }
  }
}

TEST(Precision, LogCoshAgreesWithItsDefinitionInLongDouble) {
  const auto loss = make_loss("log-cosh");
  // On both sides of 1, where the formula changes. cosh(e) in long double has a range that e = 700 does not leave.
  for (const double e : {0.1, 0.5, 0.999999, 1.0, 1.000001, 2.0, 10.0, 100.0, 700.0}) {
    const long double cosh = std::cosh(static_cast<long double>(e));
    for (const double sign : {-1.0, 1.0}) {
      const LossAt at = loss->at(0, sign * e);
      const double value = static_cast<double>(std::log(cosh));
      const double slope = static_cast<double>(std::sinh(static_cast<long double>(sign * e)) / cosh);
      const double curvature = static_cast<double>(1 / (cosh * cosh));
      EXPECT_NEAR(at.value, value, 1e-12 * value) << e;
      EXPECT_NEAR(at.d1, slope, 1e-12) << e;
      // 1/cosh^2(700) is below the range of double.
      EXPECT_NEAR(at.d2, curvature, 1e-12 * curvature) << e;
    }
  }
}

TEST(Extremes, LogCoshIsAStraightLineFarOut) {
  const auto loss = make_loss("log-cosh");
  for (const double e : {1e3, 1e4, 1e10, 1e100, 1e300}) {
    for (const double sign : {-1.0, 1.0}) {
      const LossAt at = loss->at(0, sign * e);
      EXPECT_DOUBLE_EQ(at.value, e - std::numbers::ln2);
      EXPECT_EQ(at.d1, sign);
      EXPECT_EQ(at.d2, 0);
    }
  }
}

TEST(Extremes, LogisticIsRelativelyExactFarOut) {
  const auto loss = make_loss("logistic");
  for (const double size : {0.0, 1.0, 36.0, 37.0, 300.0, 700.0, 720.0, 1e4}) {
    for (const double f : {-size, size}) {
      for (const double y : {0.0, 1.0}) {
        // The definitions as they stand: a long double holds exp(1e4).
        const long double margin = static_cast<long double>(y == 1 ? f : -f);
        const double value = static_cast<double>(std::log1p(std::exp(-margin)));
        const double slope = static_cast<double>((y == 1 ? -1 : 1) / (1 + std::exp(margin)));
        const double curvature = static_cast<double>(1 / ((1 + std::exp(margin)) * (1 + std::exp(-margin))));
        const LossAt at = loss->at(y, f);
        constexpr double denormal = 1e-322;  // numbers below 1e-308 have no relative precision
        EXPECT_NEAR(at.value, value, 1e-12 * value + denormal) << y << " " << f;
        EXPECT_NEAR(at.d1, slope, 1e-12 * std::abs(slope) + denormal) << y << " " << f;
        EXPECT_NEAR(at.d2, curvature, 1e-12 * curvature + denormal) << y << " " << f;
      }
    }
  }
}

TEST(Targets, OnlyThoseOfTheLossAreTaken) {
  for (const auto& loss : losses()) {
    for (const double bad : {nan, infinity, -infinity})
      EXPECT_THROW(loss->check_target(bad), BadSample) << loss->spec();
    for (const double good : {0.0, 1.0}) EXPECT_NO_THROW(loss->check_target(good)) << loss->spec();
  }
  for (const double bad : {-1.0, 0.5, 2.0, 1e-300, std::nextafter(1.0, 2.0)}) {
    EXPECT_THROW(make_loss("logistic")->check_target(bad), BadSample) << bad;
  }
  for (const double bad : {-1.0, -1e-300}) EXPECT_THROW(make_loss("poisson")->check_target(bad), BadSample) << bad;
  for (const double good : {0.5, 1e300}) EXPECT_NO_THROW(make_loss("poisson")->check_target(good)) << good;
  for (const auto* spec : {"squared", "huber", "log-cosh", "pinball"}) {
    for (const double good : {-1e300, -0.5, 1e300}) EXPECT_NO_THROW(make_loss(spec)->check_target(good)) << spec;
  }
}

TEST(CurvatureFloor, IsTheOneEachLossDocuments) {
  const std::map<std::string, double> floors{{"squared", 0}, {"logistic", 1e-2}, {"poisson", 300},
                                             {"huber", 1},   {"log-cosh", 0.5},  {"pinball", 1}};
  for (const auto& name : loss_names()) {
    ASSERT_TRUE(floors.contains(name)) << name;
    EXPECT_DOUBLE_EQ(make_loss(name)->curvature_floor(), floors.at(name)) << name;
  }
  EXPECT_DOUBLE_EQ(make_loss("poisson:largest=10")->curvature_floor(), 3);
}

// docs/math.md gives the largest curvature that a whole step of log-cosh lacks; its eps_c must exceed it.
TEST(CurvatureFloor, OfLogCoshIsAboveTheDocumentedBound) {
  const auto loss = make_loss("log-cosh");
  double largest = 0;
  // The function is smooth and its second derivative below 1: steps of 1e-4 miss the maximum by less than 1e-8.
  for (double e = 1e-4; e < 20; e += 1e-4) {
    const LossAt at = loss->at(0, e);
    largest = std::max(largest, at.d1 / e - at.d2);
  }
  EXPECT_NEAR(largest, 0.42574, 5e-6);
  EXPECT_LT(largest, loss->curvature_floor());
  const std::string page = content_of(IGND_SOURCE_DIR "/docs/math.md");
  EXPECT_NE(page.find("tanh(e)/e - sech^2(e) <= .42574 |"), std::string::npos);
}

// One step with the defaults and rate 1 on a linear model.
struct OneStep {
  double before, after;
  double rounding;  // what a sum of terms this large may be wrong by
};

struct Situation {
  std::vector<double> x, w;  // the last weight is the bias
};

OneStep step_with_defaults(const std::shared_ptr<const Loss>& loss, const Situation& at, double y) {
  Linear<double> model(at.x.size());
  std::ranges::copy(at.w, model.parameters().begin());
  TrainerOptions options;
  options.loss = loss;
  options.schedule = Schedule::constant(1);
  Trainer<double> trainer(model, options);
  const StepInfo info = trainer.step({{at.x}, y});
  EXPECT_EQ(info.status, StepStatus::learned) << to_string(info);
  double largest = 1 + std::abs(y);
  for (std::size_t i = 0; i < at.x.size(); ++i) largest += std::abs(at.x[i]) * (std::abs(at.w[i]) + 1);
  return {info.prediction, model.predict({at.x}), 1e-13 * largest};
}

// The prediction has moved towards the target and not past it.
void expect_between(const OneStep& step, double target, const std::string& what) {
  const double direction = target > step.before ? 1 : -1;
  EXPECT_GT(direction * (step.after - step.before), 0) << what;
  EXPECT_LE(direction * (step.after - target), step.rounding) << what;
}

// Inputs of several sizes and scales with weights such that the prediction is of order 1.
std::vector<Situation> situations(RandomStream& stream) {
  std::vector<Situation> all;
  for (const std::size_t features : {1U, 3U, 20U}) {
    for (const double scale : {1e-2, 1.0, 1e3}) {
      for (int trial = 0; trial < 5; ++trial) {
        auto w = normal_vector(stream, features + 1, 1 / scale);
        w.back() *= scale;
        all.push_back({normal_vector(stream, features, scale), w});
      }
    }
  }
  return all;
}

double predict(const Situation& at) {
  double f = at.w.back();
  for (std::size_t i = 0; i < at.x.size(); ++i) f += at.w[i] * at.x[i];
  return f;
}

TEST(Outlier, OfAThousandNeverMovesAPredictionPastItsTarget) {
  RandomStream stream(6, "loss");
  for (const auto& loss : losses()) {
    if (loss->spec() == "logistic" || loss->spec() == "poisson:largest=10") continue;  // see below
    for (const auto& at : situations(stream)) {
      // Counts have no negative outliers.
      for (const double y : is_poisson(*loss) ? std::vector{1e3} : std::vector{-1e3, 1e3}) {
        expect_between(step_with_defaults(loss, at, y), target_output(*loss, y), loss->spec());
      }
    }
  }
}

TEST(Outlier, OfAnySizeNeverMovesAPredictionPastItsTarget) {
  RandomStream stream(7, "loss");
  for (const auto& loss : losses()) {
    if (loss->spec() == "logistic" || is_poisson(*loss)) continue;  // see below
    for (const auto& at : situations(stream)) {
      for (double size = 1e-3; size < 2e6; size *= std::pow(10, 0.2)) {
        // The slope of pinball does not know how near the target is: it may pass one that is nearer than 1.
        if (is_pinball(*loss) && size < 1) continue;
        for (const double y : {predict(at) - size, predict(at) + size}) {
          expect_between(step_with_defaults(loss, at, y), y, loss->spec() + " by " + std::to_string(size));
        }
      }
    }
  }
}

TEST(Outlier, OfACountUpToTheLargestNeverMovesThePoissonPredictionPastIt) {
  RandomStream stream(8, "loss");
  for (const auto& [spec, largest] :
       {std::pair{"poisson:largest=10", 10.0}, std::pair{"poisson", 1e3}, std::pair{"poisson:largest=2000000", 2e6}}) {
    const auto poisson = make_loss(spec);
    for (auto at : situations(stream)) {
      const double bias = at.w.back() - predict(at);
      for (double y = largest; y > 1e-3; y /= std::sqrt(10.0)) {
        // From below, where the loss is flat, and from above, where it is steep.
        for (const double distance : {-1000.0, -30.0, -5.0, -1.8, -1.0, -1e-3, 1e-3, 1.0, 5.0, 20.0}) {
          at.w.back() = bias + std::log(y) + distance;
          expect_between(step_with_defaults(poisson, at, y), std::log(y), spec + (" " + std::to_string(y)));
        }
      }
    }
  }
}

TEST(Outlier, InOneFeatureNeverMovesAPredictionPastItsTarget) {
  RandomStream stream(9, "loss");
  for (const auto& loss : losses()) {
    if (loss->spec() == "logistic") continue;
    for (std::size_t trial = 0; trial < 50; ++trial) {
      Situation at{normal_vector(stream, 5), normal_vector(stream, 6)};
      at.x[trial % 5] = trial % 2 == 0 ? 1e3 : -1e3;
      at.w[trial % 5] *= 1e-3 * stream.uniform();  // poisson's output is a logarithm: it stays small
      const double y = std::abs(random_target(*loss, stream)) + 1;
      const double target = target_output(*loss, y);
      if (is_pinball(*loss) && std::abs(predict(at) - target) < 1) continue;
      expect_between(step_with_defaults(loss, at, y), target, loss->spec());
    }
  }
}

// The target of the logistic loss is plus or minus infinity. Without the floor one step from -1000 would be exp(1000).
TEST(Outlier, MovesALogitTheRightWayByAtMostTheReciprocalOfTheFloor) {
  RandomStream stream(10, "loss");
  const auto logistic = make_loss("logistic");
  for (auto at : situations(stream)) {
    const double bias = at.w.back() - predict(at);
    for (const double f : {-1000.0, -30.0, -1.0, 0.0, 1.0, 30.0, 1000.0}) {
      for (const double y : {0.0, 1.0}) {
        at.w.back() = bias + f;
        const OneStep step = step_with_defaults(logistic, at, y);
        const double forward = (y == 1 ? 1 : -1) * (step.after - step.before);
        EXPECT_GE(forward, -step.rounding) << f << " " << y;
        EXPECT_LE(forward, 1 / logistic->curvature_floor() + step.rounding) << f << " " << y;
        const bool wrong_sign = f * (y - 0.5) < 0;
        if (wrong_sign) {
          EXPECT_GT(forward, 1) << f << " " << y;
        }
      }
    }
  }
}

TEST(Outlier, OfAThousandOnTheWrongSideIsUnlearnedByTheLogisticLoss) {
  Linear<double> model(1);
  model.parameters()[1] = -1000;
  TrainerOptions options;
  options.loss = make_loss("logistic");
  options.schedule = Schedule::constant(1);
  Trainer<double> trainer(model, options);
  const std::vector<double> x{0.5};
  // 100 per step at most: 10 steps to 0. The rest is for the last stretch.
  for (int step = 0; step < 20; ++step) ASSERT_EQ(trainer.step({{x}, 1}).status, StepStatus::learned);
  EXPECT_GT(model.predict({x}), 0);
  EXPECT_LT(model.predict({x}), 200);
}

std::string refusal(const std::string& spec) {
  try {
    make_loss(spec);
  } catch (const InvalidArgument& fault) {
    return fault.what();
  }
  return "accepted";
}

TEST(Factory, ASpecReadsBackAsTheSameLoss) {
  auto all = losses();
  RandomStream stream(11, "loss");
  for (int trial = 0; trial < 100; ++trial) {
    all.push_back(make_loss("huber:delta=" + std::to_string(0.001 + 5 * stream.uniform())));
    all.push_back(make_loss("pinball:tau=" + std::to_string(stream.uniform())));
  }
  for (const auto& loss : all) {
    const auto read = make_loss(loss->spec());
    EXPECT_EQ(read->spec(), loss->spec());
    const double y = random_target(*loss, stream), f = stream.normal();
    EXPECT_EQ(read->at(y, f).value, loss->at(y, f).value) << loss->spec();
    EXPECT_EQ(read->at(y, f).d1, loss->at(y, f).d1) << loss->spec();
  }
}

TEST(Factory, ParametersAreTheOnesGiven) {
  EXPECT_EQ(make_loss("huber:delta=0.25")->at(0, 5).d1, 0.25);
  EXPECT_EQ(make_loss("huber")->at(0, 5).d1, 1);
  EXPECT_EQ(make_loss("pinball:tau=0.25")->at(0, -5).d1, -0.25);
  EXPECT_EQ(make_loss("pinball:tau=0.25")->at(0, 5).d1, 0.75);
  EXPECT_EQ(make_loss("pinball")->at(0, 5).d1, 0.5);
  EXPECT_EQ(make_loss("poisson")->spec(), "poisson:largest=1000");
  EXPECT_EQ(make_loss(" huber : delta = 0.25 ")->spec(), "huber:delta=0.25");
}

TEST(Factory, AnUnknownNameIsAnsweredWithTheNearestAndAllOthers) {
  const std::vector<std::pair<std::string, std::string>> near{{"sqaured", "squared"},
                                                              {"log_cosh", "log-cosh"},
                                                              {"logcosh", "log-cosh"},
                                                              {"Huber", "huber"},
                                                              {"poison", "poisson"}};
  for (const auto& [wrong, right] : near) {
    EXPECT_NE(refusal(wrong).find("did you mean '" + right + "'?"), std::string::npos) << refusal(wrong);
  }
  for (const std::string wrong : {"sqaured", "crossentropyloss", ""}) {
    for (const auto& name : loss_names()) EXPECT_NE(refusal(wrong).find(name), std::string::npos) << refusal(wrong);
  }
  EXPECT_EQ(refusal("crossentropyloss").find("did you mean"), std::string::npos) << refusal("crossentropyloss");
}

TEST(Factory, BadParametersAreNamedInTheRefusal) {
  const std::vector<std::pair<std::string, std::string>> bad{
      {"huber:delta=0", "delta is 0"},
      {"huber:delta=-1", "delta is -1"},
      {"huber:delta=inf", "delta is inf"},
      {"huber:delta=nan", "delta"},
      {"huber:delta=big", "'big', which is not a number"},
      {"huber:delta=", "delta is ''"},
      {"huber:delta=1,delta=2", "'delta' is given twice"},
      {"huber:dleta=1", "did you mean 'delta'?"},
      {"huber:tau=0.5", "no option 'tau'"},
      {"huber:0.5", "'0.5' is not of the form key=value"},
      {"pinball:tau=1.5", "tau is 1.5"},
      {"pinball:tau=-0.1", "tau is -0.1"},
      {"poisson:largest=-1", "largest is -1"},
      {"poisson:largest=inf", "largest is inf"},
      {"squared:scale=2", "no option 'scale'"},
      {"huber:delta=0,tau=1", "delta is 0"},
      {"huber:delta=0,tau=1", "no option 'tau'"},  // all faults at once
  };
  for (const auto& [spec, message] : bad) {
    EXPECT_NE(refusal(spec).find(message), std::string::npos) << spec << ": " << refusal(spec);
  }
}

TEST(Factory, GarbageIsRefused) {
  const std::vector<std::string> garbage{"",
                                         " ",
                                         ":",
                                         "squared:",
                                         "squared,",
                                         "squared=1",
                                         "huber::",
                                         "huber:=",
                                         "huber:,",
                                         "huber:delta=1,",
                                         "huber;1",
                                         "1",
                                         "SQUARED",
                                         "squared x",
                                         std::string("squared\0", 8),
                                         "\xff\xfe",
                                         "squared\n",
                                         std::string(10'000, 'x')};
  for (const auto& text : garbage) EXPECT_THROW(make_loss(text), InvalidArgument) << text.substr(0, 40);
}

// Convex only where |f - y| < pi/2.
class Cosine final : public Loss {
 public:
  LossAt at(double y, double f) const override { return {1 - std::cos(f - y), std::sin(f - y), std::cos(f - y)}; }
  std::string spec() const override { return "cosine"; }
};

TEST(UserLoss, ThatIsNotConvexIsRefusedAndNothingChanges) {
  Linear<double> model(2);
  const std::vector<double> x{1, -2}, start{0.3, 0.1, -0.2};
  std::ranges::copy(start, model.parameters().begin());
  TrainerOptions options;
  options.loss = std::make_shared<Cosine>();
  options.schedule = Schedule::constant(1);
  Trainer<double> trainer(model, options);
  for (const double y : {3.0, -3.0}) EXPECT_THROW(trainer.step({{x}, y}), NonConvexLoss) << y;
  EXPECT_EQ(trainer.steps(), 0U);
  EXPECT_EQ(std::vector<double>(model.parameters().begin(), model.parameters().end()), start);
  // It is the sample that was refused, not the run.
  EXPECT_EQ(trainer.step({{x}, 1.0}).status, StepStatus::learned);
  EXPECT_NE(model.parameters()[0], start[0]);
}

TEST(UserLoss, HasTheDefaultsOfTheInterface) {
  const Cosine loss;
  EXPECT_EQ(loss.minimum(5), 0);
  EXPECT_EQ(loss.curvature_floor(), 0);
  EXPECT_NO_THROW(loss.check_target(-5));
  EXPECT_THROW(loss.check_target(nan), BadSample);
}

// ---------------------------------------------------------------------------------------------------------------------
// Losses that Gauss-Newton steps do not minimise

// A loss made of another one.
class Made final : public Loss {
 public:
  explicit Made(std::function<LossAt(double y, double f)> at, double floor = 0) : at_(std::move(at)), floor_(floor) {}
  LossAt at(double y, double f) const override { return at_(y, f); }
  double curvature_floor() const override { return floor_; }
  std::string spec() const override { return "made"; }

 private:
  std::function<LossAt(double y, double f)> at_;
  double floor_;
};

std::string advice_for(const Loss& loss, const char* rule = "gauss-newton") {
  return loss_advice(loss, *make_step_rule(rule));
}

TEST(LossAdvice, FindsNoFaultWithTheLibrarysOwn) {
  for (const auto& loss : losses()) {
    for (const char* rule : {"gauss-newton", "gauss-newton:eps_c=0", "gauss-newton:eps_c=0,eps_lm=0",
                             "gauss-newton:eps_c=0.1,eps_lm=2", "gradient", "polyak", "normalized"}) {
      EXPECT_EQ(advice_for(*loss, rule), "") << loss->spec() << " " << rule;
    }
  }
  for (const std::string& name : vector_loss_names()) {
    const auto loss = make_vector_loss(name);
    EXPECT_EQ(loss_advice(*loss, *make_step_rule("gauss-newton"), loss->link() == Link::softmax ? 3 : 1), "") << name;
  }
  EXPECT_EQ(loss_advice(*make_vector_loss("squared"), *make_step_rule("gauss-newton"), 5), "");
}

// Whatever is in l_f and in l_ff for some targets alone: a side, a class, an exponential cost, a deviance.
TEST(LossAdvice, FindsFactorsThatCancel) {
  const auto expectile = [](double tau) {
    return Made([tau](double y, double f) {
      const double w = y > f ? tau : 1 - tau;
      return LossAt{w * (f - y) * (f - y) / 2, w * (f - y), w};
    });
  };
  for (const double tau : {0.02, 0.1, 0.4, 0.6, 0.9, 0.98}) EXPECT_NE(advice_for(expectile(tau)), "") << tau;
  EXPECT_EQ(advice_for(expectile(0.5)), "");
  EXPECT_EQ(advice_for(expectile(0.9), "gradient"), "");
  // A large eps_c outweighs the weights: the steps are then those of the gradient.
  EXPECT_EQ(advice_for(expectile(0.9), "gauss-newton:eps_c=100"), "");

  const auto logistic = make_loss("logistic");
  const Made dear_positives([&](double y, double f) {
    const double w = y == 1 ? 5 : 1;
    const LossAt at = logistic->at(y, f);
    return y == 0 || y == 1 ? LossAt{w * at.value, w * at.d1, w * at.d2} : throw BadSample("0 or 1");
  });
  class TwoClasses final : public Loss {
   public:
    explicit TwoClasses(const Loss& loss) : loss_(loss) {}
    LossAt at(double y, double f) const override { return loss_.at(y, f); }
    void check_target(double y) const override { make_loss("logistic")->check_target(y); }
    std::string spec() const override { return "dear positives"; }

   private:
    const Loss& loss_;
  };
  EXPECT_NE(advice_for(TwoClasses(dear_positives)), "");
  EXPECT_EQ(advice_for(dear_positives), "");  // it cannot be asked: its at() throws

  EXPECT_NE(advice_for(Made([](double y, double f) {
              const double e = f - y;
              return LossAt{std::exp(e) - e - 1, std::exp(e) - 1, std::exp(e)};
            })),
            "");  // LINEX
  EXPECT_EQ(advice_for(Made([](double y, double f) {
              const double w = y > f ? 0.9 : 0.1;
              return LossAt{w * (f - y) * (f - y) / 2, w * (f - y), 0.9};
            })),
            "");  // an expectile with a bound on its curvature
  EXPECT_EQ(advice_for(Made([](double y, double f) { return LossAt{y * f, nan, 1}; })), "");
}

TEST(LossAdvice, FindsThemInTheFirstOfSeveralOutputs) {
  class Expectiles final : public VectorLoss {
   public:
    std::size_t targets(std::size_t outputs) const override { return outputs; }
    double at(std::span<const double> y, std::span<const double> f, std::span<double> d1,
              std::span<double> d2) const override {
      double value = 0;
      for (std::size_t c = 0; c < f.size(); ++c) {
        const double w = y[c] > f[c] ? 0.9 : 0.1;
        d1[c] = w * (f[c] - y[c]);
        if (!d2.empty()) d2[c * f.size() + c] = w;
        value += d1[c] * (f[c] - y[c]) / 2;
      }
      return value;
    }
    void check_target(std::span<const double> /*y*/, std::size_t /*outputs*/) const override {}
    std::string spec() const override { return "expectiles"; }
  };
  for (const std::size_t outputs : {1U, 3U}) {
    EXPECT_NE(loss_advice(Expectiles(), *make_step_rule("gauss-newton"), outputs), "") << outputs;
    EXPECT_EQ(loss_advice(Expectiles(), *make_step_rule("gradient"), outputs), "") << outputs;
  }
}

}  // namespace
}  // namespace ignd::testing
