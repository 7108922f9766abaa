#include "database.hpp"
#include "environment.hpp"
#include "ignd/random.hpp"
#include "lab/store.hpp"
#include "run_tool.hpp"
#include "scratch_folder.hpp"
#include "tool_support.hpp"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sched.h>

// Several processes on one command, as Open MPI's mpirun starts them.
namespace ignd {
namespace {

namespace fs = std::filesystem;
using testing::contains;
using testing::Database;
using testing::Outcome;
using testing::Process;
using testing::Variable;
using testing::operator+;
using testing::Words;

// 600 searched and 40 reported runs of a few milliseconds each.
constexpr const char* experiment_text = R"(
title = "Scales"
question = "Does it learn?"
task = "frozen-lake"
seeds = 20
x-label = "episode"
metric = { label = "return", better = "higher" }
[settings]
episodes = 300
[search]
rates = [0.1, 0.5, 1]
choose-by = "tuning-seeds"
tuning-seeds = 200
[[panel]]
name = "one"
title = "One"
[[panel.method]]
name = "QL"
optimizer = "sgd"
[[panel.method]]
name = "IGNDQ"
optimizer = "ignd"
rate = 1
)";
constexpr std::size_t all_runs = 640;

std::optional<std::string> path_of_mpirun() {
  for (const char* path : {"/usr/bin/mpirun", "/usr/local/bin/mpirun"}) {
    if (fs::exists(path)) return path;
  }
  return std::nullopt;
}

class MpiTool : public ::testing::Test {
 protected:
  void SetUp() override {
#ifndef IGND_HAS_MPI
    GTEST_SKIP() << "this build is for one process";
#endif
#ifdef __SANITIZE_ADDRESS__
    GTEST_SKIP()
        << "the address sanitizer keeps dlopen from searching where the program says, and reports leaks of Open "
           "MPI's own";
#endif
    mpirun_ = path_of_mpirun();
    if (!mpirun_) GTEST_SKIP() << "there is no mpirun";
    std::ofstream(path("scales.toml")) << experiment_text;
  }

  std::string path(const std::string& name) const { return (scratch_ / name.c_str()).string(); }
  Words on_ranks(int ranks, const Words& arguments) const {
    Words words{*mpirun_, "-q", "--oversubscribe", "-n", std::to_string(ranks)};
    return words + testing::tool_with(arguments);
  }
  Words reproduce(const std::string& out) const {
    return {"reproduce", path("scales.toml"), "--out", path(out), "--jobs", "1"};
  }
  static Outcome run(const Words& words) { return Process(words).finish(); }

  std::size_t count_runs(const std::string& out) const {
    return Database(store_path(path(out))).ask("SELECT 1 FROM run").size();
  }
  // Everything but times.
  std::vector<std::string> content(const std::string& out) const {
    return Database(store_path(path(out)))
        .ask(
            "SELECT config, status, failed_at, score, validation, hex(x), hex(y), hex(validation_y), hex(steps), "
            "extras, version, host FROM run ORDER BY config");
  }
  void wait_for_runs(const Process& process, const std::string& out, std::size_t count) const {
    while (count_runs(out) < count && !process.has_ended()) sched_yield();
  }

  // The ranks, by their parent.
  static std::vector<pid_t> ranks_of(const Process& mpirun) {
    std::vector<pid_t> ranks;
    std::ifstream children(fmt::format("/proc/{0}/task/{0}/children", mpirun.id()));
    for (pid_t child = 0; children >> child;) ranks.push_back(child);
    return ranks;
  }

