#include "database.hpp"
#include "environment.hpp"
#include "ignd/random.hpp"
#include "lab/store.hpp"
#include "run_tool.hpp"
#include "scratch_folder.hpp"
#include "tool_support.hpp"

#include <algorithm>
#include <csignal>
#include <fstream>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sched.h>

namespace ignd {
namespace {

namespace fs = std::filesystem;
using testing::contains;
using testing::Database;
using testing::operator+;
using testing::Outcome;
using testing::Process;
using testing::run_tool;

// 600 searched and 40 reported runs of a few milliseconds each.
constexpr const char* experiment_text = R"(
title = "Scales"
question = "Does it learn?"
task = "frozen-lake"
seeds = 20
x-label = "episode"
metric = { label = "return", better = "higher" }
compare = [["IGNDQ", "QL"]]
[settings]
episodes = 300
[search]
rates = [0.1, 0.5, 1]
choose-by = "tuning-seeds"
tuning-seeds = 200
[quick]
seeds = 2
tuning-seeds = 1
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

class ReproduceTool : public ::testing::Test {
 protected:
  ReproduceTool() { std::ofstream(path("scales.toml")) << experiment_text; }

  std::string path(const char* name) const { return (scratch_ / name).string(); }
  std::vector<std::string> command(const char* out) const {
    return {"reproduce", path("scales.toml"), "--out", path(out), "--jobs", "2"};
  }
  std::unique_ptr<Process> start(const char* out) const {
    return std::make_unique<Process>(testing::tool_with(command(out)));
  }

  std::size_t count_runs(const char* out) const {
    return Database(store_path(path(out))).ask("SELECT 1 FROM run").size();
  }
  void wait_for_runs(const Process& process, const char* out, std::size_t count) const {
    while (count_runs(out) < count) {
      ASSERT_FALSE(process.has_ended()) << "the program ended before it made " << count << " runs";
      sched_yield();
    }
  }

  // Everything but times and hosts.
  std::vector<std::string> content(const char* out) const {
    const Database database(store_path(path(out)));
    auto rows = database.ask(
        "SELECT config, status, failed_at, score, validation, hex(x), hex(y), extras, version FROM run ORDER BY "
        "config");
    for (auto& row : database.ask("SELECT name, file, quick, seeds FROM experiment ORDER BY rowid")) {
      rows.push_back(std::move(row));
    }
    return rows;
  }

