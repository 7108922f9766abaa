#include "ignd/model_file.hpp"

#include "ignd/checkpoint.hpp"
#include "ignd/error.hpp"
#include "ignd/random.hpp"
#include "ignd/train.hpp"
#include "run_tool.hpp"
#include "scratch_folder.hpp"

#include <cmath>
#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

// Tables through the public headers, beside the tool on the same files.
namespace ignd {
namespace {

using testing::run_tool;

class TablesFromCode : public ::testing::Test {
 protected:
  TablesFromCode() {
    std::ofstream file(path("t.csv"));
    RandomStream stream(1, "rows");
    file << "a,day,colour,y,label,three\n";
    for (int i = 0; i < 300; ++i) {
      const double a = stream.normal();
      const bool red = stream.below(2) == 0;
      const double y = 5 + 3 * a + (red ? 1 : 0) + 0.1 * stream.normal();
      file << fmt::format("{},2024-0{}-1{},{},{},{},{}\n", stream.below(20) == 0 ? "" : fmt::format("{}", a), 1 + i % 9,
                          i % 10, red ? "red" : "\"blue, dark\"", y, y > 5 ? "yes" : "no",
                          y < 4   ? "low"
                          : y < 6 ? "mid"
                                  : "high");
    }
  }

  std::string path(const std::string& name) const { return (scratch_ / name.c_str()).string(); }

  // The columns of a target's own kind out of the way.
  Trained train(const std::string& target, TrainSettings settings = {}) const {
    settings.emplace("target", target);
    settings.try_emplace("epochs", "3");
    settings.try_emplace("model", "mlp:8");
    return ignd::train(path("t.csv"), settings);
  }

