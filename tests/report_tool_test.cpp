#include "ignd/checkpoint.hpp"
#include "ignd/random.hpp"
#include "make_image.hpp"
#include "markup.hpp"
#include "scratch_folder.hpp"
#include "tool_support.hpp"

#include <filesystem>
#include <fstream>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

// `ignd train --report`, and what `ignd inspect` says of how a model was made.
namespace ignd {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::contains;
using testing::content_of;
using testing::events;
using testing::expect_one_line;
using testing::expect_refusal;
using testing::Markup;
using testing::MarkupReader;
using testing::operator+;
using testing::Outcome;
using testing::run_shell;
using testing::run_tool;
using testing::Words;

class ReportTool : public ::testing::Test {
 protected:
  ReportTool() {
    std::ofstream file(data_);
    RandomStream stream(2, "reported");
    file << "size,town,day,price,sold\n";
    for (int i = 0; i < 200; ++i) {
      const double size = stream.uniform(20, 150);
      file << fmt::format("{:.2f},{},2024-{:02}-{:02},{:.1f},{}\n", size, i % 2 == 0 ? "<b>Ulm" : "Bonn", 1 + i % 12,
                          1 + i % 28, 10 * size + (i % 2 == 0 ? 200 : 0) + stream.normal(), size > 80 ? "yes" : "no");
    }
  }

  std::string path(const char* name) const { return (scratch_ / name).string(); }
  Words train(const std::string& target, const Words& more = {}) const {
    return Words{"train", data_, "--target", target, "--save", model_} + more;
  }
  Markup page() const {
    Markup markup = MarkupReader(content_of(path("m.html"))).read();
    EXPECT_TRUE(markup.faults.empty()) << markup.faults[0];
    return markup;
  }