  testing::ScratchFolder scratch_;
};

TEST_F(ReproduceTool, MakesAllRunsAndTheReport) {
  const Outcome outcome = run_tool(command("r"));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, path("r") + "/report.html\n");
  EXPECT_TRUE(contains(outcome.err, "scales: 640 runs, 0 of them done already")) << outcome.err;
  EXPECT_FALSE(contains(outcome.err, "runs to make")) << "it takes a moment only";
  EXPECT_EQ(count_runs("r"), all_runs);
  for (const auto* file : {"r/report.html", "r/summary.json"}) EXPECT_TRUE(fs::exists(path(file))) << file;
  EXPECT_TRUE(contains(testing::content_of(path("r/report.html")), "Does it learn?"));
}

TEST_F(ReproduceTool, NothingIsMadeTwice) {
  run_tool(command("r"));
  const auto before = Database(store_path(path("r"))).ask("SELECT * FROM run ORDER BY config");
  const Outcome outcome = run_tool(command("r"));
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_TRUE(contains(outcome.err, "640 of them done already")) << outcome.err;
  EXPECT_EQ(Database(store_path(path("r"))).ask("SELECT * FROM run ORDER BY config"), before);
}

TEST_F(ReproduceTool, KilledAtAnyMomentItGoesOnToTheSameStore) {
  ASSERT_EQ(run_tool(command("whole")).exit_code, 0);
  const auto want = content("whole");
  RandomStream stream(1, "kill");
  for (int round = 0; round < 2; ++round) {
    const std::string out = fmt::format("killed-{}", round);
    std::size_t there = 0;
    for (int kill = 0; kill < 4 && there < all_runs; ++kill) {
      const auto process = start(out.c_str());
      wait_for_runs(*process, out.c_str(), std::min(there + 1 + stream.below(100), all_runs));
      process->signal(SIGKILL);
      EXPECT_EQ(process->finish().exit_code, -SIGKILL);
      const std::size_t now = count_runs(out.c_str());
      EXPECT_GT(now, there);
      there = now;
    }
    EXPECT_EQ(run_tool(command(out.c_str())).exit_code, 0);
    EXPECT_EQ(content(out.c_str()), want);
  }
}

TEST_F(ReproduceTool, GoesFromRungToRungKilledOrNot) {
  std::string text = experiment_text;
  text.replace(text.find("tuning-seeds = 200"), 18,
               "tuning-seeds = 100\n[[search.rung]]\nsettings = { episodes = 100 }\nkeep = 2\n"
               "[[search.rung]]\nsettings = { episodes = 200 }\n");
  std::ofstream(path("scales.toml")) << text;
  const Outcome whole = run_tool(command("whole"));
  ASSERT_EQ(whole.exit_code, 0) << whole.err;
  EXPECT_TRUE(contains(whole.err, "scales: 540 runs, 0 of them done already")) << whole.err;
  EXPECT_EQ(count_runs("whole"), 300U + 200U + 20U + 20U);
  EXPECT_TRUE(contains(testing::content_of(path("whole/report.html")), "last rung"));
  for (const std::size_t enough : {10U, 310U, 510U}) {  // in the first rung, in the second, and after it
    const auto process = start("killed");
    wait_for_runs(*process, "killed", enough);
    process->signal(SIGKILL);
    process->finish();
  }
  const Outcome again = run_tool(command("killed"));
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(content("killed"), content("whole"));
}

// Runs of hours.
constexpr const char* long_text = R"(
title = "Long"
question = "How long?"
task = "lqr"
seeds = 3
x-label = "improvement"
metric = { label = "error", better = "lower" }
[settings]
updates = 1000000000
[search]
rates = [0.1, 1]
choose-by = "tuning-seeds"
tuning-seeds = 2
[[panel]]
name = "one"
title = "One"
[[panel.method]]
name = "given"
optimizer = "ignd"
rate = 1
[[panel.method]]
name = "searched"
optimizer = "ignd"
)";

TEST_F(ReproduceTool, SaysHowLongItMayTake) {
  std::ofstream(path("scales.toml")) << long_text;
  const auto process = start("r");
  while (Database(store_path(path("r"))).ask("SELECT 1 FROM experiment").empty()) ASSERT_FALSE(process->has_ended());
  process->signal(SIGINT);
  const Outcome outcome = process->finish();
  EXPECT_EQ(outcome.exit_code, 130);
  EXPECT_TRUE(contains(outcome.err, "scales: 7 runs to make, about ")) << outcome.err;
  EXPECT_TRUE(contains(outcome.err,
                       " with 2 jobs on this machine (a rough guess); 3 more once the rates for them are "
                       "known\n"))
      << outcome.err;
  EXPECT_TRUE(contains(outcome.err, "stopped: 0 of 10 runs of scales are in ")) << outcome.err;
  EXPECT_TRUE(contains(outcome.err, "; the same command resumes them\n`ignd report ")) << outcome.err;
}

TEST_F(ReproduceTool, PlansSeveralExperiments) {
  ASSERT_EQ(run_tool({"reproduce", path("scales.toml"), "--quick", "--out", path("r")}).exit_code, 0);
  for (const char* name : {"long.toml", "longer.toml"}) std::ofstream(path(name)) << long_text;
  const auto process = std::make_unique<Process>(
      testing::tool_with({"reproduce", path("scales.toml"), path("long.toml"), path("longer.toml"), "--quick", "--out",
                          path("r"), "--jobs", "2"}));
  while (Database(store_path(path("r"))).ask("SELECT 1 FROM experiment WHERE name = 'longer'").empty()) {
    ASSERT_FALSE(process->has_ended());
  }
  process->signal(SIGINT);
  const Outcome outcome = process->finish();
  EXPECT_EQ(outcome.exit_code, 130);
  EXPECT_TRUE(contains(outcome.err, "3 experiments, 1 of them complete; about ")) << outcome.err;
  EXPECT_TRUE(contains(outcome.err, " with 2 jobs on this machine for the others (a rough guess):\n  long "))
      << outcome.err;
  EXPECT_TRUE(contains(outcome.err, "\n  longer ")) << outcome.err;
}

