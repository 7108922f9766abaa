#include "learn/prediction_intervals.hpp"

#include "ignd/checkpoint.hpp"
#include "ignd/error.hpp"
#include "support.hpp"

#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

namespace ignd::testing {
namespace {

JudgedSamples samples_of(const std::vector<double>& predicted, const std::vector<double>& truth) {
  return {.truth = truth, .predicted = predicted, .weight = std::vector<double>(truth.size(), 1.0)};
}

PredictionIntervals fit(const JudgedSamples& samples, std::uint64_t seed = 1) {
  return PredictionIntervals::fit(samples, std::nullopt, seed).value();
}

// The guarantee of split-conformal prediction, for every n and level, without chance: of n + 1 residuals, each in turn
// is the new one, and the intervals of the n others hold at least a share of 1 - a of them, and at most 2 / (n + 1)
// more where no two are equal.
TEST(PredictionIntervals, HoldEveryResidualInItsTurnAsOftenAsTheyPromise) {
  RandomStream stream(1, "residuals");
  for (int trial = 0; trial < 60; ++trial) {
    const std::size_t count = 4 + stream.below(60);
    std::vector<double> residuals(count);
    for (double& residual : residuals) residual = std::exp(2 * stream.normal()) - 3;  // skewed
    const double most = 1 - 2.0 / static_cast<double>(count);
    const double level = trial % 3 == 0 ? most - 1e-12 : stream.uniform(0.05, most);
    std::size_t held = 0;
    for (std::size_t i = 0; i < count; ++i) {
      std::vector<double> others = residuals;
      others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
      const auto [low, high] = fit(samples_of(std::vector<double>(count - 1, 7.0),
                                              [&] {
                                                for (double& other : others) other += 7;
                                                return others;
                                              }()))
                                   .at(7, level);
      held += low <= 7 + residuals[i] + 1e-12 && 7 + residuals[i] <= high + 1e-12 ? 1 : 0;
    }
    const double share = static_cast<double>(held) / static_cast<double>(count);
    EXPECT_GE(share, level - 1e-9) << count << " residuals, level " << level;
    EXPECT_LE(share, level + 2.0 / static_cast<double>(count) + 1e-9) << count << " residuals, level " << level;
  }
}

TEST(PredictionIntervals, RefuseLevelsThatTheirResidualsCannotHold) {
  std::vector<double> truth(199);
  std::iota(truth.begin(), truth.end(), 0.0);
  const PredictionIntervals intervals = fit(samples_of(std::vector<double>(199, 0.0), truth));
  EXPECT_EQ(intervals.residuals(), 199U);
  EXPECT_EQ(intervals.at(0, 0.99).low, 0);
  EXPECT_EQ(intervals.at(0, 0.99).high, 198);
  const auto message = [&](double level) { return message_of([&] { intervals.at(0, level); }); };
  EXPECT_NE(message(0.995).find("199 residuals, too few for 99.5 % intervals: 399 are needed"), std::string::npos)
      << message(0.995);
  EXPECT_NE(message(1).find("must be above 0 and below 100"), std::string::npos);
  EXPECT_NE(message(0).find("must be above 0 and below 100"), std::string::npos);
  EXPECT_THROW(intervals.at(0, std::nan("")), InvalidArgument);
}

struct Made {
  JudgedSamples calibration, test;
};

// Errors as large as the prediction, or of the same size everywhere.
Made make(RandomStream& stream, std::size_t rows, bool growing) {
  const auto some = [&](std::size_t count) {
    std::vector<double> predicted, truth;
    for (std::size_t i = 0; i < count; ++i) {
      predicted.push_back(stream.uniform(1, 20));
      truth.push_back(predicted.back() + (growing ? predicted.back() : 1) * stream.normal());
    }
    return samples_of(predicted, truth);
  };
  return {some(rows), some(rows)};
}

TEST(PredictionIntervals, AreScaledWhereErrorsGrowWithThePrediction) {
  RandomStream stream(2, "heteroscedastic");
  const Made growing = make(stream, 4000, true), even = make(stream, 4000, false);
  const PredictionIntervals scaled = fit(growing.calibration), plain = fit(even.calibration);
  EXPECT_TRUE(scaled.is_scaled());
  EXPECT_FALSE(plain.is_scaled());
  EXPECT_EQ(plain.at(3, 0.9).high - plain.at(3, 0.9).low, plain.at(15, 0.9).high - plain.at(15, 0.9).low);
  // A normal distribution has 90 % within 1.645 deviations; residuals and groups are known to a few per cent.
  for (const double predicted : {3.0, 10.0, 18.0}) {
    const auto [low, high] = scaled.at(predicted, 0.9);
    EXPECT_NEAR((high - low) / (2 * 1.645 * predicted), 1, 0.15) << predicted;
  }
}

// On average over draws of the residuals the share held is between 1 - a and 1 - a + 2 / (n + 1), scaled or not: half
// of 800 rows are calibrated on, so that the draws scatter by sqrt(.1 * .9 / 400) = 1.5 %, and 60 of them by 0.2 %.
TEST(PredictionIntervals, HoldWhatTheyPromiseScaledOrNot) {
  RandomStream stream(3, "coverage");
  for (const bool growing : {true, false}) {
    double share = 0;
    constexpr int draws = 60;
    for (int draw = 0; draw < draws; ++draw) {
      const Made made = make(stream, 800, growing);
      share += coverage_of(fit(made.calibration, static_cast<std::uint64_t>(draw)), made.test, 0.9).share / draws;
    }
    EXPECT_NEAR(share, 0.9, 0.01) << growing;
  }
}

TEST(PredictionIntervals, AreOfRowsByTheirWeights) {
  RandomStream stream(4, "weights");
  JudgedSamples samples = make(stream, 2000, false).calibration;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    // Every second row is far off, and does not count.
    if (i % 2 == 0) samples.weight[i] = 0, samples.truth[i] += 1000;
  }
  EXPECT_LT(fit(samples).at(10, 0.9).high, 15);
  EXPECT_NEAR(coverage_of(fit(samples), samples, 0.9).share, 0.9, 0.05);
  // A weight of 3 is three rows: a tenth of the rows makes a quarter of the residuals.
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const bool heavy = i % 10 == 0;
    samples.weight[i] = heavy ? 3 : 1;
    samples.predicted[i] = 0;
    samples.truth[i] = heavy ? 5 + stream.uniform() : stream.uniform();
  }
  EXPECT_GT(fit(samples).at(0, 0.6).high, 4) << "a fifth at each end is left out";
  EXPECT_NEAR(coverage_of(fit(samples), samples, 0.6).share, 0.6, 0.06);
}