  testing::ScratchFolder scratch_;
  std::string data_ = path("flats.csv"), model_ = path("m.ignd");
};

const Words quick{"--model", "mlp:8", "--epochs", "4", "--lr", "0.01"};

TEST_F(ReportTool, WritesAPageBesideTheModel) {
  const Outcome outcome = run_tool(train("price", quick + Words{"--report"}));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  EXPECT_TRUE(outcome.out.ends_with("report " + path("m.html") + "\n")) << outcome.out;
  const Markup made = page();
  for (const char* text :
       {"A model of price of flats.csv", "date, ", "Learning curves", "least squares", "residuals against predictions",
        "Permutation importance", "Partial dependence", "The worst rows",
        "ignd train flats.csv --target price --model mlp:8", "SHA-256 of the data", "<b>Ulm"}) {
    EXPECT_TRUE(contains(made.text, text)) << text;
  }
  EXPECT_FALSE(contains(content_of(path("m.html")), fs::path(model_).parent_path().string()))
      << "no folder of this machine";
  // The same command gives the same page and the same model, with a report and without.
  const std::string first = content_of(path("m.html")), model = content_of(model_);
  const auto said = events(run_tool(train("price", quick + Words{"--report", "--json"})).out);
  EXPECT_EQ(said.back()["report"], path("m.html"));
  EXPECT_EQ(content_of(path("m.html")), first);
  EXPECT_EQ(content_of(model_), model);
  ASSERT_EQ(run_tool(train("price", quick)).exit_code, 0);
  EXPECT_EQ(content_of(model_), model);
}

TEST_F(ReportTool, ReportsOnClassesEnsemblesAndPartsThatAreMissing) {
  ASSERT_EQ(run_tool(train("sold", quick + Words{"--report"})).exit_code, 0);
  EXPECT_TRUE(contains(page().text, "Expected calibration error"));
  EXPECT_TRUE(contains(page().text, "the probability of yes"));
  ASSERT_EQ(run_tool(train("town", Words{"--ensemble", "2", "--model", "mlp:8", "--epochs", "2", "--test", "0"} +
                                       Words{"--report"}))
                .exit_code,
            0);
  EXPECT_TRUE(contains(page().text, "network 2"));
  EXPECT_TRUE(contains(page().text, "have learned from most validation rows"));
  const Outcome alone = run_tool(train("price", quick + Words{"--report", "--test", "0", "--validation", "0"}));
  ASSERT_EQ(alone.exit_code, 0) << alone.err;
  EXPECT_FALSE(contains(page().text, "The worst rows"));
  EXPECT_TRUE(contains(page().text, "Model card"));
}

// A finished run is only measured again: there are no curves, and the page says why.
TEST_F(ReportTool, ReportsOnARunThatWasResumed) {
  ASSERT_EQ(run_tool(train("price", quick)).exit_code, 0);
  const std::string model = content_of(model_);
  const Outcome again = run_tool(Words{"train", data_, "--target", "price", "--resume", model_, "--report"} + quick);
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_TRUE(contains(page().text, "The run was resumed"));
  EXPECT_FALSE(contains(page().text, "Loss after each epoch"));
  EXPECT_TRUE(contains(page().text, "Permutation importance"));
  EXPECT_EQ(content_of(model_), model);
}

TEST_F(ReportTool, ReportsOnImages) {
  for (const char* kind : {"cat", "dog"}) {
    fs::create_directories(path("pets") + "/" + kind);
    for (unsigned i = 0; i < 30; ++i) {
      std::ofstream(path("pets") + fmt::format("/{}/{}.png", kind, i), std::ios::binary)
          << testing::encode_png(testing::noise_image({8, 8}, i));
    }
  }
  const Outcome outcome = run_tool({"train", path("pets"), "--size", "8", "--model", "network:flatten; dense 1",
                                    "--epochs", "2", "--lr", "0.01", "--save", model_, "--report"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_TRUE(contains(page().text, "The worst images"));
  EXPECT_TRUE(contains(page().text, ".png"));
  EXPECT_FALSE(contains(page().text, "Permutation importance"));
}

TEST_F(ReportTool, NeverReplacesAFileThatIsNoReport) {
  std::ofstream(path("m.html")) << "<p>mine";
  expect_refusal(train("price", quick + Words{"--report"}), 1, "a file is there that is not a report of ignd");
  EXPECT_EQ(content_of(path("m.html")), "<p>mine");
  EXPECT_FALSE(fs::exists(model_)) << "before training";
  expect_refusal({"train", data_, "--target", "price", "--stream", "--report"}, 2,
                 "--report cannot be given with --stream");
}

TEST_F(ReportTool, WithoutGnuplotTheRestIsWritten) {
  const Outcome outcome =
      run_shell(fmt::format("PATH=/nowhere \"$ignd\" train '{}' --target price --model linear --lr 0.1 "
                            "--epochs 1 --save '{}' --report --quiet",
                            data_, model_));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  expect_one_line(outcome.err);
  EXPECT_TRUE(contains(outcome.err, "the report has no figures")) << outcome.err;
  EXPECT_TRUE(contains(page().text, "Permutation importance"));
}

TEST_F(ReportTool, InspectShowsHowAModelWasMadeAndHowGoodItIs) {
  const auto said = events(run_tool(train("price", quick + Words{"--seed", "3", "--json"})).out);
  const json made = json::parse(run_tool({"inspect", model_, "--json"}).out);
  EXPECT_EQ(made["command"], "ignd train flats.csv --target price --model mlp:8 --epochs 4 --lr 0.01 --seed 3");
  EXPECT_EQ(made["seed"], 3);
  EXPECT_EQ(made["data"], "flats.csv");
  EXPECT_EQ(made["samples"]["train"], 160);
  EXPECT_EQ(made["metrics"]["test"]["rmse"], said.back()["metrics"]["test"]["rmse"]);
  EXPECT_EQ(made["baselines"]["least_squares"]["validation"]["mae"],
            said.back()["baselines"]["least_squares"]["validation"]["mae"]);
  EXPECT_EQ(made["sha256"].get<std::string>() + "  " + data_ + "\n", run_shell("sha256sum '" + data_ + "'").out);
  const std::string shown = run_tool({"inspect", model_}).out;
  EXPECT_TRUE(contains(shown, made["command"].get<std::string>())) << shown;
  EXPECT_TRUE(contains(shown, "least squares")) << shown;
  const std::string card = run_tool({"inspect", model_, "--markdown"}).out;
  EXPECT_TRUE(card.starts_with("# Model card: price\n")) << card;
  for (const char* part : {"- **command**: ignd train flats.csv", "- **SHA-256 of the data**: ", "## Scores",
                           "| model |", "## Columns", "| town | text, 2 values |"}) {
    EXPECT_TRUE(contains(card, part)) << part << "\n" << card;
  }
  expect_refusal({"inspect", model_, "--markdown", "--json"}, 2, "excludes");
}

TEST_F(ReportTool, TheFactsAreThoseOfTheRunWhereverItsDataAre) {
  ASSERT_EQ(run_tool(train("price", quick)).exit_code, 0);
  const std::string model = content_of(model_);
  fs::create_directories(path("other"));
  fs::copy(data_, path("other") + "/flats.csv");
  const Words moved{"train", path("other") + "/flats.csv", "--target", "price", "--save", path("n.ignd"), "--quiet"};
  ASSERT_EQ(run_tool(moved + quick).exit_code, 0);
  EXPECT_EQ(content_of(path("n.ignd")), model);
  // A model without facts is still described.
  Checkpoint file = Checkpoint::read(model_), without;
  for (const auto& [name, entry] : file.entries()) {
    if (name.starts_with("facts.")) continue;
    std::visit(
        [&, key = name](const auto& value) {
          if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::string>) {
            without.set(key, value);
          } else {
            without.set(key, std::span(value));
          }
        },
        entry);
  }
  without.write(path("old.ignd"));
  const Outcome old = run_tool({"inspect", path("old.ignd"), "--markdown"});
  EXPECT_EQ(old.exit_code, 0) << old.err;
  EXPECT_FALSE(contains(old.out, "## Scores"));
  EXPECT_TRUE(contains(old.out, "## Columns"));
}

}  // namespace
}  // namespace ignd