// From the first moment at which there is anything in the folder: what is there is a store, or no store yet.
TEST_F(ReproduceTool, KilledAtItsVeryBeginningItLeavesNothingInTheWay) {
  for (int k = 0; k < 5; ++k) {
    const auto process = start("r");
    while (!fs::exists(path("r")) || fs::is_empty(path("r"))) ASSERT_FALSE(process->has_ended());
    for (int turn = 0; turn < 100 * k; ++turn) sched_yield();
    process->signal(SIGKILL);
    process->finish();
    const Outcome report = run_tool({"report", path("r")});
    const bool nothing_yet = report.exit_code == 1 && contains(report.err, "there are no results in");
    EXPECT_TRUE(report.exit_code == 0 || nothing_yet) << report.err;
    auto again = command("r");
    again.insert(again.end(), {"--quick"});
    const Outcome outcome = run_tool(again);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    fs::remove_all(path("r"));
  }
}

TEST_F(ReproduceTool, StopsInGoodOrderAndSaysHowToGoOn) {
  for (const int signal : {SIGINT, SIGTERM}) {
    const std::size_t there = fs::exists(path("r")) ? count_runs("r") : 0;
    const auto process = start("r");
    wait_for_runs(*process, "r", there + 3);
    process->signal(signal);
    const Outcome outcome = process->finish();
    EXPECT_EQ(outcome.exit_code, 130);
    EXPECT_TRUE(contains(outcome.err, "the same command resumes them")) << outcome.err;
    EXPECT_FALSE(fs::exists(path("r/results.sqlite-wal")));
  }
  ASSERT_EQ(run_tool(command("r")).exit_code, 0);
  ASSERT_EQ(run_tool(command("whole")).exit_code, 0);
  EXPECT_EQ(content("r"), content("whole"));
}

TEST_F(ReproduceTool, ASecondProgramIsRefused) {
  const auto first = start("r");
  wait_for_runs(*first, "r", 1);
  const Outcome second = run_tool(command("r"));
  EXPECT_EQ(second.exit_code, 1);
  EXPECT_TRUE(contains(second.err, "another ignd is working in the folder")) << second.err;
  EXPECT_EQ(first->finish().exit_code, 0);
  EXPECT_EQ(count_runs("r"), all_runs);
}

TEST_F(ReproduceTool, ReportsOnWhatIsThere) {
  const auto process = start("r");
  wait_for_runs(*process, "r", 605);
  process->signal(SIGKILL);
  process->finish();
  const std::size_t there = count_runs("r");
  const Outcome outcome = run_tool({"report", path("r")});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  if (there < all_runs) {
    EXPECT_TRUE(contains(outcome.err, fmt::format("{} of 640 runs are missing", all_runs - there))) << outcome.err;
  }
  EXPECT_TRUE(fs::exists(path("r/report.html")));
}

// The paper's table has the columns of all experiments with its numbers, those with convolutional networks too. To know
// that their files are good no layer has to be made: oneDNN would say so, by its own account.
TEST_F(ReproduceTool, ThePapersTableMakesNoNetworks) {
  const testing::Variable verbose("ONEDNN_VERBOSE", "2");
  std::string lake = testing::content_of(fs::path(IGND_SOURCE_DIR) / "experiments/frozen-lake.toml");
  for (const bool has_numbers : {false, true}) {
    if (has_numbers) lake += "paper = { mean = 0.9 }\n";
    std::ofstream(path("lake.toml")) << lake;
    const std::string folder = path(has_numbers ? "with" : "without");
    const Outcome made = run_tool({"reproduce", path("lake.toml"), "--seeds", "1", "--out", folder});
    ASSERT_EQ(made.exit_code, 0) << made.err;
    const Outcome outcome = run_tool({"report", folder});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.out, folder + "/report.html\n");
    const std::string page = testing::content_of(folder + "/report.html");
    EXPECT_EQ(contains(page, "Cats vs Dogs"), has_numbers) << "only where the table has a place for it";
    EXPECT_FALSE(contains(page, "Not there yet")) << "nobody asked for it";
  }
}

