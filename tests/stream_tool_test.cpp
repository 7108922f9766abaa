#include "ignd/checkpoint.hpp"
#include "ignd/random.hpp"
#include "make_archive.hpp"
#include "scratch_folder.hpp"
#include "tool_support.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <limits>
#include <span>
#include <sstream>
#include <string>
#include <variant>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>

namespace ignd {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::contains;
using testing::content_of;
using testing::events;
using testing::expect_one_line;
using testing::operator+;
using testing::Outcome;
using testing::Process;
using testing::run_shell;
using testing::run_tool;
using testing::ScratchFolder;
using testing::tool_with;
using testing::Words;

constexpr int rows = 1200;

struct Row {
  double a, b, y;
  std::string city, label;
};

std::vector<Row> made_rows() {
  RandomStream stream(11, "stream tool");
  std::vector<Row> made;
  for (int i = 0; i < rows; ++i) {
    const double a = stream.normal();
    const double b = stream.normal();
    const std::string city = i % 3 == 0 ? "Ulm" : i % 3 == 1 ? "Bonn" : "";
    const double y = 50 + 10 * a - 5 * b + (i % 3 == 0 ? 4 : 0) + 0.1 * stream.normal();
    made.push_back({a, b, y, city, a + 0.3 * stream.normal() > 0 ? "yes" : "no"});
  }
  return made;
}

Words csv_lines() {
  Words lines{"a,b,city,y,label,w"};
  int i = 0;
  for (const Row& row : made_rows()) {
    lines.push_back(fmt::format("{},{},{},{},{},{}", row.a, row.b, row.city, row.y, row.label, 1 + i++ % 3));
  }
  return lines;
}

Words svmlight_lines() {
  Words lines;
  for (const Row& row : made_rows()) {
    lines.push_back(fmt::format("{} 1:{} 2:{}", row.label == "yes" ? "+1" : "-1", row.a, row.b));
  }
  return lines;
}

Words vw_lines() {
  Words lines;
  for (const Row& row : made_rows())
    lines.push_back(fmt::format("{} |n a:{} b:{} |c {}", row.y, row.a, row.b, row.city));
  return lines;
}

std::string joined(const Words& lines, std::size_t from = 0, std::size_t to = std::string::npos) {
  std::string text;
  for (std::size_t i = from; i < std::min(to, lines.size()); ++i) text += lines[i] + "\n";
  return text;
}

std::ptrdiff_t count_lines(const std::string& text) { return std::count(text.begin(), text.end(), '\n'); }

class StreamTool : public ::testing::Test {
 public:
  Words stream(const std::string& file, const Words& more = {}) const {
    return Words{"train", "--stream", file, "--save", model, "--bits", "10"} + more;
  }
  json learn(const Words& arguments) const {
    const Outcome outcome = run_tool(arguments + Words{"--json"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    return outcome.out.empty() ? json() : events(outcome.out).back();
  }
  json inspected() const { return inspected(model); }
  static json inspected(const std::string& file) { return events(run_tool({"inspect", file, "--json"}).out).back(); }
  json evaluated(const std::string& file) const {
    const Outcome outcome = run_tool({"evaluate", model, file, "--json"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return outcome.out.empty() ? json() : events(outcome.out).back();
  }

  std::string path(const char* name) const { return (folder / name).string(); }
  std::string write(const char* name, const std::string& content) const {
    std::ofstream(path(name), std::ios::binary) << content;
    return path(name);
  }

  ScratchFolder folder;
  std::string model = path("model.ignd");
  std::string csv = write("data.csv", joined(csv_lines()));
  std::string svmlight = write("data.svm", joined(svmlight_lines()));
  std::string vw = write("data.vw", joined(vw_lines()));
};

TEST_F(StreamTool, RecognisesFormatsFromTheBeginningAndRemembersThem) {
  RandomStream random(5, "stream formats");
  std::string text = "day;cost;y\n";
  for (int i = 0; i < 2000; ++i) {
    const double cost = std::round(1000 * random.uniform()) / 10;
    text += fmt::format("{:02}.{:02}.2020;{:.0f},{:.0f} \xe2\x82\xac;{}\n", 1 + i % 28, 1 + i % 12, std::floor(cost),
                        10 * (cost - std::floor(cost)), i % 12 < 6 ? 1 : 0);
  }
  const Words command = stream(write("formats.csv", text), {"--target", "y"});
  const Outcome outcome = run_tool(command);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  for (const std::string& out : {outcome.out, run_tool({"inspect", model}).out}) {
    EXPECT_TRUE(contains(out, "  cost                 number with currency \xe2\x82\xac, decimal comma\n")) << out;
    EXPECT_TRUE(contains(out, "  day                  date, day first\n")) << out;
  }
  const auto lines = events(run_tool(command + Words{"--json"}).out);
  EXPECT_EQ(lines.front()["recognised"]["columns"], (json{"cost", "day"}));
  // The half of the year, which the sine and the cosine of the month show.
  EXPECT_GT(lines.back()["metrics"]["progressive"]["accuracy"], 0.9);
  EXPECT_EQ(inspected()["recognised"]["formats"].size(), 2U);
  // Its own cells do not tell whether these are March and November, or December and January.
  const std::string other = write("other.csv", "cost;day;y\n7;12.03.2020;1\n7;01.11.2020;0\n");
  const Outcome evaluated = run_tool({"evaluate", model, other, "--json"});
  EXPECT_EQ(events(evaluated.out).back()["metrics"]["test"]["accuracy"], 1) << evaluated.out << evaluated.err;
}

TEST_F(StreamTool, SaysHowItGoesAtDoublingIntervals) {
  const Outcome outcome = run_tool(stream(csv, {"--target", "y", "--json"}));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto lines = events(outcome.out);
  ASSERT_EQ(lines.size(), 12U);
  double total = 0;
  for (std::size_t i = 0; i < 11; ++i) {
    const std::uint64_t examples = std::uint64_t{1} << i;
    EXPECT_EQ(lines[i]["event"], "progress");
    EXPECT_EQ(lines[i]["examples"], examples);
    const double since = lines[i]["loss_since_last"];
    total += since * static_cast<double>(i == 0 ? 1 : examples / 2);
    const double average = lines[i]["average_loss"];
    EXPECT_NEAR(average, total / static_cast<double>(examples), 1e-9 * average);
  }
  const json& last = lines.back();
  EXPECT_EQ(last["event"], "result");
  EXPECT_EQ(last["examples"], rows);
  EXPECT_EQ(last["skipped"], 0);
  EXPECT_EQ(last["loss"], "squared");
  EXPECT_EQ(last["saved"], model);
  EXPECT_EQ(last["replaced"], false);
  EXPECT_TRUE(contains(last["decision"], "squared loss, because"));
  EXPECT_LT(last["metrics"]["progressive"]["mse"], 20);

  const Outcome text = run_tool(stream(csv, {"--target", "y"}));
  EXPECT_EQ(text.err, "");
  for (const char* part : {"squared loss, because", "since last", "1,024", "1,200 examples", "replaced "}) {
    EXPECT_TRUE(contains(text.out, part)) << part << " is not in " << text.out;
  }
  EXPECT_EQ(count_lines(run_tool(stream(csv, {"--target", "y", "--quiet"})).out), 2);
}

TEST_F(StreamTool, UsesModelsOfAllFormats) {
  learn(stream(csv, {"--target", "y"}));
  EXPECT_GT(evaluated(csv)["metrics"]["test"]["r2"], 0.99);
  EXPECT_EQ(evaluated(csv)["rows"], rows);
  EXPECT_TRUE(run_tool({"predict", model, csv}).out.starts_with("row,prediction\n1,"));
  json about = inspected();
  EXPECT_EQ(about["kind"], "stream model");
  EXPECT_EQ(about["bits"], 10);
  EXPECT_EQ(about["loss"], "squared");
  EXPECT_EQ(about["examples"], rows);
  EXPECT_EQ(about["target"], "y");
  EXPECT_GT(about["weights_not_zero"], 3);
  EXPECT_GT(about["average_loss"], 0);

  learn(stream(vw));
  EXPECT_GT(evaluated(vw)["metrics"]["test"]["r2"], 0.99);
  EXPECT_EQ(count_lines(run_tool({"predict", model, vw}).out), rows + 1);

  const json trained = learn(stream(svmlight));
  EXPECT_GT(trained["metrics"]["progressive"]["accuracy"], 0.8);
  const json found = evaluated(svmlight);
  for (const char* measure : {"accuracy", "log_loss", "auc"})
    EXPECT_TRUE(found["metrics"]["test"][measure].is_number());
  EXPECT_GT(found["metrics"]["test"]["auc"], 0.9);
  const std::string predicted = run_tool({"predict", model, svmlight}).out;
  EXPECT_TRUE(predicted.starts_with("row,prediction,probability\n"));
  EXPECT_TRUE(contains(predicted, ",-1,0.") && contains(predicted, ",1,0.")) << predicted.substr(0, 200);
  const Outcome shown = run_tool({"inspect", model});
  for (const char* part : {"stream model: 10 bits", "weights are not zero", "logistic loss, because the first",
                           "1,200 examples, average progressive loss", "class -1 or 1; probabilities are of 1"}) {
    EXPECT_TRUE(contains(shown.out, part)) << part << " is not in " << shown.out;
  }
}

// What predict says of a row is what evaluate measures: recomputed here.
TEST_F(StreamTool, EvaluatesWhatItPredicts) {
  learn(stream(csv, {"--target", "y"}));
  std::istringstream lines(run_tool({"predict", model, csv}).out);
  std::string line;
  std::getline(lines, line);
  double squares = 0;
  for (const Row& row : made_rows()) {
    ASSERT_TRUE(std::getline(lines, line));
    const double error = std::stod(line.substr(line.find(',') + 1)) - row.y;
    squares += error * error;
  }
  const double rmse = evaluated(csv)["metrics"]["test"]["rmse"];
  EXPECT_NEAR(rmse, std::sqrt(squares / rows), 1e-5 * rmse);
}

TEST_F(StreamTool, CallsClassesByTheirNames) {
  const json trained = learn(stream(csv, {"--target", "label", "--weight", "w"}));
  EXPECT_TRUE(contains(trained["decision"], "'no' and 'yes'")) << trained;
  const Outcome whole = run_tool({"predict", model, csv});
  std::istringstream predictions(whole.out);
  std::string line;
  std::getline(predictions, line);
  while (std::getline(predictions, line)) {
    const double probability = std::stod(line.substr(line.rfind(',') + 1));
    EXPECT_TRUE(contains(line, probability > 0.5 ? ",yes," : ",no,")) << line;
  }
  EXPECT_GT(evaluated(csv)["metrics"]["test"]["auc"], 0.9);
  EXPECT_EQ(run_tool({"evaluate", model, csv, "--weight", "w"}).exit_code, 0);
  EXPECT_TRUE(contains(run_tool({"inspect", model}).out, "target label: class no or yes; probabilities are of yes"));

  // Neither target nor weight, and the columns in another order.
  Words lines{"y,city,b,a"};
  for (const Row& row : made_rows()) lines.push_back(fmt::format("{},{},{},{}", row.y, row.city, row.b, row.a));
  EXPECT_EQ(run_tool({"predict", model, write("bare.csv", joined(lines))}).out, whole.out);
  const std::string file = path("predicted.csv");
  EXPECT_EQ(run_tool({"predict", model, csv, "-o", file}).out, "");
  EXPECT_EQ(content_of(file), whole.out);
}

// A row that cannot be read leaves the file of an earlier run as it was, however far the predictions had come.
TEST_F(StreamTool, WritesPredictionsWholeOrNotAtAll) {
  const std::string table = path("table.ignd"), file = path("out/predicted.csv");
  EXPECT_EQ(run_tool({"train", csv, "--target", "y", "--lr", "0.01", "--epochs", "1", "--model", "linear", "--save",
                      table, "--quiet"})
                .exit_code,
            0);
  learn(stream(csv, {"--target", "y"}));
  fs::create_directory(path("out"));
  Words lines = csv_lines();
  const Words once(lines.begin() + 1, lines.end());
  for (int i = 0; i < 8; ++i) lines.insert(lines.end(), once.begin(), once.end());
  const std::string good = write("long.csv", joined(lines));
  lines.back() = "1,2";
  const std::string bad = write("torn.csv", joined(lines));
  const auto only_file = [&] { return std::distance(fs::directory_iterator(path("out")), fs::directory_iterator()); };
  for (const std::string& used : {model, table}) {
    fs::remove(file);
    EXPECT_EQ(run_tool({"predict", used, bad, "-o", file}).exit_code, 1);
    EXPECT_EQ(only_file(), 0);
    write("out/predicted.csv", "before\n");
    expect_one_line(run_tool({"predict", used, bad, "-o", file}), 1, "has 2 fields instead of 6");
    EXPECT_EQ(content_of(file), "before\n");
    const Outcome full = run_shell("ulimit -f 16; \"$ignd\" predict '" + used + "' '" + good + "' -o '" + file + "'");
    expect_one_line(full, 1, "predicted.csv': File too large");
    EXPECT_EQ(content_of(file), "before\n");
    EXPECT_EQ(run_tool({"predict", used, good, "-o", file}).exit_code, 0);
    EXPECT_EQ(count_lines(content_of(file)), std::ssize(lines));
    EXPECT_EQ(content_of(file), run_tool({"predict", used, good}).out);
    EXPECT_EQ(only_file(), 1);
  }
}

// What is left out is reported in the same words, whatever the model learned from.
TEST_F(StreamTool, ReportsBadRowsAsTablesDo) {
  const std::string table = path("table.ignd");
  EXPECT_EQ(run_tool({"train", csv, "--target", "y", "--lr", "0.01", "--epochs", "1", "--model", "linear", "--save",
                      table, "--quiet"})
                .exit_code,
            0);
  learn(stream(csv, {"--target", "y"}));
  const std::string head = "a,b,city,y,label,w\n1,2,Ulm,3,yes,1\n";
  const std::string one = write("one.csv", head + "1,2\n3,4,Bonn,5,no,1\n");
  const std::string two = write("two.csv", head + "1,2\n3,4,Bonn,5,no,1\n1\n5,6,Bonn,7,no,1\n");
  for (const std::string& used : {model, table}) {
    const auto skip = [&](const char* command, const std::string& data) {
      const Outcome outcome = run_tool({command, used, data, "--bad-rows", "skip"});
      EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
      return outcome;
    };
    EXPECT_EQ(skip("predict", one).err, "ignd: 1 of 3 rows has no prediction; line 3: has 2 fields instead of 6\n");
    EXPECT_EQ(skip("predict", two).err,
              "ignd: 2 of 5 rows have no prediction; the first is line 3: has 2 fields instead of 6\n");
    EXPECT_TRUE(contains(skip("predict", one).out, "\n2,\n3,"));
    const std::string left_out = skip("evaluate", two).err;
    EXPECT_TRUE(left_out.starts_with("ignd: 2 of 5 rows are left out; the first is ")) << left_out;
    EXPECT_TRUE(contains(left_out, "line 3: has 2 fields instead of 6")) << left_out;
    const Outcome found = run_tool({"evaluate", used, two, "--bad-rows", "skip", "--json"});
    EXPECT_EQ(events(found.out).back()["left_out"], 2);
    EXPECT_EQ(events(found.out).back()["rows"], 3);
  }
  expect_one_line(run_tool({"evaluate", model, write("all.csv", "a,b,city,y,label,w\n1\n"), "--bad-rows", "skip"}), 1,
                  "no labels to compare with; the first bad row is line 2: has 1 field instead of 6");
}

TEST_F(StreamTool, RefusesDataThatDoNotFitTheModel) {
  learn(stream(csv, {"--target", "label"}));
  const auto refuse = [&](const Words& command, int code, const std::string& part) {
    const Outcome outcome = run_tool(command);
    EXPECT_EQ(outcome.out, "");
    expect_one_line(outcome, code, part);
  };
  refuse({"predict", model, write("few.csv", "b,city,y,w\n1,Ulm,2,1\n")}, 1,
         "does not fit the model: there is no column 'a'");
  refuse({"predict", model, svmlight}, 1, "there is no column");
  refuse({"predict", model, svmlight, "--format", "svmlight"}, 2, "learned from the format csv");
  refuse({"evaluate", model, write("bare.csv", "a,b,city,y,w\n1,2,Ulm,3,1\n")}, 1, "there is no column 'label'");
  refuse({"evaluate", model, write("third.csv", "a,b,city,y,label,w\n1,2,Ulm,3,yes,1\n1,2,Ulm,3,perhaps,1\n")}, 1,
         "line 3: the label is");
  refuse({"predict", model, write("empty.csv", "")}, 1, "is empty");
  refuse({"predict", model, path("nowhere.csv")}, 1, "nowhere.csv'");
  refuse({"predict", model, model}, 1, "is a model, not data");
  refuse({"predict", model, csv, "-o", csv}, 1, "that is the data");
  learn(stream(svmlight));
  refuse({"predict", model, csv}, 1, "line 1: ");
  refuse({"evaluate", model, svmlight, "--weight", "w"}, 2, "--weight");
  refuse({"evaluate", model, svmlight, "--header", "yes"}, 2, "--header");
}

TEST_F(StreamTool, KeepsModelsOfTablesAndStreamsApart) {
  learn(stream(csv, {"--target", "y"}));
  const std::string before = content_of(model);
  expect_one_line(run_tool({"train", csv, "--target", "y", "--resume", model}), 1, "no training run on a table");
  EXPECT_EQ(content_of(model), before);
  const std::string table = path("table.ignd");
  EXPECT_EQ(
      run_tool({"train", csv, "--target", "y", "--lr", "0.01", "--epochs", "1", "--model", "linear", "--save", table})
          .exit_code,
      0);
  const std::string table_before = content_of(table);
  expect_one_line(run_tool({"train", "--stream", csv, "--target", "y", "--resume", table}), 1,
                  "table.ignd' cannot be used");
  EXPECT_EQ(content_of(table), table_before);
  expect_one_line(run_tool({"predict", table, vw, "--format", "vw"}), 2, "vw");
}

TEST_F(StreamTool, GivesTheSameWithAnyNumberOfThreads) {
  for (const Words& what : std::vector<Words>{{csv, "--target", "y"}, {csv, "--target", "label"}, {svmlight}, {vw}}) {
    const std::string predictions = path("predictions.csv");
    const Words command =
        stream(what[0], Words(what.begin() + 1, what.end()) + Words{"--predictions", predictions, "--threads"});
    EXPECT_EQ(run_tool(command + Words{"1"}).exit_code, 0);
    const std::string one = content_of(model);
    const std::string predicted = content_of(predictions);
    EXPECT_EQ(count_lines(predicted), rows + 1);
    EXPECT_EQ(run_tool(command + Words{"2"}).exit_code, 0);
    EXPECT_EQ(content_of(model), one);
    EXPECT_EQ(content_of(predictions), predicted);
  }
}

TEST_F(StreamTool, ReadsWhatItIsToldToRead) {
  learn(stream(csv, {"--target", "y"}));
  const std::string from_file = content_of(model);
  const Outcome piped =
      run_shell("cat '" + csv + "' | \"$ignd\" train --stream --target y --bits 10 --save '" + model + "'");
  EXPECT_EQ(piped.exit_code, 0) << piped.err;
  EXPECT_EQ(content_of(model), from_file);
  std::string tabs = content_of(csv);
  std::ranges::replace(tabs, ',', '\t');
  learn(stream(write("data.tsv", tabs), {"--target", "y", "--format", "tsv"}));
  EXPECT_EQ(content_of(model), from_file);
  std::ranges::replace(tabs, '\t', '/');
  learn(stream(write("data.txt", tabs), {"--target", "y", "--delimiter", "/", "--header", "yes"}));
  EXPECT_EQ(content_of(model), from_file);
  EXPECT_EQ(evaluated(csv)["rows"], rows);
  const std::string no_header = joined(csv_lines(), 1);
  EXPECT_EQ(learn(stream(write("bare.csv", no_header), {"--target", "c4", "--header", "no"}))["examples"], rows);
}

TEST_F(StreamTool, PredictsExamplesWithoutALabel) {
  const std::string predictions = path("predictions.csv");
  const std::string some = write("some.vw", "1 |a b\n2 |a c\n3 |a b c\n|a b\n4 |a b\n");
  EXPECT_EQ(learn(stream(some, {"--predictions", predictions}))["examples"], 4);
  EXPECT_EQ(count_lines(content_of(predictions)), 6);
  EXPECT_EQ(evaluated(some)["rows"], 4);
  EXPECT_EQ(count_lines(run_tool({"predict", model, some}).out), 6);
}

TEST_F(StreamTool, GoesOnBitByBit) {
  const std::string predictions = path("predictions.csv");
  const auto check = [&](const Words& lines, std::size_t header, const Words& options, std::size_t half) {
    const Words more = options + Words{"--predictions", predictions};
    EXPECT_EQ(run_tool(stream(write("whole", joined(lines)), more)).exit_code, 0);
    const std::string whole = content_of(model);
    const std::string predicted = content_of(predictions);
    fs::remove(model);
    fs::remove(predictions);
    EXPECT_EQ(run_tool(stream(write("first", joined(lines, 0, half)), more)).exit_code, 0);
    EXPECT_NE(content_of(model), whole);
    const Outcome second =
        run_tool({"train", "--stream", write("second", joined(lines, 0, header) + joined(lines, half)), "--resume",
                  model, "--predictions", predictions});
    EXPECT_EQ(second.exit_code, 0) << second.err;
    EXPECT_EQ(content_of(model), whole);
    EXPECT_EQ(content_of(predictions), predicted);
  };
  check(csv_lines(), 1, {"--target", "y"}, 500);
  check(csv_lines(), 1, {"--target", "label", "--weight", "w"}, 300);
  check(csv_lines(), 1, {"--target", "y", "--loss", "huber", "--optimizer", "adam", "--lr", "0.01"}, 7);
  check(svmlight_lines(), 0, {}, 1100);
  check(vw_lines(), 0, {"--l2", "0.001"}, 600);
}

TEST_F(StreamTool, GoesOnWithTheSameOptionsOnly) {
  learn(stream(csv, {"--target", "y"}));
  const std::string before = content_of(model);
  const auto refuse = [&](const Words& more, int code, const std::string& part) {
    expect_one_line(run_tool(Words{"train", "--stream", csv, "--resume", model} + more), code, part);
    EXPECT_EQ(content_of(model), before);
  };
  refuse({"--bits", "11"}, 1, "its bits is '10', not '11'");
  refuse({"--loss", "huber"}, 1, "its loss is");
  refuse({"--optimizer", "sgd", "--lr", "0.1"}, 1, "its rule is");
  refuse({"--l2", "0.5"}, 1, "its l2 is");
  refuse({"--target", "b"}, 1, "its target is 'y', not 'b'");
  refuse({"--format", "svmlight"}, 2, "learned from the format csv");
  const std::string whole = before;
  const auto refuse_model = [&](const std::string& content, const std::string& part) {
    const std::string broken = write("broken.ignd", content);
    expect_one_line(run_tool({"train", "--stream", csv, "--target", "y", "--resume", broken}), 1, part);
    EXPECT_EQ(content_of(broken), content);
    for (const Words& use :
         std::vector<Words>{{"predict", broken, csv}, {"evaluate", broken, csv}, {"inspect", broken}}) {
      expect_one_line(run_tool(use), 1, part);
    }
  };
  refuse_model(whole.substr(0, whole.size() / 2), "truncated");
  Checkpoint strange = Checkpoint::read(model);
  std::vector<float> weights = std::get<std::vector<float>>(strange.entries().at("weights"));
  weights[weights.size() / 2] = std::numeric_limits<float>::quiet_NaN();
  strange.set("weights", std::span<const float>(weights));
  strange.write(path("strange.ignd"));
  refuse_model(content_of(path("strange.ignd")), "weights are not all finite");
  RandomStream random(5, "flips");
  for (int i = 0; i < 5; ++i) {
    std::string flipped = whole;
    char& byte = flipped[24 + random.below(whole.size() - 24)];
    byte = static_cast<char>(byte ^ (1 << random.below(8)));
    refuse_model(flipped, "damaged");
  }
}

TEST_F(StreamTool, StopsAtABadRowAndSavesWhatItHas) {
  const Words y{"--target", "y"};
  const auto stop = [&](const std::string& content, const Words& options, const std::string& part, int examples) {
    fs::remove(model);
    const Outcome outcome = run_tool(stream(write("bad", content), options));
    expect_one_line(outcome, 1, part);
    EXPECT_TRUE(
        contains(outcome.err, fmt::format("the model of the {} examples before it is saved in '{}'", examples, model)))
        << outcome.err;
    EXPECT_EQ(inspected()["examples"], examples);
    const std::string good = write("good", options == y ? "a\n1\n" : contains(content, "|") ? "|a b\n" : "1 1:1\n");
    EXPECT_EQ(run_tool({"predict", model, good}).exit_code, 0);
  };
  stop("a,y\n1,2\n2,3\n3\n4,5\n", y, "bad', line 4: has 1 field instead of 2", 2);
  stop("a,y\n1,2\n2,3\n3,4,5\n4,5\n", y, "line 4: has 3 fields instead of 2", 2);
  stop("a,y\n1,2\n2,3\n3,4\n4,nan\n", y, "line 5: the target 'y' is missing", 3);
  stop("a,y\n1,2\n2,3\n3,4\n4,-inf\n", y, "line 5: the target 'y' is '-inf', which is not a finite number", 3);
  stop("a,y\n1,2\n2,3\n3,4\n4,many\n", y, "line 5: the target 'y' is 'many', which is not a finite number", 3);
  stop("a,y\n1,u\n2,v\n3,u\n4,w\n", y, "line 5: the label is 'w', but the classes are 'u' and 'v'", 3);
  const std::string endless(10'000'000, 'x');  // NOLINT(bugprone-string-constructor): as long as that
  stop("a,y\n1,2\n2,3\n3,4\n" + endless + "\n4,5\n", y, "line 5: is longer than 4 MiB", 3);
  stop("1 1:2\n-1 1:3\nx 1:4\n", {}, "line 3: ", 2);
  stop("1 |a b\n-1 |a c\n1 |a b:x\n", {"--format", "vw"}, "line 3: ", 2);
}

TEST_F(StreamTool, SkipsBadRowsAndCountsThem) {
  const std::string bad = write("bad.csv", "a,y\n1,2\n2,3\n3\n4,inf\n5,6\n6,7\n");
  EXPECT_EQ(learn(stream(bad, {"--target", "y", "--bad-rows", "skip"}))["skipped"], 2);
  EXPECT_TRUE(contains(run_tool(stream(bad, {"--target", "y", "--bad-rows", "skip"})).out, "2 bad rows skipped"));
  const std::string third = write("third.csv", "a,y\n1,u\n2,v\n3,w\n4,u\n");
  EXPECT_EQ(learn(stream(third, {"--target", "y", "--bad-rows", "skip"}))["skipped"], 1);
  fs::remove(model);
  expect_one_line(run_tool(stream(write("all.csv", "a,y\n1\n2\n"), {"--target", "y", "--bad-rows", "skip"})), 1,
                  "has no examples; 2 bad rows skipped");
  EXPECT_FALSE(fs::exists(model));
}

TEST_F(StreamTool, SavesWhatCameBeforeAFaultInGzip) {
  run_shell("gzip -c '" + csv + "' > '" + path("data.csv.gz") + "'");
  const std::string packed = content_of(path("data.csv.gz"));
  EXPECT_EQ(learn(stream(path("data.csv.gz"), {"--target", "y"}))["examples"], rows);
  std::string flipped = packed;
  flipped[packed.size() - 5] ^= 4;  // in the checksum, behind all rows
  expect_one_line(run_tool(stream(write("flipped.gz", flipped), {"--target", "y"})), 1, "flipped.gz' is broken gzip");
  EXPECT_EQ(inspected()["examples"], rows);
  expect_one_line(run_tool(stream(write("short.gz", packed.substr(0, packed.size() / 2)), {"--target", "y"})), 1,
                  "is truncated gzip");
  EXPECT_GT(inspected()["examples"], rows / 4);
}

TEST_F(StreamTool, SaysThatThereIsOneClassOnly) {
  for (const Words& what : std::vector<Words>{{"a,y\n1,u\n2,u\n", "--target", "y"}, {"1 1:2\n1 1:3\n"}}) {
    fs::remove(model);
    const Outcome outcome = run_tool(stream(write("one", what[0]), Words(what.begin() + 1, what.end())));
    expect_one_line(outcome, 1, "every label is");
    EXPECT_EQ(inspected()["examples"], 2);
    EXPECT_EQ(run_tool({"predict", model, path("one")}).exit_code, 0);
    // The second class may come later.
    const std::string other = what[0].starts_with("a,y") ? "a,y\n3,v\n" : "-1 1:3\n";
    EXPECT_EQ(run_tool({"train", "--stream", write("other", other), "--resume", model}).exit_code, 0);
  }
}

TEST_F(StreamTool, RefusesBadFiles) {
  const auto refuse = [&](const std::string& file, const Words& more, int code, const std::string& part) {
    const Outcome outcome = run_tool(stream(file, more));
    expect_one_line(outcome, code, part);
    EXPECT_FALSE(fs::exists(model));
  };
  const Words y{"--target", "y"};
  refuse(path("nowhere.csv"), y, 1, "cannot open");
  fs::create_directory(path("folder"));
  write("folder/a.txt", "a");
  refuse(path("folder"), y, 2, "--stream cannot be given for files in folders");
  refuse(write("bad", ""), y, 1, "bad' is empty");
  refuse(write("bad", ""), {}, 1, "bad' has no examples");
  refuse(write("bad", "a,y\n"), y, 1, "bad' has no examples");
  refuse(write("bad", "x,x,y\n1,2,3\n"), y, 1, "line 1: two columns have the name 'x'");
  const std::string endless(10'000'000, 'x');  // NOLINT(bugprone-string-constructor): as long as that
  refuse(write("bad", endless), y, 1, "line 1: is longer than 4 MiB");
  refuse(write("bad", "\x1f\x8b\x08 this is no gzip"), y, 1, "bad'");
  refuse(write("bad", "|a b\n|a c\n"), {}, 1, "no labels to learn from");
  refuse(csv, {}, 2, "name the column to predict with --target: 'a' (number), 'b' (number), 'city' (text), 'y'");
  refuse(csv, {"--target", "lable"}, 2, "there is no column 'lable', did you mean 'label'?");
  refuse(csv, {"--target", "price"}, 2, "there is no column 'price'; there are a, b, city");
  refuse(csv, {"--target", "y", "--weight", "ww"}, 2, "did you mean 'w'");
  refuse(csv, {"--target", "label", "--loss", "squared"}, 2, "the target holds texts; the loss squared needs numbers");
  refuse(svmlight, y, 2, "leave out --target");
  refuse(svmlight, {"--header", "yes"}, 2, "--header");
  expect_one_line(run_tool({"train", "--stream", csv, "--target", "y", "--save", csv}), 1, "that is the data");
  expect_one_line(run_tool(stream(csv, {"--target", "y", "--predictions", csv})), 1, "that is the data");
  expect_one_line(run_tool(stream(csv, {"--target", "y", "--predictions", path("no/such")})), 1, "cannot write");
  EXPECT_EQ(content_of(csv), joined(csv_lines()));
}

// Whatever is to be done with them.
TEST_F(StreamTool, RecognisesFilesThatAreNoTables) {
  learn(stream(csv, {"--target", "y"}));
  const std::string table = path("table.ignd");
  const Words short_run{"--lr", "0.01", "--epochs", "1", "--model", "linear", "--save", table};
  EXPECT_EQ(run_tool(Words{"train", csv, "--target", "y"} + short_run).exit_code, 0);
  fs::create_directory(path("folder"));
  write("folder/a.csv", joined(csv_lines()));
  write("folder/b.csv", joined(csv_lines()));
  testing::make_archive(path("tables.zip"), {{"a.csv", joined(csv_lines())}, {"b.csv", "a,y\n1,2\n"}});
  using namespace std::string_literals;
  const std::vector<std::pair<std::string, std::string>> others{
      {write("data.parquet", "PAR1\x15\x04\x15\x10"s), "data.parquet' is a Parquet file; convert it"},
      {write("data.jsonl", "{\"a\": 1, \"y\": 2}\n"), "data.jsonl' is a JSON-lines file; convert it"},
      {write("data.xlsx", "PK\3\4"s + std::string(26, '\0') + "[Content_Types].xml"), "an Excel workbook; save"},
      {write("data.db", "SQLite format 3\0 "s), "data.db' is an SQLite database; export a table"},
      {path("folder"), "folder' is a folder with the table 'a.csv' and 1 more; name one file"},
      {path("tables.zip"), "tables.zip' is an archive with the table 'a.csv' and 1 more; unpack it"},
  };
  for (const auto& [file, part] : others) {
    for (const Words& words :
         {Words{"train", file, "--target", "y"}, Words{"train", file}, stream(file), stream(file, {"--target", "y"}),
          Words{"compare", file, "--target", "y"}, Words{"compare", file}, Words{"predict", model, file},
          Words{"predict", table, file}, Words{"evaluate", model, file}, Words{"evaluate", table, file}}) {
      SCOPED_TRACE(::testing::PrintToString(words));
      expect_one_line(run_tool(words), 1, part);
    }
  }
  expect_one_line(run_shell("\"$ignd\" train --stream < " + path("data.parquet")), 1,
                  "the standard input is a Parquet");
  expect_one_line(run_shell("cat " + path("data.parquet") + " | \"$ignd\" train - --target y"), 1, "is a Parquet");
}

TEST_F(StreamTool, ListsTheColumnsWhereNoTargetIsNamed) {
  const std::string listed =
      "name the column to predict with --target: 'a' (number), 'b' (number), 'city' (text), 'y' (number), 'label' "
      "(text), 'w' (number)\n";
  for (const Words& words : {Words{"train", csv}, Words{"compare", csv}, Words{"train", csv, "--text", "city"},
                             stream(csv), stream(csv, {"--format", "csv"})}) {
    expect_one_line(run_tool(words), 2, listed);
  }
  expect_one_line(run_shell("\"$ignd\" train --stream < " + csv), 2, listed);
  std::string wide = "c\x1b[31m 0";
  for (int i = 1; i < 25; ++i) wide += fmt::format(",c{}", i);
  const Outcome outcome = run_tool({"train", write("wide.csv", wide + "\n" + std::string(24, ',') + "\n")});
  expect_one_line(outcome, 2, "'c\\x1b[31m 0' (number), 'c1' (number)");
  EXPECT_TRUE(contains(outcome.err, "'c19' (number), and 5 more")) << outcome.err;
  expect_one_line(run_tool({"train", svmlight}), 2, "with --target; in svmlight files it is called label");
  expect_one_line(run_tool({"train", path("nowhere.csv")}), 2, "name the column to predict with --target");
}

TEST_F(StreamTool, RefusesOptionsThatDoNotApply) {
  const std::string nowhere = path("nowhere.csv");
  const auto refuse = [&](const Words& options, const std::string& part) {
    const Outcome outcome = run_tool(Words{"train", "--stream", nowhere, "--target", "y"} + options);
    EXPECT_EQ(outcome.out, "");
    expect_one_line(outcome, 2, part);
  };
  for (const Words& option : std::vector<Words>{{"--epochs", "3"},
                                                {"--validation", "0.1"},
                                                {"--test", "0.1"},
                                                {"--split-by", "a"},
                                                {"--split-time", "a"},
                                                {"--last"},
                                                {"--patience", "3"},
                                                {"--seed", "1"},
                                                {"--class-weight", "balanced"},
                                                {"--model", "mlp:3"}}) {
    refuse(option, option[0]);
  }
  refuse({"--test", "0.1", "--epochs", "3"}, "--test, --epochs cannot be given with --stream");
  refuse({"--bits", "0"}, "--bits");
  refuse({"--bits", "32"}, "--bits");
  refuse({"--threads", "0"}, "--threads");
  refuse({"--bad-rows", "mend"}, "--bad-rows");
  refuse({"--lr", "fast"}, "the learning rate is 'fast'");
  refuse({"--lr", "nan"}, "the learning rate is 'nan'");
  refuse({"--schedule", "linear"}, "linear");
  refuse({"--loss", "quadratic"}, "there is no loss 'quadratic'");
  refuse({"--optimizer", "adm"}, "did you mean 'adam'");
  refuse({"--optimizer", "adam"}, "needs a schedule");
  refuse({"--l2", "-1"}, "l2");
  refuse({"--delimiter", ";;"}, "the delimiter is ';;'");
  refuse({"--format", "xml"}, "--format");
  for (const Words& option : std::vector<Words>{{"--bits", "9"}, {"--threads", "2"}}) {
    const Outcome outcome = run_tool(Words{"train", csv, "--target", "y"} + option);
    expect_one_line(outcome, 2, option[0] + " can only be given with --stream");
  }
  EXPECT_EQ(run_tool(stream(csv, {"--target", "y", "--model", "linear"})).exit_code, 0);
}

TEST_F(StreamTool, LosesNothingOnAFullDisk) {
  learn(stream(csv, {"--target", "y"}));
  const std::string before = content_of(model);
  const std::string command =
      "TMPDIR='" + path("") + "' \"$ignd\" train --stream '" + csv + "' --save '" + model + "' ";
  Outcome outcome = run_shell("ulimit -f 1; " + command + "--target label");
  expect_one_line(outcome, 1, "File too large; the model is not saved");
  EXPECT_TRUE(contains(outcome.out, "1,200 examples")) << "the result is lost";
  EXPECT_EQ(content_of(model), before);
  // Room for a small model, but not for the predictions.
  outcome = run_shell("ulimit -f 16; " + command + "--target label --bits 3 --predictions '" + path("p.csv") + "'");
  expect_one_line(outcome, 1, "p.csv': File too large; the model of the ");
  EXPECT_EQ(inspected()["bits"], 3);
}

TEST_F(StreamTool, IsQuietWhenNobodyReadsOn) {
  learn(stream(csv, {"--target", "y"}));
  const std::string whole = content_of(model);
  fs::remove(model);
  const Outcome outcome =
      run_shell("\"$ignd\" train --stream '" + csv + "' --target y --bits 10 --save '" + model + "' | head -1");
  EXPECT_EQ(outcome.err, "");
  EXPECT_EQ(count_lines(outcome.out), 1);
  EXPECT_EQ(content_of(model), whole);
  if (!fs::exists("/dev/full")) return;
  expect_one_line(run_shell("\"$ignd\" train --stream '" + csv + "' --target y --save '" + model + "' > /dev/full"), 1,
                  "cannot write to the standard output");
}

// As a word, not as a part of one.
bool has_no_number(const std::string& text) {
  for (const char* word : {"nan", "inf"}) {
    for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
      const auto is_letter = [&](std::size_t k) { return k < text.size() && std::isalpha(text[k]) != 0; };
      if (!(at > 0 && is_letter(at - 1)) && !is_letter(at + 3)) return true;
    }
  }
  return false;
}

// Targets, weights and features of any size: what cannot be learned is refused, what cannot be measured is not there.
TEST_F(StreamTool, PrintsNumbersWhateverItIsGiven) {
  const auto cells = [](const std::string& kind, int i) -> std::string {
    const double z = std::sin(static_cast<double>(i));
    if (kind == "turns") return i % 2 == 0 ? "3e300" : "-3e300";
    if (kind == "three") return i % 3 == 0 ? "3e300" : i % 3 == 1 ? "-3e300" : "1e300";
    if (kind == "one") return i == 20 ? "3e300" : fmt::format("{}", z);
    if (kind == "mixed") return i % 4 == 0 ? "1e-320" : i % 4 == 1 ? "1e300" : i % 4 == 2 ? "-3e300" : "5";
    if (kind == "half") return i < 20 ? "0" : "1";
    if (kind.starts_with("=")) return kind.substr(1);
    return fmt::format("{}{}", z, kind);
  };
  const Words targets{"",    "e300",  "e200", "e-300",  "e-310", "turns",  "three",
                      "one", "mixed", "=7",   "=3e300", "=0",    "=1e-300"};
  const Words features{"", "e300", "e37", "e-310", "e-40", "turns", "mixed", "=7", "=0", "="};
  const Words weights{"=1", "=0", "=1e-300", "=1000000", "half"};
  const std::string predictions = path("made.csv");
  const auto check = [&](const std::string& target, const std::string& feature, const std::string& weight,
                         const Words& options) {
    std::string text = "x,z,y,w\n";
    for (int i = 0; i < 40; ++i) {
      text += fmt::format("{},{},{},{}\n", cells(feature, i), std::cos(i), cells(target, i), cells(weight, i));
    }
    const std::string data = write("hostile.csv", text);
    const std::string all = fmt::format("{} {} {} {}", target, feature, weight, options.size());
    fs::remove(model);
    const Words both{"--target", "y", "--weight", "w", "--predictions", predictions};
    const Outcome outcome = run_tool(stream(data, both + options));
    EXPECT_FALSE(has_no_number(outcome.out)) << all << "\n" << outcome.out;
    EXPECT_FALSE(has_no_number(content_of(predictions))) << all;
    EXPECT_TRUE(outcome.exit_code == 0 || outcome.exit_code == 1) << all << outcome.exit_code << outcome.err;
    EXPECT_EQ(outcome.exit_code != 0, !outcome.err.empty()) << all << outcome.err;
    EXPECT_FALSE(weight == "=0" && fs::exists(model)) << all;
    if (!fs::exists(model)) return;
    for (const Words& use : {Words{"predict", model, data}, Words{"evaluate", model, data}, Words{"inspect", model}}) {
      const Outcome used = run_tool(use);
      EXPECT_FALSE(has_no_number(used.out)) << use[0] << " " << all << "\n" << used.out;
      EXPECT_EQ(used.exit_code != 0, !used.err.empty()) << use[0] << " " << all << used.err;
    }
  };
  for (const std::string& target : targets) {
    for (const std::string& weight : weights) check(target, "", weight, {});
    for (const char* loss : {"huber", "poisson"}) check(target, "", "=1", {"--loss", loss});
  }
  for (const char* target : {"", "e-300", "turns"}) {
    for (const std::string& feature : features) check(target, feature, "=1", {});
  }
}

TEST_F(StreamTool, RefusesWhatCannotBeLearnedAndSaysWhatCannotBeMeasured) {
  const auto rows_of = [](const std::string& target, const char* weight) {
    std::string text = "x,y,w\n";
    for (int i = 0; i < 20; ++i) {
      text += fmt::format("{},{}{},{}\n", std::cos(i), i == 3 ? "7" : std::to_string(i), target, weight);
    }
    return text;
  };
  const Words y{"--target", "y", "--weight", "w"};
  expect_one_line(run_tool(stream(write("bad", rows_of("", "0")), y)), 1,
                  "bad' weighs 0: there is nothing to learn from; nothing is saved");
  EXPECT_FALSE(fs::exists(model));
  expect_one_line(run_tool(stream(write("bad", rows_of("e300", "1")), y)), 1,
                  "bad', line 3: the label is 1e+300: it is too large");
  const Words skip{"--bad-rows", "skip", "--json", "--quiet"};
  const json skipped = events(run_tool(stream(path("bad"), y + skip)).out).back();
  EXPECT_EQ(skipped["examples"], 1) << "that is the 0";
  EXPECT_EQ(skipped["skipped"], 19);

  fs::remove(model);
  const std::string tiny = write("tiny", rows_of("e-300", "1"));
  const Outcome outcome = run_tool(stream(tiny, y));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_TRUE(contains(outcome.out, "20 examples, average loss n/a")) << outcome.out;
  EXPECT_TRUE(contains(run_tool({"inspect", model}).out, "20 examples, average progressive loss n/a"));
  EXPECT_TRUE(inspected()["average_loss"].is_null());
  const json measured = evaluated(tiny)["metrics"]["test"];
  EXPECT_TRUE(measured["rmse"].is_null()) << "its square is 0";
  EXPECT_LT(measured["mae"], 2e-299);
  EXPECT_GT(measured["mae"], 0);
}

// What a run wrote after its model was saved is made again by the run that goes on.
TEST_F(StreamTool, CutsPredictionsToTheModel) {
  const Words lines = csv_lines();
  const std::string predictions = path("predictions.csv");
  const Words y{"--target", "y", "--predictions", predictions};
  EXPECT_EQ(run_tool(stream(csv, y)).exit_code, 0);
  const std::string whole = content_of(model);
  const std::string predicted = content_of(predictions);
  fs::remove(model);
  const std::string first = write("first.csv", joined(lines, 0, 500));
  const std::string second = write("second.csv", joined(lines, 0, 1) + joined(lines, 500));
  EXPECT_EQ(run_tool(stream(first, y)).exit_code, 0);
  const std::string half = content_of(model);
  const std::string half_predicted = content_of(predictions);
  const auto go_on = [&](const std::string& file, const std::string& content) {
    write("model.ignd", half);
    std::ofstream(file, std::ios::binary) << content;
    return run_tool({"train", "--stream", second, "--resume", model, "--predictions", file, "--quiet"});
  };
  for (const std::string& more :
       {std::string(), predicted.substr(half_predicted.size()), std::string("500,1"), std::string(100'000, 'x')}) {
    const Outcome outcome = go_on(predictions, half_predicted + more);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(contains(outcome.err, "they are cut off, to be written again"), !more.empty()) << outcome.err;
    EXPECT_EQ(content_of(predictions), predicted);
    EXPECT_EQ(content_of(model), whole);
  }
  std::string another = half_predicted;
  another[another.size() - 3] = another[another.size() - 3] == '1' ? '2' : '1';
  const std::vector<std::pair<std::string, std::string>> others{
      {half_predicted.substr(0, half_predicted.size() - 1), "it has "},
      {"", "it has 0 bytes, but had "},
      {another, "it is not the file that they were written to"},
  };
  for (const auto& [content, part] : others) {
    expect_one_line(go_on(predictions, content), 1,
                    "cannot go on with the predictions in '" + predictions + "': " + part);
    EXPECT_EQ(content_of(predictions), content);
    EXPECT_EQ(content_of(model), half);
  }
  fs::remove(predictions);
  write("model.ignd", half);
  expect_one_line(run_tool({"train", "--stream", second, "--resume", model, "--predictions", predictions, "--quiet"}),
                  0, "predictions.csv' is new: it will hold the predictions from row 500 on");
  EXPECT_EQ(content_of(predictions), "row,prediction\n" + predicted.substr(half_predicted.size()));

  // The run before wrote none: what is in the file is somebody else's.
  EXPECT_EQ(run_tool(stream(first, {"--target", "y"})).exit_code, 0);
  expect_one_line(run_tool({"train", "--stream", second, "--resume", model, "--predictions", predictions}), 1,
                  "name another file");
}

// The writing end of a pipe that the tool reads from.
class SlowStream {
 public:
  explicit SlowStream(const std::string& path) : end_(::open(path.c_str(), O_WRONLY | O_CLOEXEC)) {}
  ~SlowStream() { ::close(end_); }
  SlowStream(const SlowStream&) = delete;
  SlowStream& operator=(const SlowStream&) = delete;
  SlowStream(SlowStream&&) = delete;
  SlowStream& operator=(SlowStream&&) = delete;

  void hold_one_page() const {
#ifdef F_SETPIPE_SZ
    ::fcntl(end_, F_SETPIPE_SZ, 4096);
#endif
  }
  void write(const std::string& text) const {
    ASSERT_EQ(::write(end_, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }

 private:
  int end_;
};

class StalledStream : public StreamTool {
 public:
  StalledStream() { ::mkfifo(pipe.c_str(), 0600); }
  std::string pipe = path("pipe");
};

TEST_F(StalledStream, IsInterruptedBeforeAnythingCame) {
  for (const char* threads : {"1", "2"}) {
    Process process(tool_with(stream(pipe, {"--threads", threads})));
    const SlowStream slow(pipe);  // waits until the tool reads
    process.signal(SIGINT);
    expect_one_line(process.finish(), 130, "interrupted before there was anything to save");
    EXPECT_FALSE(fs::exists(model));
  }
}

// Predictions of what has come so far do not wait for more.
TEST_F(StalledStream, IsPredictedAsItComes) {
  const Words lines = csv_lines();
  learn(stream(csv, {"--target", "y"}));
  const std::string whole = run_tool({"predict", model, csv}).out;
  Process process(tool_with({"predict", model, pipe}));
  {
    const SlowStream slow(pipe);
    slow.write(joined(lines, 0, 3));
    process.read_lines(3);  // waits for ever if they are kept back
    slow.write(joined(lines, 3, 4));
    process.read_lines(1);
    slow.write(joined(lines, 4));
  }
  EXPECT_EQ(process.finish().out, whole);
}

TEST_F(StalledStream, IsSavedWhenInterrupted) {
  const Words lines = csv_lines();
  run_tool(stream(csv, {"--target", "y"}));
  const std::string whole = content_of(model);
  for (const int signal : {SIGINT, SIGTERM}) {
    for (const char* threads : {"1", "2"}) {
      fs::remove(model);
      Process process(tool_with(stream(pipe, {"--target", "y", "--json", "--threads", threads})));
      const SlowStream slow(pipe);
      slow.write(joined(lines, 0, 1));  // not even a row of the table at first
      slow.write(joined(lines, 1, 65));
      process.read_lines(7);      // until 64 examples were learned
      slow.write("1.5,2.5,Ulm");  // a row that is cut in two
      process.signal(signal);
      const Outcome outcome = process.finish();
      expect_one_line(outcome, 130, "interrupted after line 65 of ");
      EXPECT_TRUE(contains(outcome.err, "--resume " + model)) << outcome.err;
      EXPECT_EQ(inspected()["examples"], 64);
      const std::string rest = write("rest.csv", joined(lines, 0, 1) + joined(lines, 65));
      EXPECT_EQ(run_tool({"train", "--stream", rest, "--resume", model}).exit_code, 0);
      EXPECT_EQ(content_of(model), whole);
    }
  }
}

// Killed without a chance to save, at points of the stream that the pipe decides, and gone on with: the same bytes.
TEST_F(StalledStream, LosesAndDoublesNothingWhenKilled) {
  const std::string predictions = path("predictions.csv");
  const std::string partial = path("model.partial.ignd");
  const auto check = [&](const Words& lines, std::size_t header, const Words& options) {
    const Words more = options + Words{"--predictions", predictions};
    fs::remove(model);
    EXPECT_EQ(run_tool(stream(write("whole", joined(lines)), more)).exit_code, 0);
    const std::string whole = content_of(model);
    const std::string predicted = content_of(predictions);
    for (const char* every : {"1", "5", "64"}) {
      fs::remove(model);
      fs::remove(partial);
      fs::remove(predictions);
      // The loss is chosen at the third label; before, nothing is printed to wait for.
      for (const std::uint64_t kill_at : {4U, 16U, 32U, 64U, 128U, 512U}) {
        // Before the first save there is nothing to go on with: the run starts again.
        const bool resumes = fs::exists(partial);
        const std::uint64_t done = resumes ? inspected(partial)["rows"].get<std::uint64_t>() : 0;
        EXPECT_EQ(done % std::stoul(every), 0U);
        Words words = resumes ? Words{"train", "--stream", pipe, "--resume", partial} : stream(pipe, options);
        Process process(tool_with(words + Words{"--predictions", predictions, "--save-every", every, "--json"}));
        const SlowStream slow(pipe);
        slow.write(joined(lines, 0, header) + joined(lines, header + done, header + kill_at));
        std::size_t reports = 0;  // of those at 1, 2, 4, ... examples that are still to come
        for (std::uint64_t at = 1; at <= kill_at; at *= 2) reports += at > done ? 1 : 0;
        process.read_lines(reports);
        slow.write(joined(lines, header + kill_at, header + kill_at + 3));  // which it may still learn from, or not
        process.signal(SIGKILL);
        EXPECT_EQ(process.finish().exit_code, -SIGKILL);
      }
      ASSERT_TRUE(fs::exists(partial));
      const std::uint64_t done = inspected(partial)["rows"];
      EXPECT_GE(done + std::stoul(every), 512U);
      EXPECT_GT(inspected(partial)["last_line"], 0);
      const std::string rest = write("rest", joined(lines, 0, header) + joined(lines, header + done));
      const Outcome outcome =
          run_tool({"train", "--stream", rest, "--resume", partial, "--predictions", predictions, "--quiet"});
      EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
      EXPECT_EQ(content_of(predictions), predicted);
      EXPECT_EQ(content_of(model), whole);
      EXPECT_FALSE(fs::exists(partial));
    }
  };
  check(csv_lines(), 1, {"--target", "y"});
  check(csv_lines(), 1, {"--target", "label", "--weight", "w"});
  check(vw_lines(), 0, {"--l2", "0.001"});
}

// Examples that are held back until the loss is chosen are saved as well.
TEST_F(StalledStream, KeepsWhatIsHeldBack) {
  const Words lines = svmlight_lines();
  const Words predictions{"--predictions", path("predictions.csv")};
  run_tool(stream(svmlight, predictions));
  const std::string whole = content_of(model);
  const std::string predicted = content_of(predictions[1]);
  fs::remove(model);
  Process process(tool_with(stream(pipe, predictions + Words{"--threads", "1"})));
  {
    const SlowStream slow(pipe);
    slow.hold_one_page();  // so that most of what follows has been read once it is written
    slow.write(joined(lines, 0, 900));
    process.signal(SIGINT);
    const Outcome outcome = process.finish();
    EXPECT_EQ(outcome.out, "");
    expect_one_line(outcome, 130, "interrupted after line ");
    const std::size_t at = outcome.err.find("line ") + 5;
    const std::size_t last = std::stoul(outcome.err.substr(at));
    EXPECT_EQ(inspected()["examples"], last);
    const std::string rest = write("rest.svm", joined(lines, last));
    EXPECT_EQ(content_of(predictions[1]), "") << "there are none yet";
    write("predictions.csv", predicted.substr(0, 1000));  // as if it had been killed later
    EXPECT_EQ(run_tool(Words{"train", "--stream", rest, "--resume", model} + predictions).exit_code, 0);
    EXPECT_EQ(content_of(model), whole);
    EXPECT_EQ(content_of(predictions[1]), predicted);
  }
}

}  // namespace
}  // namespace ignd
