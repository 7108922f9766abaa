#include "data/cell_format.hpp"
#include "ignd/checkpoint.hpp"
#include "ignd/model_file.hpp"
#include "ignd/random.hpp"
#include "learn/split.hpp"
#include "scratch_folder.hpp"
#include "support.hpp"
#include "tool_support.hpp"

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <span>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace ignd {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::contains;
using testing::content_of;
using testing::events;
using testing::expect_refusal;
using testing::operator+;
using testing::lines_of;
using testing::Outcome;
using testing::Process;
using testing::run_shell;
using testing::run_tool;
using testing::ScratchFolder;
using testing::tool_with;
using testing::without_names;
using testing::Words;

// Numbers, texts, values that are missing, a constant; a number and a class to predict; weights and groups.
Words data_lines(int rows = 400) {
  RandomStream stream(9, "tool data");
  Words lines{"a,b,city,same,y,label,w,group"};
  for (int i = 0; i < rows; ++i) {
    const double a = stream.normal();
    const double b = stream.normal();
    const char* city = i % 3 == 0 ? "Ulm" : i % 3 == 1 ? "Bonn" : "Kiel";
    const double y = 50 + 10 * a + 5 * std::abs(b) + (i % 3 == 0 ? 4 : 0) + stream.normal();
    lines.push_back(fmt::format("{},{},{},7,{},{},{},{}", a, i % 11 == 0 ? "" : fmt::format("{}", b), city, y,
                                a + 0.3 * stream.normal() > 0 ? "yes" : "no", 1 + stream.below(3), i / 5));
  }
  return lines;
}

std::string joined(const Words& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

// Quick, and different from the defaults in nothing that matters.
const Words quick{"--model", "mlp:8,8", "--epochs", "3", "--lr", "0.01"};

class TrainTool : public ::testing::Test {
 protected:
  Words train(const std::string& target, const Words& more = {}) const {
    return Words{"train", data_, "--target", target, "--save", model_} + quick + more;
  }
  // Trains and returns the result.
  json result(const Words& arguments) const {
    const Outcome outcome = run_tool(arguments + Words{"--json"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    return outcome.out.empty() ? json() : events(outcome.out).back();
  }

  std::string path(const char* name) const { return (folder_ / name).string(); }
  std::string write(const char* name, const std::string& content) const {
    std::ofstream(path(name), std::ios::binary) << content;
    return path(name);
  }

  ScratchFolder folder_;
  std::string data_ = write("data.csv", joined(data_lines()));
  std::string model_ = path("model.ignd");
  std::string partial_ = path("model.partial.ignd");
};

TEST_F(TrainTool, LearnsSeveralClassesAndSaysHowTheyAreConfused) {
  const json learned = result(train("city", {"--batch", "8", "--batch-mode", "exact", "--lambda", "0.1"}));
  EXPECT_EQ(learned["loss"], "softmax");
  EXPECT_EQ(learned["optimizer"], "ignd");
  for (const char* measure : {"accuracy", "log_loss", "macro_f1"}) {
    EXPECT_TRUE(learned["metrics"]["test"][measure].is_number()) << measure;
    EXPECT_TRUE(learned["baselines"]["best_constant"]["test"][measure].is_number()) << measure;
  }
  const Outcome predicted = run_tool({"predict", model_, data_});
  EXPECT_EQ(predicted.exit_code, 0) << predicted.err;
  EXPECT_TRUE(predicted.out.starts_with("row,prediction,probability_Bonn,probability_Kiel,probability_Ulm\n"));
  EXPECT_EQ(std::ranges::count(predicted.out, '\n'), 401);
  const Outcome evaluated = run_tool({"evaluate", model_, data_});
  EXPECT_EQ(evaluated.exit_code, 0) << evaluated.err;
  EXPECT_TRUE(contains(evaluated.out, "macro_f1"));
  EXPECT_TRUE(contains(evaluated.out, "true \\ predicted"));
  EXPECT_TRUE(contains(run_tool({"inspect", model_}).out, "'Bonn', 'Kiel' and 'Ulm'"));
}

TEST_F(TrainTool, LearnsInBatchesAndGoesOnWithThem) {
  const Words start{"train", data_, "--target", "y", "--save", model_, "--epochs", "8", "--lr", "0.3"};
  const Words exact = start + Words{"--batch", "16", "--batch-mode", "exact", "--adaptive-lambda"};
  const json learned = result(exact);
  EXPECT_EQ(learned["optimizer"], "ignd");
  EXPECT_LT(learned["metrics"]["test"]["rmse"], learned["baselines"]["best_constant"]["test"]["rmse"]);
  EXPECT_EQ(run_tool(exact + Words{"--resume", model_}).exit_code, 0);
  for (const Words& others : {Words{}, Words{"--batch", "16"}, Words{"--batch", "8", "--batch-mode", "exact"}}) {
    const Outcome refused = run_tool(start + others + Words{"--optimizer", "ignd", "--resume", model_});
    EXPECT_EQ(refused.exit_code, 1);
    EXPECT_TRUE(contains(refused.err, "cannot resume ")) << refused.err;
    EXPECT_EQ(contains(refused.err, "its batch is '16', not "), std::ranges::count(others, "16") == 0) << refused.err;
    EXPECT_TRUE(contains(refused.err, "its adaptive-lambda is 'true', not 'false'")) << refused.err;
  }
  EXPECT_TRUE(contains(run_tool({"inspect", model_}).out, "batch 16 exact lambda 1 adaptive"));
}

// Blanks around the parts of a name change nothing: not the rates that are tried, not what is saved, not what may be
// resumed.
TEST_F(TrainTool, TakesNamesHoweverTheyAreSpelled) {
  const Words race{"train",    data_, "--target", "y",        "--model", "mlp:8,8",
                   "--epochs", "2",   "--rule",   "gradient", "--json"};
  const std::string tidy = path("tidy.ignd"), blank = path("blank.ignd");
  const auto rates = [&](const Words& more) { return events(run_tool(race + more).out).at(1)["rates"]; };
  EXPECT_EQ(
      rates({"--transform", "plain", "--loss", "huber:delta=2", "--schedule", "cosine", "--save", tidy}),
      rates({"--transform", " plain", "--loss", " huber : delta = 2", "--schedule", " cosine ", "--save", blank}));
  EXPECT_EQ(content_of(tidy), content_of(blank));
  EXPECT_TRUE(contains(run_tool({"inspect", blank}).out, "huber:delta=2"));

  const Words stream{"train", data_, "--target", "y", "--stream", "--quiet"};
  const std::string one = path("one.ignd"), other = path("other.ignd");
  EXPECT_EQ(run_tool(stream + Words{"--transform", "plain", "--loss", "squared", "--save", one}).exit_code, 0);
  EXPECT_EQ(run_tool(stream + Words{"--transform", "plain ", "--loss", " squared", "--save", other}).exit_code, 0);
  EXPECT_EQ(content_of(one), content_of(other));
  const Outcome resumed = run_tool(stream + Words{"--transform", " plain", "--loss", "squared ", "--resume", one});
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
}

TEST_F(TrainTool, PrintsOneObjectPerLineAndTheResultLast) {
  const Outcome outcome = run_tool({"train", data_, "--target", "y", "--save", model_, "--epochs", "2", "--json"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  const auto lines = events(outcome.out);
  ASSERT_EQ(lines.size(), 5U);
  EXPECT_EQ(lines[0]["event"], "data");
  EXPECT_EQ(lines[0]["rows"], 400);
  EXPECT_EQ(lines[0]["train"], 320);
  EXPECT_EQ(lines[1]["event"], "rate");
  EXPECT_EQ(lines[1]["rates"].size(), lines[1]["losses"].size());
  EXPECT_EQ(lines[2]["event"], "epoch");
  EXPECT_EQ(lines[3]["epoch"], 2);
  const json& last = lines[4];
  EXPECT_EQ(last["event"], "result");
  EXPECT_EQ(last["optimizer"], "adam");
  EXPECT_EQ(last["epochs"], 2);
  EXPECT_EQ(last["rate"], lines[1]["rate"]);
  EXPECT_EQ(last["saved"], model_);
  EXPECT_GT(last["seconds"], 0);
  EXPECT_GT(last["samples_per_second"], 0);
  for (const char* part : {"validation", "test"}) {
    for (const char* measure : {"mape", "rmse", "mae", "r2"}) {
      EXPECT_TRUE(last["metrics"][part][measure].is_number()) << part << measure;
      EXPECT_TRUE(last["baselines"]["best_constant"][part][measure].is_number());
      EXPECT_TRUE(last["baselines"]["least_squares"][part][measure].is_number());
    }
  }
  EXPECT_EQ(events(run_tool({"evaluate", model_, data_, "--json"}).out).back()["event"], "result");
  EXPECT_EQ(events(run_tool({"inspect", model_, "--json"}).out).back()["status"], "finished");
}

const char* const two_class_measures[] = {"accuracy",  "log_loss", "auc", "average_precision",
                                          "precision", "recall",   "f1",  "calibration_error"};

TEST_F(TrainTool, MeasuresTwoClassesAsItDoesSeveral) {
  const json learned = result(train("label"));
  for (const char* measure : two_class_measures) {
    EXPECT_TRUE(learned["metrics"]["test"][measure].is_number()) << measure;
    EXPECT_TRUE(learned["baselines"]["logistic_regression"]["test"].contains(measure)) << measure;
  }
  EXPECT_EQ(learned["classes"], json({"no", "yes"}));
  const json& confusion = learned["confusion"];
  double rows = 0;
  for (const json& truth : confusion) rows += truth.at(0).get<double>() + truth.at(1).get<double>();
  EXPECT_EQ(rows, 40) << "a tenth of 400 rows are for the test";
  const double hits = confusion[1][1], recall = learned["metrics"]["test"]["recall"];
  EXPECT_NEAR(recall, hits / (confusion[1][0].get<double>() + hits), 1e-12);

  const Outcome shown = run_tool(train("label"));
  EXPECT_TRUE(contains(shown.out, "true \\ predicted") && contains(shown.out, "avg_prec")) << shown.out;
  const Outcome evaluated = run_tool({"evaluate", model_, data_});
  EXPECT_TRUE(contains(evaluated.out, "true \\ predicted") && contains(evaluated.out, "calib_err")) << evaluated.out;
  const json as_json = result({"evaluate", model_, data_});
  for (const char* measure : two_class_measures) EXPECT_TRUE(as_json["metrics"]["test"][measure].is_number());
  EXPECT_EQ(as_json["confusion"].size(), 2U);

  ASSERT_EQ(run_tool({"train", data_, "--target", "label", "--stream", "--quiet", "--save", model_}).exit_code, 0);
  const json stream = result({"evaluate", model_, data_});
  for (const char* measure : two_class_measures) EXPECT_TRUE(stream["metrics"]["test"][measure].is_number());
  EXPECT_EQ(stream["classes"], json({"no", "yes"}));
  EXPECT_TRUE(contains(run_tool({"evaluate", model_, data_}).out, "true \\ predicted"));
}

TEST_F(TrainTool, LetsThePositiveClassBeChosen) {
  const json usual = result(train("label"));
  const json turned = result(train("label", {"--positive", "no"}));
  EXPECT_EQ(turned["classes"], json({"yes", "no"}));
  EXPECT_GT(turned["metrics"]["test"]["accuracy"], 0.8);
  EXPECT_GT(turned["metrics"]["test"]["auc"], 0.8);
  EXPECT_TRUE(contains(run_tool({"inspect", model_}).out, "probabilities are of no"));
  EXPECT_EQ(result({"evaluate", model_, data_})["classes"], json({"yes", "no"}));
  std::istringstream predicted(run_tool({"predict", model_, data_}).out);
  std::string line;
  std::getline(predicted, line);
  while (std::getline(predicted, line)) {
    const bool no = contains(line, ",no,");
    EXPECT_EQ(no, std::stod(line.substr(line.rfind(',') + 1)) >= 0.5) << line;
  }
  EXPECT_EQ(result(train("w", {"--loss", "squared"}))["loss"], "squared");
  expect_refusal(train("label", {"--positive", "maybe"}), 2, "there is no class 'maybe'");
  expect_refusal(train("y", {"--positive", "1"}), 2, "not learned as two classes");
  expect_refusal(train("city", {"--positive", "Ulm"}), 2, "not learned as two classes");
  expect_refusal({"train", data_, "--target", "label", "--stream", "--positive", "no"}, 2,
                 "--positive cannot be given");

  // Numbers may be written in any way.
  const std::string numbers = write(
      "numbers.csv", "x,y\n" + [] {
        std::string lines;
        for (int i = 0; i < 100; ++i) lines += fmt::format("{},{}\n", i % 7, i % 7 > 3 ? 1 : 0);
        return lines;
      }());
  const Words few{"train", numbers, "--target", "y", "--save", model_, "--epochs", "1", "--lr", "0.01", "--positive"};
  EXPECT_EQ(result(few + Words{"0.0"})["classes"], json({"1", "0"}));
}

// What a network is for: where a line is as good, that is said. No network learns anything in no epochs.
TEST_F(TrainTool, EndsWithAVerdict) {
  const Words none{"train", data_, "--target", "y", "--save", model_, "--epochs", "0", "--lr", "0.01"};
  const Outcome shown = run_tool(none);
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_TRUE(contains(shown.out, "\nleast squares is better than the model on the 40 test rows (mean loss "))
      << shown.out;
  EXPECT_TRUE(contains(shown.out, "): use --model linear\n")) << shown.out;
  const json told = result(none)["verdict"];
  EXPECT_EQ(told["standing"], "worse");
  EXPECT_EQ(told["baseline"], "least squares");
  EXPECT_LT(told["lower_by"], 0);
  EXPECT_LE(told["interval"][0], told["lower_by"]);
  EXPECT_GE(told["interval"][1], told["lower_by"]);
  EXPECT_FALSE(contains(run_tool(none + Words{"--model", "linear"}).out, "use --model")) << "it is one";

  RandomStream stream(5, "parabola");
  std::string lines = "x,y\n";
  for (int i = 0; i < 2000; ++i) {
    const double x = stream.normal();
    lines += fmt::format("{},{}\n", x, 5 + x * x);
  }
  const Words curved{"train",    write("curved.csv", lines),
                     "--target", "y",
                     "--save",   model_,
                     "--epochs", "5",
                     "--model",  "mlp:16,16",
                     "--lr",     "0.01"};
  EXPECT_EQ(result(curved)["verdict"]["standing"], "better");
  EXPECT_TRUE(contains(run_tool(curved).out, "\nthe model is better than ")) << "a constant or a line, by chance";
  EXPECT_TRUE(contains(run_tool(curved + Words{"--test", "0.005"}).out, "too few rows to tell"));
  EXPECT_EQ(result(curved + Words{"--test", "0", "--validation", "0"}).count("verdict"), 0U);
}

TEST_F(TrainTool, ShowsErrorBarsOfTheLastPart) {
  const Outcome shown = run_tool(train("y"));
  EXPECT_TRUE(contains(shown.out, "\n    90 % from") && contains(shown.out, "\n         to")) << shown.out;
  EXPECT_TRUE(contains(shown.out, "error bars from 1,000 resamples of the rows")) << shown.out;
  const json trained = result(train("y"));
  const auto expect_bars = [](const json& event, std::initializer_list<const char*> names) {
    EXPECT_EQ(event["error_bars"]["level"], 0.9);
    EXPECT_EQ(event["error_bars"]["test"]["resamples"], 1000);
    for (const char* name : names) {
      const json& bar = event["error_bars"]["test"][name];
      ASSERT_EQ(bar.size(), 2U) << name;
      EXPECT_LT(bar[0], event["metrics"]["test"][name]) << name;
      EXPECT_GT(bar[1], event["metrics"]["test"][name]) << name;
    }
  };
  expect_bars(trained, {"rmse", "mae", "r2"});
  EXPECT_FALSE(trained["error_bars"].contains("validation"));
  expect_bars(result({"evaluate", model_, data_}), {"rmse", "mae", "r2"});
  EXPECT_TRUE(result(train("y", {"--test", "0"}))["error_bars"].contains("validation"));
  EXPECT_TRUE(contains(run_tool(train("y", {"--test", "0.02"})).out, "error bars need at least 20 rows"));
  result(train("city"));
  expect_bars(result({"evaluate", model_, data_}), {"log_loss"});
  ASSERT_EQ(run_tool({"train", data_, "--target", "y", "--stream", "--quiet", "--save", model_}).exit_code, 0);
  expect_bars(result({"evaluate", model_, data_}), {"rmse", "mae"});
}

TEST_F(TrainTool, PredictsIntervals) {
  const Outcome trained = run_tool(train("y"));
  EXPECT_TRUE(contains(trained.out, "\n90 % intervals hold ") && contains(trained.out, " of the 40 test rows; "))
      << trained.out;
  const Outcome predicted = run_tool({"predict", model_, data_, "--interval", "80"});
  EXPECT_EQ(predicted.exit_code, 0) << predicted.err;
  const Words lines = lines_of(predicted.out);
  EXPECT_EQ(lines.at(0), "row,prediction,low,high");
  const Words plain = lines_of(run_tool({"predict", model_, data_}).out);
  int held = 0;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    ASSERT_TRUE(lines[i].starts_with(plain[i] + ",")) << lines[i];
    std::istringstream fields(lines[i].substr(lines[i].find(',') + 1));
    double value = 0, low = 0, high = 0;
    char comma = 0;
    fields >> value >> comma >> low >> comma >> high;
    ASSERT_LT(low, high);
    const ModelFile model = ModelFile::load(model_);
    EXPECT_EQ(model.interval(value, 0.8).low, low);
    held += 1;
  }
  EXPECT_EQ(held, 400);
  const json measured = result({"evaluate", model_, data_, "--interval", "80"})["interval"];
  EXPECT_EQ(measured["level"], 0.8);
  EXPECT_NEAR(measured["coverage"], 0.8, 0.15) << "40 residuals";
  EXPECT_TRUE(contains(run_tool({"evaluate", model_, data_, "--interval", "80"}).out, "80 % intervals hold "));
  EXPECT_FALSE(result({"evaluate", model_, data_}).contains("interval"));
  const json learned = result(train("y"))["interval"];
  EXPECT_EQ(learned["level"], 0.9);
  EXPECT_GT(learned["coverage"], 0.7);
  EXPECT_GT(learned["mean_width"], 0);

  // Of an ensemble, the residuals are those of all training rows.
  const Words ensemble{"train", data_, "--target", "y", "--save", model_, "--ensemble", "2", "--epochs", "2"};
  ASSERT_EQ(run_tool(ensemble).exit_code, 0);
  EXPECT_EQ(run_tool({"predict", model_, data_, "--interval", "98"}).exit_code, 0);
  expect_refusal({"predict", model_, data_, "--interval", "99.9"}, 2, "360 residuals, too few for 99.9 % intervals");
}

TEST_F(TrainTool, RefusesIntervalsWhereThereAreNone) {
  const Words predict{"predict", model_, data_, "--interval", "90"};
  for (const char* level : {"0", "100", "nan", "-5", "most"}) {
    expect_refusal({"predict", model_, data_, "--interval", level}, 2, "--interval");
  }
  EXPECT_FALSE(result(train("label")).contains("interval"));
  expect_refusal(predict, 2, "predicts classes");
  result(train("y", {"--validation", "0"}));
  expect_refusal(predict, 2, "holds no residuals");
  expect_refusal({"evaluate", model_, data_, "--interval", "90"}, 2, "holds no residuals");
  ASSERT_EQ(run_tool({"train", data_, "--target", "y", "--stream", "--quiet", "--save", model_}).exit_code, 0);
  expect_refusal(predict, 2, "the model of a stream holds no residuals");
}

TEST_F(TrainTool, LearnsFromTheColumnsThatItIsTold) {
  const std::string file = write("columns.csv", [] {
    RandomStream stream(2, "columns");
    std::string lines = "a,b,\"c, d\",e,y\n";
    for (int i = 0; i < 300; ++i) {
      const double a = stream.normal();
      lines += fmt::format("{},{},{},{},{}\n", a, stream.normal(), stream.normal(), i, 3 * a);
    }
    return lines;
  }());
  const auto run = [&](const Words& more) {
    return Words{"train", file, "--target", "y", "--save", model_} + quick + more;
  };
  for (const Words& words : {Words{"--features", "a,b"}, Words{"--drop", "\"c, d\", e"}}) {
    const Outcome outcome = run_tool(run(words));
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "") << "no warning of a column that is left out";
    EXPECT_TRUE(contains(outcome.out, "  left out: 'c, d' and 'e'\n")) << outcome.out;
    EXPECT_TRUE(contains(outcome.out, ", 2 features;"));
    const json data = events(run_tool(run(words + Words{"--json"})).out).front();
    EXPECT_EQ(data["left_out_columns"], (json{"c, d", "e"}));
    EXPECT_EQ(data["features"], 2);
    // A table to predict need not have them.
    EXPECT_EQ(run_tool({"predict", model_, write("new.csv", "b,a\n1,2\n")}).exit_code, 0);
  }
  const std::string both = content_of(model_);
  ASSERT_EQ(run_tool(run({"--features", "b,a"})).exit_code, 0);
  EXPECT_EQ(content_of(model_).size(), both.size()) << "the order of the names does not count";
  expect_refusal(run({"--drop", "bb"}), 2, "no column 'bb', did you mean 'b'?");
  expect_refusal(run({"--features", "a,y"}), 2, "'y' is the target");
  expect_refusal(run({"--features", "a,b", "--split-by", "b"}), 2, "'b' is no input: it holds the groups");
  expect_refusal(run({"--features", "a", "--drop", "b"}), 2, "--drop cannot be given with --features");
  expect_refusal(run({"--features", "a,,b"}), 2, "a column without a name");
  expect_refusal(run({"--drop", "\"a"}), 2, "a quote in '\"a' is not closed");
  expect_refusal(run({"--drop", "a,b,e,\"c, d\""}), 2, "there is no column besides the target");
  expect_refusal(run({"--split", "random", "--split-by", "b"}), 2, "--split cannot be given where groups");
}

TEST_F(TrainTool, CrossValidates) {
  const Words command = Words{"train", data_, "--target", "y", "--folds", "4"} + quick;
  const Outcome shown = run_tool(command);
  ASSERT_EQ(shown.exit_code, 0) << shown.err;
  for (const char* part :
       {"fold  4  260 rows to train on, 40 to validate, 100 to test", "mean of 4 folds ", "\n    deviation",
        " than least squares on the 400 rows of all folds", "no model is saved"}) {
    EXPECT_TRUE(contains(shown.out, part)) << part << "\n" << shown.out;
  }
  const auto lines = events(run_tool(command + Words{"--json"}).out);
  ASSERT_EQ(lines.size(), 5U);
  double mean = 0;
  for (std::size_t k = 0; k < 4; ++k) mean += lines[k]["metrics"]["test"]["rmse"].get<double>() / 4;
  const json& last = lines.back();
  EXPECT_NEAR(last["metrics"]["test"]["rmse"], mean, 1e-12);
  double square = 0;
  for (std::size_t k = 0; k < 4; ++k) square += std::pow(lines[k]["metrics"]["test"]["rmse"].get<double>() - mean, 2);
  EXPECT_NEAR(last["deviations"]["test"]["rmse"], std::sqrt(square / 3), 1e-12);
  EXPECT_TRUE(last["baselines"]["least_squares"]["test"]["rmse"].is_number());
  EXPECT_TRUE(last["baseline_deviations"]["best_constant"]["test"]["mae"].is_number());
  EXPECT_TRUE(last["verdict"]["text"].is_string());
  EXPECT_EQ(result(command), last) << "the same numbers again";

  EXPECT_EQ(result({"train", data_, "--target", "label", "--folds", "2", "--ensemble", "2", "--epochs", "2"})["folds"],
            2);
  EXPECT_EQ(result(Words{"train", data_, "--target", "city", "--folds", "2"} + quick)["model"], "mlp:8,8");
  expect_refusal(command + Words{"--save", model_}, 2, "--save cannot be given with --folds");
  expect_refusal(command + Words{"--test", "0.2"}, 2, "--test cannot be given with --folds");
  expect_refusal(command + Words{"--split-time", "w"}, 2, "--split-time cannot be given with --folds");
  expect_refusal(command + Words{"--folds", "1"}, 2, "--folds");
  expect_refusal({"train", data_, "--target", "y", "--folds", "4", "--stream"}, 2,
                 "--folds cannot be given with --stream");
  const std::string few = write("few.csv", "x,y\n1,2\n2,3\n3,5\n4,1\n5,9\n");
  expect_refusal(Words{"train", few, "--target", "y", "--folds", "3"} + quick, 2, "too few rows for 3 folds");
}

TEST_F(TrainTool, KeepsABudget) {
  const std::string other = path("other.ignd");
  for (const Words& how : {Words{"--fast", "--lr", "0.01"}, Words{"--ensemble", "2"}}) {
    const Words plain = Words{"train", data_, "--target", "y", "--save"};
    // A long time is enough for all epochs, and a short one for a few; which ones is printed.
    const auto all = events(run_tool(plain + Words{model_, "--budget", "1h", "--json"} + how).out);
    EXPECT_EQ(all.at(1)["event"], "budget");
    EXPECT_EQ(all[1]["epochs"], all[1]["planned"]);
    ASSERT_EQ(run_tool(plain + Words{other} + how).exit_code, 0);
    EXPECT_EQ(without_names(model_), without_names(other)) << "the budget changes nothing else";
    const double seconds = 3.5 * all[1]["seconds_of_an_epoch"].get<double>();
    const auto few =
        events(run_tool(plain + Words{model_, "--budget", fmt::format("{}s", seconds), "--json"} + how).out);
    if (few.empty()) continue;  // the machine is four times as busy as a moment ago
    EXPECT_GE(few.at(1)["epochs"], 1);
    EXPECT_LE(few[1]["epochs"], few[1]["planned"]);
    EXPECT_EQ(few.back()["epochs"], few[1]["epochs"]);
    const std::string repeat = few[1]["repeat"];
    const std::string command = fmt::format("$ignd train {} --target y --save {} --quiet {} {}", data_, other, repeat,
                                            how[0] == "--fast" ? "--fast --lr 0.01" : "");
    ASSERT_EQ(run_shell(command).exit_code, 0);
    EXPECT_EQ(without_names(model_), without_names(other)) << repeat;
  }
  expect_refusal({"train", data_, "--target", "y", "--budget", "soon"}, 2, "such as 90s, 10m or 2h");
  expect_refusal({"train", data_, "--target", "y", "--budget", "1m", "--epochs", "3"}, 2, "--epochs cannot be given");
  const Outcome short_time = run_tool({"train", data_, "--target", "y", "--budget", "0.000000001s", "--quiet"});
  EXPECT_EQ(short_time.exit_code, 1);
  EXPECT_TRUE(contains(short_time.err, "too short for a single epoch, which takes about ")) << short_time.err;
}

TEST_F(TrainTool, StartsFromAModel) {
  const auto rows = [](std::uint64_t seed, int count) {
    RandomStream stream(seed, "warm");
    std::string lines = "a,city,y,label\n";
    for (int i = 0; i < count; ++i) {
      const double a = stream.normal();
      const bool ulm = stream.below(2) == 0;
      const double y = std::sin(3 * a) + (ulm ? 1 : 0);
      lines += fmt::format("{},{},{},{}\n", a, ulm ? "Ulm" : "Bonn", y, y > 0 ? "yes" : "no");
    }
    return lines;
  };
  const std::string before = write("before.csv", rows(1, 4000)), after = write("after.csv", rows(2, 300));
  const std::string first = path("first.ignd");
  const Words small{"--model", "mlp:16,16", "--lr", "0.01", "--features", "a,city"};
  for (const char* target : {"y", "label"}) {
    ASSERT_EQ(run_tool(Words{"train", before, "--target", target, "--save", first, "--epochs", "10"} + small).exit_code,
              0);
    const Words further{"train", after, "--start-from", first, "--save", model_, "--lr", "0.001", "--epochs"};
    // Without a step, it is the same model.
    ASSERT_EQ(run_tool(further + Words{"0"}).exit_code, 0);
    EXPECT_EQ(run_tool({"predict", model_, after}).out, run_tool({"predict", first, after}).out);
    const json warm = result(further + Words{"1"});
    const json cold = result(Words{"train", after, "--target", target, "--save", model_, "--epochs", "1"} + small);
    const auto loss = [&](const json& of) {
      return of["metrics"]["test"][target == std::string("y") ? "rmse" : "log_loss"].get<double>();
    };
    EXPECT_LT(loss(warm), 0.5 * loss(cold)) << target;
    EXPECT_EQ(warm["model"], "mlp:16,16");
  }
  const auto start = [&](const std::string& file, const Words& more = {}) {
    return Words{"train", file, "--start-from", first, "--save", model_, "--lr", "0.001", "--epochs", "1"} + more;
  };
  expect_refusal(start(after, {"--target", "y"}), 1, "it predicts 'label', not 'y'");
  expect_refusal(start(after, {"--model", "linear"}), 2, "--model cannot be given with --start-from");
  expect_refusal(start(after, {"--ensemble", "2"}), 2, "--start-from cannot be given with --ensemble");
  expect_refusal({"train", after, "--start-from", first, "--folds", "2"}, 2,
                 "--start-from cannot be given with --folds");
  expect_refusal(start(write("less.csv", "a,label\n1,yes\n2,no\n3,yes\n4,no\n")), 2, "'city'");
  expect_refusal(start(write("other.csv", "a,city,label\n1,Ulm,perhaps\n2,Ulm,no\n3,Ulm,yes\n4,Ulm,no\n")), 1,
                 "'perhaps'");
  expect_refusal(start(after, {"--stream"}), 2, "--start-from");
  ASSERT_EQ(run_tool({"train", before, "--target", "y", "--save", first, "--ensemble", "2", "--epochs", "1"}).exit_code,
            0);
  expect_refusal(start(after), 1, "it is an ensemble");
  expect_refusal({"train", after, "--start-from", path("none.ignd"), "--save", model_}, 1, "none.ignd");
}

TEST_F(TrainTool, WritesThePredictionsOfRowsThatItHasNotLearnedFrom) {
  const std::string out = path("made.csv");
  for (const char* target : {"y", "label", "city"}) {
    ASSERT_EQ(run_tool(train(target, {"--predictions", out})).exit_code, 0);
    const Words made = lines_of(content_of(out));
    ASSERT_EQ(made.size(), 81U);
    const Words all = lines_of(run_tool({"predict", model_, data_}).out);
    EXPECT_EQ(made[0], "row,part,target," + all[0].substr(4));
    std::size_t tests = 0;
    for (std::size_t i = 1; i < made.size(); ++i) {
      const std::size_t row = std::stoul(made[i]);
      const std::string predicted = all.at(row).substr(all[row].find(','));
      EXPECT_TRUE(made[i].ends_with(predicted)) << made[i] << " " << all[row];
      tests += contains(made[i], ",test,") ? 1 : 0;
      EXPECT_EQ(contains(made[i], ",test,"), i > 40) << "validation rows first";
    }
    EXPECT_EQ(tests, 40U);
  }
  // Of an ensemble, validation rows are predicted by the network that has not seen them.
  const Words ensemble{"train", data_, "--target", "y", "--save", model_, "--ensemble", "2", "--epochs", "2"};
  ASSERT_EQ(run_tool(ensemble + Words{"--predictions", out}).exit_code, 0);
  EXPECT_EQ(lines_of(content_of(out)).size(), 81U);
  expect_refusal(train("y", {"--predictions", data_}), 1, "data");
  expect_refusal(train("y", {"--predictions", model_}), 1, "the model");
  const Outcome nowhere = run_tool(train("y", {"--predictions", path("no/such/folder.csv")}));
  EXPECT_EQ(nowhere.exit_code, 1);
}

TEST_F(TrainTool, SaysWhyThereIsNoPercentageError) {
  std::string lines = "x,y\n";
  for (int i = 0; i < 200; ++i) lines += fmt::format("{},{}\n", i % 20, i % 20);
  const Words zeros{"train", write("zeros.csv", lines), "--target", "y", "--save", model_, "--epochs", "1", "--lr",
                    "0.01"};
  const Outcome shown = run_tool(zeros);
  EXPECT_TRUE(contains(shown.out, "mape is n/a: a target is zero, and its row alone would decide it")) << shown.out;
  const json test = result(zeros)["metrics"]["test"];
  EXPECT_TRUE(test["mape"].is_null());
  EXPECT_EQ(test["target_nearest_to_zero"], 0);
  EXPECT_FALSE(contains(run_tool(train("y")).out, "mape is n/a"));
}

TEST_F(TrainTool, LearnsFromAColumnThatIsAlmostAlwaysTheSame) {
  RandomStream stream(23, "snow");
  std::string text = "x,snow,y\n";
  for (int i = 0; i < 4000; ++i) {
    const double x = 0.1 * stream.normal();
    const int snow = stream.uniform() < 0.01 ? 1 : 0;
    text += fmt::format("{},{},{}\n", x, snow, x + 2 * snow);
  }
  const std::string file = write("snow.csv", text);
  const json quality = result({"train", file, "--target", "y", "--save", model_, "--lr", "0.001"})["metrics"];
  // Without the column, x explains a fifth of the variance.
  EXPECT_GT(quality["test"]["r2"], 0.95);
  EXPECT_GT(quality["validation"]["r2"], 0.95);
  EXPECT_TRUE(
      contains(run_tool({"inspect", model_}).out, "  snow                 number, mostly 0, deviation 0.3333\n"));
}

TEST_F(TrainTool, ListsEveryColumnThatIsDropped) {
  constexpr int columns = 40;
  std::string text = "y";
  for (int c = 0; c < columns; ++c) text += fmt::format(",c{}", c);
  for (int r = 0; r < 60; ++r) {
    text += fmt::format("\n{}", r);
    for (int c = 0; c < columns; ++c) text += c == 38 ? ",7" : c == 39 ? "," : fmt::format(",{}", r * c % 13);
  }
  const std::string file = write("wide.csv", text + "\n");
  const Words command = Words{"train", file, "--target", "y", "--save", model_} + quick;
  const Outcome outcome = run_tool(command);
  for (const std::string& out : {outcome.out, run_tool({"inspect", model_}).out}) {
    for (const char* name : {"c0", "c13", "c26", "c38"}) {
      EXPECT_TRUE(contains(out, fmt::format("  {:<20} dropped: the same in every training row\n", name))) << out;
    }
    EXPECT_TRUE(contains(out, "  c39                  dropped: no value in any training row\n")) << out;
  }
  EXPECT_TRUE(contains(outcome.out, "and 8 more columns\n")) << outcome.out;
  for (const json& line : {events(run_tool(command + Words{"--json"}).out).front(),
                           events(run_tool({"inspect", model_, "--json"}).out).front()}) {
    EXPECT_EQ(line["dropped"]["columns"], (json{"c0", "c13", "c26", "c38", "c39"}));
    EXPECT_EQ(line["dropped"]["reasons"].back(), "no value in any training row");
  }
}

// A table whose target depends on the weekday and on an amount of money; no column but the last is a plain number.
std::string formatted_table(bool comma) {
  RandomStream stream(31, "formats");
  std::string text = "day;cost;share;order;y\n";
  for (int r = 0; r < 700; ++r) {
    const double cost = std::round(200'000 * stream.uniform()) / 100;
    const int share = static_cast<int>(stream.below(100));
    const auto thousands = static_cast<int>(cost) / 1000;
    const double rest = cost - 1000 * thousands;
    std::string amount = thousands > 0 ? fmt::format("${},{:06.2f}", thousands, rest) : fmt::format("${:.2f}", rest);
    if (comma) {
      std::ranges::transform(amount, amount.begin(), [](char c) { return c == '.' ? ',' : c == ',' ? '.' : c; });
    }
    const std::string day = date_text(86'400.0 * (15'706 + r));  // from 2013-01-01
    const double y = cost / 500 + (r % 7 < 2 ? 3 : 0) + share / 100.0;
    text += fmt::format("{};{};{} %;order {};{}\n", day, amount, share, r, comma ? "0" : fmt::format("{:.4f}", y));
  }
  return text;
}

TEST_F(TrainTool, RecognisesDatesMoneyAndPercentages) {
  const std::string file = write("formats.csv", formatted_table(false));
  const Words command{"train", file, "--target", "y", "--save", model_, "--split-time", "day", "--lr", "0.003"};
  const Outcome outcome = run_tool(command);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  for (const std::string& out : {outcome.out, run_tool({"inspect", model_}).out}) {
    EXPECT_TRUE(contains(out, "  day                  date, 2013-01-01 to 2014-07-14\n")) << out;
    EXPECT_TRUE(contains(out, "  cost                 number with currency $, thousands separators, mean ")) << out;
    EXPECT_TRUE(contains(out, "  share                number with %, mean ")) << out;
    EXPECT_TRUE(contains(out, "  order                dropped: nearly every row has its own text")) << out;
  }
  const auto lines = events(run_tool(command + Words{"--json"}).out);
  EXPECT_EQ(lines.front()["recognised"]["columns"], (json{"day", "cost", "share"}));
  EXPECT_EQ(lines.front()["recognised"]["formats"][0], "date, 2013-01-01 to 2014-07-14");
  EXPECT_EQ(lines.front()["dropped"]["columns"], json{"order"});
  EXPECT_EQ(lines.front()["train"], 560);
  // The weekday is half of the variance and the money the rest: as hashed texts, nothing of it could be learned.
  EXPECT_GT(lines.back()["metrics"]["test"]["r2"], 0.95);
  EXPECT_EQ(events(run_tool({"inspect", model_, "--json"}).out).front()["recognised"]["columns"].size(), 3U);
  EXPECT_TRUE(contains(run_tool(command + Words{"--use-ids"}).out, "order                text, 560 values hashed"));
}

TEST_F(TrainTool, PredictsFromCellsAsTheyWereInTraining) {
  const std::string file = write("formats.csv", formatted_table(false));
  run_tool(Words{"train", file, "--target", "y", "--save", model_} + quick);
  const std::string expected = run_tool({"predict", model_, file}).out;
  // The same numbers with the other decimal mark, of which the model must be told.
  const std::string other = write("comma.csv", formatted_table(true));
  EXPECT_EQ(run_tool({"predict", model_, other, "--decimal", "comma"}).out, expected);
  const std::string odd = write("odd.csv", "day;cost;share\n2013-05-01;$5.00;7 %\nsoon;$5.00;7 %\nlater;;\n");
  expect_refusal({"predict", model_, odd}, 1, "line 3 (row 2): column 'day' is 'soon', not a date");
  const Outcome outcome = run_tool({"predict", model_, odd, "--bad-rows", "skip"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(std::ranges::count(outcome.out, '\n'), 4);
  EXPECT_EQ(outcome.err,
            "ignd: 2 of 3 rows have no prediction; the first is line 3: column 'day' is 'soon', not a date\n");
  EXPECT_EQ(run_tool({"evaluate", model_, file}).exit_code, 0);
}

TEST_F(TrainTool, WarnsOfDatesThatMayBeTwoThingsAndOfRowNumbers) {
  std::string text = "day,number,stray,money,y\n";
  for (int r = 0; r < 40; ++r) {
    text += fmt::format("0{}/0{}/2020,{},{},{}{},{}\n", 1 + r % 9, 1 + r % 7, r + 1,
                        r == 39 ? "soon" : fmt::format("2020-01-{:02}", 1 + r % 30), r % 2 == 0 ? "$" : "£", r % 5,
                        r * r % 17);
  }
  const Words command = Words{"train", write("doubt.csv", text), "--target", "y", "--save", model_} + quick;
  const Outcome outcome = run_tool(command);
  EXPECT_EQ(
      outcome.err,
      "ignd: warning: column 'number' counts the rows; leave it out with --drop if it is only their number\n"
      "ignd: warning: column 'day' is taken for texts: its dates may have the day first or the month first\n"
      "ignd: warning: column 'stray' is taken for texts because of 'soon'; most of its values are numbers or dates\n"
      "ignd: warning: column 'money' is taken for texts: its numbers or dates are not all written in the same way\n");
  expect_refusal({"train", write("date.csv", "x,y\n1,2020-01-01\n2,2020-01-02\n3,2020-01-03\n"), "--target", "y"}, 2,
                 "the target 'y' holds dates");
}

TEST_F(TrainTool, MeasuresClasses) {
  const json last = result(train("label", {"--class-weight", "balanced"}));
  for (const char* measure : {"accuracy", "log_loss", "auc"}) {
    EXPECT_TRUE(last["metrics"]["test"][measure].is_number());
    EXPECT_TRUE(last["baselines"]["logistic_regression"]["test"][measure].is_number());
  }
  EXPECT_GT(last["metrics"]["test"]["auc"], 0.8);
}

TEST_F(TrainTool, SaysWhatItDoes) {
  const Outcome outcome = run_tool(train("y"));
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.err, "");
  for (const char* part : {"400 rows", "target y: number", "city", "3 values", "dropped", "epoch   3", "mape",
                           "best constant", "least squares", "saved "}) {
    EXPECT_TRUE(contains(outcome.out, part)) << part << " is not in " << outcome.out;
  }
  const Outcome inspected = run_tool({"inspect", model_});
  EXPECT_EQ(inspected.exit_code, 0);
  for (const char* part : {"mlp:widths=", "finished", "target y", "city", "deviation"}) {
    EXPECT_TRUE(contains(inspected.out, part)) << part << " is not in " << inspected.out;
  }
}

TEST_F(TrainTool, KeepsTheFirstRowOfAFileOfTexts) {
  std::string rows;
  for (int i = 0; i < 60; ++i) rows += i % 3 == 0 ? "e,x,s\n" : i % 3 == 1 ? "p,x,y\n" : "p,b,s\n";
  const std::string named = write("named.csv", "class,cap,odor\n" + rows);
  const std::string bare = write("bare.csv", rows);
  for (const auto& [file, target, header] : {std::tuple{named, "class", true}, {bare, "c1", false}}) {
    const Words command = Words{"train", file, "--target", target, "--save", model_} + quick;
    const json data = events(run_tool(command + Words{"--json"}).out).front();
    EXPECT_EQ(data["rows"], 60);
    EXPECT_EQ(data["header"], header);
    const std::string note =
        header
            ? "all fields are texts: the first row is read as names, because it has 'class'; --header no changes that"
            : "all fields are texts: the first row is read as data, because the column c1 is asked for; --header yes "
              "changes that";
    EXPECT_EQ(data["header_note"], note);
    EXPECT_TRUE(contains(run_tool(command).out, note));
    EXPECT_EQ(std::ranges::count(run_tool({"predict", model_, file}).out, '\n'), 61);
    const std::string stream = run_tool({"train", "--stream", file, "--target", target, "--save", model_}).out;
    EXPECT_TRUE(contains(stream, note)) << stream;
    EXPECT_TRUE(contains(stream, "60 examples")) << stream;
  }
  expect_refusal({"train", bare, "--target", "class"}, 2, "'e' occurs again below it; --header yes changes that");
  EXPECT_EQ(events(run_tool(train("y", {"--json"})).out).front()["header"], true);
}

TEST_F(TrainTool, SaysWhetherWholeNumbersAreClasses) {
  std::string rows = "x,grade,bit\n";
  for (int i = 0; i < 60; ++i) rows += fmt::format("{},{},{}\n", 0.1 * i, 1 + i % 4, i % 2);
  const std::string file = write("grades.csv", rows);
  const auto command = [&](const char* target) {
    return Words{"train", file, "--target", target, "--save", model_} + quick;
  };
  const json grades = events(run_tool(command("grade") + Words{"--json"}).out).front();
  EXPECT_EQ(grades["task"], "regression");
  EXPECT_TRUE(contains(grades["choice"], "though there are only 4 whole ones; --loss softmax learns classes"));
  EXPECT_TRUE(contains(run_tool(command("grade")).out, std::string(grades["choice"])));
  const json bits = events(run_tool(command("bit") + Words{"--json"}).out).front();
  EXPECT_EQ(bits["task"], "classification");
  EXPECT_TRUE(contains(bits["choice"], "two different numbers; --loss squared"));
  for (const auto& [target, loss, task] : {std::tuple{"grade", "softmax", "classification"},
                                           {"grade", "poisson", "regression"},
                                           {"grade", "squared", "regression"},
                                           {"bit", "squared", "regression"},
                                           {"bit", "logistic", "classification"}}) {
    const std::vector<json> lines = events(run_tool(command(target) + Words{"--json", "--loss", loss}).out);
    EXPECT_EQ(lines.front()["task"], task);
    EXPECT_FALSE(lines.front().contains("choice"));
    EXPECT_EQ(lines.back()["event"], "result") << target << " " << loss;
  }
  expect_refusal(command("grade") + Words{"--loss", "logistic"}, 2, "has more: 1, 2, 3; give the softmax loss");
}

TEST_F(TrainTool, LearnsCountsAsSuchAndSaysSo) {
  std::string rows = "x,n\n";
  RandomStream stream(8, "counts");
  for (int i = 0; i < 300; ++i) {
    const double x = stream.uniform();
    int n = 0;
    while (stream.uniform() < 0.4 + 0.5 * x) ++n;
    rows += fmt::format("{},{}\n", x, n);
  }
  const Words command{"train", write("counts.csv", rows), "--target", "n", "--save", model_, "--fast"};
  const std::vector<json> lines = events(run_tool(command + Words{"--json"}).out);
  EXPECT_EQ(lines.back()["loss"], "poisson");
  EXPECT_TRUE(lines.back()["baselines"].contains("poisson_regression")) << lines.back();
  const std::string choice = lines.front()["choice"];
  EXPECT_TRUE(contains(choice, "counts, because")) << choice;
  EXPECT_TRUE(contains(run_tool(command).out, choice));
  const Words predicted = testing::lines_of(run_tool({"predict", model_, path("counts.csv")}).out);
  ASSERT_EQ(predicted.size(), 301U);
  for (std::size_t i = 1; i < predicted.size(); ++i) {
    EXPECT_GT(std::stod(predicted[i].substr(predicted[i].find(',') + 1)), 0) << "no count is negative";
  }
  EXPECT_EQ(result(command + Words{"--loss", "squared"})["loss"], "squared");
}

// About a tenth of the targets lies above the .9-quantile.
TEST_F(TrainTool, PredictsAQuantile) {
  std::string rows = "x,y\n";
  RandomStream stream(9, "quantiles");
  for (int i = 0; i < 1000; ++i) {
    const double x = stream.uniform();
    rows += fmt::format("{},{}\n", x, 10 * x + stream.normal());
  }
  const Words command{"train", write("noise.csv", rows), "--target", "y", "--save", model_, "--fast"};
  const json trained = result(command + Words{"--quantile", "0.9"});
  EXPECT_EQ(trained["loss"], "pinball:tau=0.9");
  const auto by_quantile = without_names(model_);
  result(command + Words{"--loss", "pinball:tau=0.9"});
  EXPECT_EQ(without_names(model_), by_quantile) << "another way to say the same";
  const Words truth = testing::lines_of(rows);
  const Words predicted = testing::lines_of(run_tool({"predict", model_, path("noise.csv")}).out);
  ASSERT_EQ(predicted.size(), 1001U);
  int above = 0;
  const auto last = [](const std::string& line) { return std::stod(line.substr(line.find(',') + 1)); };
  for (std::size_t i = 1; i < predicted.size(); ++i) above += last(truth[i]) > last(predicted[i]) ? 1 : 0;
  EXPECT_GT(above, 40);
  EXPECT_LT(above, 200);
  for (const char* wrong : {"0", "1", "90", "nan", "many"}) {
    expect_refusal(command + Words{"--quantile", wrong}, 2, "quantile");
  }
  expect_refusal(command + Words{"--quantile", "0.5", "--loss", "squared"}, 2,
                 "--quantile is a loss of its own: leave out --loss");
  const Words stream_command{"train", "--stream", path("noise.csv"), "--target", "y", "--save", path("stream.ignd")};
  EXPECT_EQ(result(stream_command + Words{"--quantile", "0.25"})["loss"], "pinball:tau=0.25");
  EXPECT_EQ(result(stream_command + Words{"--quantile", "0.25", "--resume", path("stream.ignd")})["loss"],
            "pinball:tau=0.25");
  expect_refusal(stream_command + Words{"--quantile", "0.5", "--resume", path("stream.ignd")}, 1, "its loss is");
}

TEST_F(TrainTool, GivesTheSameModelWhateverItPrints) {
  run_tool(train("y"));
  const std::string plain = content_of(model_);
  const Outcome quiet = run_tool(train("y", {"--quiet"}));
  EXPECT_TRUE(quiet.out.starts_with("validation")) << quiet.out;
  EXPECT_EQ(content_of(model_), plain);
  run_tool(train("y", {"--json"}));
  EXPECT_EQ(content_of(model_), plain);
  EXPECT_EQ(events(run_tool(train("y", {"--json", "--quiet"})).out).size(), 1U);
  EXPECT_EQ(content_of(model_), plain);
  run_tool(train("y", {"--save-every", "1"}));
  EXPECT_EQ(content_of(model_), plain);
  run_tool(train("y", {"--seed", "2"}));
  EXPECT_NE(content_of(model_), plain);
}

TEST_F(TrainTool, ReadsSvmlight) {
  Words lines;
  for (int i = 0; i < 80; ++i) lines.push_back(fmt::format("{} 1:{} 3:{}", i % 2 == 0 ? "+1" : "-1", i % 2, i % 5 + 1));
  data_ = write("data.svm", joined(lines));
  EXPECT_EQ(result(train("label", {"--format", "svmlight"}))["loss"], "logistic");
  expect_refusal(train("label", {"--format", "vw"}), 2, "--stream");
}

TEST_F(TrainTool, ReadsTheStandardInput) {
  run_tool(train("y"));
  const auto from_file = without_names(model_);
  const Outcome outcome = run_shell("\"$ignd\" train - --target y --model mlp:8,8 --epochs 3 --lr 0.01 --save '" +
                                    model_ + "' --quiet < '" + data_ + "'");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_TRUE(without_names(model_) == from_file);
}

// A fresh process finds on the test rows what training reported.
TEST_F(TrainTool, ReportsWhatAnEvaluationFinds) {
  const Words lines = data_lines();
  const Split random = split_randomly(lines.size() - 1, {0.1, 0.1}, 1);
  std::vector<std::uint64_t> classes;
  for (std::size_t i = 1; i < lines.size(); ++i) classes.push_back(contains(lines[i], "yes") ? 1 : 0);
  const Split by_class = split_by_class(classes, {0.1, 0.1}, 1);
  const auto write_rows = [&](const char* name, const std::vector<std::uint32_t>& rows) {
    Words part{lines[0]};
    for (const std::uint32_t row : rows) part.push_back(lines[row + 1]);
    return write(name, joined(part));
  };
  const std::vector<Words> cases{{"y"},
                                 {"label"},
                                 {"y", "--weight", "w"},
                                 {"y", "--loss", "huber"},
                                 {"w", "--loss", "poisson"},
                                 {"label", "--class-weight", "balanced"}};
  for (const Words& options : cases) {
    const json trained = result(train(options[0], Words(options.begin() + 1, options.end())));
    const Words weight = options.size() > 1 && options[1] == "--weight" ? Words{"--weight", "w"} : Words{};
    const auto evaluated = [&](const std::string& file) {
      const Outcome outcome = run_tool(Words{"evaluate", model_, file, "--json"} + weight);
      EXPECT_EQ(outcome.err, "");
      return events(outcome.out).back();
    };
    const Split& split = options[0] == "label" ? by_class : random;
    const std::string test = write_rows("test.csv", split.test);
    const std::string validation = write_rows("validation.csv", split.validation);
    EXPECT_EQ(evaluated(test)["metrics"]["test"], trained["metrics"]["test"]) << ::testing::PrintToString(options);
    EXPECT_EQ(evaluated(validation)["metrics"]["test"], trained["metrics"]["validation"]);
  }
}

TEST_F(TrainTool, PredictsInDocumentedColumns) {
  run_tool(train("y"));
  const Outcome numbers = run_tool({"predict", model_, data_});
  EXPECT_EQ(numbers.exit_code, 0);
  EXPECT_EQ(numbers.err, "");
  EXPECT_TRUE(numbers.out.starts_with("row,prediction\n1,"));
  EXPECT_EQ(std::count(numbers.out.begin(), numbers.out.end(), '\n'), 401);
  const std::string file = path("predictions.csv");
  EXPECT_EQ(run_tool({"predict", model_, data_, "-o", file}).out, "");
  EXPECT_EQ(content_of(file), numbers.out);

  run_tool(train("label"));
  const Outcome classes = run_tool({"predict", model_, data_});
  std::istringstream rows(classes.out);
  std::string line;
  std::getline(rows, line);
  EXPECT_EQ(line, "row,prediction,probability");
  while (std::getline(rows, line)) {
    const double probability = std::stod(line.substr(line.rfind(',') + 1));
    EXPECT_TRUE(contains(line, probability >= 0.5 ? ",yes," : ",no,")) << line;
  }
}

// Rows whose target is missing, infinite, no number or refused by the loss, and a row of too few fields.
TEST_F(TrainTool, LeavesOutBadRowsAndCountsThem) {
  Words lines = data_lines(120);
  const auto set_target = [&](std::size_t row, const std::string& value) {
    Words fields;
    std::istringstream line(lines[row]);
    for (std::string field; std::getline(line, field, ',');) fields.push_back(field);
    fields[4] = value;
    lines[row] = fields[0];
    for (std::size_t i = 1; i < fields.size(); ++i) lines[row] += "," + fields[i];
  };
  set_target(7, "");
  set_target(9, "inf");
  const std::string two = write("two.csv", joined(lines));
  const auto command = [&](const std::string& file, const Words& more = {}) {
    return Words{"train", file, "--target", "y", "--save", model_} + quick + more;
  };
  const Words skip{"--bad-rows", "skip"};
  expect_refusal(command(two), 1,
                 "row 7: the target 'y' is missing or not a number; --bad-rows skip leaves out such rows (2 of 120)");
  const Outcome skipped = run_tool(command(two, skip));
  EXPECT_EQ(skipped.exit_code, 0) << skipped.err;
  EXPECT_EQ(
      skipped.err,
      "ignd: warning: 2 of 120 rows are left out; the first is row 7: the target 'y' is missing or not a number\n");
  EXPECT_TRUE(contains(skipped.out, "120 rows: 94 to train on, 12 to validate, 12 to test")) << skipped.out;

  set_target(20, "many");
  lines[30] = "1,2";
  const std::string four = write("four.csv", joined(lines));
  expect_refusal(command(four), 1, "line 31: has 2 fields instead of 8; --bad-rows skip ignores such rows");
  const Outcome rest = run_tool(command(four, skip + Words{"--json"}));
  EXPECT_EQ(rest.exit_code, 0) << rest.err;
  EXPECT_EQ(events(rest.out).front()["left_out"], 4);
  EXPECT_EQ(events(rest.out).front()["task"], "regression");
  EXPECT_EQ(events(rest.out).back()["left_out"], 4);
  const std::vector<json> numbers = events(run_tool(command(four, skip + Words{"--json", "--loss", "squared"})).out);
  EXPECT_EQ(numbers.front()["left_out"], 4);

  const std::string counts = write("counts.csv", "x,n\n1,3\n2,-1\n3,4\n4,0\n5,2\n6,7\n7,1\n8,2\n9,5\n1,1\n2,2\n3,6\n");
  const Words poisson{"train", counts, "--target", "n", "--loss", "poisson", "--save", model_, "--epochs", "1"};
  expect_refusal(poisson, 1, "such rows (1 of 12)");
  EXPECT_EQ(events(run_tool(poisson + skip + Words{"--json"}).out).front()["left_out"], 1);
  const std::string weights = write("weights.csv", "x,w,y\n1,1,2\n2,-1,3\n3,,4\n4,1,5\n5,1,6\n6,1,7\n7,2,8.5\n");
  const Words weighted{"train", weights, "--target", "y", "--weight", "w", "--save", model_, "--epochs", "1"};
  expect_refusal(weighted, 1, "row 2: the weight 'w' is -1, but must be between 0 and 1000000");
  EXPECT_EQ(events(run_tool(weighted + skip + Words{"--json"}).out).front()["left_out"], 2);
  expect_refusal({"train", write("none.csv", "x,y\n1,\n2,NA\n"), "--target", "y", "--bad-rows", "skip"}, 1,
                 "no row can be used; row 1: the target 'y' is missing");
}

TEST_F(TrainTool, SplitsByClassAndSaysWhatCannotBeMeasured) {
  std::string rows = "x,when,kind\n";
  for (int i = 0; i < 100; ++i)
    rows += fmt::format("{},{},{}\n", 0.1 * i, i, i == 60 ? "rare" : i % 2 == 0 ? "a" : "b");
  const std::string file = write("kinds.csv", rows);
  for (const char* seed : {"1", "2", "3", "4", "5", "6", "7", "8"}) {
    const Words command = Words{"train", file, "--target", "kind", "--save", model_, "--seed", seed} + quick;
    const Outcome outcome = run_tool(command + Words{"--json"});
    EXPECT_EQ(outcome.exit_code, 0) << seed << outcome.err;
    const json data = events(outcome.out).front();
    EXPECT_EQ(data["unmeasured"]["validation"], json({"rare"}));
    EXPECT_EQ(data["unmeasured"]["test"], json({"rare"}));
    EXPECT_TRUE(contains(outcome.err, "no test row has the class 'rare': nothing can be measured of it there"))
        << outcome.err;
  }
  std::string later = "x,when,kind\n";
  for (int i = 0; i < 100; ++i) later += fmt::format("{},{},{}\n", 0.1 * i, i, i > 95 ? "new" : i % 2 == 0 ? "a" : "b");
  expect_refusal({"train", write("later.csv", later), "--target", "kind", "--split-time", "when"}, 1,
                 "row 97: the target 'kind' is 'new', which no training row has; leave out such rows, split in another "
                 "way, or ask for a smaller --validation and --test");
}

// An early version saved fewer options, and some under other names: its models can be used, but not resumed.
TEST_F(TrainTool, RefusesToResumeARunOfAnEarlyVersion) {
  const Words command = train("label");
  ASSERT_EQ(run_tool(command).exit_code, 0);
  const std::string summary = run_tool({"inspect", model_}).out;
  Checkpoint old = testing::without_entries(Checkpoint::read(model_), "run.option.");
  const double rate = 0.001;
  old.set("run.rate", std::span<const double>(&rate, 1));
  old.set("run.option.batch", std::string());
  old.set("run.option.split", std::string("by class"));
  old.write(model_);
  expect_refusal(command + Words{"--resume", model_, "--quiet"}, 1,
                 "the saved run was begun by an early version of ignd 0.2, and this is a later version; begin again");
  EXPECT_EQ(run_tool({"inspect", model_}).out, summary);
  old.set("run.option.batch", std::string("16 exact lambda 1"));
  old.write(model_);
  EXPECT_TRUE(contains(run_tool({"inspect", model_}).out, ", batch 16 exact lambda 1, "));
  EXPECT_EQ(run_tool({"predict", model_, data_}).exit_code, 0);
}

TEST_F(TrainTool, NamesABadCellAndPredictsTheOtherRows) {
  const std::string numbers = write("numbers.csv", "id,a,b,y\nx1,1,2,3\nx2,2,3,5\n\"x,3\",3,1,4\nx4,4,,9\nx5,5,2,1\n");
  const Words command{"train", numbers, "--target", "y", "--save", model_, "--epochs", "1", "--validation", "0"};
  ASSERT_EQ(run_tool(command + Words{"--test", "0", "--lr", "0.1"}).exit_code, 0);
  const std::string bad = write("bad.csv", "id,a,b,y\nx1,1,2,3\n\nx2,2,oops,5\n\"x,3\",3,1,x\nx4,4\nx5,5,2,inf\n");
  expect_refusal({"predict", model_, bad}, 1,
                 "bad.csv', line 4 (row 2): column 'b' is 'oops', not a number; --bad-rows skip ignores such rows");
  const Words skip{"--bad-rows", "skip"};
  const Outcome predicted = run_tool(Words{"predict", model_, bad, "--keep", "id,y"} + skip);
  EXPECT_EQ(predicted.exit_code, 0) << predicted.err;
  EXPECT_EQ(predicted.err,
            "ignd: 2 of 5 rows have no prediction; the first is line 4: column 'b' is 'oops', not a number\n");
  std::istringstream out(predicted.out);
  Words lines;
  for (std::string line; std::getline(out, line);) lines.push_back(line);
  ASSERT_EQ(lines.size(), 6U);
  EXPECT_EQ(lines[0], "row,id,y,prediction");
  EXPECT_TRUE(lines[1].starts_with("1,x1,3,") && lines[1].size() > 8) << lines[1];
  EXPECT_EQ(lines[2], "2,x2,5,");
  EXPECT_TRUE(lines[3].starts_with("3,\"x,3\",x,") && lines[3].size() > 12) << lines[3];
  EXPECT_EQ(lines[4], "4,,,");
  EXPECT_TRUE(lines[5].starts_with("5,x5,inf,")) << lines[5];
  // The predictions themselves are those of a file without the bad rows.
  const std::string good = write("good.csv", "id,a,b,y\nx1,1,2,3\n\"x,3\",3,1,4\nx5,5,2,1\n");
  const std::string alone = run_tool({"predict", model_, good}).out;
  EXPECT_TRUE(contains(alone, "\n2," + lines[3].substr(10) + "\n")) << alone;

  expect_refusal({"evaluate", model_, bad}, 1, "line 4 (row 2): column 'b' is 'oops', not a number");
  const Outcome measured = run_tool(Words{"evaluate", model_, bad, "--json"} + skip);
  EXPECT_EQ(measured.exit_code, 0) << measured.err;
  EXPECT_EQ(events(measured.out).front()["rows"], 1);
  EXPECT_EQ(events(measured.out).front()["left_out"], 4);
  expect_refusal({"predict", model_, numbers, "--keep", "ids"}, 2, "there is no column 'ids', did you mean 'id'?");

  ASSERT_EQ(run_tool({"train", "--stream", numbers, "--target", "y", "--save", model_}).exit_code, 0);
  EXPECT_TRUE(contains(run_tool({"predict", model_, bad}).err, "line 6: has 2 fields instead of 4"));
  const Outcome streamed = run_tool(Words{"predict", model_, bad, "--keep", "y,id"} + skip);
  EXPECT_EQ(streamed.err, "ignd: 1 of 5 rows has no prediction; line 6: has 2 fields instead of 4\n");
  EXPECT_TRUE(streamed.out.starts_with("row,y,id,prediction\n1,3,x1,")) << streamed.out;
  EXPECT_TRUE(contains(streamed.out, "\n3,x,\"x,3\",") && contains(streamed.out, "\n4,,,\n5,inf,x5,")) << streamed.out;
  EXPECT_EQ(events(run_tool(Words{"evaluate", model_, bad, "--json"} + skip).out).front()["left_out"], 3);
}

// Nine digits of 1e12 would be multiples of 10,000: the same for every row.
TEST_F(TrainTool, PrintsPredictionsThatReadBackEqual) {
  std::string rows = "x,y,bit\n";
  for (int i = 0; i < 200; ++i)
    rows += fmt::format("{},{},{}\n", i, 1'000'000'000'000 + std::int64_t{10} * i, i > 120 ? 1 : 0);
  const std::string file = write("large.csv", rows);
  const auto fields_of = [&](const std::string& out) {
    std::vector<Words> fields;
    std::istringstream lines(out);
    for (std::string line; std::getline(lines, line);) {
      fields.emplace_back();
      std::istringstream row(line);
      for (std::string field; std::getline(row, field, ',');) fields.back().push_back(field);
    }
    return fields;
  };
  const Words linear{"--model", "linear", "--optimizer", "ignd", "--lr", "0.1", "--epochs", "20"};
  ASSERT_EQ(run_tool(Words{"train", file, "--target", "y", "--save", model_} + linear).exit_code, 0);
  const auto numbers = fields_of(run_tool({"predict", model_, file}).out);
  ASSERT_EQ(numbers.size(), 201U);
  for (std::size_t i = 1; i < numbers.size(); ++i) {
    const double predicted = std::stod(numbers[i][1]);
    EXPECT_EQ(fmt::format("{}", predicted), numbers[i][1]);
    // A tenth of the targets' range; the least squares fit is exact.
    EXPECT_NEAR(predicted, 1e12 + 10.0 * static_cast<double>(i - 1), 200);
  }
  ASSERT_EQ(run_tool(Words{"train", file, "--target", "bit", "--save", model_} + linear).exit_code, 0);
  const auto classes = fields_of(run_tool({"predict", model_, file}).out);
  ASSERT_EQ(run_tool({"train", "--stream", file, "--target", "y", "--save", model_}).exit_code, 0);
  const auto streamed = fields_of(run_tool({"predict", model_, file}).out);
  for (const auto* table : {&classes, &streamed}) {
    ASSERT_EQ(table->size(), 201U);
    std::size_t most = 0;
    for (std::size_t i = 1; i < table->size(); ++i) {
      const std::string& text = (*table)[i].back();
      EXPECT_EQ(fmt::format("{}", std::stod(text)), text);
      most = std::max(most, text.size());
    }
    EXPECT_GT(most, 11U) << "more digits than nine";
  }
}

TEST_F(TrainTool, PredictsWhatItHasNotSeen) {
  Words lines{"a,b,city,y"};
  for (int i = 0; i < 60; ++i)
    lines.push_back(fmt::format("{},{},{},{}", i, i % 7, i % 2 == 0 ? "Ulm" : "Kiel", i * i));
  data_ = write("narrow.csv", joined(lines));
  run_tool(train("y"));
  // Columns in another order, no target, a new city, values that are missing, numbers far away.
  const std::string other = write("other.csv", "city,b,a\nParis,0,1\n,,\nUlm,1e30,inf\n");
  const Outcome outcome = run_tool({"predict", model_, other});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 4);
  EXPECT_FALSE(contains(outcome.out, "nan") || contains(outcome.out, "inf")) << outcome.out;
  EXPECT_TRUE(contains(outcome.err, "1 values were texts that training did not have")) << outcome.err;

  expect_refusal({"predict", model_, write("narrow.csv", "city,b\nUlm,1\n")}, 1, "the column 'a' is missing");
  expect_refusal({"predict", model_, write("texts.csv", "city,a,b\nUlm,1,x\n")}, 1, "column 'b' is 'x', not a number");
  expect_refusal({"evaluate", model_, other}, 1, "there is no column 'y'");
}

TEST_F(TrainTool, QuotesClassesInPredictions) {
  Words lines{"x,y"};
  for (int i = 0; i < 60; ++i) lines.push_back(fmt::format("{},{}", i, i % 2 == 0 ? "\"a,\"\"b\"" : "c"));
  data_ = write("quoted.csv", joined(lines));
  EXPECT_EQ(run_tool(train("y")).exit_code, 0);
  const Outcome outcome = run_tool({"predict", model_, data_});
  EXPECT_TRUE(contains(outcome.out, ",\"a,\"\"b\",") || contains(outcome.out, ",c,")) << outcome.out;
}

TEST_F(TrainTool, IsQuietWhenNobodyReadsOn) {
  run_tool(train("y"));
  const std::string large = write("large.csv", joined(data_lines(20'000)));
  const Outcome outcome = run_shell("\"$ignd\" predict '" + model_ + "' '" + large + "' | head -1");
  EXPECT_EQ(outcome.out, "row,prediction\n");
  EXPECT_EQ(outcome.err, "");
}

TEST_F(TrainTool, FailsWhereItsOutputCannotBeWritten) {
  if (!fs::exists("/dev/full")) return;  // nothing to fail on
  const std::string command =
      "\"$ignd\" train '" + data_ + "' --target y --epochs 200 --lr 0.01 --model linear --save '" + model_ + "'";
  for (const char* format : {"", " --json"}) {
    const Outcome outcome = run_shell(command + format + " > /dev/full");
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_EQ(outcome.err, "ignd: cannot write to the standard output\n");
    EXPECT_EQ(run_tool({"inspect", model_}).exit_code, 0) << "the model is lost";
    fs::remove(model_);
  }
  run_tool(train("y"));
  const std::string large = write("large.csv", joined(data_lines(20'000)));
  for (const std::string& file : {data_, large}) {
    const Outcome outcome = run_shell("\"$ignd\" predict '" + model_ + "' '" + file + "' > /dev/full");
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_EQ(outcome.err, "ignd: cannot write to the standard output\n");
  }
}

// With nothing but the target.
TEST_F(TrainTool, LearnsByAnEnsembleUnlessToldOtherwise) {
  for (const std::string target : {"y", "label"}) {
    const Outcome outcome = run_tool({"train", data_, "--target", target, "--save", model_, "--json"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const auto lines = events(outcome.out);
    EXPECT_EQ(std::ranges::count_if(lines, [](const json& line) { return line["event"] == "member"; }), 16)
        << "eight networks and as many linear models";
    const json& result = lines.back();
    EXPECT_EQ(result["status"], "finished");
    const char* score = target == "y" ? "rmse" : "log_loss";
    EXPECT_LT(result["metrics"]["test"][score], result["baselines"]["best_constant"]["test"][score]);
    EXPECT_EQ(run_tool({"predict", model_, data_}).exit_code, 0);
    EXPECT_TRUE(contains(run_tool({"inspect", model_}).out, "ensemble:members=8,"));
    EXPECT_EQ(run_tool({"train", data_, "--target", target, "--save", path("fast.ignd"), "--fast"}).exit_code, 0);
    EXPECT_TRUE(contains(run_tool({"inspect", path("fast.ignd")}).out, "mlp:widths="));
    expect_refusal({"train", data_, "--target", target, "--resume", path("fast.ignd")}, 1,
                   "of 1 network, not of 8; add --ensemble 1 or --fast");
    expect_refusal({"train", data_, "--target", target, "--resume", model_}, 1, "the ensemble is complete");
  }
  expect_refusal({"train", data_, "--target", "y", "--fast", "--ensemble", "3"}, 2, "--fast");
  expect_refusal({"train", data_, "--target", "y", "--model", "linear", "--ensemble", "3"}, 2, "'linear'");
}

TEST_F(TrainTool, LosesNothingOnAFullDisk) {
  run_tool(train("y"));
  const std::string before = content_of(model_);
  // Files may have one block: neither the model nor its refuge can be written.
  const Outcome outcome = run_shell("ulimit -f 1; TMPDIR='" + path("") + "' \"$ignd\" train '" + data_ +
                                    "' --target label --lr 0.01 --epochs 1 --save '" + model_ + "'");
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  EXPECT_TRUE(contains(outcome.err, "File too large; the model is not saved")) << outcome.err;
  EXPECT_TRUE(contains(outcome.out, "log_loss")) << "the result is lost";
  EXPECT_FALSE(contains(outcome.out, "saved"));
  EXPECT_EQ(content_of(model_), before);
  EXPECT_EQ(folder_.files(), (Words{"data.csv", "model.ignd"})) << "something was left behind";
}

class Interrupted : public TrainTool {
 protected:
  // The pipe holds some thirty epochs: a run that has been read for less than ten cannot be over, not even the third
  // time.
  Words long_run(const std::string& save) const {
    return {"train",      data_, "--target", "y",    "--model", "mlp:8,8", "--epochs", "200",
            "--patience", "200", "--lr",     "0.01", "--json",  "--save",  save};
  }
};

TEST_F(Interrupted, EndsWithTheSameModel) {
  const std::string whole = path("whole.ignd");
  EXPECT_EQ(run_tool(long_run(whole)).exit_code, 0);
  RandomStream stream(21, "moments");
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
    Words command = long_run(model_);
    for (int interruption = 0; interruption < 3; ++interruption) {
      Process process(tool_with(command));
      process.read_lines(2 + stream.below(8));
      process.signal(signal);
      const Outcome outcome = process.finish();
      EXPECT_EQ(outcome.exit_code, 130);
      EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1);
      EXPECT_TRUE(contains(outcome.err, "interrupted after ") && contains(outcome.err, "--resume " + partial_));
      EXPECT_FALSE(std::filesystem::exists(model_)) << "something half-trained has the name of the model";
      EXPECT_EQ(events(run_tool({"inspect", partial_, "--json"}).out).back()["status"], "running");
      EXPECT_EQ(run_tool({"evaluate", partial_, data_}).exit_code, 0);
      command = long_run(model_) + Words{"--resume", partial_};
    }
    EXPECT_EQ(run_tool(command).exit_code, 0);
    EXPECT_EQ(content_of(model_), content_of(whole));
    EXPECT_EQ(folder_.files(), (Words{"data.csv", "model.ignd", "whole.ignd"}))
        << "the partial run is no longer needed";
    std::filesystem::remove(model_);
  }
}

TEST_F(Interrupted, NeverByAReaderThatStopsEarly) {
  const std::string whole = path("whole.ignd");
  EXPECT_EQ(run_tool(long_run(whole)).exit_code, 0);
  std::string command = "\"$ignd\"";
  for (const std::string& word : long_run(model_)) command += " '" + word + "'";
  const Outcome outcome = run_shell("{ " + command + "; echo $? >&2; } | head -2");
  EXPECT_EQ(outcome.err, "0\n");
  EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 2);
  EXPECT_EQ(content_of(model_), content_of(whole));
}

TEST_F(Interrupted, RunsDoNotTakeTheSameName) {
  Process first(tool_with(long_run(model_)));
  first.read_lines(3);
  for (const bool stream : {false, true}) {
    const Words command{"train", data_, "--target", "y", "--save", model_};
    const Outcome second = run_tool(stream ? command + Words{"--stream"} : command);
    EXPECT_EQ(second.exit_code, 1);
    EXPECT_EQ(second.out, "") << "it has begun to train";
    EXPECT_EQ(std::count(second.err.begin(), second.err.end(), '\n'), 1) << second.err;
    EXPECT_TRUE(contains(second.err, fmt::format("model.ignd': process {} on ", first.id()))) << second.err;
    EXPECT_TRUE(contains(second.err, " since 2") && contains(second.err, "--save")) << second.err;
  }
  const Words elsewhere{"train", data_, "--target", "y", "--lr", "0.01", "--epochs", "1", "--save", path("other.ignd")};
  EXPECT_EQ(run_tool(elsewhere).exit_code, 0) << "another name is free";
  const Outcome outcome = first.finish();
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(run_tool(train("y")).exit_code, 0) << "the name is free again";
  EXPECT_EQ(folder_.files(), (Words{"data.csv", "model.ignd", "other.ignd"}));
}

TEST_F(Interrupted, ADeadRunHoldsNoName) {
  {
    Process process(tool_with(long_run(model_)));
    process.read_lines(3);
    process.signal(SIGKILL);
    EXPECT_EQ(process.finish().exit_code, -SIGKILL);
  }
  EXPECT_EQ(run_tool(train("y")).exit_code, 0);
  EXPECT_EQ(folder_.files(), (Words{"data.csv", "model.ignd"}));
}

// What another user has put in the place of the lock is neither written to nor followed.
TEST_F(TrainTool, WritesToNoLockOfOthers) {
  write("precious", "precious");
  std::filesystem::create_hard_link(path("precious"), path(".model.ignd.lock"));
  EXPECT_EQ(run_tool(train("y")).exit_code, 0);
  EXPECT_EQ(content_of(path("precious")), "precious");
  std::filesystem::create_symlink(path("precious"), path(".model.ignd.lock"));
  expect_refusal(train("y"), 1, "cannot lock");
  EXPECT_EQ(content_of(path("precious")), "precious");
}

TEST_F(Interrupted, GoesOnWithTheSameOptionsAndDataOnly) {
  {
    Process process(tool_with(long_run(model_)));
    process.read_lines(3);
    process.signal(SIGTERM);
    EXPECT_EQ(process.finish().exit_code, 130);
  }
  const std::string before = content_of(partial_);
  const auto refuse = [&](const Words& more, const std::string& part) {
    const Outcome outcome = run_tool(Words{"train", data_, "--target", "y", "--model", "mlp:8,8", "--epochs", "200",
                                           "--patience", "200", "--quiet", "--resume", partial_} +
                                     more);
    EXPECT_EQ(outcome.exit_code, 1) << part;
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    EXPECT_TRUE(contains(outcome.err, part)) << outcome.err;
    EXPECT_EQ(content_of(partial_), before);
  };
  refuse({"--seed", "2"}, "its seed is '1', not '2'");
  refuse({"--lr", "0.02"}, "its lr is '0.01', not '0.02'");
  refuse({"--optimizer", "ignd"}, "its rule is");
  refuse({"--l2", "0.1", "--rule", "gradient"}, "its l2 is");
  refuse({"--last"}, "its last is 'false', not 'true'");
  refuse({"--schedule", "constant"}, "its schedule is");
  refuse({"--weight", "w"}, "its weight is '', not 'w'");
  Words lines = data_lines();
  lines[7][0] = lines[7][0] == '1' ? '2' : '1';
  write("data.csv", joined(lines));
  refuse({}, "other data");
}

TEST_F(TrainTool, SaysThatNothingIsLeftToLearn) {
  const json first = result(train("y"));
  const std::string before = content_of(model_);
  const Outcome again = run_tool(train("y", {"--resume", model_, "--json"}));
  EXPECT_EQ(again.exit_code, 0);
  EXPECT_TRUE(contains(again.err, "nothing is left to learn")) << again.err;
  EXPECT_EQ(events(again.out).back()["metrics"], first["metrics"]);
  EXPECT_EQ(content_of(model_), before);
}

TEST_F(TrainTool, ReplacesAnOlderModelOfTheSameData) {
  const std::string command =
      "cd '" + path("") + "'; \"$ignd\" train data.csv --lr 0.01 --epochs 1 --model linear --quiet ";
  EXPECT_TRUE(contains(run_shell(command + "--target y").out, "\nsaved data.ignd\n"));
  const std::string first = content_of(path("data.ignd"));
  EXPECT_TRUE(contains(run_shell(command + "--target y --seed 2").out, "\nreplaced data.ignd\n"));
  EXPECT_NE(content_of(path("data.ignd")), first);
  const json result = events(run_shell(command + "--target y --json").out).back();
  EXPECT_EQ(result["saved"], "data.ignd");
  EXPECT_EQ(result["replaced"], true);
  EXPECT_EQ(content_of(path("data.ignd")), first);
  EXPECT_EQ(folder_.files(), (Words{"data.csv", "data.ignd"}));

  const auto refuse = [&](const std::string& more, const std::string& part) {
    const std::string before = content_of(path("data.ignd"));
    const Outcome outcome = run_shell(command + more);
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    EXPECT_TRUE(contains(outcome.err, part) && contains(outcome.err, "--save")) << outcome.err;
    EXPECT_EQ(content_of(path("data.ignd")), before);
  };
  refuse("--target label", "it is a model of other data (its target is 'y', not 'label')");
  refuse("--target y --weight w", "it is a model of other data (its columns are others)");
  EXPECT_TRUE(contains(run_shell(command + "--target label --save data.ignd").out, "\nreplaced data.ignd\n"));
  write("data.ignd", "a letter");
  refuse("--target y", "a file is there that is not an ignd model");
  refuse("--target y --save data.ignd", "a file is there that is not an ignd model");
  write("data.ignd", first.substr(0, first.size() - 1));
  refuse("--target y", "is truncated");
  write("data.ignd", "");
  EXPECT_TRUE(contains(run_shell(command + "--target y").out, "\nsaved data.ignd\n")) << "an empty file is nothing";
}

// Names of columns, classes and files may hold what a terminal would obey.
TEST_F(TrainTool, NothingThatATerminalObeysIsPrinted) {
  const std::string evil = "\x1b]0;owned\x07\x1b[2J";
  Words lines{"a" + evil + ",b,y" + evil};
  for (int i = 0; i < 60; ++i) {
    const bool first = i % 2 == 0;
    lines.push_back(
        fmt::format("{},{},{}", first ? i : -i, i % 7 == 0 ? "x" + evil : "z", first ? "=yes" + evil : "no"));
  }
  const std::string data = write(("data" + evil + ".csv").c_str(), joined(lines));
  const std::string model = path(("model" + evil + ".ignd").c_str());
  const Words command{"train", data, "--target", "y" + evil, "--lr", "0.01", "--epochs", "2", "--save", model};
  std::vector<Words> commands{command, command, command + Words{"--json"}, command + Words{"--stream"}};
  commands.push_back({"train", data, "--target", "none" + evil, "--save", model});
  commands.push_back({"evaluate", model, data});
  commands.push_back({"inspect", model});
  commands.push_back({"predict", path(("none" + evil).c_str()), data});
  for (const Words& words : commands) {
    const Outcome outcome = run_tool(words);
    for (const std::string& text : {outcome.out, outcome.err}) {
      EXPECT_EQ(text.find_first_of("\x1b\x07\r"), std::string::npos) << ::testing::PrintToString(words) << text;
    }
    EXPECT_NE(outcome.out + outcome.err, "");
  }
  run_tool(command);
  const Outcome predicted = run_tool({"predict", model, data});
  EXPECT_TRUE(contains(predicted.out, ",'=yes" + evil)) << "a pipe gets every byte, but no formula";
}

TEST_F(TrainTool, RefusesModelsWithNumbersThatAreNotFinite) {
  run_tool(train("y"));
  const Checkpoint good = Checkpoint::read(model_);
  const auto refuse = [&](const std::string& name, auto values, const std::string& part) {
    for (const double bad : {std::nan(""), std::numeric_limits<double>::infinity()}) {
      values[0] = static_cast<typename decltype(values)::value_type>(bad);
      Checkpoint broken = good;
      broken.set(name, std::span(std::as_const(values)));
      broken.write(path("broken.ignd"));
      for (const Words& words : {Words{"predict", path("broken.ignd"), data_}, Words{"inspect", path("broken.ignd")},
                                 Words{"train", data_, "--target", "y", "--resume", path("broken.ignd")}}) {
        // A resumed run has its scales from the data.
        if (words[0] == "train" && name != "trained.weights" && name != "target.scale") continue;
        const Outcome outcome =
            run_tool(words[0] == "train" ? words + Words{"--model", "mlp:8,8", "--epochs", "3"} : words);
        EXPECT_EQ(outcome.exit_code, 1) << name;
        EXPECT_TRUE(contains(outcome.err, part)) << name << ": " << outcome.err;
      }
    }
  };
  const auto numbers = [&](const std::string& name) { return std::get<std::vector<double>>(good.entries().at(name)); };
  refuse("trained.weights", std::get<std::vector<float>>(good.entries().at("trained.weights")),
         "weights are not all finite");
  refuse("target.scale", numbers("target.scale"), "scale is not finite");
  refuse("column.0.scale", numbers("column.0.scale"), "cannot be used");
  for (const char* rate : {"nan", "inf", "-1", "fast"}) {
    Checkpoint broken = good;
    broken.set("run.option.lr", std::string(rate));
    broken.write(path("broken.ignd"));
    expect_refusal({"train", data_, "--target", "y", "--model", "mlp:8,8", "--epochs", "3", "--quiet", "--resume",
                    path("broken.ignd")},
                   1, "the learning rate is ");
  }
}

TEST_F(TrainTool, PeriodicSavesHaveANameOfTheirOwn) {
  write("model.partial.ignd", "a letter");
  expect_refusal(train("y", {"--save-every", "1"}), 1,
                 "model.partial.ignd': a file is there that is not an ignd model");
  std::filesystem::remove(partial_);
  EXPECT_EQ(run_tool(train("y", {"--save-every", "1"})).exit_code, 0);
  EXPECT_EQ(folder_.files(), (Words{"data.csv", "model.ignd"}));
}

TEST_F(TrainTool, SaysThatTrainingDiverged) {
  run_tool(train("y"));
  const std::string precious = content_of(model_);
  expect_refusal({"train", data_, "--target", "y", "--optimizer", "sgd", "--lr", "1e9", "--save", model_, "--quiet"}, 1,
                 "diverged in its first epoch");
  EXPECT_EQ(content_of(model_), precious);
}

TEST_F(TrainTool, TakesItsOptions) {
  for (const Words& options : std::vector<Words>{{"--rule", "gauss-newton", "--transform", "momentum:beta=0.8"},
                                                 {"--rule", "polyak"},
                                                 {"--transform", "adamw"},
                                                 {"--optimizer", "adam-ignd"},
                                                 {"--schedule", "robbins-monro:horizon=500"},
                                                 {"--schedule", "cosine:warmup=100"},
                                                 {"--loss", "huber:delta=2"},
                                                 {"--loss", "pinball:tau=0.9"},
                                                 {"--rule", "gradient", "--l2", "0.001"},
                                                 {"--weight", "w"},
                                                 {"--split-by", "group"},
                                                 {"--split-time", "group"},
                                                 {"--validation", "0"},
                                                 {"--test", "0"},
                                                 {"--validation", "0", "--test", "0"},
                                                 {"--last"},
                                                 {"--header", "yes", "--delimiter", ","},
                                                 {"--format", "csv"},
                                                 {"--patience", "1"}}) {
    const Outcome outcome = run_tool(train("y", options));
    EXPECT_EQ(outcome.exit_code, 0) << ::testing::PrintToString(options) << outcome.err;
    EXPECT_EQ(outcome.err, "");
  }
}

TEST_F(TrainTool, RefusesBadOptionsBeforeItReadsAnything) {
  data_ = path("no-such-file.csv");
  const auto refuse = [&](const Words& options, const std::string& part) {
    expect_refusal(Words{"train", data_, "--target", "y"} + options, 2, part);
  };
  refuse({"--lr", "fast"}, "the learning rate is 'fast'");
  refuse({"--lr", "nan"}, "the learning rate is 'nan'");
  refuse({"--lr=-0.1"}, "rate");
  refuse({"--lr", "inf"}, "rate");
  refuse({"--lr", ""}, "");
  refuse({"--schedule", "linear"}, "there is no schedule 'linear'");
  refuse({"--schedule", "cosin"}, "did you mean 'cosine'");
  refuse({"--schedule", "cosine:final=x"}, "final");
  refuse({"--schedule", "constant:rate=1"}, "rate of its own");
  refuse({"--model", "gru"}, "there is no model 'gru'");
  refuse({"--model", "lstm"}, "an lstm reads texts");
  refuse({"--model", "mlp:3,x"}, "a width of 'mlp:3,x'");
  refuse({"--loss", "quadratic"}, "there is no loss 'quadratic'");
  refuse({"--loss", "huber:delta=-1"}, "delta");
  refuse({"--optimizer", "adm"}, "did you mean 'adam'");
  refuse({"--rule", "newton"}, "there is no");
  refuse({"--transform", "adam:beta3=1"}, "beta3");
  refuse({"--optimizer", "adam", "--rule", "gradient"}, "give an optimizer, or a rule and a transform, not both");
  refuse({"--delimiter", ";;"}, "the delimiter is ';;'");
  refuse({"--delimiter", "\""}, "the delimiter");
  refuse({"--header", "maybe"}, "--header");
  refuse({"--format", "xml"}, "--format");
  refuse({"--class-weight", "equal"}, "--class-weight");
  refuse({"--epochs", "-1"}, "--epochs");
  refuse({"--epochs", "many"}, "--epochs");
  refuse({"--epochs", "1e30"}, "--epochs");
  refuse({"--patience", "0"}, "--patience");
  refuse({"--save-every", "0"}, "--save-every");
  refuse({"--seed", "-1"}, "--seed");
  refuse({"--seed", "x"}, "--seed");
  refuse({"--l2", "-1"}, "l2");
  refuse({"--l2", "nan"}, "l2");
  refuse({"--validation", "1.5"}, "--validation");
  refuse({"--validation", "nan"}, "--validation");
  refuse({"--frobnicate"}, "--frobnicate");
  expect_refusal({"train", data_}, 2, "--target");
  expect_refusal({"train"}, 2, "");
  expect_refusal({"predict"}, 2, "");
  expect_refusal({"evaluate", "model"}, 2, "");
  expect_refusal(Words{"train", data_, "--target", "y", "--save", path("no/such/folder/m.ignd")}, 1,
                 "there is no folder");
  expect_refusal(Words{"train", data_, "--target", "y", "--save", path("")}, 1, "it is a folder");
  expect_refusal(Words{"train", data_, "--target", "y", "--save", "/dev/null"}, 1, "it is not a regular file");
}

TEST_F(TrainTool, RefusesOptionsThatTheDataDoNotFit) {
  expect_refusal(train("price", {"--quiet"}), 2, "there is no column 'price'; there are a, b, city");
  expect_refusal(train("lable", {"--quiet"}), 2, "there is no column 'lable', did you mean 'label'?");
  expect_refusal(train("y", {"--weight", "ww"}), 2, "did you mean 'w'");
  expect_refusal(train("y", {"--weight", "city"}), 2, "holds texts");
  expect_refusal(train("y", {"--split-by", "grp"}), 2, "no column 'grp'");
  expect_refusal(train("y", {"--split-time", "city"}), 2, "holds texts");
  expect_refusal(train("y", {"--split-by", "group", "--split-time", "a"}), 2, "not by both");
  expect_refusal(train("y", {"--class-weight", "balanced"}), 2, "a target of classes");
  expect_refusal(train("y", {"--loss", "logistic"}), 2, "two values");
  expect_refusal(train("y", {"--validation", "0.6", "--test", "0.5"}), 2, "");
  expect_refusal(train("label", {"--loss", "squared"}), 1, "which is not a number; the loss squared needs them");
  expect_refusal(train("city", {"--loss", "logistic"}), 2, "two values");
  expect_refusal(train("y", {"--batch", "0", "--lambda", "1"}), 2,
                 "can only be given with --batch of at least one sample");
  expect_refusal(train("y", {"--batch", "x"}), 2, "");
  expect_refusal(train("y", {"--batch", "100000"}), 2, "a batch of 100000 samples, but there are");
  expect_refusal(train("y", {"--batch-mode", "exact"}), 2, "can only be given with --batch");
  expect_refusal(train("y", {"--batch", "8", "--batch-mode", "both"}), 2, "");
  expect_refusal(train("y", {"--batch", "8", "--lambda", "1"}), 2, "can only be given with --batch-mode exact");
  expect_refusal(train("y", {"--batch", "8", "--batch-mode", "exact", "--lambda", "-1"}), 2,
                 "--lambda is -1, but must be between 0 and ");
  expect_refusal(train("y", {"--batch", "8", "--batch-mode", "exact", "--lambda", "nan"}), 2,
                 "--lambda is 'nan', which is not a number");
  expect_refusal(train("y", {"--batch", "8", "--batch-mode", "exact", "--optimizer", "sgd"}), 2,
                 "exact steps need the rule gauss-newton");
  expect_refusal(train("y", {"--batch", "8", "--batch-mode", "exact", "--l2", "0.1"}), 2,
                 "l2 cannot be combined with exact steps");
  expect_refusal(train("y", {"--batch", "300", "--batch-mode", "exact", "--memory", "1"}), 2,
                 "exact steps of 300 samples with 1 output take 2.17 MB, more than the 1 MB allowed");
  expect_refusal(train("y", {"--loss", "softmax"}), 1, "holds 400 different numbers in 400 rows, each its own");
  expect_refusal(train("label", {"--loss", "softmax"}), 2, "'label' has two: give the logistic loss");
  expect_refusal(train("y", {"--split-by", "same"}), 2, "groups");
  EXPECT_FALSE(fs::exists(model_));
}

TEST_F(TrainTool, RefusesBadFiles) {
  std::string too_long;
  too_long.resize(10'000'000, '1');
  const auto refuse = [&](const std::string& file, const std::string& part) {
    data_ = file;
    expect_refusal(train("y"), 1, part);
    EXPECT_FALSE(fs::exists(model_));
  };
  refuse(path("nowhere.csv"), "nowhere.csv'");
  refuse(path(""), path(""));
  refuse(write("bad.csv", ""), "is empty");
  refuse(write("bad.csv", "x,y\n"), "no rows");
  refuse(write("bad.csv", "x,y\n1,2\n3\n4,5\n"), "bad.csv', line 3: has 1 field instead of 2");
  refuse(write("bad.csv", "x,y\n1,2\n3,4,5\n4,5\n"), "line 3");
  refuse(write("bad.csv", "x,x,y\n1,2,3\n"), "two columns have the name 'x'");
  refuse(write("bad.csv", "x,y\n1,2\n3,\n4,5\n5,6\n"), "bad.csv', row 2: the target 'y' is missing");
  refuse(write("bad.csv", "x,y\n1,2\n3,4\n4,NaN\n"), "row 3: the target 'y' is missing");
  refuse(write("bad.csv", "x,y\n1,2\n3,inf\n4,5\n"), "row 2: the target 'y' is infinite");
  refuse(write("bad.csv", "x,y\n1,2\n3,4\n5,6\n7,many\n"), "row 4: the target 'y' is 'many', which is not a number");
  refuse(write("bad.csv", "x,y\n1,2\n3,2\n5,2\n7,2\n"), "is '2' in every row");
  refuse(write("bad.csv", "x,y\n1,a\n3,a\n5,a\n7,a\n"), "is 'a' in every row");
  refuse(write("bad.csv", "x,y\n" + too_long + ",2\n"), "line 2: the row is longer than 4 MiB");
  refuse(write("bad.csv", too_long), "line 1: the row is longer than 4 MiB");
  refuse(write("bad.csv", "\x1f\x8b\x08 this is no gzip"), "bad.csv'");
  run_shell("gzip -c '" + (path("data.csv")) + "' > '" + (path("good.csv.gz")) + "'");
  const std::string packed = content_of(path("good.csv.gz"));
  refuse(write("short.csv.gz", packed.substr(0, packed.size() / 2)), "short.csv.gz'");
  std::string flipped = packed;
  flipped[packed.size() / 2] = static_cast<char>(~flipped[packed.size() / 2]);
  refuse(write("flipped.csv.gz", flipped), "flipped.csv.gz'");
  data_ = path("good.csv.gz");
  EXPECT_EQ(run_tool(train("y")).exit_code, 0);
}

TEST_F(TrainTool, RefusesTooFewRows) {
  data_ = write("few.csv", "x,y\n1,2\n2,3\n");
  expect_refusal(train("y"), 2, "rows");
  data_ = write("single.csv", "y\n1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n");
  expect_refusal(train("y", {"--header", "yes"}), 2, "no column besides the target");
}

TEST_F(TrainTool, RefusesBrokenModels) {
  run_tool(train("y"));
  const std::string whole = content_of(model_);
  const auto refuse = [&](const std::string& content, const std::string& part) {
    const std::string broken = write("broken.ignd", content);
    expect_refusal({"predict", broken, data_}, 1, part);
    expect_refusal({"evaluate", broken, data_}, 1, part);
    expect_refusal({"inspect", broken}, 1, part);
    expect_refusal(train("y", {"--resume", broken}), 1, part);
  };
  refuse("", "broken.ignd'");
  refuse("x", "is not an ignd checkpoint");
  refuse(whole.substr(0, 10), "truncated");
  refuse(whole.substr(0, whole.size() / 2), "truncated");
  refuse(whole.substr(0, whole.size() - 1), "truncated");
  refuse(whole + "x", "damaged");
  std::string other_version = whole;
  other_version[8] = 2;
  refuse(other_version, "has format version 2, but this program reads version 1");
  RandomStream stream(4, "flips");
  for (int i = 0; i < 10; ++i) {
    std::string flipped = whole;
    char& byte = flipped[24 + stream.below(whole.size() - 24)];
    byte = static_cast<char>(static_cast<unsigned char>(byte) ^ (1U << stream.below(8)));
    refuse(flipped, "damaged");
  }
  Checkpoint strange;
  strange.set("steps", std::uint64_t{7});
  strange.write(path("strange.ignd"));
  refuse(content_of(path("strange.ignd")), "broken.ignd'");
  expect_refusal({"inspect", path("nowhere.ignd")}, 1, "nowhere.ignd'");
  expect_refusal({"inspect", path("")}, 1, "regular file");
}

TEST_F(TrainTool, NoticesThatModelAndDataAreSwapped) {
  run_tool(train("y"));
  const std::string before = content_of(data_);
  expect_refusal({"predict", data_, model_}, 1, "is a model, not data");
  expect_refusal({"evaluate", data_, model_}, 1, "is a model, not data");
  expect_refusal({"predict", model_, model_}, 1, "is a model, not data");
  expect_refusal({"train", model_, "--target", "y"}, 1, "is a model, not data");
  expect_refusal({"train", data_, "--target", "y", "--save", data_}, 1, "that is the data");
  expect_refusal({"predict", model_, data_, "-o", data_}, 1, "that is the data");
  expect_refusal({"train", data_, "--target", "y", "--resume", data_}, 1, "");
  EXPECT_EQ(content_of(data_), before);
}

TEST_F(TrainTool, RefusesOtherTargetsThanTheModelKnows) {
  run_tool(train("label"));
  Words lines = data_lines(5);
  const std::size_t at = lines[3].find("yes") != std::string::npos ? lines[3].find("yes") : lines[3].find("no");
  lines[3].insert(at, "per");
  expect_refusal({"evaluate", model_, write("other.csv", joined(lines))}, 1,
                 "row 3: the target 'label' is the text 'per");
}

TEST_F(TrainTool, LogsItsStepsAndLearnsTheSame) {
  const std::string log = path("steps.csv");
  EXPECT_EQ(run_tool(train("y")).exit_code, 0);
  const std::string without = content_of(model_);
  EXPECT_EQ(run_tool(train("y", {"--log-steps", log})).exit_code, 0);
  EXPECT_EQ(content_of(model_), without) << "bit by bit";
  std::istringstream lines(content_of(log));
  std::string line;
  std::getline(lines, line);
  EXPECT_TRUE(line.starts_with("steps,xi_5,xi_25,xi_50,xi_75,xi_95,s_5,"));
  std::size_t rows = 0;
  for (; std::getline(lines, line); ++rows) EXPECT_EQ(std::ranges::count(line, ','), 20);
  EXPECT_EQ(rows, 192U) << "3 epochs of 320 rows, 5 steps in an interval";
  EXPECT_TRUE(line.empty() || line.starts_with("960,"));
}

TEST_F(TrainTool, LogsNoStepsItCannotSee) {
  const std::string log = path("steps.csv");
  const auto fault_of = [&](const Words& more) {
    const Outcome outcome = run_tool(train("y", Words{"--log-steps", log} + more));
    EXPECT_NE(outcome.exit_code, 0);
    EXPECT_FALSE(fs::exists(log));
    return outcome.err;
  };
  EXPECT_TRUE(contains(fault_of({"--batch", "4"}), "--log-steps cannot be given with --batch"));
  EXPECT_TRUE(contains(fault_of({"--resume", model_}), "--log-steps cannot be given with --resume"));
  const Outcome stream = run_tool({"train", "--stream", data_, "--target", "y", "--log-steps", log});
  EXPECT_NE(stream.exit_code, 0);
  EXPECT_TRUE(contains(stream.err, "--log-steps cannot be given with --stream"));
  const auto refused = [&](const std::string& path) { return run_tool(train("y", {"--log-steps", path})).err; };
  EXPECT_TRUE(contains(refused(data_), "that is the data"));
  EXPECT_TRUE(contains(refused(model_), "that is the model"));
  EXPECT_TRUE(contains(refused(path("nowhere/steps.csv")), "there is no folder"));
}

}  // namespace
}  // namespace ignd
