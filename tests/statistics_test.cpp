#include "report/statistics.hpp"

#include "made_up_results.hpp"
#include "report/format.hpp"
#include "support.hpp"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace ignd {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)

constexpr double infinity = std::numeric_limits<double>::infinity();

// By the differences of all pairs, which need no mean.
double deviation_by_pairs(const std::vector<double>& values) {
  const auto n = static_cast<long double>(values.size());
  long double sum = 0;
  for (const double a : values) {
    for (const double b : values) sum += (static_cast<long double>(a) - b) * (static_cast<long double>(a) - b);
  }
  return static_cast<double>(std::sqrt(sum / (2 * n * (n - 1))));
}

double plain_mean(const std::vector<double>& values) {
  long double sum = 0;
  for (const double value : values) sum += value;
  return static_cast<double>(sum / static_cast<long double>(values.size()));
}

TEST(Statistics, SpreadAgreesWithTheDifferencesOfPairs) {
  RandomStream stream(1, "spread");
  for (std::size_t n = 2; n < 40; ++n) {
    for (const double scale : {1e-15, 1.0, 1e12}) {
      std::vector<double> values = normal_vector(stream, n, scale);
      for (double& value : values) value += 3 * scale;
      const Spread spread = spread_of(values);
      ASSERT_TRUE(spread.mean && spread.deviation);
      EXPECT_EQ(spread.n, n);
      EXPECT_NEAR(*spread.mean, plain_mean(values), 1e-13 * scale);
      EXPECT_NEAR(*spread.deviation, deviation_by_pairs(values), 1e-12 * scale);
    }
  }
}

TEST(Statistics, FewValuesSayLess) {
  EXPECT_FALSE(spread_of({}).mean);
  EXPECT_FALSE(spread_of({}).deviation);
  const std::vector<double> one{0.3};
  EXPECT_EQ(spread_of(one).mean, 0.3);
  EXPECT_FALSE(spread_of(one).deviation);
  const std::vector<double> two{1, 3};
  EXPECT_EQ(spread_of(two).mean, 2);
  EXPECT_DOUBLE_EQ(*spread_of(two).deviation, std::sqrt(2.0));
}

TEST(Statistics, EqualValuesHaveNoSpreadAtAll) {
  for (const double value : {0.1, 1.0 / 3, 1e-300, -7e99}) {
    for (std::size_t n = 2; n < 30; ++n) {
      const Spread spread = spread_of(std::vector<double>(n, value));
      EXPECT_EQ(spread.mean, value);
      EXPECT_EQ(spread.deviation, 0);
    }
  }
}

TEST(Statistics, WhatIsNotFiniteHasNoMean) {
  for (const double bad : {infinity, -infinity, std::nan("")}) {
    const Spread spread = spread_of(std::vector<double>{1, bad, 2});
    EXPECT_FALSE(spread.mean);
    EXPECT_FALSE(spread.deviation);
    EXPECT_EQ(spread.n, 3U);
  }
  EXPECT_FALSE(spread_of(std::vector<double>{1e308, 1e308}).mean) << "the sum is too large";
}

TEST(Statistics, LogarithmsNeedPositiveValues) {
  const Spread spread = spread_of_logarithms(std::vector<double>{1e-14, 1e-16});
  EXPECT_NEAR(*spread.mean, -15, 1e-12);
  EXPECT_NEAR(*spread.deviation, std::sqrt(2.0), 1e-12);
  for (const double bad : {0.0, -1.0, std::nan("")}) {
    const Spread none = spread_of_logarithms(std::vector<double>{1, bad});
    EXPECT_FALSE(none.mean);
    EXPECT_EQ(none.n, 2U);
  }
}

TEST(Statistics, AFailedRunStaysInTheDenominator) {
  const MethodResults method = method_with("m", {scored_run(1), failed_run(7), scored_run(3)});
  const ScoreSummary scores = summarize(method);
  EXPECT_EQ(scores.done, 3U);
  EXPECT_EQ(scores.failed, 1U);
  EXPECT_EQ(scores.unscored, 1U);
  EXPECT_FALSE(scores.all.mean) << "a mean of the survivors alone would flatter";
  EXPECT_FALSE(scores.logarithms.mean);
  EXPECT_EQ(scores.scored.n, 2U);
  EXPECT_EQ(scores.scored.mean, 2);
}

