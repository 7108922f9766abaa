#include "learn/error_bars.hpp"

#include "support.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace ignd::testing {
namespace {

using Numbers = std::vector<double>;

JudgedSamples random_samples(RandomStream& stream, std::size_t rows, std::size_t classes) {
  JudgedSamples samples{.classes = classes};
  for (std::size_t i = 0; i < rows; ++i) {
    samples.truth.push_back(classes == 0 ? 5 + stream.normal() : static_cast<double>(stream.below(classes)));
    const bool right = stream.uniform() < 0.6;
    const double guess = classes > 2 && !right ? static_cast<double>(stream.below(classes)) : samples.truth.back();
    samples.predicted.push_back(classes == 0   ? samples.truth.back() + stream.normal()
                                : classes == 2 ? samples.truth.back() - 0.5 + std::round(4 * stream.normal()) / 4
                                               : guess);
    samples.weight.push_back(static_cast<double>(1 + stream.below(3)));
    samples.loss.push_back(0.1 + stream.uniform());
    samples.loss_weight.push_back(1);
  }
  return samples;
}

// Scores of drawn rows, each repeated as often as it was drawn, computed from scratch.
Numbers scores_of(const JudgedSamples& samples, const std::vector<std::size_t>& drawn) {
  Numbers truth, predicted, weight;
  double loss = 0, total = 0, right = 0;
  Numbers labelled(samples.classes), said(samples.classes), hits(samples.classes);
  for (const std::size_t i : drawn) {
    truth.push_back(samples.truth[i]);
    predicted.push_back(samples.predicted[i]);
    weight.push_back(samples.weight[i]);
    if (samples.classes <= 2) continue;
    loss += samples.weight[i] * samples.loss[i];
    total += samples.weight[i];
    const bool hit = truth.back() == predicted.back();
    right += hit ? weight.back() : 0;
    labelled[static_cast<std::size_t>(truth.back())] += weight.back();
    said[static_cast<std::size_t>(predicted.back())] += weight.back();
    hits[static_cast<std::size_t>(truth.back())] += hit ? weight.back() : 0;
  }
  if (samples.classes == 0) {
    const RegressionMetrics m = regression_metrics(truth, predicted, weight);
    return {m.mape.value(), m.rmse, m.mae, m.r2.value()};
  }
  if (samples.classes == 2) {
    const ClassificationMetrics m = classification_metrics(truth, predicted, weight);
    return {m.accuracy,          m.log_loss,       m.auc.value(), m.average_precision.value(),
            m.precision.value(), m.recall.value(), m.f1.value(),  m.calibration_error};
  }
  double f1 = 0;
  for (std::size_t k = 0; k < samples.classes; ++k) {
    const double precision = hits[k] / said[k], recall = hits[k] / labelled[k];
    f1 += hits[k] == 0 ? 0 : 2 / (1 / precision + 1 / recall) / static_cast<double>(samples.classes);
  }
  return {right / total, loss / total, f1};
}

// The percentiles of some values by their definition: linear between the order statistics.
double percentile(Numbers values, double level) {
  std::ranges::sort(values);
  const double at = level * static_cast<double>(values.size() - 1);
  const auto k = static_cast<std::size_t>(at);
  return k + 1 < values.size() ? std::lerp(values[k], values[k + 1], at - std::floor(at)) : values[k];
}

TEST(ErrorBars, AreThePercentilesOfNaiveResamples) {
  RandomStream stream(3, "error bars");
  for (const std::size_t classes : {0UL, 2UL, 4UL}) {
    const JudgedSamples samples = random_samples(stream, 120, classes);
    constexpr std::uint64_t seed = 9;
    RandomStream draws(seed, "bootstrap");
    std::vector<Numbers> values;
    for (int k = 0; k < 1000; ++k) {
      std::vector<std::size_t> drawn(samples.size());
      for (std::size_t& row : drawn) row = draws.below(samples.size());
      const Numbers scores = scores_of(samples, drawn);
      values.resize(scores.size());
      for (std::size_t m = 0; m < scores.size(); ++m) values[m].push_back(scores[m]);
    }
    const ErrorBars bars = error_bars(samples, seed);
    ASSERT_TRUE(bars) << bars.missing;
    EXPECT_EQ(bars.resamples, 1000U);
    ASSERT_EQ(bars.intervals.size(), values.size());
    for (std::size_t m = 0; m < values.size(); ++m) {
      ASSERT_TRUE(bars.intervals[m]) << classes << " " << m;
      double noise = 0;
      if (classes == 2 && m == 7) {  // the calibration error, which is larger in resamples
        const double measured =
            classification_metrics(samples.truth, samples.predicted, samples.weight).calibration_error;
        for (const double value : values[m]) noise += (value - measured) / 1000;
        EXPECT_GT(noise, 0);
      }
      const double low = percentile(values[m], 0.05) - noise, high = percentile(values[m], 0.95) - noise;
      EXPECT_NEAR(bars.intervals[m]->low, noise > 0 ? std::max(low, 0.0) : low, 1e-9) << classes << " " << m;
      EXPECT_NEAR(bars.intervals[m]->high, high, 1e-9) << classes << " " << m;
    }
  }
}

// The mean of n absolute errors has the standard error sd / sqrt(n), and 1.645 of them hold 90 % of a normal
// distribution. The ends of 1,000 resamples scatter by a twentieth of that.
TEST(ErrorBars, OfAMeanAreThoseOfTheNormalDistribution) {
  RandomStream stream(4, "normal errors");
  const JudgedSamples samples = random_samples(stream, 4000, 0);
  double mean = 0, total = 0, square = 0;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    mean += samples.weight[i] * std::abs(samples.truth[i] - samples.predicted[i]);
    total += samples.weight[i];
  }
  mean /= total;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const double gap = samples.weight[i] * (std::abs(samples.truth[i] - samples.predicted[i]) - mean) / total;
    square += gap * gap;
  }
  const ErrorBars bars = error_bars(samples, 1);
  const double half = 1.645 * std::sqrt(square);
  EXPECT_NEAR(bars.intervals[2]->low, mean - half, 0.2 * half);
  EXPECT_NEAR(bars.intervals[2]->high, mean + half, 0.2 * half);
}