  testing::ScratchFolder scratch_;
  std::optional<std::string> mpirun_;
  // Tests may be run by root, and on fewer cores than ranks.
  Variable as_root_{"OMPI_ALLOW_RUN_AS_ROOT", "1"}, confirmed_{"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"};
  Variable yields_{"OMPI_MCA_mpi_yield_when_idle", "1"};
};

TEST_F(MpiTool, AnyNumberOfRanksMakesTheStoreOfOneProcess) {
  ASSERT_EQ(testing::run_tool(reproduce("one")).exit_code, 0);
  ASSERT_EQ(count_runs("one"), all_runs);
  for (const int ranks : {1, 2, 4}) {
    const std::string out = fmt::format("ranks-{}", ranks);
    const Outcome made = run(on_ranks(ranks, reproduce(out)));
    EXPECT_EQ(made.exit_code, 0) << made.err;
    EXPECT_EQ(made.out, path(out) + "/report.html\n") << "rank 0 alone talks";
    EXPECT_EQ(content(out), content("one"));
  }
}

TEST_F(MpiTool, AShardMayHaveSeveralRanks) {
  ASSERT_EQ(testing::run_tool(reproduce("one")).exit_code, 0);
  for (const char* shard : {"1/2", "2/2"}) {
    const Outcome made = run(on_ranks(2, reproduce("r") + Words{"--shard", shard}));
    EXPECT_EQ(made.exit_code, 0) << made.err;
  }
  ASSERT_EQ(testing::run_tool({"merge", path("r-shard-1-of-2"), path("r-shard-2-of-2"), "-o", path("r")}).exit_code, 0);
  ASSERT_EQ(run(on_ranks(2, reproduce("r"))).exit_code, 0);
  EXPECT_EQ(content("r"), content("one"));
}

TEST_F(MpiTool, CompareFindsTheSameOnSeveralRanks) {
  std::ofstream table(path("table.csv"));
  table << "a,b,y\n";
  for (int i = 0; i < 300; ++i) table << i % 17 << ',' << i % 5 << ',' << 3 * (i % 17) - (i % 5) << '\n';
  table.close();
  const Words compare{"compare", path("table.csv"), "--target", "y", "--model", "linear", "--epochs", "2",
                      "--lrs",   "1e-3:1",          "--seeds",  "2", "--jobs",  "1",      "--out"};
  const Outcome one = testing::run_tool(compare + Words{path("one")});
  ASSERT_EQ(one.exit_code, 0) << one.err;
  const Outcome three = run(on_ranks(3, compare + Words{path("three")}));
  EXPECT_EQ(three.exit_code, 0) << three.err;
  EXPECT_EQ(content("three"), content("one"));
  EXPECT_EQ(three.out.substr(0, three.out.find("three")), one.out.substr(0, one.out.find("one/report")));
}

// IGND_KILLS sets how many kills there are at least.
TEST_F(MpiTool, KilledRanksLoseNothingThatWasStored) {
  const char* const asked = std::getenv("IGND_KILLS");
  const int wanted = asked != nullptr ? std::atoi(asked) : 5;
  ASSERT_EQ(testing::run_tool(reproduce("whole")).exit_code, 0);
  const auto want = content("whole");
  RandomStream stream(1, "kill");
  int kills = 0, of_rank_0 = 0;
  for (int round = 0; kills < wanted; ++round) {
    const std::string out = fmt::format("killed-{}", round);
    std::vector<std::string> before;
    for (bool whole = false; !whole && kills < wanted;) {
      const std::size_t there = count_runs(out);
      Process process(on_ranks(3, reproduce(out)));
      wait_for_runs(process, out, std::min<std::size_t>(there + 1 + stream.below(120), all_runs));
      const std::vector<pid_t> ranks = ranks_of(process);
      if (ranks.size() == 3) {
        const std::size_t which = stream.below(3);
        const bool killed = ::kill(ranks[which], SIGKILL) == 0;
        kills += killed ? 1 : 0;
        of_rank_0 += killed && which == 0 ? 1 : 0;
      }
      process.finish();
      const auto now = content(out);
      EXPECT_TRUE(std::ranges::includes(now, before)) << "a stored run is gone";
      EXPECT_TRUE(std::ranges::includes(want, now)) << "a stored run is not what it should be";
      before = now;
      whole = now.size() == all_runs;
    }
    const Outcome last = run(on_ranks(3, reproduce(out)));
    EXPECT_EQ(last.exit_code, 0) << last.err;
    EXPECT_EQ(content(out), want);
  }
  std::printf("%d kills, %d of them of rank 0; nothing was lost\n", kills, of_rank_0);
}

TEST_F(MpiTool, SigtermToTheJobOrToARankStopsItInGoodOrder) {
  // A busy machine may need longer than the usual second to stop in good order; mpirun always waits that long.
  const Variable patience("OMPI_MCA_odls_base_sigkill_timeout", "5");
  std::string longer = experiment_text;
  longer.replace(longer.find("300"), 3, "16000");
  std::ofstream(path("scales.toml")) << longer;
  ASSERT_EQ(testing::run_tool(reproduce("whole")).exit_code, 0);
  for (const int who : {-1, 0, 2}) {  // mpirun, or a rank
    const std::string out = fmt::format("stopped{}", who);
    Process process(on_ranks(3, reproduce(out)));
    wait_for_runs(process, out, 20);
    const std::vector<pid_t> ranks = ranks_of(process);
    if (who < 0) {
      process.signal(SIGTERM);
    } else if (ranks.size() == 3) {
      ::kill(ranks[static_cast<std::size_t>(who)], SIGTERM);
    }
    const Outcome stopped = process.finish();
    EXPECT_GE(count_runs(out), 20U);
    if (count_runs(out) < all_runs) {  // otherwise all was done before the signal arrived
      EXPECT_NE(stopped.exit_code, 0);
      EXPECT_TRUE(contains(stopped.err, "the same command resumes them")) << stopped.err;
    }
    EXPECT_EQ(run(on_ranks(3, reproduce(out))).exit_code, 0);
    EXPECT_EQ(content(out), content("whole"));
  }
}

TEST_F(MpiTool, AnEnsembleIsTheSameOnSeveralRanksStoppedOrNot) {
  std::ofstream table(path("table.csv"));
  table << "a,b,y\n";
  for (int i = 0; i < 2000; ++i) table << i % 17 << ',' << i % 5 << ',' << 3 * (i % 17) - (i % 5) << '\n';
  table.close();
  const auto train = [&](const std::string& model, const Words& more) {
    return Words{"train", path("table.csv"), "--target", "y",        "--ensemble", "4", "--patience",
                 "100",   "--quiet",         "--save",   path(model)} +
           more;
  };
  const Words epochs{"--epochs", "100"};
  ASSERT_EQ(testing::run_tool(train("one.ignd", epochs)).exit_code, 0);
  for (const int ranks : {2, 3}) {
    const Outcome made = run(on_ranks(ranks, train("several.ignd", epochs)));
    EXPECT_EQ(made.exit_code, 0) << made.err;
    EXPECT_EQ(testing::content_of(path("several.ignd")), testing::content_of(path("one.ignd")));
  }
  Process process(on_ranks(3, train("stopped.ignd", epochs + Words{"--save-every", "1"})));
  while (!fs::exists(path("stopped.partial.ignd")) && !process.has_ended()) sched_yield();
  process.signal(SIGTERM);
  const Outcome stopped = process.finish();
  EXPECT_TRUE(contains(stopped.err, "to resume, run the same command with --resume")) << stopped.err;
  const Outcome resumed =
      run(on_ranks(3, train("stopped.ignd", epochs + Words{"--resume", path("stopped.partial.ignd")})));
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_EQ(testing::content_of(path("stopped.ignd")), testing::content_of(path("one.ignd")));
}

TEST_F(MpiTool, WhatIsWrongIsSaidOnce) {
  std::ofstream(path("table.csv")) << "a,y\n1,2\n";
  const auto expect_refusal = [&](const Words& arguments, const std::string& part) {
    SCOPED_TRACE(arguments[0]);
    const Outcome outcome = run(on_ranks(3, arguments));
    EXPECT_NE(outcome.exit_code, 0);
    testing::expect_one_line(outcome, outcome.exit_code, part);
  };
  expect_refusal({"reproduce", "no-such-thing"}, "there is no experiment 'no-such-thing'");
  expect_refusal({"reproduce", "--jobs", "x"}, "--jobs");
  expect_refusal({"compare"}, "name the file");
  expect_refusal({"train", "no-such.csv", "--target", "y"}, "no-such.csv");
  expect_refusal({"train", path("table.csv"), "--target", "y", "--fast"}, "a single network is trained by one process");
  expect_refusal({"predict", "a.ignd", "b.csv"}, "is the work of one process, but mpirun started 3");
}

TEST_F(MpiTool, AProgramWithoutMpiRefusesInsteadOfTrainingCopies) {
  // The tool without the library beside it.
  const fs::path alone = path("bin");
  fs::create_directories(alone);
  fs::copy_file(IGND_PROGRAM, alone / "ignd");
  Words words = on_ranks(2, reproduce("none"));
  *std::ranges::find(words, IGND_PROGRAM) = (alone / "ignd").string();
  testing::expect_one_line(run(words), 2, "mpirun started 2 ranks, but this program cannot use MPI");
  EXPECT_FALSE(fs::exists(path("none")));
}

}  // namespace
}  // namespace ignd
