#include "environment.hpp"
#include "http_server.hpp"
#include "scratch_folder.hpp"
#include "tool_support.hpp"

#include <cstdlib>
#include <fstream>

#include <gtest/gtest.h>

// ignd data list, fetch and path.
namespace ignd {
namespace {

using testing::contains;
using testing::content_of;
using testing::expect_one_line;
using testing::HttpServer;
using testing::Outcome;
using testing::run_tool;
using testing::ScratchFolder;
using testing::Variable;
using testing::well_behaved;

class DataTool : public ::testing::Test {
 protected:
  ScratchFolder folder_;
  // The real ones, if there are any.
  const std::string real_ = std::getenv("IGND_DATA") == nullptr ? "" : std::getenv("IGND_DATA");

 private:
  Variable cache_{"XDG_CACHE_HOME", (folder_ / ".").string()};
  Variable data_{"IGND_DATA", std::nullopt};
  Variable no_proxy_{"no_proxy", "127.0.0.1"};
};

TEST_F(DataTool, ListsWhatThereIs) {
  const Outcome outcome = run_tool({"data", "list"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  for (const char* part : {"california-housing", "cats-vs-dogs-3000", "not here", "MIT", "not verified", "cite: "}) {
    EXPECT_TRUE(contains(outcome.out, part)) << part;
  }
}

TEST_F(DataTool, ADamagedFileIsNamed) {
  const Variable data("IGND_DATA", (folder_ / ".").string());
  std::ofstream(folder_ / "diamonds.csv") << "carat\n1\n";
  std::ofstream(folder_ / "cal_housing.tgz") << "no archive";
  const Outcome list = run_tool({"data", "list"});
  EXPECT_TRUE(contains(list.out, "not here: '" + (folder_ / "./diamonds.csv").string() + "' has other contents"))
      << list.out;
  const Outcome path = run_tool({"data", "path", "diamonds"});
  EXPECT_TRUE(contains(path.err, "diamonds.csv' has other contents")) << path.err;
  const Outcome reproduced = run_tool({"reproduce", "tabular", "--out", (folder_ / "r").string()});
  EXPECT_TRUE(contains(reproduced.err, "cal_housing.tgz")) << reproduced.err;
  expect_one_line(path.err);
  expect_one_line(reproduced.err);
}

TEST_F(DataTool, AnUnknownNameIsAnErrorOfUsage) {
  for (const char* command : {"fetch", "path"}) {
    const Outcome outcome = run_tool({"data", command, "imbd"});
    EXPECT_EQ(outcome.exit_code, 2);
    expect_one_line(outcome.err);
    EXPECT_TRUE(contains(outcome.err, "did you mean 'imdb'?")) << outcome.err;
  }
  EXPECT_EQ(run_tool({"data"}).exit_code, 2);
  EXPECT_EQ(run_tool({"data", "fetch"}).exit_code, 2);
  EXPECT_EQ(run_tool({"data", "nonsense"}).exit_code, 2);
}

TEST_F(DataTool, ADataSetThatIsNotHereIsAFailure) {
  const Outcome outcome = run_tool({"data", "path", "imdb"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_EQ(outcome.out, "");
  expect_one_line(outcome.err);
  EXPECT_TRUE(contains(outcome.err, "ignd data fetch imdb")) << outcome.err;
}

TEST_F(DataTool, WhatAServerGivesInsteadIsNotKept) {
  const HttpServer server(well_behaved("<html>"));
  const Outcome outcome = run_tool({"data", "fetch", "diamonds", "--from", server.url()});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_EQ(outcome.out, "");
  expect_one_line(outcome.err);
  EXPECT_TRUE(contains(outcome.err, "by hand: put https://")) << outcome.err;
  EXPECT_TRUE(std::filesystem::is_empty(folder_ / "ignd"));
}

TEST_F(DataTool, AFullDiskIsAFailureThatCanBeGoneOnFrom) {
  const std::string content(2'000'000, 'x');
  const HttpServer server(well_behaved(content));
  const Outcome outcome = testing::run_shell("ulimit -f 1; \"$ignd\" data fetch diamonds --from " + server.url());
  EXPECT_EQ(outcome.exit_code, 1);
  expect_one_line(outcome.err);
  EXPECT_TRUE(contains(outcome.err, "free some space")) << outcome.err;
  const std::string part = content_of((folder_ / "ignd/diamonds.csv.part").string());
  EXPECT_GT(part.size(), 0U);
  EXPECT_LT(part.size(), content.size());
}

TEST_F(DataTool, FetchesARealDataSet) {
  if (real_.empty()) GTEST_SKIP() << "IGND_DATA does not say where the data sets are";
  const std::string content = content_of(real_ + "/cal_housing.tgz");
  if (content.empty()) GTEST_SKIP() << "california-housing is not in IGND_DATA";
  const HttpServer server(well_behaved(content));
  const Outcome outcome = run_tool({"data", "fetch", "california-housing", "--from", server.url()});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(run_tool({"data", "path", "california-housing"}).out, outcome.out);
  EXPECT_EQ(content_of(outcome.out.substr(0, outcome.out.size() - 1)), content);
}

}  // namespace
}  // namespace ignd