// Copies of a row say nothing new: as a group they are drawn together, and the interval is that of the single rows.
TEST(ErrorBars, DrawGroupsOfRowsTogether) {
  RandomStream stream(5, "groups");
  const JudgedSamples single = random_samples(stream, 60, 2);
  JudgedSamples copies{.classes = 2};
  for (std::size_t i = 0; i < single.size(); ++i) {
    for (int k = 0; k < 5; ++k) {
      copies.truth.push_back(single.truth[i]);
      copies.predicted.push_back(single.predicted[i]);
      copies.weight.push_back(single.weight[i]);
      copies.loss.push_back(single.loss[i]);
      copies.loss_weight.push_back(1);
      copies.group.push_back(1000 + i);
    }
  }
  const ErrorBars of_single = error_bars(single, 1), of_groups = error_bars(copies, 1);
  JudgedSamples ungrouped = copies;
  ungrouped.group.clear();
  const ErrorBars of_copies = error_bars(ungrouped, 1);
  for (std::size_t m = 0; m < of_single.intervals.size(); ++m) {
    EXPECT_NEAR(of_groups.intervals[m]->low, of_single.intervals[m]->low, 1e-9);
    EXPECT_NEAR(of_groups.intervals[m]->high, of_single.intervals[m]->high, 1e-9);
  }
  const auto width = [](const ErrorBars& bars) { return bars.intervals[0]->high - bars.intervals[0]->low; };
  EXPECT_LT(width(of_copies), 0.7 * width(of_groups)) << "5 times the rows, 1 / sqrt(5) of the width";
}

