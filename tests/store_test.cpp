#include "lab/store.hpp"

#include "ignd/error.hpp"
#include "ignd/random.hpp"
#include "run_tool.hpp"
#include "scratch_folder.hpp"

#include <array>
#include <cmath>
#include <fstream>
#include <functional>
#include <limits>
#include <memory>

#include <gtest/gtest.h>
#include <sqlite3.h>

namespace ignd {
namespace {

using testing::contains;
using testing::ScratchFolder;

constexpr double infinity = std::numeric_limits<double>::infinity();

RunConfig config_of(std::uint64_t seed) {
  return {"frozen-lake", Settings({{"map", "4x4"}, {"gamma", "0.9"}}), {"gradient", "plain"}, 0.1, seed};
}

StoredRun run_of(RandomStream& stream) {
  StoredRun run;
  run.result.status = std::array{RunStatus::finished, RunStatus::diverged, RunStatus::collapsed}[stream.below(3)];
  run.result.failed_at = stream.below(1000);
  if (stream.below(2) == 0) run.result.score = stream.normal();
  if (stream.below(2) == 0) run.result.validation = 1e-300 * stream.normal();
  for (std::uint64_t k = stream.below(5); k > 0; --k) {
    run.result.x.push_back(static_cast<double>(k));
    run.result.y.push_back(stream.below(4) == 0 ? -infinity : stream.normal());
  }
  if (stream.below(2) == 0) run.result.validation_y.assign(run.result.x.size(), stream.normal());
  if (stream.below(2) == 0) run.result.steps.assign(21, stream.normal());
  for (std::uint64_t k = stream.below(3); k > 0; --k) {
    run.result.extras.emplace_back("number " + std::to_string(k), stream.normal());
  }
  for (std::uint64_t k = stream.below(3); k > 0; --k) {
    MatrixRows rows(1 + stream.below(3), std::vector<double>(1 + stream.below(3)));
    for (auto& row : rows) row[0] = stream.normal();
    run.result.matrices.emplace_back("matrix " + std::to_string(k), rows);
  }
  run.seconds = stream.uniform();
  run.version = "1.2.3";
  run.host = "a processor with 'quotes'";
  return run;
}

std::string fault_of(const std::filesystem::path& folder, Store::Access access) {
  try {
    const Store store(folder, access);
    return "";
  } catch (const FileError& fault) {
    return fault.what();
  }
}

// The store's file changed behind its back.
void change(const std::filesystem::path& file, const char* sql) {
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(file.c_str(), &database), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(database, sql, nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(database);
  sqlite3_close(database);
}

TEST(Store, GivesBackWhatWasPutIn) {
  const ScratchFolder scratch;
  RandomStream stream(1, "store");
  std::vector<StoredRun> runs(50);
  for (StoredRun& run : runs) run = run_of(stream);
  const auto expect_all = [&](const Store& store) {
    for (std::size_t seed = 0; seed < runs.size(); ++seed) {
      EXPECT_TRUE(store.contains(config_of(seed)));
      const auto found = store.find(config_of(seed));
      ASSERT_TRUE(found);
      EXPECT_EQ(found->result, runs[seed].result);
      EXPECT_EQ(found->seconds, runs[seed].seconds);
      EXPECT_EQ(found->version, runs[seed].version);
      EXPECT_EQ(found->host, runs[seed].host);
    }
    EXPECT_FALSE(store.contains(config_of(runs.size())));
    EXPECT_FALSE(store.find(config_of(runs.size())));
  };
  {
    Store store(scratch / "deep/er", Store::Access::write);
    for (std::size_t seed = 0; seed < runs.size(); ++seed) store.add(config_of(seed), runs[seed]);
    expect_all(store);
  }
  expect_all(Store(scratch / "deep/er", Store::Access::read));
  expect_all(Store(scratch / "deep/er", Store::Access::write));
}

TEST(Store, KeepsNumbersThatAreNone) {
  const ScratchFolder scratch;
  Store store(scratch / "r", Store::Access::write);
  StoredRun run;
  run.result.extras = {{"a", std::numeric_limits<double>::quiet_NaN()}, {"b", -infinity}};
  run.result.extras.emplace_back("c", -std::numeric_limits<double>::quiet_NaN());
  store.add(config_of(1), run);
  const auto extras = store.find(config_of(1))->result.extras;
  ASSERT_EQ(extras.size(), 3U);
  EXPECT_TRUE(std::isnan(extras[0].second));
  EXPECT_EQ(extras[1].second, -infinity);
  EXPECT_TRUE(std::isnan(extras[2].second));
}

TEST(Store, KeepsExperimentsInOrder) {
  const ScratchFolder scratch;
  Store store(scratch / "r", Store::Access::write);
  store.put({"b", "text = 'b'", {true, std::nullopt}, "ignd reproduce b", 0});
  store.put({"a", "text = 'a'", {false, 7}, "ignd reproduce a", 0});
  store.add_wall_seconds("b", 2);
  store.add_wall_seconds("b", 3);
  store.put({"b", "new text", {false, 9}, "again", 0});
  const auto all = store.experiments();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].name, "b");
  EXPECT_EQ(all[0].file, "new text");
  EXPECT_EQ(all[0].options, (ExperimentOptions{false, 9}));
  EXPECT_EQ(all[0].command, "again");
  EXPECT_EQ(all[0].wall_seconds, 5);
  EXPECT_EQ(all[1].name, "a");
}

TEST(Store, ReadsWhileSomebodyWrites) {
  const ScratchFolder scratch;
  RandomStream stream(2, "store");
  Store writer(scratch / "r", Store::Access::write);
  const Store reader(scratch / "r", Store::Access::read);
  EXPECT_FALSE(reader.contains(config_of(1)));
  writer.add(config_of(1), run_of(stream));
  EXPECT_TRUE(reader.contains(config_of(1)));
}

TEST(Store, RefusesASecondWriter) {
  const ScratchFolder scratch;
  const Store first(scratch / "r", Store::Access::write);
  EXPECT_TRUE(contains(fault_of(scratch / "r", Store::Access::write), "another ignd is working in the folder"));
}

TEST(Store, NamesWhatIsWrongWithAFolder) {
  const ScratchFolder scratch;
  EXPECT_TRUE(contains(fault_of(scratch / "none", Store::Access::read), "there are no results in"));
  EXPECT_TRUE(contains(fault_of("/proc/ignd", Store::Access::write), "cannot make the folder"));
  std::ofstream(scratch / "file") << "text";
  EXPECT_TRUE(contains(fault_of(scratch / "file", Store::Access::write), "cannot make the folder"));
}

TEST(Store, RefusesWhatIsNoStore) {
  const ScratchFolder scratch;
  std::filesystem::create_directory(scratch / "r");
  const auto file = store_path(scratch / "r");
  std::ofstream(file) << std::string(5000, 'x');
  for (const auto access : {Store::Access::read, Store::Access::write}) {
    EXPECT_TRUE(contains(fault_of(scratch / "r", access), "is damaged or not a results store"));
  }
  EXPECT_EQ(testing::content_of(file), std::string(5000, 'x'));

  std::filesystem::remove(file);
  change(file, "CREATE TABLE people (name TEXT)");
  const std::string before = testing::content_of(file);
  for (const auto access : {Store::Access::read, Store::Access::write}) {
    EXPECT_TRUE(contains(fault_of(scratch / "r", access), "is a database, but not a results store"));
  }
  EXPECT_EQ(testing::content_of(file), before);
}

TEST(Store, RefusesANewerVersionAndLeavesItAlone) {
  const ScratchFolder scratch;
  { const Store store(scratch / "r", Store::Access::write); }
  change(store_path(scratch / "r"), "PRAGMA user_version = 4");
  const std::string before = testing::content_of(store_path(scratch / "r"));
  for (const auto access : {Store::Access::read, Store::Access::write}) {
    EXPECT_TRUE(contains(fault_of(scratch / "r", access), "was written by a newer ignd (store version 4"));
  }
  EXPECT_EQ(testing::content_of(store_path(scratch / "r")), before);
}

// The tasks `classification` and `table` recorded curves of the validation samples once, and nothing else did. They
// must not pass for test curves, whether the store is read or written to.
TEST(Store, CurvesOfVersion1AreWhatTheyWere) {
  const ScratchFolder scratch;
  const auto config = [](const char* task) { return RunConfig{task, config_of(1).settings, {"r", "t"}, 0.1, 1}; };
  StoredRun run;
  run.result.x = {0, 1};
  run.result.y = {0.5, 0.75};
  {
    Store store(scratch / "r", Store::Access::write);
    for (const auto* task : {"classification", "table", "tabular", "frozen-lake"}) store.add(config(task), run);
  }
  const auto file = store_path(scratch / "r");
  change(file, "ALTER TABLE run DROP COLUMN steps; ALTER TABLE run DROP COLUMN validation_y; PRAGMA user_version = 1");
  const std::string before = testing::content_of(file);
  const auto expect_curves = [&](const Store& store) {
    for (const auto* task : {"classification", "table"}) {
      const RunResult found = store.find(config(task))->result;
      EXPECT_EQ(found.x, run.result.x) << task;
      EXPECT_TRUE(found.y.empty()) << task;
      EXPECT_EQ(found.validation_y, run.result.y) << task;
    }
    for (const auto* task : {"tabular", "frozen-lake"}) EXPECT_EQ(store.find(config(task))->result, run.result) << task;
  };
  expect_curves(Store(scratch / "r", Store::Access::read));
  EXPECT_EQ(testing::content_of(file), before) << "a reader changes nothing";
  {
    Store store(scratch / "r", Store::Access::write);
    expect_curves(store);
    run.result.validation_y = {0.25, 0.5};
    store.add(config("new"), run);
    EXPECT_EQ(store.find(config("new"))->result, run.result);
    run.result.validation_y = {};
  }
  expect_curves(Store(scratch / "r", Store::Access::read));
}

// Version 2 had no record of steps.
TEST(Store, Version2IsReadAsItIsAndConvertedWhenItIsWrittenTo) {
  const ScratchFolder scratch;
  StoredRun run;
  run.result.x = {0, 1};
  run.result.y = {0.5, 0.75};
  run.result.validation_y = {0.25, 0.5};
  {
    Store store(scratch / "r", Store::Access::write);
    store.add(config_of(1), run);
  }
  const auto file = store_path(scratch / "r");
  change(file, "ALTER TABLE run DROP COLUMN steps; PRAGMA user_version = 2");
  const std::string before = testing::content_of(file);
  EXPECT_EQ(Store(scratch / "r", Store::Access::read).find(config_of(1))->result, run.result);
  EXPECT_EQ(testing::content_of(file), before) << "a reader changes nothing";
  StoredRun more = run;
  more.result.steps = {1, 2, 3};
  {
    Store store(scratch / "r", Store::Access::write);
    EXPECT_EQ(store.find(config_of(1))->result, run.result);
    store.add(config_of(2), more);
  }
  EXPECT_EQ(Store(scratch / "r", Store::Access::read).find(config_of(2))->result, more.result);
}

// Whatever the parts, in whatever order: each has some of the runs, and some runs are in several.
TEST(Store, TheUnionOfPartsIsTheWhole) {
  RandomStream stream(4, "merge");
  for (int round = 0; round < 5; ++round) {
    const ScratchFolder scratch;
    std::vector<StoredRun> runs(40);
    std::vector<std::unique_ptr<Store>> parts;
    for (int p = 0; p < 3; ++p) {
      parts.push_back(std::make_unique<Store>(scratch / std::to_string(p).c_str(), Store::Access::write));
    }
    std::uint64_t copies = 0;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      runs[i] = run_of(stream);
      if (i == 7) runs[i].result.extras = {{"none", std::nan("")}, {"seconds", 0.5}};
      const std::uint64_t owner = stream.below(3);
      for (std::uint64_t p = 0; p < 3; ++p) {
        if (p != owner && stream.below(3) > 0) continue;
        StoredRun copy = runs[i];  // by another machine, in another time
        if (p != owner) copy.seconds *= 2;
        if (p != owner) copy.host = "another";
        parts[p]->add(config_of(i), copy);
        ++copies;
      }
    }
    parts[1]->put({"b", "file", {}, "command", 0});
    parts[2]->put({"b", "file", {}, "command", 0});
    Store all(scratch / "all", Store::Access::write);
    MergeReport sum;
    for (const std::size_t p : {2U, 0U, 1U}) {
      const MergeReport one = all.merge(*parts[p]);
      sum.added += one.added;
      sum.equal += one.equal;
      EXPECT_TRUE(one.conflicts.empty());
      EXPECT_TRUE(one.experiments.empty());
    }
    EXPECT_EQ(sum.added, runs.size());
    EXPECT_EQ(sum.added + sum.equal, copies);
    for (std::size_t i = 0; i < runs.size(); ++i) {
      if (i == 7) continue;  // its NaN equals nothing
      EXPECT_EQ(all.find(config_of(i))->result, runs[i].result);
    }
    EXPECT_EQ(all.experiments().size(), 1U);
    EXPECT_EQ(all.conflicts(), 0U);
  }
}

