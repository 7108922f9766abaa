#include "ignd/version.hpp"
#include "run_tool.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>

namespace ignd {
namespace {

namespace fs = std::filesystem;
using testing::contains;
using testing::Outcome;
using testing::run_tool;

void expect_usage_error(const std::vector<std::string>& arguments) {
  const Outcome outcome = run_tool(arguments);
  std::string shown = ::testing::PrintToString(arguments);
  if (shown.size() > 200) shown = shown.substr(0, 200) + "...";
  EXPECT_EQ(outcome.exit_code, 2) << shown;
  EXPECT_EQ(outcome.out, "") << shown;
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << shown << ": " << outcome.err.substr(0, 200);
  EXPECT_TRUE(outcome.err.ends_with('\n')) << shown;
  EXPECT_TRUE(outcome.err.starts_with("ignd: ")) << shown << ": " << outcome.err.substr(0, 200);
}

TEST(Tool, PrintsItsVersionCompilerAndCpuPath) {
  const Outcome outcome = run_tool({"--version"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.err, "");
  EXPECT_EQ(outcome.out,
            std::string("ignd ") + version() + "\ncompiler: " + compiler() + "\ncpu path: " + cpu_path() + "\n");
  EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 3);
}

TEST(Tool, PrintsHelpWhenAskedAndWhenNothingIsAsked) {
  const Outcome asked = run_tool({"--help"});
  EXPECT_EQ(asked.exit_code, 0);
  EXPECT_EQ(asked.err, "");
  EXPECT_TRUE(contains(asked.out, "Usage: ignd")) << asked.out;
  EXPECT_TRUE(contains(asked.out, "--help") && contains(asked.out, "--version")) << asked.out;
  for (const auto& arguments : {std::vector<std::string>{}, {"-h"}}) {
    const Outcome other = run_tool(arguments);
    EXPECT_EQ(other.exit_code, 0);
    EXPECT_EQ(other.out, asked.out);
    EXPECT_EQ(other.err, "");
  }
}

TEST(Tool, RefusesUnknownOptions) {
  expect_usage_error({"--frobnicate"});
  expect_usage_error({"--frobnicate=3"});
  expect_usage_error({"--versio"});
  expect_usage_error({"-x"});
  expect_usage_error({"-"});
  expect_usage_error({"--="});
  expect_usage_error({"---"});
  expect_usage_error({"--frobnicate", "--and", "-s", "o=n"});
}

TEST(Tool, RefusesUnknownCommandsAndSaysWhatTheyWere) {
  expect_usage_error({"frobnicate"});
  expect_usage_error({"frobnicate", "the", "data"});
  EXPECT_TRUE(contains(run_tool({"frobnicate"}).err, "frobnicate"));
  EXPECT_TRUE(contains(run_tool({"--frobnicate"}).err, "--frobnicate"));
}

TEST(Tool, RefusesGarbage) {
  for (const std::string garbage :
       {"", " ", "\t", "{}", "%s%n", "\xff\xfe\x80", "--\xff", "\xc3", "=", "@file", "../../etc", "train\x01"}) {
    expect_usage_error({garbage});
    expect_usage_error({garbage, garbage});
  }
}

TEST(Tool, AnswersInOneLineWhateverTheArgument) {
  expect_usage_error({"two\nlines"});
  expect_usage_error({"--two\nlines"});
}

TEST(Tool, FailsWhereItsOutputCannotBeWritten) {
  if (!fs::exists("/dev/full")) return;  // nothing to fail on
  const std::string command = std::string(IGND_PROGRAM) + " --version > /dev/full 2> /dev/null";
  EXPECT_EQ(WEXITSTATUS(std::system(command.c_str())), 1);  // NOLINT(cert-env33-c): the shell opens the file
}

TEST(Bench, PrintsOneObjectPerLine) {
  const Outcome outcome = run_tool({"bench", "--json", "--repeats", "3", "--filter", "linear:features=64 ignd float"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 1) << outcome.out;
  for (const char* part : {"{\"model\":\"linear:features=64\",\"optimizer\":\"ignd\"", "\"threads\":1",
                           "\"us_per_sample\":", "\"floor_us\":"}) {
    EXPECT_TRUE(contains(outcome.out, part)) << part << " is not in " << outcome.out;
  }
}

TEST(Bench, MeasuresTheImageNetworkOnOneThreadAndOnTwo) {
  const Outcome outcome =
      run_tool({"bench", "--json", "--repeats", "3", "--filter", "cnn:32,64,128/128,64 ignd float"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 2) << outcome.out;
  for (const char* part : {"\"threads\":1", "\"threads\":2"}) {
    EXPECT_TRUE(contains(outcome.out, part)) << part << " is not in " << outcome.out;
  }
}

TEST(Bench, MeasuresTheTextNetwork) {
  const Outcome outcome = run_tool({"bench", "--json", "--repeats", "3", "--filter", "lstm:128x128 sgd float"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_TRUE(outcome.out.starts_with("{\"model\":\"lstm:128x128\",\"optimizer\":\"sgd\"")) << outcome.out;
}

TEST(Bench, RefusesWhatItDoesNotKnow) {
  expect_usage_error({"bench", "--repeats", "0"});
  expect_usage_error({"bench", "--repeats", "many"});
  expect_usage_error({"bench", "--filter"});
  expect_usage_error({"bench", "--filter", "no\nsuch\nmodel"});
  expect_usage_error({"bench", "--nonsense"});
}

TEST(Tool, RefusesVeryLongArguments) {
  expect_usage_error({std::string(100'000, 'a')});
  expect_usage_error({"--" + std::string(100'000, 'a')});
  expect_usage_error(std::vector<std::string>(10'000, "a"));
}

}  // namespace
}  // namespace ignd
