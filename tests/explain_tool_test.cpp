#include "ignd/random.hpp"
#include "make_image.hpp"
#include "scratch_folder.hpp"
#include "tool_support.hpp"

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

// `ignd explain` as its users see it; what it computes is tested with the library.
namespace ignd {
namespace {

using nlohmann::json;
using testing::contains;
using testing::content_of;
using testing::expect_one_line;
using testing::expect_refusal;
using testing::lines_of;
using testing::operator+;
using testing::Outcome;
using testing::Process;
using testing::run_tool;
using testing::tool_with;
using testing::Words;

class ExplainTool : public ::testing::Test {
 protected:
  ExplainTool() {
    std::ofstream file(data_);
    RandomStream stream(2, "explained by the tool");
    file << "size,town,noise,price,sold\n";
    for (int i = 0; i < 300; ++i) {
      const double size = stream.uniform(20, 150);
      const char* town = i % 2 == 0 ? "=Ulm" : "Bonn";
      file << fmt::format("{:.2f},{},{:.3f},{:.1f},{}\n", size, town, stream.normal(),
                          10 * size + (i % 2 == 0 ? 200 : 0) + stream.normal(), size > 80 ? "yes" : "no");
    }
  }

  std::string path(const char* name) const { return (scratch_ / name).string(); }
  void train(const std::string& target, const Words& more = {}) const {
    const Words words{"train", data_, "--target", target, "--save", model_, "--quiet"};
    ASSERT_EQ(run_tool(words + more).exit_code, 0);
  }
  Outcome explain(const Words& more = {}) const { return run_tool(Words{"explain", model_, data_} + more); }
  json explained(const Words& more = {}) const {
    const Outcome outcome = explain(more + Words{"--json"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    return outcome.out.empty() ? json() : json::parse(outcome.out);
  }

  testing::ScratchFolder scratch_;
  std::string data_ = path("flats.csv"), model_ = path("m.ignd");
};

const Words linear{"--model", "linear", "--lr", "0.1", "--optimizer", "ignd"};

TEST_F(ExplainTool, PrintsImportancesPartialDependencesAndCoefficients) {
  train("price", linear);
  const Outcome outcome = explain({"--rows", "200", "--curves", "2"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  const Words lines = lines_of(outcome.out);
  EXPECT_TRUE(contains(lines[0], "some 200 rows of 300, as --rows says; RMSE ")) << lines[0];
  EXPECT_TRUE(
      contains(lines[2], "how much the RMSE rises if a column is shuffled, mean and deviation over 5 shuffles"));
  EXPECT_TRUE(lines[3].starts_with("  size ") || lines[3].starts_with("  sold ")) << lines[3];
  EXPECT_TRUE(contains(outcome.out, "partial dependence: the mean prediction over 200 rows if all had this value"));
  EXPECT_TRUE(contains(outcome.out, "size per unit ")) << outcome.out;
  EXPECT_TRUE(contains(outcome.out, "town is =Ulm ")) << outcome.out;
}

TEST_F(ExplainTool, PrintsTheSameAsJsonAndAsAFile) {
  train("sold", linear);
  const json made = explained({"--csv", path("curves.csv"), "--points", "5", "--repeats", "3"});
  EXPECT_EQ(made["event"], "explanation");
  EXPECT_EQ(made["rows"], 300);
  EXPECT_EQ(made["measure"], "log loss");
  EXPECT_EQ(made["means_of"], Words{"probability"});
  EXPECT_EQ(made["linear"]["unit"], "log-odds");
  ASSERT_EQ(made["importance"].size(), 4U);
  EXPECT_GT(made["importance"][0]["increase"], made["importance"][3]["increase"]);
  const Words lines = lines_of(content_of(path("curves.csv")));
  EXPECT_EQ(lines[0], "column,value,probability");
  std::size_t line = 1;
  for (const json& curve : made["dependence"]) {
    for (const json& point : curve["points"]) {
      ASSERT_LT(line, lines.size());
      EXPECT_TRUE(lines[line].starts_with(curve["column"].get<std::string>() + ",")) << lines[line];
      const std::string number = lines[line].substr(lines[line].rfind(',') + 1);
      EXPECT_EQ(std::stod(number), point["means"][0].get<double>());
      ++line;
    }
  }
  EXPECT_EQ(line, lines.size());
  EXPECT_TRUE(contains(content_of(path("curves.csv")), "town,'=Ulm,")) << "a spreadsheet's formula";
  EXPECT_EQ(explained({"--seed", "4"}), explained({"--seed", "4"}));
  EXPECT_NE(explained({"--seed", "4"})["importance"], explained({"--seed", "5"})["importance"]);
}

TEST_F(ExplainTool, ListsTheFeaturesOfAStream) {
  train("price", {"--stream"});
  const Outcome outcome = explain({"--heaviest", "2"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_TRUE(contains(outcome.out, "moves the prediction by"));
  EXPECT_TRUE(contains(outcome.out, "  size "));
  EXPECT_EQ(explained({"--heaviest", "2"})["features"].size(), 2U);
  expect_refusal({"explain", model_, data_, "--repeats", "3"}, 2, "--repeats cannot be given for a model of a stream");
  train("price", {"--stream", "--bits", "1"});
  EXPECT_TRUE(contains(explain().out, "share a weight with another one"));
  std::ofstream(path("t.svm")) << "1 3:2 7:1\n0 3:1\n1 9:4\n";
  ASSERT_EQ(run_tool({"train", path("t.svm"), "--stream", "--save", model_, "--quiet"}).exit_code, 0);
  const Outcome unnamed = run_tool({"explain", model_, path("t.svm")});
  EXPECT_TRUE(contains(unnamed.out, "features are called by their index")) << unnamed.out << unnamed.err;
}

TEST_F(ExplainTool, RefusesWhatItCannotExplainInOneLine) {
  for (const char* kind : {"cat", "dog"}) {
    std::filesystem::create_directories(path("pets") + "/" + kind);
    for (int i = 0; i < 12; ++i) {
      std::ofstream(path("pets") + fmt::format("/{}/{}.png", kind, i), std::ios::binary)
          << testing::encode_png(testing::noise_image({8, 8}, static_cast<unsigned>(i)));
    }
  }
  const Outcome trained = run_tool({"train", path("pets"), "--size", "8", "--model", "network:flatten; dense 1",
                                    "--epochs", "1", "--lr", "0.01", "--save", path("p.ignd"), "--quiet"});
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  expect_refusal({"explain", path("p.ignd"), path("pets")}, 2, "the model is of images, which have no columns");
  train("price", linear);
  expect_refusal({"explain", model_, data_, "--heaviest", "3"}, 2,
                 "--heaviest can only be given for a model of a stream");
  expect_refusal({"explain", model_, data_, "--rows", "0"}, 2, "--rows");
  expect_refusal({"explain", model_, data_, "--csv", data_}, 1, "that is the data");
  expect_refusal({"explain", model_, data_, "--csv", model_}, 1, "that is the model");
  expect_refusal({"explain", data_, model_}, 1, "");
  std::ofstream(path("none.csv")) << "size,town,noise,sold\n1,Bonn,0,no\n";
  expect_refusal({"explain", model_, path("none.csv")}, 1, "'price'");
  std::ofstream(path("bad.csv")) << "size,town,noise,price,sold\n1,Bonn,0,,no\n2,Bonn,1,20,no\n";
  expect_refusal({"explain", model_, path("bad.csv")}, 1, "the target 'price' is missing");
  const Outcome skipping = run_tool({"explain", model_, path("bad.csv"), "--bad-rows", "skip"});
  EXPECT_EQ(skipping.exit_code, 0);
  expect_one_line(skipping.err);
  EXPECT_TRUE(contains(skipping.err, "1 of 2 rows is left out"));
  EXPECT_TRUE(contains(skipping.out, "with a single row, there is nothing to shuffle"));
}

// Whether the process has a handler for the signal, so that it does not just end.
bool catches(pid_t process, int signal) {
  std::ifstream status(fmt::format("/proc/{}/status", process));
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with("SigCgt:")) continue;
    return (std::stoull(line.substr(7), nullptr, 16) >> static_cast<unsigned>(signal - 1) & 1U) != 0;
  }
  return false;
}

TEST_F(ExplainTool, WritesNothingWhereItIsInterrupted) {
  train("price", linear);
  Process process(tool_with({"explain", model_, data_, "--repeats", "1000000", "--csv", path("curves.csv")}));
  while (!process.has_ended() && !catches(process.id(), SIGINT)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  process.signal(SIGINT);
  const Outcome outcome = process.finish();
  EXPECT_EQ(outcome.exit_code, 130);
  EXPECT_EQ(outcome.out, "");
  expect_one_line(outcome.err);
  EXPECT_FALSE(std::filesystem::exists(path("curves.csv")));
}

}  // namespace
}  // namespace ignd
