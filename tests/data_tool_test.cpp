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
  const Outcome reproduced = run_tool({"reproduce", "tabular", "--offline", "--out", (folder_ / "r").string()});
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

// A study of a table by its name, which takes no steps.
class StudyOfNamedData : public DataTool {
 protected:
  StudyOfNamedData() {
    std::ofstream(folder_ / "housing.toml") << R"(
title = "Housing"
question = "What does a constant reach?"
task = "training"
seeds = 1
x-label = "epoch"
metric = { label = "RMSE", better = "lower" }
[[panel]]
name = "housing"
title = "Housing"
settings = { data = "california-housing", target = "MedHouseVal", model = "best-constant" }
[[panel.method]]
name = "constant"
optimizer = "sgd"
rate = 1
)";
  }

  Outcome reproduce(const HttpServer& mirror, const std::vector<std::string>& more = {}) const {
    const Variable address("IGND_MIRROR", mirror.url("/copies"));
    std::vector<std::string> arguments{"reproduce", (folder_ / "housing.toml").string(), "--out",
                                       (folder_ / "results").string()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_tool(arguments);
  }
};

TEST_F(StudyOfNamedData, FetchesASmallSetAndSaysSo) {
  if (real_.empty()) GTEST_SKIP() << "IGND_DATA does not say where the data sets are";
  const std::string content = content_of(real_ + "/cal_housing.tgz");
  if (content.empty()) GTEST_SKIP() << "california-housing is not in IGND_DATA";
  const HttpServer mirror(well_behaved(content));
  const Outcome outcome = reproduce(mirror);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_TRUE(contains(outcome.err, "housing needs california-housing: fetching 0.4 MB from http://127.0.0.1:"))
      << outcome.err;
  EXPECT_EQ(content_of((folder_ / "ignd/cal_housing.tgz").string()), content);
  ASSERT_EQ(mirror.requests().size(), 1U);
  EXPECT_TRUE(mirror.requests()[0].starts_with("GET /copies/cal_housing.tgz ")) << mirror.requests()[0];
  EXPECT_EQ(reproduce(mirror).exit_code, 0);
  EXPECT_EQ(mirror.requests().size(), 1U) << "it is there now";
}

TEST_F(StudyOfNamedData, WithoutANetworkItSaysWhatIsMissing) {
  const HttpServer mirror(well_behaved("<html>"));
  const Outcome outcome = reproduce(mirror);
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_TRUE(contains(outcome.err, "delivers the wrong file")) << outcome.err;
  EXPECT_TRUE(contains(outcome.err, "housing: the data set california-housing is not here")) << outcome.err;
  EXPECT_EQ(mirror.requests().size(), 1U);
}

TEST_F(StudyOfNamedData, OfflineForbidsIt) {
  const HttpServer mirror(well_behaved(""));
  const Outcome outcome = reproduce(mirror, {"--offline"});
  EXPECT_EQ(outcome.exit_code, 1);
  expect_one_line(outcome.err);
  EXPECT_TRUE(contains(outcome.err, "run: ignd data fetch california-housing")) << outcome.err;
  EXPECT_TRUE(mirror.requests().empty());
}

}  // namespace
}  // namespace ignd
