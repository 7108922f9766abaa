#include "support.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <numbers>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace ignd {
namespace {

// ---------------------------------------------------------------------------------------------------------------------
// The generator

using Words = std::array<std::uint32_t, 4>;

// Philox 4x32-10 as its authors describe it (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3").
Words philox(Words counter, std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53} * counter[0];
    const std::uint64_t b = std::uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<std::uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(b),
               static_cast<std::uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(a)};
    key = {key[0] + 0x9E3779B9, key[1] + 0xBB67AE85};
  }
  return counter;
}

Words next_words(RandomStream& stream) {
  Words words;
  for (auto& word : words) word = stream.bits32();
  return words;
}

TEST(Philox, GivesThePublishedAnswers) {
  constexpr std::uint32_t ones = UINT32_MAX;
  const Words first{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}), first);
  EXPECT_EQ(philox({ones, ones, ones, ones}, {ones, ones}), (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
  RandomStream stream(RandomStream::State{0, 0});
  EXPECT_EQ(next_words(stream), first);
}

// The counter is the number of the block of four words, the upper half of the counter is zero.
TEST(Philox, AStreamIsTheGeneratorAtItsKeyAndPosition) {
  RandomStream states(1, "states");
  const auto bits = [&] { return std::uint64_t{states.bits32()} << 32 | states.bits32(); };
  const auto halves = [](std::uint64_t x) {
    return std::array{static_cast<std::uint32_t>(x), static_cast<std::uint32_t>(x >> 32)};
  };
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t key = bits();
    const std::uint64_t block = bits() >> (2 + states.below(60));
    RandomStream stream(RandomStream::State{key, 4 * block});
    ASSERT_EQ(next_words(stream), philox({halves(block)[0], halves(block)[1], 0, 0}, halves(key)));
    ASSERT_EQ(next_words(stream), philox({halves(block + 1)[0], halves(block + 1)[1], 0, 0}, halves(key)));
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// Streams

TEST(RandomStream, TheSameSeedAndNameGiveTheSameNumbers) {
  RandomStream a(7, "order");
  RandomStream b(7, "order");
  EXPECT_EQ(a.state(), b.state());
  for (int i = 0; i < 100; ++i) ASSERT_EQ(a.bits32(), b.bits32());
}

// A run is known by its seed and the names of its streams: other keys would be other runs.
TEST(RandomStream, ASeedAndANameHaveTheSameKeyForEver) {
  EXPECT_EQ(RandomStream(0, "").state(),
            (RandomStream::State{0x2d06800538d394c2, 0}));  // XXH3's published answer to nothing
  EXPECT_EQ(RandomStream(0, "initial weights").state(), (RandomStream::State{0xa92a3cb0e7d8caaa, 0}));
  EXPECT_EQ(RandomStream(1, "order").state(), (RandomStream::State{0xea1f32d5c1aa14f5, 0}));
}

TEST(RandomStream, DifferentNamesAndSeedsGiveUncorrelatedNumbers) {
  constexpr std::size_t n = 20'000;
  std::vector<std::vector<double>> draws;
  for (const auto& [seed, name] : std::vector<std::pair<std::uint64_t, std::string>>{
           {0, "order"}, {1, "order"}, {2, "order"}, {UINT64_MAX, "order"}, {0, "orders"}, {0, ""}, {0, "policy"}}) {
    RandomStream stream(seed, name);
    draws.emplace_back();
    for (std::size_t i = 0; i < n; ++i) draws.back().push_back(std::sqrt(12) * (stream.uniform() - 0.5));
  }
  // Products of independent numbers of variance 1 have mean 0 and variance 1: five standard deviations of their mean.
  const double bound = 5 / std::sqrt(n);
  for (std::size_t a = 0; a < draws.size(); ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      EXPECT_LT(std::abs(std::inner_product(draws[a].begin(), draws[a].end(), draws[b].begin(), 0.0)) / n, bound);
    }
    for (const std::size_t lag : {1, 2, 3, 4}) {
      const auto shifted = std::inner_product(draws[a].begin() + static_cast<std::ptrdiff_t>(lag), draws[a].end(),
                                              draws[a].begin(), 0.0);
      EXPECT_LT(std::abs(shifted) / n, bound) << "lag " << lag;
    }
  }
}

// One of everything, so that a draw that kept something besides the position would show.
std::vector<double> mixed_draws(RandomStream& stream) {
  std::vector<double> draws;
  for (int i = 0; i < 5; ++i) {
    draws.push_back(stream.bits32());
    draws.push_back(stream.uniform());
    draws.push_back(stream.uniform(-3, 5));
    draws.push_back(static_cast<double>(stream.below(1000)));
    draws.push_back(stream.normal());
    draws.push_back(stream.truncated_normal());
    std::vector<std::uint32_t> items{0, 1, 2, 3, 4};
    stream.shuffle(items);
    draws.insert(draws.end(), items.begin(), items.end());
  }
  return draws;
}

TEST(RandomStream, GoesOnFromItsStateAtEveryPosition) {
  for (std::uint64_t position = 0; position <= 20; ++position) {
    RandomStream stream(3, "any");
    for (std::uint64_t i = 0; i < position; ++i) stream.bits32();
    ASSERT_EQ(stream.state().position, position);
    RandomStream restored(stream.state());
    EXPECT_EQ(mixed_draws(stream), mixed_draws(restored)) << position;
    EXPECT_EQ(stream.state(), restored.state()) << position;
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// Distributions

constexpr std::size_t draw_count = 100'000;

std::vector<double> draw(double (RandomStream::*one)(), const char* name) {
  RandomStream stream(1, name);
  std::vector<double> draws(draw_count);
  for (double& x : draws) x = (stream.*one)();
  return draws;
}

// Mean and mean square within five standard deviations of what they should be; a mean of n numbers has the variance of
// one of them over n.
void expect_moments(const std::vector<double>& draws, double second, double fourth) {
  const auto n = static_cast<double>(draws.size());
  double mean = 0;
  double mean_square = 0;
  for (const double x : draws) {
    mean += x / n;
    mean_square += x * x / n;
  }
  EXPECT_NEAR(mean, 0, 5 * std::sqrt(second / n));
  EXPECT_NEAR(mean_square, second, 5 * std::sqrt((fourth - second * second) / n));
}

// The largest distance between the draws' distribution and the wanted one. Kolmogorov: above 2.5 / sqrt(n) with
// probability 2 exp(-2 * 2.5^2) = 7e-6.
void expect_distribution(std::vector<double> draws, const std::function<double(double)>& wanted) {
  std::sort(draws.begin(), draws.end());
  const auto n = static_cast<double>(draws.size());
  double distance = 0;
  for (std::size_t i = 0; i < draws.size(); ++i) {
    const double p = wanted(draws[i]);
    distance = std::max({distance, p - static_cast<double>(i) / n, static_cast<double>(i + 1) / n - p});
  }
  EXPECT_LT(distance, 2.5 / std::sqrt(n));
}

double normal_below(double x) { return std::erfc(-x / std::numbers::sqrt2) / 2; }

// N(0, 1) given that it lies in [-2, 2]: the recurrence of its moments has one more term at the ends.
struct Truncated {
  double inside = 2 * normal_below(2) - 1;
  double density_at_end = std::exp(-2) / std::sqrt(2 * std::numbers::pi) / inside;
  double second = 1 - 2 * 2 * density_at_end;
  double fourth = 3 * second - 2 * 8 * density_at_end;
};

TEST(Distribution, Uniform) {
  std::vector<double> draws = draw(&RandomStream::uniform, "uniform");
  EXPECT_GE(*std::min_element(draws.begin(), draws.end()), 0);
  EXPECT_LT(*std::max_element(draws.begin(), draws.end()), 1);
  expect_distribution(draws, [](double x) { return x; });
  for (double& x : draws) x -= 0.5;
  expect_moments(draws, 1.0 / 12, 1.0 / 80);
}

TEST(Distribution, UniformBetweenTwoNumbers) {
  RandomStream stream(1, "uniform between");
  std::vector<double> draws(draw_count);
  for (double& x : draws) x = stream.uniform(-3, 5);
  EXPECT_GE(*std::min_element(draws.begin(), draws.end()), -3);
  EXPECT_LT(*std::max_element(draws.begin(), draws.end()), 5);
  expect_distribution(draws, [](double x) { return (x + 3) / 8; });
}

// Between neighbours among the numbers, half of the draws lie nearer to the upper end, which does not belong to it.
TEST(Distribution, UniformBetweenTwoNumbersNeverReachesTheUpperOne) {
  RandomStream stream(1, "uniform between neighbours");
  for (const double low : {1.0, -1.0, 0.1, 1e300, -5.0}) {
    const double high = std::nextafter(low, std::numeric_limits<double>::infinity());
    for (int i = 0; i < 100; ++i) ASSERT_EQ(stream.uniform(low, high), low);
  }
}

TEST(Distribution, Normal) {
  const auto draws = draw(&RandomStream::normal, "normal");
  expect_moments(draws, 1, 3);
  expect_distribution(draws, normal_below);
}

TEST(Distribution, TruncatedNormal) {
  const auto draws = draw(&RandomStream::truncated_normal, "truncated");
  const Truncated truncated;
  EXPECT_NEAR(truncated.second, 0.7737, 1e-4);
  EXPECT_LE(*std::max_element(draws.begin(), draws.end()), 2);
  EXPECT_GE(*std::min_element(draws.begin(), draws.end()), -2);
  expect_moments(draws, truncated.second, truncated.fourth);
  expect_distribution(draws, [&](double x) { return (normal_below(x) - normal_below(-2)) / truncated.inside; });
}

// How often each of several equally likely things happened. Chi-square with k degrees of freedom exceeds
// k + 2 sqrt(k x) + 2 x with probability at most exp(-x) (Laurent and Massart): here one in a million.
void expect_equally_likely(const std::vector<std::size_t>& counts) {
  const double expected = static_cast<double>(std::accumulate(counts.begin(), counts.end(), std::size_t{0})) /
                          static_cast<double>(counts.size());
  double chi_square = 0;
  for (const std::size_t count : counts) {
    chi_square += std::pow(static_cast<double>(count) - expected, 2) / expected;
  }
  const auto k = static_cast<double>(counts.size() - 1);
  const double x = std::log(1e6);
  EXPECT_LT(chi_square, k + 2 * std::sqrt(k * x) + 2 * x) << ::testing::PrintToString(counts);
}

TEST(Below, IsUnbiased) {
  for (const std::uint64_t bound : {2, 3, 7, 10, 100}) {
    RandomStream stream(1, fmt::format("below {}", bound));
    std::vector<std::size_t> counts(bound);
    for (std::size_t i = 0; i < draw_count; ++i) ++counts.at(stream.below(bound));
    expect_equally_likely(counts);
  }
}

TEST(Below, IsUnbiasedWhereTheBoundDoesNotDivideTheRange) {
  // The plain remainder would give the first third of the numbers below 3/4 of 2^64 twice as often as the others.
  const std::uint64_t third = std::uint64_t{1} << 62;
  RandomStream stream(1, "large bound");
  std::vector<std::size_t> counts(3);
  for (std::size_t i = 0; i < draw_count; ++i) ++counts.at(stream.below(3 * third) / third);
  expect_equally_likely(counts);
}

TEST(Below, TakesEveryBound) {
  RandomStream stream(1, "bounds");
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(stream.below(1), 0U);
    ASSERT_LT(stream.below(UINT64_MAX), UINT64_MAX);
    ASSERT_LT(stream.below((std::uint64_t{1} << 63) + 1), (std::uint64_t{1} << 63) + 1);
  }
}

TEST(Shuffle, GivesAPermutation) {
  RandomStream stream(1, "shuffle");
  for (const std::size_t size : {0, 1, 2, 10, 1000}) {
    std::vector<std::uint32_t> items(size);
    std::iota(items.begin(), items.end(), 0U);
    const auto sorted = items;
    stream.shuffle(items);
    if (size >= 10) {
      EXPECT_NE(items, sorted) << "one order in 3628800 is the one it had";
    }
    std::sort(items.begin(), items.end());
    EXPECT_EQ(items, sorted);
  }
}

TEST(Shuffle, MakesEveryOrderEquallyLikely) {
  RandomStream stream(1, "orders of three");
  std::vector<std::size_t> counts(6);
  for (int i = 0; i < 60'000; ++i) {
    std::vector<std::uint32_t> items{0, 1, 2};
    stream.shuffle(items);
    ++counts.at(2 * items[0] + (items[1] > items[2] ? 1 : 0));
  }
  expect_equally_likely(counts);
}

// ---------------------------------------------------------------------------------------------------------------------
// Initial weights

template <class T>
void expect_initial(InitialWeights kind, std::size_t inputs, std::size_t outputs, double variance) {
  RandomStream stream(1, "weights");
  std::vector<T> weights(draw_count);
  fill_initial<T>(kind, inputs, outputs, stream, weights);
  const std::vector<double> draws(weights.begin(), weights.end());
  const Truncated truncated;
  const double scale = variance / truncated.second;
  expect_moments(draws, variance, scale * scale * truncated.fourth);
  const double cut = 2 * std::sqrt(scale) * (1 + std::numeric_limits<T>::epsilon());
  EXPECT_TRUE(std::all_of(draws.begin(), draws.end(), [&](double w) { return std::abs(w) <= cut; }));
  // The cut is where it should be, not below.
  EXPECT_TRUE(std::any_of(draws.begin(), draws.end(), [&](double w) { return std::abs(w) > 0.99 * cut; }));
}

TEST(InitialWeights, HaveTheVarianceTheirNameStandsFor) {
  expect_initial<double>(InitialWeights::lecun, 50, 7, 1.0 / 50);
  expect_initial<double>(InitialWeights::he, 50, 7, 2.0 / 50);
  expect_initial<double>(InitialWeights::glorot, 50, 7, 2.0 / 57);
  expect_initial<float>(InitialWeights::lecun, 3, 1, 1.0 / 3);
  expect_initial<float>(InitialWeights::he, 3, 1, 2.0 / 3);
  expect_initial<float>(InitialWeights::glorot, 3, 1, 2.0 / 4);
}

TEST(InitialWeights, OfBothPrecisionsAreTheSameNumbersRounded) {
  RandomStream a(1, "weights");
  RandomStream b(1, "weights");
  std::vector<float> floats(100);
  std::vector<double> doubles(100);
  fill_initial<float>(InitialWeights::he, 10, 10, a, floats);
  fill_initial<double>(InitialWeights::he, 10, 10, b, doubles);
  for (std::size_t i = 0; i < 100; ++i) EXPECT_EQ(floats[i], static_cast<float>(doubles[i]));
  EXPECT_EQ(a.state(), b.state());
}

}  // namespace
}  // namespace ignd
