#include "ignd/stream.hpp"

#include "ignd/checkpoint.hpp"
#include "ignd/random.hpp"
#include "run_tool.hpp"
#include "scratch_folder.hpp"

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

// Online learning through the public header, beside the tool on the same data.
namespace ignd {
namespace {

using testing::contains;
using testing::content_of;
using testing::run_tool;
using Words = std::vector<std::string>;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

struct Row {
  Example example;
  Cell y = 0;  // a number
  std::string label;
  int sign = 1;
  int weight = 1;
};

std::vector<Row> made_rows(int count = 1200) {
  RandomStream stream(3, "rows");
  const Words towns{"Ulm", "", "Kiel, north", " Bonn", "12"};
  std::vector<Row> rows;
  for (int i = 0; i < count; ++i) {
    const double a = stream.below(20) == 0 ? nan : 5 + stream.normal();
    const double b = static_cast<double>(stream.below(4));
    const std::string& town = towns[stream.below(towns.size())];
    const double y = 20 + (std::isnan(a) ? 0 : 3 * a) - b + (town == "Ulm" ? 2 : 0) + 0.1 * stream.normal();
    rows.push_back({.example = {{"a", a}, {"b", b}, {"town", town}},
                    .y = y,
                    .label = y > 33 ? "yes" : "no",
                    .sign = y > 33 ? 1 : -1,
                    .weight = 1 + i % 3});
  }
  return rows;
}

std::string field(const Cell& cell) {
  if (cell.is_text()) return fmt::format("\"{}\"", cell.text());
  return std::isnan(cell.number()) ? "" : fmt::format("{}", cell.number());
}

enum class Kind { number, text, sign };

Cell label_of(const Row& row, Kind kind) {
  if (kind == Kind::number) return row.y;
  return kind == Kind::text ? Cell(row.label) : Cell(row.sign);
}

class OnlineTest : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return (scratch_ / name.c_str()).string(); }

  std::string write(const std::string& name, const std::string& content) const {
    std::ofstream(path(name), std::ios::binary) << content;
    return path(name);
  }

  std::string csv(const std::string& name, Kind kind, std::size_t begin = 0, std::size_t end = 1200) const {
    std::string text = "a,b,town,w,y\n";
    for (std::size_t i = begin; i < end; ++i) {
      const Row& row = rows_[i];
      for (const auto& [column, cell] : row.example) text += field(cell) + ",";
      text += fmt::format("{},{}\n", row.weight, field(label_of(row, kind)));
    }
    return write(name, text);
  }

  void learn(OnlineLearner& learner, Kind kind, bool weighted, std::size_t begin = 0, std::size_t end = 1200) const {
    for (std::size_t i = begin; i < end; ++i) {
      Example example = rows_[i].example;
      if (!weighted) example.emplace_back("w", rows_[i].weight);
      learner.learn(example, label_of(rows_[i], kind), weighted ? rows_[i].weight : 1);
    }
  }

  std::string trained(const std::string& data, const Words& more, const std::string& model = "tool.ignd") const {
    Words words{"train", "--stream", data, "--save", path(model), "--quiet"};
    words.insert(words.end(), more.begin(), more.end());
    const auto outcome = run_tool(words);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return content_of(path(model));
  }

  std::string saved(const OnlineLearner& learner) const {
    learner.save(path("code.ignd"));
    return content_of(path("code.ignd"));
  }

  const std::vector<Row> rows_ = made_rows();

 private:
  testing::ScratchFolder scratch_;
};

struct Setting {
  Kind kind;
  StreamOptions options;
  Words words;
};