  testing::ScratchFolder scratch_;
};

std::vector<std::vector<std::string>> lines_of(const std::string& text) {
  std::vector<std::vector<std::string>> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    lines.emplace_back();
    std::istringstream fields(line);
    for (std::string field; std::getline(fields, field, ',');) lines.back().push_back(field);
  }
  return lines;
}

TEST_F(TablesFromCode, TrainTheBitsThatTheToolTrains) {
  for (const auto& [target, settings] : std::vector<std::pair<std::string, TrainSettings>>{
           {"y", {}},
           {"label", {{"optimizer", "ignd"}, {"seed", "7"}}},
           {"three", {{"lr", "0.01"}}},
           {"y", {{"batch", "8"}, {"batch-mode", "exact"}, {"lr", "0.1"}}}}) {
    std::vector<std::string> words{"train", path("t.csv"), "--target", target, "--save", path("tool.ignd")};
    words.insert(words.end(), {"--epochs", "3", "--model", "mlp:8", "--quiet"});
    for (const auto& [name, value] : settings) words.insert(words.end(), {"--" + name, value});
    ASSERT_EQ(run_tool(words).exit_code, 0);
    const Trained trained = train(target, settings);
    trained.model.save(path("code.ignd"));
    const Checkpoint tool = Checkpoint::read(path("tool.ignd"));
    const Checkpoint code = Checkpoint::read(path("code.ignd"));
    for (const auto& [name, value] : code.entries()) {
      ASSERT_TRUE(tool.entries().contains(name)) << name;
      EXPECT_EQ(tool.entries().at(name), value) << target << " " << name;
    }
    EXPECT_EQ(trained.report.status, "finished");
    EXPECT_EQ(trained.report.epochs, 3U);
    EXPECT_TRUE(trained.report.test.contains(target == "y" ? "rmse" : "accuracy"));
  }
}

TEST_F(TablesFromCode, PredictWhatTheToolPredicts) {
  for (const std::string target : {"y", "label", "three"}) {
    ASSERT_EQ(run_tool({"train", path("t.csv"), "--target", target, "--save", path("m.ignd"), "--epochs", "2", "--lr",
                        "0.01", "--quiet"})
                  .exit_code,
              0);
    const auto printed = lines_of(run_tool({"predict", path("m.ignd"), path("t.csv")}).out);
    const ModelFile model = ModelFile::load(path("m.ignd"));
    EXPECT_EQ(model.target(), target);
    const auto made = model.predict_file(path("t.csv"));
    ASSERT_EQ(made.size() + 1, printed.size());
    for (std::size_t i = 0; i < made.size(); ++i) {
      const auto& fields = printed[i + 1];
      if (target == "y") {
        EXPECT_EQ(made[i].value, std::stod(fields[1]));
        continue;
      }
      EXPECT_EQ(made[i].label, fields[1]);
      EXPECT_EQ(model.classes()[static_cast<std::size_t>(made[i].value)], made[i].label);
      if (target == "label") {
        EXPECT_EQ(made[i].probabilities[1], std::stod(fields[2]));
      }
      double sum = 0;
      for (const double probability : made[i].probabilities) sum += probability;
      EXPECT_NEAR(sum, 1, 1e-12);
    }
  }
}

TEST_F(TablesFromCode, ARowIsPredictedLikeTheSameRowOfAFile) {
  const ModelFile model = train("y", {{"lr", "0.01"}}).model;
  const std::string cells[][5] = {{"0.5", "2024-03-11", "red", "no", "low"},
                                  {"", "2024-09-19", "blue, dark", "yes", "mid"},
                                  {"-1e2", "2024-01-10", "never \"seen\"", "yes", "high"}};
  std::ofstream file(path("rows.csv"));
  file << "a,day,colour,label,three\n";
  for (const auto& [a, day, colour, label, three] : cells) {
    std::string quoted;
    for (const char c : colour) quoted.append(c == '"' ? 2 : 1, c);
    file << fmt::format("{},{},\"{}\",{},{}\n", a, day, quoted, label, three);
  }
  file.close();
  const auto made = model.predict_file(path("rows.csv"));
  for (std::size_t i = 0; i < 3; ++i) {
    const auto& [a, day, colour, label, three] = cells[i];
    const std::map<std::string, std::string> row{{"a", a},         {"day", day},     {"colour", colour},
                                                 {"label", label}, {"three", three}, {"other", "x"}};
    EXPECT_EQ(model.predict(row).value, made[i].value) << i;
  }
}

TEST_F(TablesFromCode, SayWhatIsWrong) {
  const auto fault = [&](const TrainSettings& settings) -> std::string {
    try {
      train("y", settings);
    } catch (const InvalidArgument& refused) {
      return refused.what();
    }
    return "";
  };
  EXPECT_EQ(fault({{"epoch", "3"}}), "there is no option 'epoch', did you mean 'epochs'?");
  EXPECT_EQ(fault({{"epochs", "-3"}}).substr(0, 20), "the option 'epochs' ");
  EXPECT_EQ(fault({{"bad-rows", "skipp"}}),
            "the option 'bad-rows' is 'skipp', but must be one of stop, skip, did you mean 'skip'?");
  EXPECT_NE(fault({{"size", "8"}}), "") << "of images";
  EXPECT_NE(fault({{"optimizer", "adamm"}}), "");
  EXPECT_NE(fault({{"optimizer", "adam"}, {"rule", "gradient"}}), "");
  EXPECT_NE(fault({{"lr", "0"}}), "");
  EXPECT_THROW(train("z"), InvalidArgument);
  EXPECT_THROW(ignd::train(path("none.csv"), {{"target", "y"}}), FileError);
  EXPECT_THROW(train("y", {{"lr", "1e9"}, {"optimizer", "sgd"}, {"schedule", "constant"}}), Error);

  const ModelFile model = train("y", {{"lr", "0.01"}}).model;
  EXPECT_THROW(model.predict({{"a", "1"}}), InvalidArgument) << "columns are missing";
  EXPECT_THROW(
      model.predict({{"a", "one"}, {"day", "2024-01-10"}, {"colour", "red"}, {"label", "no"}, {"three", "low"}}),
      BadSample);
  EXPECT_THROW(model.save(path("no/such/folder.ignd")), FileError);
  EXPECT_THROW(ModelFile::load(path("t.csv")), FileError);
}

TEST_F(TablesFromCode, CanBeEnded) {
  int calls = 0;
  const Trained some =
      ignd::train(path("t.csv"), {{"target", "y"}, {"lr", "0.01"}, {"epochs", "1000"}, {"patience", "1000"}},
                  [&](double share) { return share < 0.05 && ++calls > 0; });
  EXPECT_EQ(some.report.status, "running");
  EXPECT_LT(some.report.epochs, 100U);
  EXPECT_GT(calls, 1);
  EXPECT_THROW(ignd::train(path("t.csv"), {{"target", "y"}}, [](double) { return false; }), Error);
}

}  // namespace
}  // namespace ignd
