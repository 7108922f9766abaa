#include "learn/metrics.hpp"

#include "support.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace ignd::testing {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

using Numbers = std::vector<double>;

struct Rows {
  Numbers y, prediction, weight;
};

// Each row as often as its weight says.
Rows repeated(const Rows& rows) {
  Rows all;
  for (std::size_t i = 0; i < rows.y.size(); ++i) {
    for (int k = 0; k < rows.weight[i]; ++k) {
      all.y.push_back(rows.y[i]);
      all.prediction.push_back(rows.prediction[i]);
    }
  }
  return all;
}

Rows random_rows(RandomStream& stream, std::size_t n) {
  Rows rows;
  for (std::size_t i = 0; i < n; ++i) {
    rows.y.push_back(3 + stream.normal());
    rows.prediction.push_back(3 + stream.normal());
    rows.weight.push_back(static_cast<double>(stream.below(4)));
  }
  rows.weight[0] = 1;  // not all of them 0
  return rows;
}

// Few different logits, so that there are many ties.
Rows random_labels(RandomStream& stream, std::size_t n) {
  Rows rows = random_rows(stream, n);
  const std::uint64_t values = 1 + stream.below(2 * n);
  for (std::size_t i = 0; i < n; ++i) {
    rows.y[i] = static_cast<double>(stream.below(2));
    rows.prediction[i] = static_cast<double>(stream.below(values)) - std::floor(static_cast<double>(values) / 2);
  }
  return rows;
}

std::optional<double> auc_by_all_pairs(const Rows& rows) {
  double won = 0, pairs = 0;
  for (std::size_t i = 0; i < rows.y.size(); ++i) {
    for (std::size_t k = 0; k < rows.y.size(); ++k) {
      if (rows.y[i] != 1 || rows.y[k] != 0) continue;
      const double pair = rows.weight[i] * rows.weight[k];
      pairs += pair;
      if (rows.prediction[i] > rows.prediction[k]) won += pair;
      if (rows.prediction[i] == rows.prediction[k]) won += pair / 2;
    }
  }
  if (pairs == 0) return {};
  return won / pairs;
}

void expect_near(std::optional<double> a, std::optional<double> b, double tolerance, const std::string& what) {
  ASSERT_EQ(a.has_value(), b.has_value()) << what;
  if (a) {
    EXPECT_NEAR(*a, *b, tolerance) << what;
  }
}

TEST(Regression, AHandMadeCase) {
  const auto m = regression_metrics(Numbers{1, 2, 4}, Numbers{2, 2, 2});
  EXPECT_EQ(m.count, 3U);
  EXPECT_DOUBLE_EQ(m.mape.value(), (1 + 0 + 0.5) / 3);
  EXPECT_DOUBLE_EQ(m.mae, 1);
  EXPECT_DOUBLE_EQ(m.rmse, std::sqrt(5.0 / 3));
  EXPECT_NEAR(m.r2.value(), 1 - 5 / (42.0 / 9), 1e-15);
}

TEST(Regression, EqualsTheDefinitionsInLongDouble) {
  RandomStream stream(1, "metrics");
  for (int trial = 0; trial < 200; ++trial) {
    const Rows rows = random_rows(stream, 1 + stream.below(50));
    long double weight = 0, mean = 0, absolute = 0, squared = 0, relative = 0, variance = 0;
    for (std::size_t i = 0; i < rows.y.size(); ++i) {
      const long double y = rows.y[i], error = std::abs(rows.prediction[i] - y), w = rows.weight[i];
      weight += w;
      mean += w * y;
      absolute += w * error;
      squared += w * error * error;
      relative += w * error / std::abs(y);
    }
    mean /= weight;
    for (std::size_t i = 0; i < rows.y.size(); ++i)
      variance += rows.weight[i] * (rows.y[i] - mean) * (rows.y[i] - mean);
    const auto m = regression_metrics(rows.y, rows.prediction, rows.weight);
    EXPECT_NEAR(m.mae, static_cast<double>(absolute / weight), 1e-14);
    EXPECT_NEAR(m.rmse, static_cast<double>(std::sqrt(squared / weight)), 1e-14);
    const double mape = static_cast<double>(relative / weight);
    EXPECT_NEAR(m.mape.value(), mape, 1e-13 * mape);
    if (!m.r2) {
      EXPECT_EQ(m.count, 1U);
      continue;
    }
    const double r2 = static_cast<double>(1 - squared / variance);
    EXPECT_NEAR(*m.r2, r2, 1e-12 * (1 + std::abs(r2)));
  }
}