TEST(PredictionIntervals, CopeWithDegenerateRows) {
  EXPECT_FALSE(PredictionIntervals::fit({}, std::nullopt, 1));
  EXPECT_FALSE(PredictionIntervals::fit(samples_of({1}, {2}), std::nullopt, 1));
  EXPECT_FALSE(PredictionIntervals::fit(samples_of({1, std::nan("")}, {2, 3}), std::nullopt, 1));
  // No errors at all, and the same prediction for all rows.
  const std::vector<double> same(1000, 4.0);
  const PredictionIntervals exact = fit(samples_of(same, same));
  EXPECT_FALSE(exact.is_scaled());
  EXPECT_EQ(exact.at(4, 0.9).low, 4);
  EXPECT_EQ(exact.at(4, 0.9).high, 4);
  RandomStream stream(5, "constant");
  std::vector<double> truth;
  for (int i = 0; i < 1000; ++i) truth.push_back(stream.normal());
  EXPECT_FALSE(fit(samples_of(same, truth)).is_scaled());
  // Counts are not below zero.
  const auto counts = PredictionIntervals::fit(samples_of(same, truth), 0.0, 1).value();
  EXPECT_EQ(counts.at(1, 0.9).low, 0);
  EXPECT_EQ(counts.at(-9, 0.9).high, 0) << "below zero nothing is left but the end";
}

TEST(PredictionIntervals, AreSavedAndRefusedWhereDamaged) {
  RandomStream stream(6, "saved");
  const PredictionIntervals intervals = fit(make(stream, 20'000, true).calibration);
  EXPECT_EQ(intervals.residuals(), 4000U) << "a model file stays small";
  Checkpoint checkpoint;
  EXPECT_FALSE(PredictionIntervals::load(checkpoint, std::nullopt));
  intervals.save(checkpoint);
  const auto loaded = PredictionIntervals::load(checkpoint, std::nullopt);
  for (const double predicted : {-1.0, 3.3, 12.0, 50.0}) {
    EXPECT_EQ(loaded->at(predicted, 0.8).low, intervals.at(predicted, 0.8).low);
    EXPECT_EQ(loaded->at(predicted, 0.8).high, intervals.at(predicted, 0.8).high);
  }
  std::vector<double> residuals(4000, 1.0);
  residuals[7] = 2;
  checkpoint.set("interval.residuals", std::span<const double>(residuals));
  EXPECT_THROW(PredictionIntervals::load(checkpoint, std::nullopt), FileError);
}

TEST(PredictionIntervals, SayHowManyRowsTheyHold) {
  const PredictionIntervals intervals = fit(samples_of({0, 0, 0, 0}, {-1, 0, 1, 2}));
  JudgedSamples test = samples_of({10, 10, 10}, {9, 12, 13});
  test.weight = {1, 2, 1};
  const IntervalCoverage coverage = coverage_of(intervals, test, 0.6);
  EXPECT_EQ(coverage.share, 0.75);
  EXPECT_EQ(coverage.mean_width, 3);
  EXPECT_EQ(coverage_text(coverage, "4 test rows"),
            "60 % intervals hold 75.0 % of the 4 test rows; their mean width is 3");
}

}  // namespace
}  // namespace ignd::testing