TEST_F(ReproduceTool, AFullDiskLosesNothing) {
  const std::string words = fmt::format("\"$ignd\" reproduce '{}' --out '{}' --jobs 2", path("scales.toml"), path("r"));
  const Outcome outcome = testing::run_shell("ulimit -f 400; " + words);
  EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
  EXPECT_TRUE(contains(outcome.err, "earlier results are safe")) << outcome.err;
  EXPECT_GT(count_runs("r"), 0U);
  EXPECT_LT(count_runs("r"), all_runs);
  ASSERT_EQ(run_tool(command("r")).exit_code, 0);
  ASSERT_EQ(run_tool(command("whole")).exit_code, 0);
  EXPECT_EQ(content("r"), content("whole"));
}

TEST_F(ReproduceTool, NamesWhatIsWrongWithTheStore) {
  fs::create_directory(path("r"));
  std::ofstream(store_path(path("r"))) << "this is no database, whatever its name says; nobody should touch it";
  const std::string before = testing::content_of(store_path(path("r")));
  for (const auto& arguments : {command("r"), {"report", path("r")}}) {
    const Outcome outcome = run_tool(arguments);
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_TRUE(contains(outcome.err, "is damaged or not a results store")) << outcome.err;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  }
  EXPECT_EQ(testing::content_of(store_path(path("r"))), before);
  EXPECT_TRUE(contains(run_tool({"report", path("none")}).err, "there are no results in"));
  EXPECT_TRUE(contains(run_tool(command("scales.toml")).err, "cannot make the folder"));
}

TEST_F(ReproduceTool, ListsEveryFaultOfEveryFile) {
  std::ofstream(path("a.toml")) << "titel = 1\nseeds = 0\n";
  std::ofstream(path("b.toml")) << "x = [\n";
  const Outcome outcome = run_tool({"reproduce", path("a.toml"), path("b.toml"), "frozen-leak", "--out", path("r")});
  EXPECT_EQ(outcome.exit_code, 2);
  for (const auto* part : {"did you mean 'title'?", "line 2: 'seeds' must be", "b.toml': line ",
                           "did you mean 'frozen-lake'?", "ignd: '"}) {
    EXPECT_TRUE(contains(outcome.err, part)) << part << " is not in\n" << outcome.err;
  }
  EXPECT_FALSE(fs::exists(path("r")));
}

TEST_F(ReproduceTool, SaysWhenAnotherExperimentTakesItsName) {
  auto arguments = command("r");
  arguments.emplace_back("--quick");
  EXPECT_FALSE(contains(run_tool(arguments).err, "takes its place"));
  EXPECT_FALSE(contains(run_tool(arguments).err, "takes its place"));
  arguments.insert(arguments.end(), {"--seeds", "1"});
  EXPECT_TRUE(contains(run_tool(arguments).err, "takes its place in the report"));
  EXPECT_EQ(count_runs("r"), 3U + 2U + 2U);
}

TEST_F(ReproduceTool, AnExperimentThatCannotBeReadIsLeftOut) {
  auto arguments = command("r");
  arguments.emplace_back("--quick");
  ASSERT_EQ(run_tool(arguments).exit_code, 0);
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(store_path(path("r")).c_str(), &database), SQLITE_OK);
  sqlite3_exec(database, "INSERT INTO experiment VALUES ('other', 'x = [', 0, 1, 'c', 0)", nullptr, nullptr, nullptr);
  sqlite3_close(database);
  const Outcome outcome = run_tool({"report", path("r")});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_TRUE(contains(outcome.err, "the experiment 'other' in ")) << outcome.err;
  EXPECT_TRUE(contains(testing::content_of(path("r/report.html")), "Does it learn?"));
}

