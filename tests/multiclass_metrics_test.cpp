#include "learn/metrics.hpp"
#include "support.hpp"

#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace ignd::testing {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

using Numbers = std::vector<double>;

struct Rows {
  std::size_t classes = 0;
  Numbers labels, logits, weights;

  MulticlassMetrics metrics() const { return multiclass_metrics(labels, logits, weights, classes); }
};

// Few different logits, so that there are ties, and labels out of some of the classes only.
Rows random_rows(RandomStream& stream, std::size_t n, std::size_t classes) {
  Rows rows{.classes = classes, .labels = {}, .logits = {}, .weights = {}};
  const std::uint64_t occurring = 1 + stream.below(classes);
  for (std::size_t i = 0; i < n; ++i) {
    rows.labels.push_back(static_cast<double>(stream.below(occurring)));
    rows.weights.push_back(static_cast<double>(stream.below(4)));
    for (std::size_t k = 0; k < classes; ++k) rows.logits.push_back(static_cast<double>(stream.below(7)) - 3);
  }
  rows.weights[0] = 1;  // not all of them 0
  return rows;
}

Rows repeated(const Rows& rows) {
  Rows all{.classes = rows.classes, .labels = {}, .logits = {}, .weights = {}};
  for (std::size_t i = 0; i < rows.labels.size(); ++i) {
    for (int copy = 0; copy < rows.weights[i]; ++copy) {
      all.labels.push_back(rows.labels[i]);
      const auto first = rows.logits.begin() + static_cast<std::ptrdiff_t>(i * rows.classes);
      all.logits.insert(all.logits.end(), first, first + static_cast<std::ptrdiff_t>(rows.classes));
    }
  }
  return all;
}

// One class at a time, by the definitions.
double plain_macro_f1(const Rows& rows, const std::vector<std::size_t>& predicted) {
  double sum = 0;
  int classes = 0;
  for (std::size_t k = 0; k < rows.classes; ++k) {
    double found = 0, named = 0, there = 0;
    for (std::size_t i = 0; i < rows.labels.size(); ++i) {
      const bool is = rows.labels[i] == static_cast<double>(k), said = predicted[i] == k;
      if (is && said) found += rows.weights[i];
      if (said) named += rows.weights[i];
      if (is) there += rows.weights[i];
    }
    if (named == 0 && there == 0) continue;
    ++classes;
    if (found == 0) continue;
    const double precision = found / named, recall = found / there;
    sum += 2 * precision * recall / (precision + recall);
  }
  return sum / classes;
}

TEST(Multiclass, AHandMadeCase) {
  const Rows rows{.classes = 3, .labels = {0, 1, 1, 2}, .logits = {2, 0, 0, 0, 0, 0, 0, 1, 0, 0, 3, 0}, .weights = {}};
  const auto m = rows.metrics();
  EXPECT_EQ(m.count, 4U);
  EXPECT_EQ(m.classes, 3U);
  EXPECT_DOUBLE_EQ(m.accuracy, 0.5) << "a tie counts as the first class";
  EXPECT_EQ(m.confusion, (Numbers{1, 0, 0, 1, 1, 0, 0, 1, 0}));
  EXPECT_EQ(m.confused(2, 1), 1);
  EXPECT_DOUBLE_EQ(m.macro_f1, (2.0 / 3 + 0.5 + 0) / 3);
  const double loss = std::log(1 + 2 * std::exp(-2)) + std::log(3) + std::log(1 + 2 * std::exp(-1)) + 3 +
                      std::log(1 + 2 * std::exp(-3));
  EXPECT_NEAR(m.log_loss, loss / 4, 1e-15);
}

TEST(Multiclass, EqualsTheDefinitions) {
  RandomStream stream(1, "multiclass");
  for (int trial = 0; trial < 300; ++trial) {
    const Rows rows = random_rows(stream, 1 + stream.below(60), 2 + stream.below(8));
    double total = 0, right = 0, loss = 0;
    std::vector<std::size_t> predicted;
    Numbers confusion(rows.classes * rows.classes);
    for (std::size_t i = 0; i < rows.labels.size(); ++i) {
      const auto label = static_cast<std::size_t>(rows.labels[i]);
      std::size_t best = 0;
      double sum = 0;
      for (std::size_t k = 0; k < rows.classes; ++k) {
        const double logit = rows.logits[i * rows.classes + k];
        sum += std::exp(logit);
        if (logit > rows.logits[i * rows.classes + best]) best = k;
      }
      predicted.push_back(best);
      total += rows.weights[i];
      if (best == label) right += rows.weights[i];
      loss += rows.weights[i] * -std::log(std::exp(rows.logits[i * rows.classes + label]) / sum);
      confusion[label * rows.classes + best] += rows.weights[i];
    }
    const auto m = rows.metrics();
    EXPECT_NEAR(m.accuracy, right / total, 1e-14);
    EXPECT_NEAR(m.log_loss, loss / total, 1e-13 * (1 + loss / total));
    EXPECT_NEAR(m.macro_f1, plain_macro_f1(rows, predicted), 1e-13);
    EXPECT_EQ(m.confusion, confusion);
    EXPECT_EQ(std::accumulate(m.confusion.begin(), m.confusion.end(), 0.0), total);
  }
}