std::vector<Setting> settings() {
  return {{Kind::number, {.bits = 10}, {"--bits", "10"}},
          {Kind::text, {.bits = 10}, {"--bits", "10"}},
          {Kind::sign, {.bits = 10}, {"--bits", "10"}},
          {Kind::sign, {.bits = 10, .loss = "squared"}, {"--bits", "10", "--loss", "squared"}},
          {Kind::number, {.bits = 10, .loss = "huber:delta=2"}, {"--bits", "10", "--loss", "huber:delta=2"}},
          {Kind::text, {.bits = 10, .l2 = 0.01}, {"--bits", "10", "--l2", "0.01"}},
          {Kind::number,
           {.bits = 10, .optimizer = find_optimizer("adam"), .schedule = Schedule::constant(0.01)},
           {"--bits", "10", "--optimizer", "adam", "--lr", "0.01"}}};
}

TEST_F(OnlineTest, RowByRowItLearnsTheBitsOfTheTool) {
  for (const Setting& setting : settings()) {
    for (const bool weighted : {false, true}) {
      SCOPED_TRACE(fmt::format("{} {} {}", fmt::join(setting.words, " "), static_cast<int>(setting.kind), weighted));
      Words words = setting.words;
      words.insert(words.end(), {"--target", "y"});
      if (weighted) words.insert(words.end(), {"--weight", "w"});
      const std::string tool = trained(csv("data.csv", setting.kind), words);
      OnlineLearner learner("y", setting.options, weighted ? "w" : "");
      learn(learner, setting.kind, weighted);
      learner.finish();
      EXPECT_EQ(learner.statistics().examples, 1200U);
      EXPECT_TRUE(saved(learner) == tool);
    }
  }
}

TEST_F(OnlineTest, AFileGivesTheBitsOfTheTool) {
  std::string dates = "day,price,y\n", svmlight, vw;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const double y = rows_[i].y.number();
    dates += fmt::format("2024-{:02}-{:02},\"${},000.5\",{}\n", 1 + i % 12, 1 + i % 28, 1 + i % 9, y);
    svmlight += fmt::format("{} {}:{} 17:1\n", rows_[i].sign, i % 7, y);
    vw += fmt::format("{} |n a:{} |c c{}\n", y, y * y, i % 7);
  }
  for (const auto& [data, target] : {std::pair{write("d.csv", dates), std::string("y")},
                                     {write("d.svm", svmlight), std::string()},
                                     {write("d.vw", vw), std::string()},
                                     {csv("d2.csv", Kind::text), std::string("y")}}) {
    SCOPED_TRACE(data);
    Words words;
    if (!target.empty()) words = {"--target", target};
    const std::string tool = trained(data, words);
    OnlineLearner learner(target);
    EXPECT_EQ(learner.learn_file(data), 0U);
    EXPECT_TRUE(saved(learner) == tool);
    EXPECT_FALSE(learner.decision().empty());
    if (target.empty()) {
      EXPECT_THROW(learner.learn({{"a", 1}}, 1), InvalidArgument);
      EXPECT_THROW(learner.predict({{"a", 1}}), InvalidArgument);
    }
  }
}

TEST_F(OnlineTest, TheToolAndAProgramResumeEachOthersRuns) {
  for (const Setting& setting : settings()) {
    for (const std::size_t at : {5, 700}) {
      SCOPED_TRACE(fmt::format("{} at {}", fmt::join(setting.words, " "), at));
      Words words = setting.words;
      words.insert(words.end(), {"--target", "y", "--weight", "w"});
      const std::string whole = trained(csv("whole.csv", setting.kind), words);
      const std::string second = csv("second.csv", setting.kind, at);

      OnlineLearner first("y", setting.options, "w");
      learn(first, setting.kind, true, 0, at);
      first.save(path("half.ignd"));
      EXPECT_TRUE(trained(second, {"--resume", path("half.ignd")}) == whole);

      OnlineLearner resumed = OnlineLearner::load(path("half.ignd"));
      learn(resumed, setting.kind, true, at);
      resumed.finish();
      EXPECT_TRUE(saved(resumed) == whole);

      if (at < 100) continue;  // the tool would choose a loss at the end of such a first part
      OnlineLearner by_file = OnlineLearner::load(path("half.ignd"));
      by_file.learn_file(second);
      EXPECT_TRUE(saved(by_file) == whole);
      if (setting.kind == Kind::sign && setting.options.loss.empty()) continue;
      trained(csv("first.csv", setting.kind, 0, at), words, "tool_half.ignd");
      OnlineLearner from_tool = OnlineLearner::load(path("tool_half.ignd"));
      learn(from_tool, setting.kind, true, at);
      from_tool.finish();
      EXPECT_TRUE(saved(from_tool) == whole);
    }
  }
}