TEST(Store, AnotherResultOfARunIsNamedAndKept) {
  const ScratchFolder scratch;
  RandomStream stream(5, "conflict");
  Store here(scratch / "here", Store::Access::write), there(scratch / "there", Store::Access::write);
  const StoredRun run = run_of(stream);
  const auto with = [&](const std::function<void(RunResult&)>& change) {
    StoredRun other = run;
    change(other.result);
    return other;
  };
  const std::vector<StoredRun> others{
      run,
      with([](RunResult& result) { result.score = result.score.value_or(0) + 1e-15; }),
      with([](RunResult& result) { result.x.push_back(9), result.y.push_back(9), result.validation_y.clear(); }),
      with([](RunResult& result) { result.extras.emplace_back("more", 1); }),
      with([](RunResult& result) { result.failed_at += 1; }),
      with([](RunResult& result) { result.validation = result.validation ? std::nullopt : std::optional(1.0); })};
  for (std::size_t i = 0; i < others.size(); ++i) {
    here.add(config_of(i), run);
    there.add(config_of(i), others[i]);
  }
  here.put({"b", "file", {}, "command", 0});
  there.put({"b", "another file", {}, "command", 0});
  for (int again = 0; again < 2; ++again) {
    const MergeReport merged = here.merge(there);
    EXPECT_EQ(merged.added, 0U);
    EXPECT_EQ(merged.equal, 1U);
    ASSERT_EQ(merged.conflicts.size(), 5U);
    EXPECT_EQ(merged.conflicts[0], config_of(1).text());
    EXPECT_EQ(merged.experiments, std::vector<std::string>{"b"});
    EXPECT_EQ(here.conflicts(), 5U) << "once, however often";
    for (std::size_t i = 0; i < others.size(); ++i) EXPECT_EQ(here.find(config_of(i))->result, run.result);
  }
  EXPECT_EQ(here.experiments()[0].file, "file");
}

