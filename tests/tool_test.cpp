#include "ignd/version.hpp"
#include "tool_support.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>

namespace ignd {
namespace {

namespace fs = std::filesystem;
using testing::contains;
using testing::expect_refusal;
using testing::Outcome;
using testing::run_tool;
using testing::Words;

void expect_usage_error(const Words& arguments) { expect_refusal(arguments, 2, ""); }

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

TEST(Tool, OffersTheNearestCommandOptionAndWord) {
  using Words = std::vector<std::string>;
  const std::vector<std::pair<Words, std::string>> slips{
      {{"trian", "data.csv"}, "there is no command 'trian', did you mean 'train'?"},
      {{"tokenise"}, "did you mean 'tokenize'?"},
      {{"trian", "data.csv", "--target", "y"}, "there is no command 'trian', did you mean 'train'?"},
      {{"data", "lst"}, "there is no command 'lst' of data, did you mean 'list'?"},
      {{"train", "data.csv", "--optimiser", "adam"}, "'--optimiser' of train, did you mean '--optimizer'?"},
      {{"train", "data.csv", "--optimiser=adam"}, "'--optimiser' of train, did you mean '--optimizer'?"},
      {{"compare", "data.csv", "--optimisers", "adam"}, "did you mean '--optimizers'?"},
      {{"train", "--batchmode", "exact"}, "did you mean '--batch-mode'?"},
      // Not that an argument is missing: the option would have taken it.
      {{"predict", "--ouput", "out.csv", "model.ignd"}, "did you mean '--output'?"},
      {{"--versio"}, "there is no option '--versio', did you mean '--version'?"},
      {{"--seed", "3", "train"}, "'--seed' is an option of train only"},
      {{"train", "--format", "csw"},
       "--format is 'csw', but must be one of auto, csv, tsv, svmlight, vw, did you mean 'csv'?"},
      {{"train", "data.csv", "--target", "y", "--batch-mode", "exacy"}, "did you mean 'exact'?"},
      {{"train", "data.csv", "--target", "y", "--optimizer", "igndd"}, "did you mean 'ignd'?"},
      {{"train", "data.csv", "--target", "y", "--model", "lineer"}, "did you mean 'linear'?"},
      {{"train", "one.csv", "two.csv"}, "'two.csv' is one argument too many"},
  };
  for (const auto& [words, part] : slips) {
    expect_usage_error(words);
    const std::string err = run_tool(words).err;
    EXPECT_TRUE(contains(err, part)) << err << " should contain " << part;
  }
  EXPECT_FALSE(contains(run_tool({"-x"}).err, "did you mean")) << "every letter is near to another";
  EXPECT_FALSE(contains(run_tool({"frobnicate"}).err, "did you mean"));
}

TEST(Tool, RefusesNumbersThatDoNotFit) {
  const std::string too_large = "18446744073709551616";  // 2^64
  for (const char* option : {"--seed", "--batch", "--epochs", "--patience", "--memory", "--size", "--length", "--bits",
                             "--threads", "--save-every"}) {
    for (const std::string& number : {too_large, too_large + "0", std::string("18446744073709551617"),
                                      std::string("-1"), std::string("1.5"), std::string("0x10"), std::string("")}) {
      const std::vector<std::string> words{"train", "data.csv", "--target", "y", option, number};
      expect_usage_error(words);
      const std::string err = run_tool(words).err;
      EXPECT_TRUE(contains(err, option)) << err;
    }
  }
  for (const char* option : {"--seeds", "--jobs"}) {
    for (const char* command : {"compare", "reproduce"}) expect_usage_error({command, option, too_large});
    expect_usage_error({"compare", option, "4294967297"});  // 1, if it were cut to 32 bits
  }
  // Decimal, as a person reads it: not 8.
  EXPECT_TRUE(contains(run_tool({"train", "data.csv", "--bits", "040", "--stream"}).err,
                       "--bits is '040', but must be a whole number between 1 and 31"));
  EXPECT_EQ(run_tool({"train", "data.csv", "--bits", "010", "--stream", "--resume", "none.ignd"}).exit_code, 1);
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

TEST(Tool, RefusesVeryLongArguments) {
  expect_usage_error({std::string(100'000, 'a')});
  expect_usage_error({"--" + std::string(100'000, 'a')});
  expect_usage_error(std::vector<std::string>(10'000, "a"));
}

}  // namespace
}  // namespace ignd