TEST(Statistics, AFailedRunCountsWithWhatFailingIsWorth) {
  RunResult worth_nothing = failed_run(7);
  worth_nothing.score = 0;
  const ScoreSummary scores = summarize(method_with("m", {scored_run(1), worth_nothing}));
  EXPECT_EQ(scores.failed, 1U);
  EXPECT_EQ(scores.unscored, 0U);
  EXPECT_EQ(scores.all.mean, 0.5);
}

TEST(Statistics, NoRunsAndOnlyFailures) {
  EXPECT_FALSE(summarize(method_with("m", {})).all.mean);
  const ScoreSummary scores = summarize(method_with("m", {failed_run(1), failed_run(2)}));
  EXPECT_EQ(scores.failed, 2U);
  EXPECT_FALSE(scores.all.mean);
  EXPECT_EQ(scores.scored.n, 0U);
}

TEST(Statistics, AScoreThatIsNotFiniteIsNone) {
  const ScoreSummary scores = summarize(method_with("m", {scored_run(1), scored_run(infinity)}));
  EXPECT_EQ(scores.unscored, 1U);
  EXPECT_EQ(scores.failed, 0U);
  EXPECT_FALSE(scores.all.mean);
}

TEST(Statistics, PairedDifferencesAgainstPlainLoops) {
  RandomStream stream(2, "pairs");
  for (int round = 0; round < 200; ++round) {
    const ScoreInfo metric{"m", stream.below(2) == 0, stream.below(2) == 0};
    MethodResults a;
    MethodResults b;
    std::vector<double> differences;
    std::uint64_t wins = 0;
    const std::uint64_t seeds = stream.below(20);
    for (std::uint64_t seed = 0; seed < seeds; ++seed) {
      const double of_a = std::exp(stream.normal());
      const double of_b = std::exp(stream.normal());
      const bool in_a = stream.below(5) > 0;
      const bool in_b = stream.below(5) > 0;
      if (in_a) a.runs.push_back({seed, scored_run(of_a), 0});
      if (in_b) b.runs.insert(b.runs.begin(), {seed, scored_run(of_b), 0});
      if (!in_a || !in_b) continue;
      differences.push_back(metric.log_scale ? std::log10(of_a / of_b) : of_a - of_b);
      if (of_a != of_b && (of_a > of_b) == metric.higher_is_better) ++wins;
    }
    const PairedDifference result = compare(a, b, metric);
    ASSERT_EQ(result.pairs, differences.size());
    EXPECT_TRUE(result.complete());
    EXPECT_EQ(result.wins, wins);
    EXPECT_EQ(result.logarithms, metric.log_scale);
    EXPECT_EQ(result.differences.mean.has_value(), !differences.empty());
    ASSERT_EQ(result.standard_error.has_value(), differences.size() > 1);
    if (differences.empty()) continue;
    EXPECT_NEAR(*result.differences.mean, plain_mean(differences), 1e-12);
    if (differences.size() < 2) continue;
    EXPECT_NEAR(*result.standard_error,
                deviation_by_pairs(differences) / std::sqrt(static_cast<double>(differences.size())), 1e-12);
  }
}

TEST(Statistics, ARunWithoutAScoreLoses) {
  const MethodResults a = method_with("a", {scored_run(9), failed_run(1), failed_run(1), scored_run(1), scored_run(2)});
  const MethodResults b = method_with("b", {failed_run(1), scored_run(9), failed_run(1), scored_run(1), scored_run(5)});
  const PairedDifference result = compare(a, b, {"error", false, false});
  EXPECT_EQ(result.pairs, 5U);
  EXPECT_EQ(result.wins, 2U) << "the failure of b, and 2 against 5";
  EXPECT_EQ(result.ties, 2U) << "both failed, and 1 against 1";
  EXPECT_FALSE(result.complete());
  EXPECT_EQ(result.differences.n, 2U);
  EXPECT_EQ(result.differences.mean, -1.5);
  EXPECT_EQ(compare(b, a, {"error", false, false}).wins, 1U);
}

