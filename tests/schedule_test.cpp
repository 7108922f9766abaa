#include "support.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace ignd::testing {
namespace {

std::string refusal(const std::string& spec) {
  try {
    Schedule::parse(spec);
  } catch (const InvalidArgument& fault) {
    return fault.what();
  }
  return "accepted";
}

TEST(Schedule, AConstantRateIsTheSameAtEveryStep) {
  const auto schedule = Schedule::constant(0.25);
  for (const std::uint64_t t : {1ULL, 2ULL, 1000ULL, 1ULL << 62}) EXPECT_EQ(schedule.rate(t), 0.25);
}

TEST(Schedule, RobbinsMonroIsTheRateOverAPowerOfTheTime) {
  RandomStream stream(1, "schedule");
  for (int trial = 0; trial < 1000; ++trial) {
    const double rate = stream.uniform(0, 10);
    const double horizon = std::exp(stream.uniform(-3, 10));
    const double power = stream.uniform(0, 2);
    const std::uint64_t t = 1 + stream.below(1'000'000);
    // By logarithms, in longer arithmetic: another way to the same number.
    const long double log_time = std::log1p(static_cast<long double>(t - 1) / static_cast<long double>(horizon));
    const double expected = static_cast<double>(rate * std::exp(-static_cast<long double>(power) * log_time));
    EXPECT_NEAR(Schedule::robbins_monro(rate, horizon, power).rate(t), expected, 1e-13 * expected);
  }
}

TEST(Schedule, RobbinsMonroIsHalfTheRateAfterOneHorizonWithPowerOne) {
  EXPECT_DOUBLE_EQ(Schedule::robbins_monro(0.8, 1000).rate(1001), 0.4);
  EXPECT_DOUBLE_EQ(Schedule::robbins_monro(0.8, 1000, 2).rate(1001), 0.2);
}

TEST(Schedule, CosineIsHalfACosineFromTheRateToTheFinalRate) {
  RandomStream stream(2, "schedule");
  for (int trial = 0; trial < 1000; ++trial) {
    const double rate = stream.uniform(0, 10);
    const double final_rate = stream.uniform(0, 1);
    const std::uint64_t steps = 1 + stream.below(10'000);
    const std::uint64_t t = 1 + stream.below(steps + 1);
    // cos^2 of half the angle: the same curve, written differently.
    const double half = std::cos(std::numbers::pi / 2 * static_cast<double>(t - 1) / static_cast<double>(steps));
    const double expected = rate * half * half + final_rate * (1 - half * half);
    EXPECT_NEAR(Schedule::cosine(rate, steps, final_rate).rate(t), expected, 1e-14 * (rate + final_rate));
  }
}

TEST(Schedule, CosineIsInTheMiddleHalfwayEndsAtTheFinalRateAndStaysThere) {
  const auto schedule = Schedule::cosine(0.5, 100, 0.125);
  EXPECT_DOUBLE_EQ(schedule.rate(51), (0.5 + 0.125) / 2);
  EXPECT_GT(schedule.rate(100), 0.125);
  for (const std::uint64_t t : {101ULL, 102ULL, 5000ULL, 1ULL << 62}) EXPECT_EQ(schedule.rate(t), 0.125);
}

TEST(Schedule, TheFirstStepHasTheRateAndNoneIsLarger) {
  for (const auto& schedule : {Schedule::constant(0.3), Schedule::robbins_monro(0.3, 7), Schedule::cosine(0.3, 50)}) {
    EXPECT_DOUBLE_EQ(schedule.rate(1), 0.3) << schedule.spec();
    for (std::uint64_t t = 1; t < 200; ++t) EXPECT_GE(schedule.rate(t), schedule.rate(t + 1)) << schedule.spec();
  }
}

TEST(Schedule, WarmUpMultipliesByTheFractionDoneAndThenLeavesNoTrace) {
  constexpr std::uint64_t warmup = 10;
  for (const auto& plain : {Schedule::constant(0.3), Schedule::robbins_monro(0.3, 7), Schedule::cosine(0.3, 15)}) {
    const auto warmed = plain.with_warmup(warmup);
    for (std::uint64_t t = 1; t < warmup; ++t) {
      EXPECT_DOUBLE_EQ(warmed.rate(t), plain.rate(t) * static_cast<double>(t) / warmup) << plain.spec();
    }
    for (std::uint64_t t = warmup; t < 40; ++t) EXPECT_EQ(warmed.rate(t), plain.rate(t)) << plain.spec();
  }
}

TEST(Schedule, WarmUpOfNoOrOneStepChangesNothing) {
  const auto plain = Schedule::robbins_monro(0.3, 7, 0.6);
  for (std::uint64_t t = 1; t < 20; ++t) {
    EXPECT_EQ(plain.with_warmup(0).rate(t), plain.rate(t));
    EXPECT_EQ(plain.with_warmup(1).rate(t), plain.rate(t));
  }
}

// The conditions of the stationarity theorem: the rates sum to infinity, their squares do not. Both sums are compared
// with the integral of the decreasing function that they sample at 0, 1, 2, ...
TEST(Schedule, RobbinsMonroRatesSumToInfinityAndTheirSquaresDoNot) {
  constexpr double rate = 0.7, horizon = 20;
  for (const double power : {0.55, 0.75, 1.0}) {
    const auto schedule = Schedule::robbins_monro(rate, horizon, power);
    // The sum is at least the integral from 0, which has no bound: (1 + T/h)^(1-p) or log(1 + T/h).
    const auto least_sum = [&](double steps) {
      const double time = 1 + steps / horizon;
      return rate * horizon * (power == 1 ? std::log(time) : (std::pow(time, 1 - power) - 1) / (1 - power));
    };
    // The squares after the first are at most the integral, all of it.
    const double most_squares = rate * rate * (1 + horizon / (2 * power - 1));
    double sum = 0, squares = 0, sum_a_decade_ago = 0, last_growth = 0;
    std::uint64_t t = 1;
    for (const std::uint64_t end : {100ULL, 1000ULL, 10'000ULL, 100'000ULL}) {
      for (; t <= end; ++t) {
        sum += schedule.rate(t);
        squares += schedule.rate(t) * schedule.rate(t);
      }
      EXPECT_GE(sum, least_sum(static_cast<double>(end))) << power;
      EXPECT_LE(squares, most_squares) << power;
      EXPECT_GT(sum - sum_a_decade_ago, last_growth) << power;  // every decade adds more than the one before
      last_growth = sum - sum_a_decade_ago;
      sum_a_decade_ago = sum;
    }
  }
}

TEST(Schedule, TheSpecReadsBackAsTheSameSchedule) {
  RandomStream stream(3, "schedule");
  for (int trial = 0; trial < 1000; ++trial) {
    const double rate = std::exp(stream.uniform(-20, 3));
    const std::vector<Schedule> plain{Schedule::constant(rate),
                                      Schedule::robbins_monro(rate, std::exp(stream.uniform(-3, 20)), stream.uniform()),
                                      Schedule::cosine(rate, 1 + stream.below(UINT64_MAX), rate * stream.uniform())};
    for (const auto& schedule : plain) {
      for (const std::uint64_t warmup : {std::uint64_t{0}, stream.below(1ULL << 40)}) {
        const auto written = schedule.with_warmup(warmup);
        const auto read = Schedule::parse(written.spec());
        EXPECT_EQ(read.spec(), written.spec());
        for (const std::uint64_t t : {std::uint64_t{1}, 1 + stream.below(1ULL << 50)}) {
          EXPECT_EQ(read.rate(t), written.rate(t)) << written.spec() << " at " << t;
        }
      }
    }
  }
}

TEST(Schedule, APlainNumberIsAConstantRate) {
  EXPECT_EQ(Schedule::parse("0.03").spec(), "constant:rate=0.03");
  EXPECT_EQ(Schedule::parse(" 1e-3 ").rate(5), 1e-3);
  EXPECT_EQ(Schedule::parse(".5").rate(1), 0.5);
  EXPECT_EQ(Schedule::parse("0").rate(1), 0);
}

TEST(Schedule, WhatIsLeftOutTakesTheDefault) {
  EXPECT_EQ(Schedule::parse("constant").spec(), "constant:rate=0.1");
  EXPECT_EQ(Schedule::parse("robbins-monro:horizon=5").spec(), "robbins-monro:rate=0.1,horizon=5,power=1");
  EXPECT_EQ(Schedule::parse("cosine:steps=9").spec(), "cosine:rate=0.1,steps=9,final=0");
  EXPECT_EQ(Schedule::parse("constant:warmup=3").spec(), "constant:rate=0.1,warmup=3");
}

TEST(Schedule, GarbageIsRefused) {
  const std::vector<std::string> garbage{"",
                                         " ",
                                         ":",
                                         "-1",
                                         "nan",
                                         "inf",
                                         "1e400",
                                         "0.1x",
                                         "0.1 0.2",
                                         "0,1",
                                         "0x10",
                                         "0.1:warmup=3",
                                         "constant:",
                                         "constant:0.1",
                                         "constant:rate",
                                         "constant:rate=",
                                         "constant:rate=-0.1",
                                         "constant:rate=nan",
                                         "constant:rate=inf",
                                         "constant:rate=0.1,rate=0.2",
                                         "constant:horizon=5",
                                         "constant:warmup=-1",
                                         "constant:warmup=1.5",
                                         "constant:warmup=99999999999999999999",
                                         "robbins-monro:horizon=0",
                                         "robbins-monro:horizon=-1",
                                         "robbins-monro:horizon=inf",
                                         "robbins-monro:power=-1",
                                         "robbins-monro:power=inf",
                                         "cosine",
                                         "cosine:steps=0",
                                         "cosine:steps=-5",
                                         "cosine:steps=10,final=-1",
                                         "cosine:steps=10,final=inf",
                                         std::string(10'000, 'c'),
                                         "constant:rate=" + std::string(10'000, '9') + "e999"};
  for (const auto& text : garbage) EXPECT_THROW(Schedule::parse(text), InvalidArgument) << text.substr(0, 60);
}

TEST(Schedule, ARefusalSaysWhatIsWrongAndOffersTheNearestName) {
  EXPECT_NE(refusal("cosin").find("did you mean 'cosine'?"), std::string::npos) << refusal("cosin");
  EXPECT_NE(refusal("linear").find("constant, robbins-monro, cosine"), std::string::npos) << refusal("linear");
  EXPECT_NE(refusal("cosine:step=5").find("did you mean 'steps'?"), std::string::npos) << refusal("cosine:step=5");
  EXPECT_NE(refusal("constant:rate=fast").find("'fast', which is not a number"), std::string::npos)
      << refusal("constant:rate=fast");
}

TEST(Schedule, AFactoryRefusesWhatItsTextFormRefuses) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  constexpr double infinity = std::numeric_limits<double>::infinity();
  for (const double bad : {-1.0, nan, infinity, -infinity}) {
    EXPECT_THROW(Schedule::constant(bad), InvalidArgument) << bad;
    EXPECT_THROW(Schedule::robbins_monro(bad, 10), InvalidArgument) << bad;
    EXPECT_THROW(Schedule::robbins_monro(1, bad), InvalidArgument) << bad;
    EXPECT_THROW(Schedule::robbins_monro(1, 10, bad), InvalidArgument) << bad;
    EXPECT_THROW(Schedule::cosine(bad, 10), InvalidArgument) << bad;
    EXPECT_THROW(Schedule::cosine(1, 10, bad), InvalidArgument) << bad;
  }
  EXPECT_THROW(Schedule::robbins_monro(1, 0), InvalidArgument);
  EXPECT_THROW(Schedule::cosine(1, 0), InvalidArgument);
}

TEST(Schedule, OfARunIsCompletedByItsRateAndLength) {
  EXPECT_EQ(Schedule::for_run("constant", 0.5, 10).spec(), "constant:rate=0.5");
  EXPECT_EQ(Schedule::for_run("cosine", 0.5, 10).spec(), "cosine:rate=0.5,steps=10,final=0");
  EXPECT_EQ(Schedule::for_run("cosine:steps=7,final=0.1", 0.5, 10).spec(), "cosine:rate=0.5,steps=7,final=0.1");
  EXPECT_EQ(Schedule::for_run("robbins-monro:power=0.5,warmup=3", 0.5, 10).spec(),
            "robbins-monro:rate=0.5,horizon=1000,power=0.5,warmup=3");
  for (const char* bad : {"", "0.1", "-1", ".5", "cosin", "constant:rate=1", "cosine:steps=0", "cosine:", "cosine,2",
                          "cosine:final=x", "robbins-monro:power=-1", "\xff", "cosine:steps=1,steps=2"}) {
    EXPECT_THROW(Schedule::for_run(bad, 0.5, 10), InvalidArgument) << bad;
  }
}

}  // namespace
}  // namespace ignd::testing