// Two rounds: the first makes the search, the second the runs at the rate that it chose.
TEST_F(ReproduceTool, ShardsJoinedAreTheWhole) {
  ASSERT_EQ(run_tool(command("whole")).exit_code, 0);
  std::vector<std::size_t> sizes;
  for (int round = 0; round < 2; ++round) {
    std::vector<std::string> merge{"merge", "-o", path("r")};
    for (const char* shard : {"1/3", "2/3", "3/3"}) {
      const Outcome outcome = run_tool(testing::Words(command("r")) + testing::Words{"--shard", shard});
      EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
      EXPECT_EQ(outcome.out, "") << "there is no report yet";
      EXPECT_TRUE(contains(outcome.err, "-shard-*-of-3 -o ")) << outcome.err;
      const std::string folder = fmt::format("r-shard-{}-of-3", shard[0]);
      sizes.push_back(count_runs(folder.c_str()));
      merge.push_back(path(folder.c_str()));
    }
    const Outcome merged = run_tool(merge);
    EXPECT_EQ(merged.exit_code, 0) << merged.err;
    EXPECT_EQ(count_runs("r"), round == 0 ? 620U : all_runs);
  }
  EXPECT_EQ(sizes[0] + sizes[1] + sizes[2], 620U) << "each run once";
  EXPECT_GT(std::min({sizes[0], sizes[1], sizes[2]}), 150U) << "and nearly equal parts";
  EXPECT_EQ(content("r"), content("whole"));
  const Outcome last = run_tool(command("r"));
  EXPECT_EQ(last.exit_code, 0);
  EXPECT_TRUE(contains(last.err, "640 of them done already")) << last.err;
  EXPECT_TRUE(fs::exists(path("r/report.html")));
}

TEST_F(ReproduceTool, ConflictingResultsAreNamedAndKept) {
  ASSERT_EQ(run_tool(command("a")).exit_code, 0);
  fs::copy(path("a"), path("b"), fs::copy_options::recursive);
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(store_path(path("b")).c_str(), &database), SQLITE_OK);
  sqlite3_exec(database, "UPDATE run SET score = score + 1 WHERE rowid IN (3, 5)", nullptr, nullptr, nullptr);
  sqlite3_close(database);
  const auto before = content("a");
  const Outcome merged = run_tool({"merge", path("b"), "-o", path("a")});
  EXPECT_EQ(merged.exit_code, 1);
  EXPECT_TRUE(contains(merged.err, "0 runs added, 638 were there already")) << merged.err;
  EXPECT_TRUE(contains(merged.err, "ignd: another result in ")) << merged.err;
  EXPECT_TRUE(contains(merged.err, "ignd: 2 runs have different results")) << merged.err;
  EXPECT_EQ(content("a"), before);
  EXPECT_EQ(Database(store_path(path("a"))).ask("SELECT 1 FROM conflict").size(), 2U);
  const Outcome shard = run_tool(testing::Words(command("a")) + testing::Words{"--shard", "1/2"});
  EXPECT_EQ(shard.exit_code, 0) << shard.err;
}

TEST_F(ReproduceTool, RefusesBadShardsAndFoldersToMerge) {
  for (const char* shard : {"", "0/3", "4/3", "1", "1/", "/3", "1/3x", "-1/3", "1/0", "a/b"}) {
    if (*shard == 0) continue;
    const Outcome outcome = run_tool(testing::Words(command("r")) + testing::Words{"--shard", shard});
    EXPECT_EQ(outcome.exit_code, 2) << shard;
    EXPECT_TRUE(contains(outcome.err, "must be like 3/8")) << outcome.err;
  }
  EXPECT_TRUE(contains(run_tool({"merge", path("none"), "-o", path("r")}).err, "there are no results in"));
  EXPECT_FALSE(fs::exists(path("r")));
  ASSERT_EQ(run_tool(testing::Words(command("r")) + testing::Words{"--quick"}).exit_code, 0);
  EXPECT_EQ(run_tool({"merge", path("r"), "-o", path("r")}).exit_code, 2);
}

