#include "database.hpp"
#include "ignd/random.hpp"
#include "lab/store.hpp"
#include "scratch_folder.hpp"
#include "tool_support.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sched.h>

namespace ignd {
namespace {

namespace fs = std::filesystem;
using testing::contains;
using testing::expect_refusal;
using testing::operator+;
using testing::Outcome;
using testing::Process;
using testing::run_tool;
using testing::Words;

// The words with other values of options; a flag may stand at the end.
Words changed(Words words, const Words& options) {
  for (std::size_t k = 0; k + 1 < options.size(); k += 2) {
    const auto there = std::ranges::find(words, options[k]);
    if (there != words.end()) words.erase(there, there + 2);
  }
  return words + options;
}

// 4 optimizers x 3 rates x 3 seeds, and 2 baselines x 3 seeds.
const Words quick{"--model", "mlp:8,8", "--epochs", "3", "--lrs", "1e-3:0.1", "--seeds", "3"};
constexpr std::size_t quick_runs = 42;

class CompareTool : public ::testing::Test {
 protected:
  CompareTool() { write_table("t.csv", 400, 1); }

  std::string path(const std::string& name) const { return (scratch_ / name.c_str()).string(); }

  void write_table(const std::string& name, int rows, std::uint64_t seed) const {
    std::ofstream file(path(name));
    RandomStream stream(seed, "table");
    file << "a,b,city,same,the target,label,only\n";
    for (int i = 0; i < rows; ++i) {
      const double a = stream.normal();
      const double b = stream.normal();
      file << fmt::format("{},{},{},7,{},{},yes\n", a, i % 11 == 0 ? "" : fmt::format("{}", b),
                          i % 3 == 0 ? "Ulm" : "Bonn", 50 + 10 * a + 5 * b * b + stream.normal(),
                          a + stream.normal() > 0 ? "yes" : "no");
    }
  }

  Words command(const std::string& out, const std::string& target = "the target") const {
    return Words{"compare", path("t.csv"), "--target", target, "--out", path(out), "--jobs", "2"} + quick;
  }

  Words ask(const std::string& out, const char* query) const {
    return testing::Database(store_path(path(out))).ask(query);
  }
  std::size_t count_runs(const std::string& out) const { return ask(out, "SELECT 1 FROM run").size(); }
  Words content(const std::string& out) const {
    return ask(out,
               "SELECT config, status, failed_at, score, validation, hex(x), hex(y), extras FROM run ORDER BY config") +
           ask(out, "SELECT name, file, command FROM experiment");
  }

  void kill_after(const Words& arguments, const std::string& out, std::size_t runs, int signal) const {
    Process process(testing::tool_with(arguments));
    while (count_runs(out) < runs && !process.has_ended()) sched_yield();
    process.signal(signal);
    process.finish();
  }