TEST(Regression, WeightsAreRepetitions) {
  RandomStream stream(2, "metrics");
  for (int trial = 0; trial < 200; ++trial) {
    const Rows rows = random_rows(stream, 1 + stream.below(20));
    const Rows all = repeated(rows);
    const auto a = regression_metrics(rows.y, rows.prediction, rows.weight);
    const auto b = regression_metrics(all.y, all.prediction);
    EXPECT_NEAR(a.mae, b.mae, 1e-13);
    EXPECT_NEAR(a.rmse, b.rmse, 1e-13);
    expect_near(a.mape, b.mape, 1e-11 * (1 + a.mape.value_or(0)), "MAPE");
    expect_near(a.r2, b.r2, 1e-10 * (1 + std::abs(a.r2.value_or(0))), "R2");
  }
}

TEST(Regression, PerfectIsPerfectAndTheMeanExplainsNothing) {
  RandomStream stream(3, "metrics");
  const Numbers y = normal_vector(stream, 100, 5);
  const auto perfect = regression_metrics(y, y);
  EXPECT_EQ(perfect.r2.value(), 1);
  EXPECT_EQ(perfect.rmse, 0);
  EXPECT_EQ(perfect.mae, 0);
  EXPECT_EQ(perfect.mape.value(), 0);
  double mean = 0;
  for (const double value : y) mean += value / 100;
  EXPECT_NEAR(regression_metrics(y, Numbers(100, mean)).r2.value(), 0, 1e-14);
}

TEST(Regression, R2SurvivesTargetsFarFromZero) {
  const Numbers near{1, 2, 3, 4}, guess{1.5, 2, 3, 3.5};
  Numbers far = near, far_guess = guess;
  for (double& value : far) value += 1e9;
  for (double& value : far_guess) value += 1e9;
  EXPECT_NEAR(regression_metrics(far, far_guess).r2.value(), regression_metrics(near, guess).r2.value(), 1e-6);
}

TEST(Regression, R2IsNotThereForConstantTargets) {
  for (const double constant : {0.0, 0.1, 1e300, -7.0}) {
    EXPECT_FALSE(regression_metrics(Numbers(9, constant), Numbers(9, 1), Numbers{1, 2, .3, 4, 5, 6, 7, 8, 9}).r2);
  }
  EXPECT_FALSE(regression_metrics(Numbers{1}, Numbers{1}).r2);
  EXPECT_FALSE(regression_metrics(Numbers{1, 2}, Numbers{1, 2}, Numbers{1, 0}).r2) << "a weight of 0 is no row";
}

TEST(Regression, MapeIsNotThereIfATargetIsNearZero) {
  const auto mape = [](const Numbers& y, const Numbers& weight = {}) {
    return regression_metrics(y, Numbers(y.size(), 1), weight).mape;
  };
  EXPECT_FALSE(mape({0, 1}));
  EXPECT_FALSE(mape({0, 0}));
  EXPECT_FALSE(mape({1, -1e-7}));
  EXPECT_FALSE(mape({1e-3, 1e6}));
  EXPECT_FALSE(mape({1, -1e-5})) << "that row counts like 100,000 others";
  EXPECT_TRUE(mape({1, -1e-3}));
  EXPECT_TRUE(mape({1e-9, 2e-9})) << "small numbers are not near zero if all of them are small";
  EXPECT_FALSE(mape({1e-16, 2e-16})) << "below the paper's divisor it is no percentage";
  EXPECT_TRUE(mape({0, 1}, {0, 1})) << "a weight of 0 is no row";
}

// The experiments and the tool report the same number: the paper's, wherever there is one.
TEST(Regression, MapeIsThePapers) {
  RandomStream stream(14, "metrics");
  for (int trial = 0; trial < 100; ++trial) {
    const Rows rows = random_rows(stream, 1 + stream.below(50));
    MapeSum sum;
    long double expected = 0, weight = 0;
    for (std::size_t i = 0; i < rows.y.size(); ++i) {
      sum.add(rows.y[i], rows.prediction[i], rows.weight[i]);
      const long double y = rows.y[i], w = rows.weight[i];
      expected += w * std::abs(y - rows.prediction[i]) / std::max<long double>(1e-15, std::abs(y));
      weight += w;
    }
    const auto mape = static_cast<double>(expected / weight);
    EXPECT_NEAR(sum.mean(), mape, 1e-13 * mape);
    const auto m = regression_metrics(rows.y, rows.prediction, rows.weight);
    if (m.mape) {
      EXPECT_EQ(*m.mape, sum.mean());
    } else {
      EXPECT_LT(m.nearest_to_zero, 1e-3);
    }
  }
}