TEST(ErrorBars, AreMissingWhereTheyWouldSayNothing) {
  RandomStream stream(6, "few");
  EXPECT_EQ(error_bars(random_samples(stream, 19, 0), 1).missing, "error bars need at least 20 rows");
  JudgedSamples grouped = random_samples(stream, 100, 0);
  for (std::size_t i = 0; i < 100; ++i) grouped.group.push_back(i % 10);
  EXPECT_EQ(error_bars(grouped, 1).missing, "error bars need at least 20 groups of rows");
  EXPECT_EQ(error_bars({}, 1).missing, "error bars need at least 20 rows");
  EXPECT_TRUE(error_bars({.left_out = most_resampled_rows + 1}, 1).missing.starts_with("of more than 1,000,000 rows"));
  EXPECT_EQ(resamples_of(20), 1000U);
  EXPECT_EQ(resamples_of(100'000), 200U);
  EXPECT_EQ(resamples_of(most_resampled_rows), 100U);

  // With one row of class 1, a third of the resamples has none: no area under the curve, and so no interval of it.
  JudgedSamples rare = random_samples(stream, 50, 2);
  std::ranges::fill(rare.truth, 0);
  rare.truth[7] = 1;
  const ErrorBars bars = error_bars(rare, 1);
  EXPECT_TRUE(bars.intervals[0]) << "accuracy";
  EXPECT_FALSE(bars.intervals[2]) << "auc";
}

struct Pair {
  Scores model, baseline;
  JudgedSamples of_model, of_baseline;
  Verdict verdict(std::uint64_t seed = 1) const {
    return compare_losses(model, of_model, baseline, of_baseline, "least squares", seed);
  }
};

// Losses of the baseline spread widely; the model's are `factor` of them, with some noise of its own.
Pair pair_of(RandomStream& stream, std::size_t rows, double factor, double noise) {
  Pair pair;
  for (std::size_t i = 0; i < rows; ++i) {
    const double loss = -std::log(1 - stream.uniform());
    for (auto* samples : {&pair.of_model, &pair.of_baseline}) {
      samples->truth.push_back(0);
      samples->loss_weight.push_back(1);
    }
    pair.of_baseline.loss.push_back(loss);
    pair.of_model.loss.push_back(factor * loss + noise * stream.normal());
    pair.baseline.loss += loss / static_cast<double>(rows);
    pair.model.loss += pair.of_model.loss.back() / static_cast<double>(rows);
  }
  return pair;
}

TEST(Verdict, TellsSmallDifferencesApartWhereBothFailOnTheSameRows) {
  RandomStream stream(7, "pairs");
  // The losses scatter by 100 %, so that each mean is known to 5 %; the difference of 3 % is the same in every row.
  const Pair pair = pair_of(stream, 1000, 0.97, 0.01);
  const Verdict verdict = pair.verdict();
  EXPECT_EQ(verdict.standing, Standing::better);
  EXPECT_NEAR(*verdict.lower_by, 0.03, 0.002);
  EXPECT_LT(verdict.interval->high - verdict.interval->low, 0.004);
  EXPECT_EQ(pair_of(stream, 1000, 1.03, 0.01).verdict().standing, Standing::worse);
  EXPECT_EQ(pair_of(stream, 1000, 1, 0.05).verdict().standing, Standing::as_good);
  EXPECT_EQ(pair_of(stream, 1000, 1, 2).verdict().standing, Standing::unknown);
  EXPECT_EQ(pair_of(stream, 19, 0.1, 0).verdict().standing, Standing::unknown) << "too few rows for an interval";
}

// At a true difference of zero, each end of the interval is beyond it in 5 % of the cases: of 300, at most 23 by three
// standard deviations of 3.8, and some more because the rows are few.
TEST(Verdict, IsWrongAsRarelyAsItSays) {
  RandomStream stream(8, "null");
  int better = 0, worse = 0;
  for (std::uint64_t k = 0; k < 300; ++k) {
    const Standing standing = pair_of(stream, 100, 1, 0.5).verdict(k).standing;
    better += standing == Standing::better ? 1 : 0;
    worse += standing == Standing::worse ? 1 : 0;
  }
  EXPECT_LE(better, 30);
  EXPECT_LE(worse, 30);
  EXPECT_GE(better + worse, 10) << "or the intervals are too wide";
}

TEST(Verdict, CopesWithLossesThatCannotBeDivided) {
  RandomStream stream(9, "degenerate");
  Pair perfect = pair_of(stream, 100, 0, 0);
  EXPECT_EQ(perfect.verdict().standing, Standing::better);
  EXPECT_NEAR(*perfect.verdict().lower_by, 1, 1e-12);
  std::swap(perfect.model.loss, perfect.baseline.loss);
  std::swap(perfect.of_model, perfect.of_baseline);
  EXPECT_EQ(perfect.verdict().standing, Standing::worse);
  EXPECT_FALSE(perfect.verdict().lower_by);
  Pair diverged = pair_of(stream, 100, 1, 0);
  diverged.of_model = {};
  diverged.model.loss = std::numeric_limits<double>::infinity();
  EXPECT_EQ(diverged.verdict().standing, Standing::worse);
}

TEST(Verdict, IsASentence) {
  Verdict verdict{.baseline = "least squares",
                  .standing = Standing::better,
                  .lower_by = 0.231,
                  .interval = ScoreInterval{0.2, 0.26},
                  .model_loss = 0.5,
                  .baseline_loss = 0.65};
  const auto text = [&](bool line = true) { return verdict_text(verdict, "1,000 test rows", line); };
  EXPECT_EQ(
      text(),
      "the model is better than least squares on the 1,000 test rows: its mean loss is 23 % lower (90 % interval: "
      "20 % to 26 % lower)");
  verdict.standing = Standing::as_good;
  EXPECT_EQ(text(),
            "a straight line (least squares) is as good as the model on the 1,000 test rows (mean loss 0.65 against "
            "0.5): use --model linear");
  EXPECT_EQ(text(false), "least squares is as good as the model on the 1,000 test rows (mean loss 0.65 against 0.5)");
  verdict.standing = Standing::worse;
  EXPECT_TRUE(text().starts_with("least squares is better than the model on the 1,000 test rows (")) << text();
  EXPECT_TRUE(text().ends_with(": use --model linear"));
  verdict.baseline = "best constant";
  EXPECT_TRUE(text(false).starts_with("the best constant is better than the model")) << text(false);
  verdict.baseline = "least squares";
  verdict.standing = Standing::unknown;
  verdict.interval->low = -0.1;
  EXPECT_EQ(text(),
            "there are too few rows to tell the model from least squares: on the 1,000 test rows its mean loss is 23 % "
            "lower (90 % interval: 10 % higher to 26 % lower)");
}

}  // namespace
}  // namespace ignd::testing