  testing::ScratchFolder scratch_;
};

// The line that is printed for the user to copy, without "ignd".
std::string train_line(const std::string& out) {
  const std::size_t start = out.find("\n    ignd train ");
  if (start == std::string::npos) return "";
  const std::size_t from = start + std::string("\n    ignd ").size();
  return out.substr(from, out.find('\n', from) - from);
}

TEST_F(CompareTool, ComparesOnNumbers) {
  const Outcome outcome = run_tool(command("r"));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(count_runs("r"), quick_runs);
  for (const auto* part : {"the target of t.csv: RMSE on the test rows, mean and deviation over 3 seeds", "\n  sgd ",
                           "\n  ignd ", "\n  adam ", "\n  adam-ignd ", "\n  least squares ", "\n  best constant ",
                           "standard error over 3 seeds", "0 of 9", "/report.html\n"}) {
    EXPECT_TRUE(contains(outcome.out, part)) << part << " is not in\n" << outcome.out;
  }
  EXPECT_TRUE(fs::exists(path("r/report.html")));
}

// The linear baseline has the name that `train` gives it.
TEST_F(CompareTool, PrintsItsResultForPrograms) {
  const Outcome outcome = run_tool(command("out") + Words{"--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto lines = testing::events(outcome.out);
  ASSERT_EQ(lines.size(), 1U);
  const nlohmann::json& result = lines[0];
  EXPECT_EQ(result["event"], "result");
  EXPECT_EQ(result["score"], "RMSE");
  ASSERT_EQ(result["methods"].size(), 6U);
  for (const char* name : {"rates", "means", "deviations", "runs", "failed"}) {
    EXPECT_EQ(result[name].size(), 6U) << name;
  }
  EXPECT_TRUE(fs::exists(result["report"].get<std::string>()));
  EXPECT_TRUE(contains(result["command"], "ignd train ")) << result;
  EXPECT_FALSE(contains(result["command"], "--json"));
  const auto best = std::ranges::find(result["methods"], result["best"]) - result["methods"].begin();
  EXPECT_GT(result["means"][static_cast<std::size_t>(best)], 0);
  const Outcome shown = run_tool(command("out"));
  EXPECT_TRUE(contains(shown.out, result["command"])) << "the same comparison, which is in the store";
}

TEST_F(CompareTool, CallsTheLinearBaselineWhatItIs) {
  for (const auto& [target, loss, name] :
       std::vector<std::array<std::string, 3>>{{"count", "poisson", "Poisson regression"},
                                               {"count", "squared", "least squares"},
                                               {"label", "logistic", "logistic regression"}}) {
    std::ofstream file(path("t.csv"));
    file << "a,b,count,label\n";
    for (int i = 0; i < 200; ++i)
      file << fmt::format("{},{},{},{}\n", i % 7, i % 5, i % 7 + i % 3, i % 7 < 3 ? "u" : "v");
    file.close();
    const Words options{"--loss", loss};
    const Outcome compared = run_tool(command("r-" + loss, target) + options);
    ASSERT_EQ(compared.exit_code, 0) << compared.err;
    const Outcome trained = run_tool(Words{"train", path("t.csv"), "--target", target, "--save", path("m.ignd"), "--lr",
                                           "0.01", "--epochs", "1", "--model", "linear"} +
                                     options);
    for (const std::string& out : {compared.out, trained.out}) {
      EXPECT_TRUE(contains(out, "\n  " + name + " ")) << name << " is not in\n" << out;
    }
  }
}

TEST_F(CompareTool, ThePrintedCommandTrainsTheBestRunAgain) {
  for (const std::string target : {"the target", "label"}) {
    const std::string out = "r-" + target;
    const Outcome outcome = run_tool(command(out, target) + Words{"--split-by", "b", "--last"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const std::string line = train_line(outcome.out);
    ASSERT_FALSE(line.empty()) << outcome.out;
    const Outcome trained = testing::run_shell(
        fmt::format("\"$ignd\" {} --save '{}' --json --quiet", line, path("model-" + target.substr(0, 3))));
    ASSERT_EQ(trained.exit_code, 0) << line << "\n" << trained.err;
    const auto result = nlohmann::json::parse(trained.out);
    const double score = result["metrics"]["test"][target == "label" ? "log_loss" : "rmse"];
    const std::string optimizer = result["optimizer"];
    const std::string rate = fmt::format("{}", result["rate"].get<double>());
    Words scores;
    for (const std::string& row : ask(out, "SELECT config, score FROM run WHERE config LIKE '%seed=1\n%'")) {
      if (contains(row, fmt::format("rate={}\n", rate))) scores.push_back(row);
    }
    const std::string stored = fmt::format("|{:.15g}|", score);
    EXPECT_TRUE(std::ranges::any_of(scores, [&](const std::string& row) { return row.ends_with(stored); }))
        << optimizer << " " << rate << " " << stored << ::testing::PrintToString(scores);
  }
}

TEST_F(CompareTool, TakesPairsOfRuleAndTransform) {
  const Words words{"compare",      path("t.csv"),
                    "--target",     "the target",
                    "--out",        path("r"),
                    "--epochs",     "2",
                    "--seeds",      "1",
                    "--lrs",        "0.01",
                    "--optimizers", "gauss-newton:eps_c=0,eps_lm=1e-3+momentum:beta=0.5"};
  const Outcome outcome = run_tool(words);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const std::string line = train_line(outcome.out);
  EXPECT_TRUE(contains(line, "--rule gauss-newton:eps_c=0,eps_lm=1e-3 --transform momentum:beta=0.5 ")) << line;
  EXPECT_EQ(testing::run_shell(fmt::format("\"$ignd\" {} --save '{}'", line, path("model"))).exit_code, 0);
}

TEST_F(CompareTool, ComparesOnTwoClassesAndFewRows) {
  write_table("t.csv", 100, 2);
  const Outcome outcome = run_tool(command("r", "label"));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_TRUE(contains(outcome.out, "log loss on the test rows")) << outcome.out;
  EXPECT_TRUE(contains(outcome.out, "\n  logistic regression ")) << outcome.out;
}

// With one row to validate and one to test, every prediction is a constant, and no failure for that.
TEST_F(CompareTool, ComparesOnVeryFewRows) {
  write_table("t.csv", 10, 2);
  const Outcome outcome = run_tool(command("r"));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
}

TEST_F(CompareTool, KilledItGoesOnToTheSameStoreAndTable) {
  const Outcome whole = run_tool(command("whole"));
  ASSERT_EQ(whole.exit_code, 0);
  for (const int signal : {SIGKILL, SIGTERM, SIGINT}) {
    const std::string out = fmt::format("killed-{}", signal);
    for (const std::size_t runs : {1, 15, 30}) kill_after(command(out), out, runs, signal);
    const Outcome last = run_tool(command(out));
    EXPECT_EQ(last.exit_code, 0) << last.err;
    EXPECT_EQ(content(out), content("whole"));
    EXPECT_EQ(last.out.substr(0, last.out.rfind("\n\n")), whole.out.substr(0, whole.out.rfind("\n\n")));
  }
}

TEST_F(CompareTool, NothingIsMadeTwice) {
  ASSERT_EQ(run_tool(command("r")).exit_code, 0);
  const Outcome again = run_tool(changed(command("r"), {"--jobs", "1"}));
  EXPECT_EQ(again.exit_code, 0);
  EXPECT_TRUE(contains(again.err, "42 of them done already")) << again.err;
  const Outcome more = run_tool(command("r") + Words{"--optimizers", "sgd,sps"});
  EXPECT_EQ(more.exit_code, 0) << more.err;
  EXPECT_TRUE(contains(more.err, "takes its place in the report")) << more.err;
  EXPECT_EQ(count_runs("r"), quick_runs + 9);
}

TEST_F(CompareTool, ABudgetLeavesOutAndKeepsToItsPlan) {
  const Words asked =
      Words{"compare", path("t.csv"), "--target", "label",  "--out",        path("r"),  "--lrs",    "1e-3:0.1:3",
            "--seeds", "4",           "--budget", "0.001s", "--optimizers", "sgd,ignd", "--epochs", "2"};
  kill_after(asked, "r", 3, SIGKILL);
  const auto plan = ask("r", "SELECT file FROM experiment");
  ASSERT_EQ(plan.size(), 1U);
  const Outcome outcome = run_tool(asked);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_TRUE(contains(outcome.err, "4 of 7 rates (1 per decade instead of 3) and 1 of 4 seeds were left out"))
      << outcome.err;
  EXPECT_TRUE(contains(outcome.err, "Even so it may take")) << outcome.err;
  EXPECT_EQ(count_runs("r"), 2U * 3 * 3 + 2 * 3);
  EXPECT_EQ(ask("r", "SELECT file FROM experiment"), plan);
  EXPECT_TRUE(contains(testing::content_of(path("r/report.html")), "were left out"));
  EXPECT_FALSE(contains(run_tool(command("all") + Words{"--budget", "100h"}).err, "left out"));
  EXPECT_EQ(count_runs("all"), quick_runs);
}

TEST_F(CompareTool, AChangedFileIsRefused) {
  ASSERT_EQ(run_tool(command("r")).exit_code, 0);
  const auto before = content("r");
  write_table("t.csv", 400, 2);
  expect_refusal(command("r"), 1, "has changed since the comparison in");
  EXPECT_EQ(content("r"), before);
  write_table("t.csv", 400, 1);
  EXPECT_EQ(run_tool(command("r")).exit_code, 0);
}

TEST_F(CompareTool, TakesWhatTrainingTakes) {
  const Words options{"--loss",     "huber:delta=1", "--weight",     "same", "--l2",         "1e-6",
                      "--schedule", "constant",      "--patience",   "1",    "--optimizers", "ignd",
                      "--lrs",      "0.1",           "--split-time", "a"};
  const Outcome outcome = run_tool(changed(command("r"), options));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_TRUE(contains(outcome.out, "huber loss on the test rows")) << outcome.out;
}

TEST_F(CompareTool, SaysWhenNoOptimizerFinishes) {
  const Outcome outcome = run_tool(changed(command("r"), {"--lrs", "1e8,1e9", "--optimizers", "sgd"}));
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_TRUE(contains(outcome.err, "no optimizer finished at any rate")) << outcome.err;
  EXPECT_TRUE(contains(outcome.out, "6 of 6")) << outcome.out;
  EXPECT_TRUE(contains(outcome.out, "over 3 seeds")) << outcome.out;
}

TEST_F(CompareTool, TheCommandOfTheReportNamesTheFolder) {
  const std::string asked = "compare t.csv --target a --model linear --epochs 1 --optimizers ignd --lrs 0.1 --seeds 2";
  for (const std::string out : {"results", "results-preview", "elsewhere", "compare-t"}) {
    const std::string more = out == "compare-t" ? "" : " --out " + out;
    const Outcome outcome = testing::run_shell(fmt::format("cd '{}' && \"$ignd\" {}{}", path(""), asked, more));
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const std::string report = testing::content_of(path(out + "/report.html"));
    EXPECT_TRUE(contains(report, "ignd " + asked + more + "<")) << out;
  }
}

TEST_F(CompareTool, NamesTheSeedWhoseSplitCannotBeUsed) {
  std::ofstream file(path("t.csv"));
  file << "a,group,y\n";
  for (int row = 0; row < 100; ++row) file << fmt::format("{},{},{}\n", row % 7, row, row == 41 ? "yes" : "no");
  file.close();
  const Words by_class = changed(command("by-class", "y"), {"--seeds", "20", "--optimizers", "sgd", "--lrs", "0.1"});
  EXPECT_EQ(run_tool(by_class).exit_code, 0) << "of every class there is a training row";
  const Words asked = changed(command("r", "y"), {"--seeds", "20", "--optimizers", "sgd", "--lrs", "0.1"}) +
                      Words{"--split-by", "group"};
  const Outcome outcome = run_tool(asked);
  const std::string start = "the split of seed ";
  expect_refusal(asked, 1, start);
  expect_refusal(asked, 1, "is 'no' in every training row");
  EXPECT_FALSE(fs::exists(path("r")));
  const int seed = std::stoi(outcome.err.substr(outcome.err.find(start) + start.size()));
  ASSERT_GT(seed, 1) << outcome.err;
  EXPECT_TRUE(contains(outcome.err, fmt::format("at most {} --seeds", seed - 1))) << outcome.err;
  EXPECT_EQ(run_tool(changed(asked, {"--seeds", fmt::format("{}", seed - 1)})).exit_code, 0);
}

TEST_F(CompareTool, RefusesBadInput) {
  std::ofstream(path("two.csv")) << "a,y\n1,2\n2,3\n";
  std::ofstream(path("texts.csv")) << "a,y\n1,x\n2,z\n3,w\n4,v\n";
  std::ofstream(path("file")) << "";
  struct Case {
    Words more;
    int code;
    const char* part;
  };
  const std::vector<Case> cases{
      {{"--target", "the targt"}, 2, "did you mean 'the target'?"},
      {{"--target", "only"}, 1, "there is nothing to learn"},
      {{"--target", "city", "--class-weight", "none"}, 2, "--class-weight"},
      {{"--optimizers", "sgd,igndd"}, 2, "did you mean 'ignd'?"},
      {{"--optimizers", ""}, 2, "there is no optimizer"},
      {{"--optimizers", "sgd,sgd"}, 2, "named twice"},
      {{"--lrs", "fast"}, 2, "'fast', which is not a number"},
      {{"--lrs", "1:0.1"}, 2, "from one to a larger one"},
      {{"--lrs", "0"}, 2, "a finite number above 0"},
      {{"--seeds", "0"}, 2, "--seeds"},
      {{"--seeds", "x"}, 2, "--seeds"},
      {{"--jobs", "0"}, 2, "--jobs"},
      {{"--budget", "soon"}, 2, "90s, 10m or 2h"},
      {{"--epochs", "0"}, 2, "no epochs"},
      {{"--validation", "0"}, 2, "no validation rows"},
      {{"--test", "0"}, 2, "no test rows"},
      {{"--model", "mpl"}, 2, "there is no model"},
      {{"--loss", "squarred"}, 2, "did you mean 'squared'?"},
      {{"--loss", "poisson", "--target", "a"}, 1, "row "},
      {{"--weight", "a"}, 1, "the weight 'a' is"},
      {{"--split-by", "x"}, 2, "there is no column 'x'"},
      {{"--lr", "1"}, 2, "--lr"},
      {{"--optimizer", "sgd"}, 2, "--optimizer"},
      {{"--save", "x"}, 2, "--save"},
      {{"--stream"}, 2, "--stream"},
      {{"--out", path("file")}, 1, "cannot make the folder"},
      {{"--target", "caf\xe9"}, 2, "not readable UTF-8"},
  };
  for (const auto& [more, code, part] : cases) {
    expect_refusal(changed(command("r"), more), code, part);
  }
  const auto refuse_data = [&](const std::string& data, int code, const char* part) {
    expect_refusal({"compare", data, "--target", "y", "--out", path("r")}, code, part);
  };
  refuse_data(path("none.csv"), 1, "there is no file");
  refuse_data("-", 2, "the standard input");
  refuse_data(path(""), 1, "is a folder with the table");
  refuse_data(path("two.csv"), 2, "too few");
  refuse_data(path("texts.csv"), 1, "4 different texts in 4 rows, each its own");
  expect_refusal({"compare"}, 2, "name the file");
  expect_refusal({"compare", path("t.csv")}, 2, "--target");
  EXPECT_FALSE(fs::exists(path("r")));
}

TEST_F(CompareTool, ADamagedStoreStaysAsItIs) {
  fs::create_directory(path("r"));
  std::ofstream(store_path(path("r"))) << "this is no database, whatever its name says; nobody should touch it";
  const std::string before = testing::content_of(store_path(path("r")));
  expect_refusal(command("r"), 1, "is damaged or not a results store");
  EXPECT_EQ(testing::content_of(store_path(path("r"))), before);
}

}  // namespace
}  // namespace ignd