TEST_F(ReproduceTool, ListsWhatThereIs) {
  const Outcome outcome = run_tool({"reproduce", "--list"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_TRUE(contains(outcome.out, "frozen-lake ")) << outcome.out;
  EXPECT_TRUE(contains(outcome.out, "lqr ")) << outcome.out;
}

TEST_F(ReproduceTool, TakesNames) {
  const Outcome outcome = run_tool({"reproduce", "--list", "cats-vs-dogs", "frozen-lake"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_TRUE(contains(outcome.out, "cats-vs-dogs ")) << outcome.out;
  EXPECT_TRUE(contains(outcome.out, "frozen-lake ")) << outcome.out;
  EXPECT_FALSE(contains(outcome.out, "lqr ")) << outcome.out;
  const Outcome twice = run_tool({"reproduce", "--list", "cats-vs-dogs", "cats-vs-dogs"});
  EXPECT_EQ(twice.exit_code, 2);
  EXPECT_TRUE(contains(twice.err, "two experiments are named 'cats-vs-dogs'")) << twice.err;
  const Outcome near = run_tool({"reproduce", "--list", "cats_vs_dogs"});
  EXPECT_EQ(near.exit_code, 2);
  EXPECT_TRUE(contains(near.err, "did you mean 'cats-vs-dogs'")) << near.err;
}

// An installed program has experiments of its own beside it: here one of each kind.
TEST_F(ReproduceTool, WithoutNamesItMakesWhatTheFilesSay) {
  const fs::path own = path("prefix/share/ignd/experiments");
  fs::create_directories(own);
  fs::create_directories(path("prefix/bin"));
  fs::copy_file(IGND_PROGRAM, path("prefix/bin/ignd"));
  const fs::path libraries = fs::path(IGND_LIBRARY).parent_path();  // which the program finds from its own place
  fs::create_directory_symlink(libraries, path("prefix") + "/" + libraries.filename().string());
  std::string text = experiment_text;
  text.replace(text.find("tuning-seeds = 200"), 18, "tuning-seeds = 2");
  for (const std::string kind : {"full", "quick", "nothing"}) {
    std::ofstream(own / (kind + ".toml")) << "by-default = \"" << kind << "\"\n" << text;
  }
  const auto reproduce = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {path("prefix/bin/ignd"), "reproduce", "--seeds", "2", "--out", path("r")});
    return Process(more).finish().exit_code;
  };
  const auto there = [&] {
    return Database(store_path(path("r"))).ask("SELECT name, quick FROM experiment ORDER BY name");
  };
  ASSERT_EQ(reproduce({}), 0);
  EXPECT_EQ(there(), (std::vector<std::string>{"full|0|", "quick|1|"}));
  ASSERT_EQ(reproduce({"quick"}), 0);
  EXPECT_EQ(there(), (std::vector<std::string>{"full|0|", "quick|0|"}));
  ASSERT_EQ(reproduce({}), 0);
  EXPECT_EQ(there(), (std::vector<std::string>{"full|0|", "quick|0|"})) << "a preview takes no finished one's place";
  ASSERT_EQ(reproduce({"--all"}), 0);
  EXPECT_EQ(there(), (std::vector<std::string>{"full|0|", "nothing|0|", "quick|0|"}));
  EXPECT_EQ(reproduce({"--all", "quick"}), 2) << "all, or some";
}

TEST_F(ReproduceTool, RefusesBadOptions) {
  for (const auto& [option, value] : std::vector<std::pair<std::string, std::string>>{
           {"--seeds", "0"}, {"--seeds", "-1"}, {"--seeds", "many"}, {"--jobs", "0"}, {"--jobs", "x"}}) {
    const Outcome outcome = run_tool({"reproduce", path("scales.toml"), "--out", path("r"), option, value});
    EXPECT_EQ(outcome.exit_code, 2) << option << " " << value;
    EXPECT_FALSE(fs::exists(path("r")));
  }
}

TEST_F(ReproduceTool, APreviewIsLabelled) {
  auto arguments = command("r");
  arguments.emplace_back("--quick");
  ASSERT_EQ(run_tool(arguments).exit_code, 0);
  EXPECT_EQ(count_runs("r"), 3U + 2U + 2U);
  EXPECT_TRUE(contains(testing::content_of(path("r/report.html")), "review"));
  EXPECT_TRUE(contains(testing::content_of(path("r/summary.json")), "\"preview\":true") ||
              contains(testing::content_of(path("r/summary.json")), "\"preview\": true"));
}

}  // namespace
}  // namespace ignd