TEST(Statistics, AScoreOfZeroHasNoLogarithmButWins) {
  const PairedDifference result =
      compare(method_with("a", {scored_run(0)}), method_with("b", {scored_run(1)}), {"error", false, true});
  EXPECT_EQ(result.wins, 1U);
  EXPECT_EQ(result.differences.n, 0U);
  EXPECT_FALSE(result.complete());
}

TEST(Statistics, OnlyPairsThatThePanelHasAreCompared) {
  ExperimentResults experiment;
  experiment.comparisons = {{"a", "b"}, {"a", "missing"}, {"missing", "b"}};
  PanelResults panel;
  panel.methods = {method_with("a", {scored_run(1)}), method_with("b", {scored_run(2)})};
  const auto pairs = compare_pairs(experiment, panel);
  ASSERT_EQ(pairs.size(), 1U);
  EXPECT_EQ(pairs[0].difference.differences.mean, -1);
}

// Otherwise the mean would fall or rise where a run ends, and nothing else happens.
TEST(Statistics, ARunThatEndsEarlyKeepsItsLastValue) {
  RunResult longer = scored_run(0);
  longer.x = {0, 1, 2, 5};
  longer.y = {1, 2, 4, 8};
  RunResult shorter = scored_run(0);
  shorter.x = {0, 1, 3};
  shorter.y = {3, 8, 7};
  const auto curve = mean_curve(method_with("m", {longer, shorter}));
  ASSERT_EQ(curve.size(), 5U);
  const double x[] = {0, 1, 2, 3, 5};
  const double mean[] = {2, 5, 6, 5.5, 7.5};
  for (std::size_t k = 0; k < 5; ++k) {
    EXPECT_EQ(curve[k].x, x[k]);
    EXPECT_EQ(curve[k].values.mean, mean[k]) << "of both runs, at " << x[k];
    EXPECT_EQ(curve[k].values.n, 2U);
    EXPECT_EQ(curve[k].ended, k == 4 ? 1U : 0U);
  }
  EXPECT_NEAR(std::pow(10.0, *curve[1].logarithms.mean), 4, 1e-12) << "the root of 2 times 8";
}

TEST(Statistics, NoRunIsPartOfTheMeanBeforeItBegins) {
  RunResult late = scored_run(0);
  late.x = {2};
  late.y = {8};
  RunResult early = scored_run(0);
  early.x = {0, 2};
  early.y = {1, 2};
  const auto curve = mean_curve(method_with("m", {late, early}));
  ASSERT_EQ(curve.size(), 2U);
  EXPECT_EQ(curve[0].values.mean, 1);
  EXPECT_EQ(curve[1].values.mean, 5);
}

RunResult failed_curve(const std::vector<double>& y) {
  RunResult run = failed_run(7);
  for (std::size_t k = 0; k < y.size(); ++k) run.x.push_back(static_cast<double>(k));
  run.y = y;
  return run;
}

// What it would have come to nobody knows: its last value would flatter it, and until then it would move the mean.
TEST(Statistics, AFailedRunIsNoPartOfACurve) {
  RunResult whole = scored_run(0);
  whole.x = {0, 1, 2};
  whole.y = {4, 3, 2};
  const auto curve = mean_curve(method_with("m", {failed_curve({9, 90}), whole}));
  ASSERT_EQ(curve.size(), 3U);
  for (std::size_t k = 0; k < 3; ++k) {
    EXPECT_EQ(curve[k].values.mean, whole.y[k]);
    EXPECT_EQ(curve[k].values.n, 1U);
  }
}

TEST(Statistics, AFailedRunThatIsWorthSomethingKeepsItsLastValue) {
  RunResult whole = scored_run(1);
  whole.x = {0, 1, 2};
  whole.y = {1, 1, 1};
  RunResult worth_nothing = failed_curve({1, 0});
  worth_nothing.score = 0;
  const auto curve = mean_curve(method_with("m", {worth_nothing, whole}));
  ASSERT_EQ(curve.size(), 3U);
  EXPECT_EQ(curve[2].values.mean, 0.5);
  EXPECT_EQ(curve[2].ended, 1U);
}