TEST(Regression, RowsOneAtATimeGiveTheSame) {
  RandomStream stream(4, "metrics");
  const Rows rows = random_rows(stream, 100);
  RegressionSums sums;
  for (std::size_t i = 0; i < 100; ++i) sums.add(rows.y[i], rows.prediction[i], rows.weight[i]);
  const auto a = sums.metrics(), b = regression_metrics(rows.y, rows.prediction, rows.weight);
  EXPECT_EQ(a.count, b.count);
  EXPECT_EQ(a.mape, b.mape);
  EXPECT_EQ(a.rmse, b.rmse);
  EXPECT_EQ(a.mae, b.mae);
  EXPECT_EQ(a.r2, b.r2);
}

TEST(Classification, AHandMadeCase) {
  const auto m = classification_metrics(Numbers{1, 0, 1, 0}, Numbers{0, 0, 2, -1});
  EXPECT_EQ(m.count, 4U);
  EXPECT_DOUBLE_EQ(m.accuracy, 0.75) << "a tie counts as class 1";
  EXPECT_DOUBLE_EQ(m.auc.value(), 3.5 / 4);
  const double loss = 2 * std::log(2) + std::log1p(std::exp(-2)) + std::log1p(std::exp(-1));
  EXPECT_DOUBLE_EQ(m.log_loss, loss / 4);
}

TEST(Classification, AucEqualsAllPairs) {
  RandomStream stream(5, "metrics");
  for (int trial = 0; trial < 500; ++trial) {
    const Rows rows = random_labels(stream, 1 + stream.below(30));
    const auto m = classification_metrics(rows.y, rows.prediction, rows.weight);
    expect_near(m.auc, auc_by_all_pairs(rows), 1e-14, "AUC");
  }
}

TEST(Classification, WeightsAreRepetitions) {
  RandomStream stream(6, "metrics");
  for (int trial = 0; trial < 200; ++trial) {
    const Rows rows = random_labels(stream, 1 + stream.below(20));
    const Rows all = repeated(rows);
    const auto a = classification_metrics(rows.y, rows.prediction, rows.weight);
    const auto b = classification_metrics(all.y, all.prediction);
    EXPECT_NEAR(a.accuracy, b.accuracy, 1e-14);
    EXPECT_NEAR(a.log_loss, b.log_loss, 1e-13 * (1 + b.log_loss));
    expect_near(a.auc, b.auc, 1e-14, "AUC");
  }
}

struct Cut {
  double true_positives = 0, false_positives = 0, false_negatives = 0, true_negatives = 0;
  double precision() const { return true_positives / (true_positives + false_positives); }
  double recall() const { return true_positives / (true_positives + false_negatives); }
};

// Everything with at least this logit is called positive.
Cut cut_at(const Rows& rows, double threshold) {
  Cut cut;
  for (std::size_t i = 0; i < rows.y.size(); ++i) {
    const bool called = rows.prediction[i] >= threshold, positive = rows.y[i] == 1;
    (called     ? positive ? cut.true_positives : cut.false_positives
     : positive ? cut.false_negatives
                : cut.true_negatives) += rows.weight[i];
  }
  return cut;
}

// The area of steps under precision over recall, with every threshold tried.
double average_precision_by_all_thresholds(const Rows& rows) {
  Numbers thresholds = rows.prediction;
  std::sort(thresholds.begin(), thresholds.end(), std::greater<>());
  double area = 0, recall = 0;
  for (const double threshold : thresholds) {  // one that is there twice adds nothing the second time
    const Cut cut = cut_at(rows, threshold);
    if (cut.true_positives + cut.false_positives == 0) continue;
    area += (cut.recall() - recall) * cut.precision();
    recall = cut.recall();
  }
  return area;
}

double calibration_error_bin_by_bin(const Rows& rows) {
  double error = 0, total = 0;
  for (const double weight : rows.weight) total += weight;
  for (int bin = 0; bin < 10; ++bin) {
    double probability = 0, positives = 0, weight = 0;
    for (std::size_t i = 0; i < rows.y.size(); ++i) {
      const double p = 1 / (1 + std::exp(-rows.prediction[i]));
      const bool last = bin == 9;
      if (p * 10 < bin || (!last && p * 10 >= bin + 1)) continue;
      probability += rows.weight[i] * p;
      positives += rows.weight[i] * rows.y[i];
      weight += rows.weight[i];
    }
    if (weight > 0) error += weight / total * std::abs(probability / weight - positives / weight);
  }
  return error;
}