TEST_F(OnlineTest, PredictsWhatTheToolPredicts) {
  for (const Kind kind : {Kind::number, Kind::text, Kind::sign}) {
    const std::string data = csv("data.csv", kind);
    OnlineLearner learner("y", {.bits = 10}, "w");
    learner.learn_file(data);
    learner.save(path("m.ignd"));
    EXPECT_EQ(learner.columns(), (Words{"a", "b", "town"}));
    EXPECT_EQ(learner.target(), "y");
    const std::vector<Prediction> all = learner.predict_file(data);
    std::istringstream printed(run_tool({"predict", path("m.ignd"), data}).out);
    std::string line;
    std::getline(printed, line);
    ASSERT_EQ(all.size(), rows_.size());
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      std::getline(printed, line);
      const Example& row = rows_[i].example;
      const Example turned{{"unused", "x"}, row[2], row[0], row[1]};
      for (const Prediction& made : {all[i], learner.predict(row), learner.predict(turned)}) {
        const std::string expected = kind == Kind::number
                                         ? fmt::format("{},{}", i + 1, made.value)
                                         : fmt::format("{},{},{}", i + 1, made.label, made.probabilities.at(1));
        ASSERT_EQ(line, expected);
        if (kind == Kind::number) continue;
        EXPECT_EQ(made.value, made.label == "yes" || made.label == "1" ? 1 : 0);
        EXPECT_EQ(made.probabilities[0], 1 - made.probabilities[1]);
      }
    }
    if (kind == Kind::text) {
      EXPECT_EQ(learner.classes(), (Words{"no", "yes"}));
    }
    if (kind == Kind::number) {
      EXPECT_TRUE(learner.classes().empty());
    }
  }
}

TEST_F(OnlineTest, ABadExampleChangesNothing) {
  for (const Kind kind : {Kind::number, Kind::text, Kind::sign}) {
    for (const std::size_t before : {0, 10, 1100}) {
      OnlineLearner learner("y", {.bits = 8}, "w");
      learn(learner, kind, true, 0, before);
      const std::string unchanged = saved(learner);
      const auto refuse = [&](const Example& example, const Cell& label, double weight, const std::string& part) {
        try {
          learner.learn(example, label, weight);
          ADD_FAILURE() << "learned; expected " << part;
        } catch (const BadSample& fault) {
          EXPECT_TRUE(contains(fault.what(), part)) << fault.what();
          EXPECT_EQ(std::string(fault.what()).find('\n'), std::string::npos);
        }
        EXPECT_TRUE(saved(learner) == unchanged) << part;
      };
      const Example good = rows_[0].example;
      const Cell label = label_of(rows_[0], kind);
      refuse(good, label, -1, "weight is -1");
      refuse(good, label, nan, "weight is nan");
      refuse(good, label, 1e7, "weight is");
      refuse(good, "", 1, "the target 'y' is missing");
      if (before > 0) {
        refuse({{"a", 1}, {"town", "Ulm"}}, label, 1, "the column 'b' is missing");
        refuse({{"a", 1}, {"b", 1}, {"towm", "Ulm"}}, label, 1, "the column 'town' is missing, did you mean 'towm'?");
      } else {
        refuse({{"a", 1}, {"a", 2}}, label, 1, "the column 'a' is given twice");
        refuse({{"a", 1}, {"y", 2}}, label, 1, "the column 'y' is the target");
        refuse({{"a", 1}, {"w", 2}}, label, 1, "the column 'w' is the weight");
        refuse({{"", 1}}, label, 1, "a column has no name");
      }
      if (kind == Kind::number || before == 0) {
        refuse(good, nan, 1, "the target 'y' is 'nan', which is not a finite number");
        refuse(good, infinity, 1, "which is not a finite number");
        refuse(good, 1e200, 1, "too large");
      }
      if (before == 0) continue;
      if (kind == Kind::number) refuse(good, "abc", 1, "the target 'y' is 'abc', which is not a finite number");
      if (kind == Kind::text) refuse(good, 3, 1, "the target 'y' holds texts, but is the number 3");
      if (kind == Kind::sign && before == 1100) refuse(good, 3, 1, "the label is 3, but the classes are -1 and 1");
    }
  }
}