TEST(Statistics, WhereAllFailedTheMeanReachesAsFarAsAllDo) {
  const auto curve = mean_curve(method_with("m", {failed_curve({1, 5, 9}), failed_curve({3, 7})}));
  ASSERT_EQ(curve.size(), 2U);
  EXPECT_EQ(curve[1].values.mean, 6);
  EXPECT_EQ(curve[1].values.n, 2U);
}

TEST(Statistics, CurvesWithOddLengthsAndValues) {
  RunResult odd = scored_run(0);
  odd.x = {0, std::nan(""), infinity, 1, 2};
  odd.y = {1, 1, 1, infinity};
  const auto curve = mean_curve(method_with("m", {odd}));
  ASSERT_EQ(curve.size(), 2U);
  EXPECT_EQ(curve[0].values.mean, 1);
  EXPECT_FALSE(curve[1].values.mean);
  EXPECT_TRUE(mean_curve(method_with("m", {})).empty());
}

TEST(NumberText, TheMeanHasThePrecisionOfItsSpread) {
  EXPECT_EQ(with_spread(0.22713, 0.0163), "0.227 ± 0.016");
  EXPECT_EQ(with_spread(0.1, 0.00412), "0.1000 ± 0.0041");
  EXPECT_EQ(with_spread(5.12e-15, 1.234e-15), "(5.1 ± 1.2)e-15");
  EXPECT_EQ(with_spread(1234.5, 31.2), "1234 ± 31");
  EXPECT_EQ(with_spread(1.2345e8, 1.1e7), "(1.23 ± 0.11)e8");
  EXPECT_EQ(with_spread(0.001, 30), "0 ± 30");
  EXPECT_EQ(with_spread(-0.0001, 0.02), "0.000 ± 0.020");
  EXPECT_EQ(with_spread(-0.5, 0.02), "-0.500 ± 0.020");
  EXPECT_EQ(with_spread(0.5, 0), "0.5 ± 0");
  EXPECT_EQ(with_spread(0, 0), "0 ± 0");
  EXPECT_EQ(with_spread(0.123456, 1e-12), "0.1235 ± 1e-12");
  EXPECT_EQ(with_spread(0.123456, {}), "0.1235");
  EXPECT_EQ(with_spread({}, {}), "n/a");
  EXPECT_EQ(number_text(5e-15), "5e-15");
  EXPECT_EQ(with_spread(5e-324, 5e-324), "(4.9 ± 4.9)e-324");
}

TEST(NumberText, WhatIsPrintedReadsBackNearTheValue) {
  RandomStream stream(3, "numbers");
  for (int round = 0; round < 2000; ++round) {
    const double deviation = std::pow(10.0, 20 * stream.normal());
    const double mean = deviation * std::pow(10.0, 2 * stream.normal()) * (stream.below(2) == 0 ? 1 : -1);
    std::string text = with_spread(mean, deviation);
    std::string exponent;
    if (text[0] == '(') {
      exponent = text.substr(text.find(')') + 1);
      text = text.substr(1, text.find(')') - 1);
    }
    const std::size_t sign = text.find(" ± ");
    ASSERT_NE(sign, std::string::npos) << text;
    const double shown_mean = std::stod(text.substr(0, sign) + exponent);
    const double shown_deviation = std::stod(text.substr(sign + std::string(" ± ").size()) + exponent);
    EXPECT_NEAR(shown_deviation, deviation, 0.051 * deviation) << text;
    EXPECT_NEAR(shown_mean, mean, std::max(0.051 * deviation, 0.0006 * std::abs(mean))) << text;
    EXPECT_LE(text.size(), 32U) << text;
  }
}

TEST(NumberText, ThePapersNumbersStayAsTheyWerePrinted) {
  EXPECT_EQ(with_given_spread(0.101, 0.004), "0.101 ± 0.004");
  EXPECT_EQ(with_given_spread(0.82, 0.008), "0.820 ± 0.008");
  EXPECT_EQ(with_given_spread(5e-15, {}), "5e-15");
}

TEST(NumberText, Seeds) {
  EXPECT_EQ(seeds_text({}), "none");
  EXPECT_EQ(seeds_text({3, 1, 2, 2, 9, 11, 12}), "1 to 3, 9, 11, 12");
}

}  // namespace
}  // namespace ignd