// With ties and weights, some of them 0.
TEST(Classification, EqualsTheDefinitionsByBruteForce) {
  RandomStream stream(15, "metrics");
  int with_both = 0;
  for (int trial = 0; trial < 500; ++trial) {
    Rows rows = random_labels(stream, 1 + stream.below(30));
    if (trial % 3 == 0) {
      for (double& weight : rows.weight) weight = stream.below(4) == 0 ? 0 : stream.uniform(0.1, 3);
      rows.weight[0] = 1;
    }
    const auto m = classification_metrics(rows.y, rows.prediction, rows.weight);
    const Cut half = cut_at(rows, 0);
    const std::array<double, 4> confusion{half.true_negatives, half.false_positives, half.false_negatives,
                                          half.true_positives};
    for (std::size_t k = 0; k < 4; ++k) EXPECT_NEAR(m.confusion[k], confusion[k], 1e-12);
    const auto expect = [&](std::optional<double> found, double numerator, double denominator, const char* what) {
      expect_near(found, denominator > 0 ? std::optional(numerator / denominator) : std::nullopt, 1e-13, what);
    };
    const double hits = half.true_positives;
    expect(m.precision, hits, hits + half.false_positives, "precision");
    expect(m.recall, hits, hits + half.false_negatives, "recall");
    expect(m.f1, 2 * hits, 2 * hits + half.false_positives + half.false_negatives, "F1");
    if (m.precision && m.recall && *m.precision + *m.recall > 0) {
      EXPECT_NEAR(*m.f1, 2 * *m.precision * *m.recall / (*m.precision + *m.recall), 1e-13);
    }
    EXPECT_NEAR(m.calibration_error, calibration_error_bin_by_bin(rows), 1e-13);
    const double positives = hits + half.false_negatives;
    ASSERT_EQ(m.average_precision.has_value(), positives > 0);
    if (positives > 0) {
      EXPECT_NEAR(*m.average_precision, average_precision_by_all_thresholds(rows), 1e-13);
    }
    with_both += m.auc.has_value() ? 1 : 0;
  }
  EXPECT_GT(with_both, 300);
}

TEST(Classification, AHandMadeCaseOfPrecision) {
  // Scores 3 2 1 0 -1 with labels 1 0 1 1 0: precisions 1, 2/3 and 3/4 at the three positive rows.
  const auto m = classification_metrics(Numbers{1, 0, 1, 1, 0}, Numbers{3, 2, 1, 0, -1});
  EXPECT_DOUBLE_EQ(m.average_precision.value(), (1 + 2.0 / 3 + 0.75) / 3);
  EXPECT_DOUBLE_EQ(m.precision.value(), 0.75);
  EXPECT_DOUBLE_EQ(m.recall.value(), 1);
  EXPECT_DOUBLE_EQ(m.f1.value(), 6.0 / 7);
  EXPECT_EQ(m.confusion, (std::array<double, 4>{1, 1, 0, 3}));
  EXPECT_DOUBLE_EQ(classification_metrics(Numbers{1, 0, 0, 0}, Numbers{7, 7, 7, 7}).average_precision.value(), 0.25)
      << "rows that are tied have the precision of all of them";
  EXPECT_FALSE(classification_metrics(Numbers{0, 0}, Numbers{1, -1}).average_precision);
  EXPECT_FALSE(classification_metrics(Numbers{0, 1}, Numbers{-1, -1}).precision) << "nothing is called positive";
}

// As many positive rows as the probability says leave no error; certainty that is wrong leaves all of it.
TEST(Classification, CalibrationErrorIsTheGapOfProbabilities) {
  const double quarter = std::log(1.0 / 3);
  EXPECT_NEAR(classification_metrics(Numbers{0, 0, 0, 1}, Numbers(4, quarter)).calibration_error, 0, 1e-15);
  EXPECT_NEAR(classification_metrics(Numbers{1, 1}, Numbers(2, quarter)).calibration_error, 0.75, 1e-15);
  EXPECT_NEAR(classification_metrics(Numbers{0, 1}, Numbers{800, -800}).calibration_error, 1, 1e-15);
}

TEST(Classification, AucKnowsOnlyTheOrder) {
  RandomStream stream(7, "metrics");
  for (int trial = 0; trial < 100; ++trial) {
    const Rows rows = random_labels(stream, 2 + stream.below(40));
    Numbers bent = rows.prediction, reversed = rows.prediction;
    for (double& value : bent) value = std::cbrt(value) + 1000;
    for (double& value : reversed) value = -value;
    const auto auc = classification_metrics(rows.y, rows.prediction, rows.weight).auc;
    EXPECT_EQ(classification_metrics(rows.y, bent, rows.weight).auc, auc);
    if (auc) {
      EXPECT_NEAR(classification_metrics(rows.y, reversed, rows.weight).auc.value(), 1 - *auc, 1e-14);
    }
  }
}