TEST_F(OnlineTest, LearnsManyClassesWithTheBitsOfTheTool) {
  const auto of = [](const Row& row) { return row.sign > 0 ? "up" : row.weight == 3 ? "flat" : "down"; };
  std::string text = "a,b,town,y\n";
  for (const Row& row : rows_) {
    for (const auto& [column, cell] : row.example) text += field(cell) + ",";
    text += fmt::format("{}\n", of(row));
  }
  const std::string data = write("three.csv", text);
  for (const char* loss : {"", "softmax"}) {
    Words words{"--target", "y", "--bits", "10"};
    if (*loss != 0) words.insert(words.end(), {"--loss", loss});
    const std::string tool = trained(data, words);
    OnlineLearner learner("y", {.bits = 10, .loss = loss});
    for (const Row& row : rows_) learner.learn(row.example, of(row));
    learner.finish();
    EXPECT_TRUE(saved(learner) == tool) << loss;
    EXPECT_EQ(learner.classes(), (Words{"down", "flat", "up"}));
    const auto model = ModelFile::load(path("tool.ignd"));
    EXPECT_EQ(model.classes(), learner.classes());
    const auto all = model.predict_file(data);
    ASSERT_EQ(all.size(), rows_.size());
    for (std::size_t i = 0; i < 50; ++i) {
      const Prediction made = learner.predict(rows_[i].example);
      EXPECT_EQ(made.probabilities, all[i].probabilities);
      ASSERT_EQ(made.probabilities.size(), 3U);
      EXPECT_NEAR(made.probabilities[0] + made.probabilities[1] + made.probabilities[2], 1, 1e-12);
      EXPECT_EQ(made.label, learner.classes().at(static_cast<std::size_t>(made.value)));
    }
    OnlineLearner file("y", {.bits = 10, .loss = loss});
    file.learn_file(data);
    EXPECT_TRUE(saved(file) == tool) << loss;
  }
}

TEST_F(OnlineTest, HoldsExamplesBackUntilTheLossIsChosen) {
  OnlineLearner learner("y", {.bits = 8}, "w");
  EXPECT_EQ(learner.predict(rows_[0].example).value, 0);
  learn(learner, Kind::sign, true, 0, 999);
  EXPECT_EQ(learner.statistics().examples, 0U);
  EXPECT_EQ(learner.loss(), "");
  learn(learner, Kind::sign, true, 999, 1000);
  EXPECT_EQ(learner.statistics().examples, 1000U);
  EXPECT_EQ(learner.loss(), "logistic");
  EXPECT_EQ(learner.classes(), (Words{"-1", "1"}));
  EXPECT_GT(learner.statistics().accuracy().value(), 0.8);
}

