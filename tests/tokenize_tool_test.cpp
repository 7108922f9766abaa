#include "environment.hpp"
#include "scratch_folder.hpp"
#include "tool_support.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

// ignd tokenize.
namespace ignd {
namespace {

namespace fs = std::filesystem;
using testing::expect_one_line;
using testing::Outcome;
using testing::run_shell;
using testing::run_tool;
using testing::ScratchFolder;
using testing::Variable;

class TokenizeTool : public ::testing::Test {
 protected:
  std::string path(const char* name) const { return (folder_ / name).string(); }

  ScratchFolder folder_;

 private:
  Variable cache_{"XDG_CACHE_HOME", (folder_ / "cache").string()};
};

TEST_F(TokenizeTool, NeedsAPath) { expect_one_line(run_tool({"tokenize"}), 2, "paths"); }

TEST_F(TokenizeTool, SaysHowToGetTheRanks) {
  const Variable data("IGND_DATA", std::nullopt);
  const Outcome outcome = run_tool({"tokenize", "-"});
  expect_one_line(outcome, 1, "ignd data fetch cl100k-base");
  EXPECT_EQ(outcome.out, "");
}

class TokenizeToolWithRanks : public TokenizeTool {
 protected:
  void SetUp() override {
    const char* data = std::getenv("IGND_DATA");
    if (data == nullptr || *data == '\0') GTEST_SKIP() << "IGND_DATA does not say where the data sets are";
    if (!fs::exists(fs::path(data) / "cl100k_base.tiktoken")) GTEST_SKIP() << "cl100k-base is not in IGND_DATA";
  }
};

TEST_F(TokenizeToolWithRanks, PrintsALinePerFile) {
  std::ofstream(path("a")) << "Hello, world!";
  std::ofstream(path("empty")) << "";
  std::ofstream(path("bad")) << "a\xff";
  const Outcome outcome = run_tool({"tokenize", path("a"), path("empty"), path("bad"), path("a")});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "9906 11 1917 0\n\n64 5809\n9906 11 1917 0\n");
  EXPECT_EQ(outcome.err, "");
}

TEST_F(TokenizeToolWithRanks, ReadsTheStandardInput) {
  const Outcome outcome = run_shell("printf 'Hello, world!' | \"$ignd\" tokenize - | cat");
  EXPECT_EQ(outcome.out, "9906 11 1917 0\n") << outcome.err;
}

TEST_F(TokenizeToolWithRanks, UnpacksGzip) {
  const Outcome outcome = run_shell("printf 'Hello, world!' | gzip | \"$ignd\" tokenize -");
  EXPECT_EQ(outcome.out, "9906 11 1917 0\n") << outcome.err;
}

TEST_F(TokenizeToolWithRanks, AFolderIsReadInByteOrder) {
  fs::create_directories(folder_ / "t/b/c");
  fs::create_directory(folder_ / "t/nothing");
  // Below, so that they are in order: 1 to 6 are the ids 16 to 21.
  std::ofstream(path("t/B")) << "1";
  std::ofstream(path("t/a")) << "2";
  std::ofstream(path("t/b.txt")) << "3";
  std::ofstream(path("t/b/a")) << "4";
  std::ofstream(path("t/b/c/x")) << "5";
  std::ofstream(path("t/\xc3\xa9")) << "6";
  fs::create_directory_symlink("..", folder_ / "t/b/circle");
  const Outcome outcome = run_tool({"tokenize", path("t")});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "16\n17\n18\n19\n20\n21\n");
}

TEST_F(TokenizeToolWithRanks, ALongFileIsALongLine) {
  std::ofstream(path("long")) << std::string(300'000, '1');
  const Outcome outcome = run_tool({"tokenize", path("long")});
  std::string expected = "5037";
  for (int i = 1; i < 100'000; ++i) expected += " 5037";
  EXPECT_TRUE(outcome.out == expected + "\n");
}

TEST_F(TokenizeToolWithRanks, WhatCannotBeReadIsNamed) {
  std::ofstream(path("a")) << "a";
  const Outcome outcome = run_tool({"tokenize", path("a"), path("none")});
  expect_one_line(outcome, 1, "cannot open '" + path("none") + "'");
  EXPECT_EQ(outcome.out, "64\n");
  fs::create_directory(folder_ / "hollow");
  expect_one_line(run_tool({"tokenize", path("hollow")}), 1, "there are no files in the folder");
  std::ofstream(path("x.gz")) << "\x1f\x8b\x08 and no more";
  expect_one_line(run_tool({"tokenize", path("x.gz")}), 1, "x.gz");
}

TEST_F(TokenizeToolWithRanks, OutputThatCannotBeWrittenIsAFailure) {
  std::ofstream(path("a")) << "a";
  expect_one_line(run_shell("\"$ignd\" tokenize " + path("a") + " >/dev/full"), 1,
                  "cannot write to the standard output");
}

}  // namespace
}  // namespace ignd