TEST(Classification, AucIsOneHalfOrNothingAtTheExtremes) {
  EXPECT_EQ(classification_metrics(Numbers{0, 0, 1}, Numbers{-1, 2, 3}).auc, 1);
  EXPECT_EQ(classification_metrics(Numbers{1, 0, 0}, Numbers{-1, 2, 3}).auc, 0);
  EXPECT_EQ(classification_metrics(Numbers{1, 0, 0}, Numbers{5, 5, 5}).auc, 0.5);
  EXPECT_FALSE(classification_metrics(Numbers{1, 1}, Numbers{1, 2}).auc);
  EXPECT_FALSE(classification_metrics(Numbers{0}, Numbers{1}).auc);
  EXPECT_FALSE(classification_metrics(Numbers{0, 1}, Numbers{1, 2}, Numbers{1, 0}).auc);
}

// As probabilities, 40 and 50 are both 1: a tie, and an infinite loss where they are wrong.
TEST(Classification, CertainPredictionsKeepTheirOrderAndAFiniteLoss) {
  const auto m = classification_metrics(Numbers{0, 1}, Numbers{40, 50});
  EXPECT_EQ(m.auc, 1);
  EXPECT_DOUBLE_EQ(m.log_loss, 20);
  EXPECT_DOUBLE_EQ(classification_metrics(Numbers{1}, Numbers{-1e300}).log_loss, 1e300);
  EXPECT_NEAR(classification_metrics(Numbers{1}, Numbers{50}).log_loss, std::exp(-50), 1e-35);
}

TEST(Refused, NothingToMeasure) {
  const std::string nothing = "there is nothing to measure: no row has a weight above 0";
  EXPECT_EQ(message_of([] { regression_metrics({}, {}); }), nothing);
  EXPECT_EQ(message_of([] { classification_metrics({}, {}); }), nothing);
  EXPECT_EQ(message_of([] { regression_metrics(Numbers{1}, Numbers{1}, Numbers{0}); }), nothing);
  EXPECT_EQ(message_of([] { classification_metrics(Numbers{1}, Numbers{1}, Numbers{0}); }), nothing);
}

TEST(Refused, SizesThatDiffer) {
  const std::string sizes = "there are 2 targets, 1 predictions and 0 weights; give one of each per row";
  EXPECT_EQ(message_of([] { regression_metrics(Numbers{1, 0}, Numbers{1}); }), sizes);
  EXPECT_EQ(message_of([] { classification_metrics(Numbers{1, 0}, Numbers{1}); }), sizes);
  EXPECT_THROW(regression_metrics(Numbers{1}, Numbers{1}, Numbers{1, 1}), InvalidArgument);
  EXPECT_THROW(classification_metrics(Numbers{1}, Numbers{1}, Numbers{1, 1}), InvalidArgument);
}

TEST(Refused, NumbersThatAreNone) {
  for (const double bad : {nan, infinity, -infinity}) {
    EXPECT_THROW(regression_metrics(Numbers{1, bad}, Numbers{1, 1}), InvalidArgument);
    EXPECT_THROW(regression_metrics(Numbers{1, 1}, Numbers{1, bad}), InvalidArgument);
    EXPECT_THROW(regression_metrics(Numbers{1, 1}, Numbers{1, 1}, Numbers{1, bad}), InvalidArgument);
    EXPECT_THROW(classification_metrics(Numbers{1, bad}, Numbers{1, 1}), InvalidArgument);
    EXPECT_THROW(classification_metrics(Numbers{1, 1}, Numbers{1, bad}), InvalidArgument);
    EXPECT_THROW(classification_metrics(Numbers{1, 1}, Numbers{1, 1}, Numbers{1, bad}), InvalidArgument);
  }
  EXPECT_EQ(message_of([] { regression_metrics(Numbers{1, nan}, Numbers{1, 1}); }), "the target of row 2 is nan");
  EXPECT_EQ(message_of([] { classification_metrics(Numbers{2}, Numbers{1}); }),
            "the label of row 1 is 2; it must be 0 or 1");
  EXPECT_EQ(message_of([] { regression_metrics(Numbers{1}, Numbers{1}, Numbers{-1}); }),
            "the weight of row 1 is -1, which is negative");
}

}  // namespace
}  // namespace ignd::testing
