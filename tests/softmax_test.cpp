#include "learn/model_outputs.hpp"
#include "support.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

namespace ignd::testing {
namespace {

using Numbers = std::vector<double>;

Numbers probabilities_of(const Numbers& logits) {
  Numbers probabilities(logits.size());
  softmax_probabilities(logits, probabilities);
  return probabilities;
}

TEST(Softmax, EqualsTheDefinitionInLongDouble) {
  RandomStream stream(1, "softmax");
  for (int trial = 0; trial < 300; ++trial) {
    const Numbers logits = normal_vector(stream, 1 + stream.below(20), 10);
    long double sum = 0;
    for (const double logit : logits) sum += std::exp(static_cast<long double>(logit));
    const Numbers probabilities = probabilities_of(logits);
    for (std::size_t k = 0; k < logits.size(); ++k) {
      const long double share = std::exp(static_cast<long double>(logits[k])) / sum;
      EXPECT_NEAR(probabilities[k], static_cast<double>(share), 1e-14 * static_cast<double>(share));
      const double loss = static_cast<double>(-std::log(share));
      EXPECT_NEAR(cross_entropy(k, logits), loss, 1e-13 * (1 + loss));
    }
  }
}

TEST(Softmax, ProbabilitiesAddUpWhateverTheLogits) {
  RandomStream stream(2, "softmax");
  for (const double scale : {0.0, 1e-300, 1.0, 1e3, 1e300}) {
    for (int trial = 0; trial < 50; ++trial) {
      const Numbers probabilities = probabilities_of(normal_vector(stream, 1 + stream.below(1000), scale));
      EXPECT_NEAR(std::accumulate(probabilities.begin(), probabilities.end(), 0.0), 1, 1e-12);
      for (const double probability : probabilities) EXPECT_TRUE(probability >= 0 && probability <= 1);
    }
  }
}

TEST(Softmax, KnowsOnlyDifferences) {
  RandomStream stream(3, "softmax");
  for (int trial = 0; trial < 100; ++trial) {
    Numbers logits(2 + stream.below(5));
    for (double& logit : logits) logit = static_cast<double>(stream.below(100)) / 8;
    Numbers shifted = logits;
    for (double& logit : shifted) logit -= 1 << 20;
    EXPECT_EQ(probabilities_of(shifted), probabilities_of(logits));
    EXPECT_EQ(most_probable(shifted), most_probable(logits));
    EXPECT_EQ(cross_entropy(0, shifted), cross_entropy(0, logits));
  }
}

TEST(Softmax, MayBeWrittenOverTheLogits) {
  Numbers numbers{1, -2, 0.5};
  const Numbers expected = probabilities_of(numbers);
  softmax_probabilities(numbers, numbers);
  EXPECT_EQ(numbers, expected);
}

TEST(Softmax, TheFirstOfEqualClassesIsPredicted) {
  EXPECT_EQ(most_probable(Numbers{0, 0, 0}), 0U);
  EXPECT_EQ(most_probable(Numbers{-1, 5, 5, 2}), 1U);
  EXPECT_EQ(most_probable(Numbers{3}), 0U);
}

TEST(CrossEntropy, OfTwoClassesIsTheLogisticLossToTheLastBit) {
  RandomStream stream(4, "softmax");
  const auto logistic = make_loss("logistic");
  for (const double scale : {1e-10, 1.0, 30.0, 1e5}) {
    for (int trial = 0; trial < 100; ++trial) {
      const Numbers logits{0, scale * stream.normal()};
      EXPECT_EQ(cross_entropy(1, logits), logistic->at(1, logits[1]).value);
      EXPECT_EQ(cross_entropy(0, logits), logistic->at(0, logits[1]).value);
    }
  }
}

TEST(CrossEntropy, IsNeitherInfiniteNorZeroWhereAPredictionIsCertain) {
  EXPECT_DOUBLE_EQ(cross_entropy(0, Numbers{-1e300, 0, 1}), 1e300);
  EXPECT_NEAR(cross_entropy(0, Numbers{50, 0, 0}), 2 * std::exp(-50), 1e-35);
  EXPECT_DOUBLE_EQ(cross_entropy(2, Numbers{7, 7, 7}), std::log(3));
}

}  // namespace
}  // namespace ignd::testing