TEST(Multiclass, WeightsAreRepetitions) {
  RandomStream stream(2, "multiclass");
  for (int trial = 0; trial < 200; ++trial) {
    const Rows rows = random_rows(stream, 1 + stream.below(30), 2 + stream.below(5));
    const auto a = rows.metrics(), b = repeated(rows).metrics();
    EXPECT_NEAR(a.accuracy, b.accuracy, 1e-14);
    EXPECT_NEAR(a.log_loss, b.log_loss, 1e-13 * (1 + b.log_loss));
    EXPECT_NEAR(a.macro_f1, b.macro_f1, 1e-14);
    EXPECT_EQ(a.confusion, b.confusion);
  }
}

// Where the logits are 0 and f, the probability of class 1 is the logistic function of f.
TEST(Multiclass, OfTwoClassesAgreesWithTheLogisticMetrics) {
  RandomStream stream(3, "multiclass");
  for (int trial = 0; trial < 100; ++trial) {
    Rows rows{.classes = 2, .labels = {}, .logits = {}, .weights = {}};
    Numbers outputs;
    for (std::uint64_t left = 1 + stream.below(50); left > 0; --left) {
      outputs.push_back(10 * stream.normal());
      rows.labels.push_back(static_cast<double>(stream.below(2)));
      rows.weights.push_back(0.1 + static_cast<double>(stream.below(5)));
      rows.logits.insert(rows.logits.end(), {0, outputs.back()});
    }
    const auto several = rows.metrics();
    const auto two = classification_metrics(rows.labels, outputs, rows.weights);
    EXPECT_EQ(several.count, two.count);
    EXPECT_DOUBLE_EQ(several.accuracy, two.accuracy);
    EXPECT_DOUBLE_EQ(several.log_loss, two.log_loss);
  }
}

TEST(Multiclass, PerfectIsPerfectAlsoWhereClassesAreMissing) {
  const Rows all{.classes = 4, .labels = {3, 1}, .logits = {0, 0, 0, 99, 0, 99, 0, 0}, .weights = {}};
  EXPECT_EQ(all.metrics().accuracy, 1);
  EXPECT_EQ(all.metrics().macro_f1, 1) << "classes that do not occur do not count";
  const Rows one{.classes = 3, .labels = {2, 2, 2}, .logits = Numbers(9), .weights = {}};
  EXPECT_EQ(one.metrics().accuracy, 0);
  EXPECT_EQ(one.metrics().macro_f1, 0);
  EXPECT_DOUBLE_EQ(one.metrics().log_loss, std::log(3));
}

TEST(Multiclass, RowsOfWeightZeroAreNone) {
  const Rows rows{.classes = 3, .labels = {0, 1}, .logits = {9, 0, 0, 9, 0, 0}, .weights = {2.5, 0}};
  const auto m = rows.metrics();
  EXPECT_EQ(m.count, 1U);
  EXPECT_EQ(m.accuracy, 1);
  EXPECT_EQ(m.macro_f1, 1);
  EXPECT_EQ(m.confused(0, 0), 2.5);
}

TEST(Multiclass, RefusesWhatCannotBeMeasured) {
  const auto fault = [](const Numbers& labels, const Numbers& logits, const Numbers& weights = {}) {
    return message_of([&] { multiclass_metrics(labels, logits, weights, 3); });
  };
  EXPECT_EQ(fault({}, {}), "there is nothing to measure: no row has a weight above 0");
  EXPECT_EQ(fault({1}, {1, 2, 3}, {0}), "there is nothing to measure: no row has a weight above 0");
  EXPECT_EQ(fault({0, 1}, {1, 2, 3, 1, nan, 3}), "the logit of row 2 is nan");
  EXPECT_EQ(fault({0}, {1, 2, -infinity}), "the logit of row 1 is -inf");
  EXPECT_EQ(fault({0}, {1, 2, 3}, {-1}), "the weight of row 1 is -1, which is negative");
  EXPECT_EQ(fault({0}, {1, 2, 3}, {nan}), "the weight of row 1 is nan");
  for (const double label : {-1.0, 3.0, 0.5, nan, infinity, -infinity, 1e300}) {
    EXPECT_NE(fault({0, label}, Numbers(6)).find("the label of row 2 is"), std::string::npos) << label;
  }
  for (const std::size_t logits : {0U, 1U, 4U, 6U}) {
    EXPECT_NE(fault({0}, Numbers(logits)).find("a logit for each class"), std::string::npos) << logits;
  }
  EXPECT_NE(fault({0}, {1, 2, 3}, {1, 1}).find("1 labels, 3 logits of 3 classes and 2 weights"), std::string::npos);
  for (const std::size_t classes : {0U, 1U}) {
    EXPECT_THROW(multiclass_metrics(Numbers{0}, Numbers{1}, {}, classes), InvalidArgument);
  }
  EXPECT_THROW(MulticlassSums(3).add(0, Numbers{1, 2}), InvalidArgument);
}

}  // namespace
}  // namespace ignd::testing