TEST_F(OnlineTest, SaysWhatIsWrongWithFiles) {
  const auto expect_fault = [&](const std::string& part, const auto& use) {
    try {
      use();
      ADD_FAILURE() << "nothing was thrown; expected " << part;
    } catch (const FileError& fault) {
      EXPECT_TRUE(contains(fault.what(), part)) << fault.what();
    }
  };
  const std::string ragged = write("ragged.csv", "x,y\n1,2\n2,3\n3\n4,5\n");
  OnlineLearner strict("y", {.loss = "squared"});
  expect_fault("line 4: has 1 field instead of 2", [&] { strict.learn_file(ragged); });
  EXPECT_EQ(strict.statistics().examples, 2U);
  OnlineLearner lenient("y", {.loss = "squared", .skip_bad_rows = true});
  EXPECT_EQ(lenient.learn_file(ragged), 1U);
  EXPECT_EQ(lenient.statistics().examples, 3U);
  const std::string labels = write("labels.csv", "x,y\n1,no\n2,yes\n3,maybe\n");
  OnlineLearner classes("y", {.loss = "logistic"});
  expect_fault("labels.csv', line 4: the label is 'maybe'", [&] { classes.learn_file(labels); });
  classes.save(path("m.ignd"));
  expect_fault("is a model, not data", [&] { OnlineLearner("y").learn_file(path("m.ignd")); });
  expect_fault("has no examples", [&] { OnlineLearner("y").learn_file(write("empty.csv", "x,y\n")); });
  expect_fault("holds no stream model", [&] {
    Checkpoint other;
    other.set("kind", std::string("table model"));
    other.write(path("other.ignd"));
    OnlineLearner::load(path("other.ignd"));
  });
  expect_fault("none.ignd", [&] { OnlineLearner::load(path("none.ignd")); });
  EXPECT_THROW(OnlineLearner("y").predict_file(labels), InvalidArgument) << "nothing says how to read it";
  EXPECT_THROW(OnlineLearner("y", {.bits = 0}), InvalidArgument);
  EXPECT_THROW(OnlineLearner("y", {.loss = "hinge"}), InvalidArgument);
  EXPECT_THROW(OnlineLearner("").learn({{"a", 1}}, 1), InvalidArgument);
  EXPECT_THROW(OnlineLearner("y", {.loss = "squared"}).learn({{"a", 1}}, "yes"), InvalidArgument);
}

TEST_F(OnlineTest, LearningEndsWhereANumberStopsBeingFinite) {
  OnlineLearner learner("y",
                        {.loss = "squared", .optimizer = {"gradient", "plain"}, .schedule = Schedule::constant(0.01)});
  for (int i = 0; i < 20; ++i) learner.learn({{"x", i % 3}}, i % 3);
  EXPECT_THROW(learner.learn({{"x", 1}}, 1e100), LearningEnded);
  EXPECT_THROW(learner.learn({{"x", 1}}, 1), LearningEnded);
  EXPECT_TRUE(std::isfinite(learner.predict({{"x", 1}}).value));
}

// Written by `ignd train --stream` before entries had names of their own: 600 rows with the columns size, floor, town
// and day, labels no and yes, and weights.
TEST_F(OnlineTest, ReadsModelsOfVersion1) {
  const std::string old = IGND_SOURCE_DIR "/tests/stream_model_v1.ignd";
  OnlineLearner learner = OnlineLearner::load(old);
  EXPECT_EQ(learner.statistics().rows, 600U);
  EXPECT_EQ(learner.statistics().examples, 600U);
  EXPECT_EQ(learner.statistics().weight, 1200);
  EXPECT_DOUBLE_EQ(learner.statistics().average_loss().value(), 0.2906500703503821);
  EXPECT_EQ(learner.classes(), (Words{"no", "yes"}));
  const Example row{{"size", 53.5232}, {"floor", 8}, {"town", ""}, {"day", "2024-01-01"}};
  EXPECT_EQ(learner.predict(row).label, "yes");
  EXPECT_NEAR(learner.predict(row).probabilities.at(1), 0.6611750493501478, 1e-6);
  EXPECT_THROW(learner.predict({{"size", 53.5232}, {"floor", 8}, {"town", ""}, {"day", 1}}), BadSample);
  learner.learn(row, "yes", 1);
  learner.save(path("new.ignd"));
  const Checkpoint written = Checkpoint::read(path("new.ignd"));
  EXPECT_EQ(written.text("learner"), "stream, version 2");
  EXPECT_EQ(run_tool({"inspect", old}).exit_code, 0);
  EXPECT_EQ(run_tool({"inspect", path("new.ignd")}).exit_code, 0);
}

}  // namespace
}  // namespace ignd