TEST(Store, RefusesRunsThatMakeNoSense) {
  for (const auto* sql :
       {"UPDATE run SET status = 'fine'", "UPDATE run SET x = x'0102030405'", "UPDATE run SET x = x''",
        "UPDATE run SET y = x''", "UPDATE run SET validation_y = x'0102030405060708'",
        "UPDATE run SET extras = 'early='", "UPDATE run SET extras = 'K=[[1,x]]'", "UPDATE run SET extras = 'K=[[1'",
        "UPDATE run SET extras = 'early'"}) {
    const ScratchFolder scratch;
    {
      Store store(scratch / "r", Store::Access::write);
      StoredRun run;
      run.result.x = run.result.y = {1, 2};
      store.add(config_of(1), run);
    }
    change(store_path(scratch / "r"), sql);
    const Store store(scratch / "r", Store::Access::read);
    EXPECT_THROW(static_cast<void>(store.find(config_of(1))), FileError) << sql;
  }
}

// Whatever bytes are changed, the answer is a result or one line, never a crash.
TEST(Store, SurvivesDamage) {
  const ScratchFolder scratch;
  RandomStream stream(3, "store");
  {
    Store store(scratch / "r", Store::Access::write);
    for (std::uint64_t seed = 0; seed < 40; ++seed) store.add(config_of(seed), run_of(stream));
    store.put({"a", "text", {}, "command", 0});
  }
  const std::string whole = testing::content_of(store_path(scratch / "r"));
  std::size_t refused = 0;
  for (int trial = 0; trial < 200; ++trial) {
    std::string damaged = whole;
    if (trial % 4 == 0) damaged.resize(stream.below(whole.size()));
    for (int k = 0; k < 40 && !damaged.empty(); ++k) {
      damaged[stream.below(damaged.size())] = static_cast<char>(stream.below(256));
    }
    std::ofstream(store_path(scratch / "r"), std::ios::binary) << damaged;
    try {
      const Store store(scratch / "r", trial % 2 == 0 ? Store::Access::read : Store::Access::write);
      for (std::uint64_t seed = 0; seed < 40; ++seed) static_cast<void>(store.find(config_of(seed)));
      static_cast<void>(store.experiments());
    } catch (const FileError& fault) {
      ++refused;
      EXPECT_FALSE(contains(fault.what(), "\n")) << fault.what();
    }
  }
  EXPECT_GT(refused, 50U);
}

}  // namespace
}  // namespace ignd
