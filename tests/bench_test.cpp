#include "support.hpp"
#include "tool_support.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace ignd {
namespace {

using testing::contains;
using testing::expect_one_line;
using testing::Outcome;
using testing::Words;

Outcome run_bench(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), IGND_BENCH_PROGRAM);
  return testing::Process(arguments).finish();
}

void expect_usage_error(const Words& arguments) {
  SCOPED_TRACE(::testing::PrintToString(arguments));
  const Outcome outcome = run_bench(arguments);
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.out, "");
  expect_one_line(outcome.err, "ignd_bench");
}

TEST(Bench, PrintsOneObjectPerLine) {
  const Outcome outcome = run_bench({"--json", "--repeats", "3", "--filter", "linear:features=64 ignd float"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 1) << outcome.out;
  for (const char* part : {"{\"event\":\"row\",\"model\":\"linear:features=64\",\"optimizer\":\"ignd\"",
                           "\"threads\":1", "\"us_per_sample\":", "\"floor_us\":"}) {
    EXPECT_TRUE(contains(outcome.out, part)) << part << " is not in " << outcome.out;
  }
}

TEST(Bench, MeasuresTheImageNetworkOnOneThreadAndOnTwo) {
  if (!testing::has_convolutions) GTEST_SKIP() << testing::no_convolutions;
  const Outcome outcome = run_bench({"--json", "--repeats", "3", "--filter", "cnn:32,64,128/128,64 ignd float"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 2) << outcome.out;
  for (const char* part : {"\"threads\":1", "\"threads\":2"}) {
    EXPECT_TRUE(contains(outcome.out, part)) << part << " is not in " << outcome.out;
  }
}

TEST(Bench, MeasuresTheTextNetwork) {
  const Outcome outcome = run_bench({"--json", "--repeats", "3", "--filter", "lstm:128x128 sgd float"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_TRUE(outcome.out.starts_with("{\"event\":\"row\",\"model\":\"lstm:128x128\",\"optimizer\":\"sgd\""))
      << outcome.out;
}

TEST(Bench, RefusesWhatItDoesNotKnow) {
  expect_usage_error({"--repeats", "0"});
  expect_usage_error({"--repeats", "18446744073709551616"});  // 2^64
  expect_usage_error({"--repeats", "many"});
  expect_usage_error({"--filter"});
  expect_usage_error({"--filter", "no\nsuch\nmodel"});
  expect_usage_error({"--nonsense"});
}

}  // namespace
}  // namespace ignd
