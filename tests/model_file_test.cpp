#include "ignd/model_file.hpp"

#include "environment.hpp"
#include "ignd/checkpoint.hpp"
#include "ignd/error.hpp"
#include "ignd/random.hpp"
#include "ignd/stream.hpp"
#include "ignd/train.hpp"
#include "make_archive.hpp"
#include "make_image.hpp"
#include "run_tool.hpp"
#include "scratch_folder.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

// Models through the public headers, beside the tool on the same files.
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

// What the library predicts for a source is what the tool prints, bit by bit. Returns it.
std::vector<Prediction> expect_same_predictions(const std::string& path, const std::string& source) {
  const ModelFile model = ModelFile::load(path);
  const std::vector<std::string> classes = model.classes();
  const auto printed = lines_of(run_tool({"predict", path, source}).out);
  std::vector<Prediction> made = model.predict_file(source);
  EXPECT_EQ(made.size() + 1, printed.size()) << source;
  for (std::size_t i = 0; i < made.size() && i + 1 < printed.size(); ++i) {
    const auto& fields = printed[i + 1];
    EXPECT_EQ(made[i].name, fields[0]);
    EXPECT_EQ(made[i].probabilities.size(), classes.size());
    if (classes.empty()) {
      EXPECT_EQ(made[i].value, std::stod(fields[1]));
      continue;
    }
    EXPECT_EQ(made[i].label, fields[1]);
    EXPECT_EQ(classes.at(static_cast<std::size_t>(made[i].value)), made[i].label);
    EXPECT_EQ(made[i].probabilities.at(classes.size() == 2 ? 1 : 0), std::stod(fields[2]));
    double sum = 0;
    for (const double probability : made[i].probabilities) sum += probability;
    EXPECT_NEAR(sum, 1, 1e-12);
  }
  return made;
}

TEST_F(TablesFromCode, TestScoresHaveIntervals) {
  for (const char* target : {"y", "label", "three"}) {
    const TrainReport report = train(target).report;
    EXPECT_EQ(report.test_intervals.size(), report.test.size() - 1) << "all but the loss";
    for (const auto& [name, ends] : report.test_intervals) {
      EXPECT_LE(ends.first, report.test.at(name)) << name;
      EXPECT_GE(ends.second, report.test.at(name)) << name;
    }
  }
  EXPECT_TRUE(train("y", {{"test", "0"}}).report.test_intervals.empty());
}

TEST_F(TablesFromCode, IntervalsAroundPredictions) {
  const ModelFile model = train("y").model;
  const PredictionInterval wide = model.interval(5, 0.9), narrow = model.interval(5, 0.5);
  EXPECT_LE(wide.low, narrow.low);
  EXPECT_LT(narrow.low, narrow.high);
  EXPECT_LE(narrow.high, wide.high);
  const ModelFile again = ModelFile::from_bytes(model.to_bytes());
  EXPECT_EQ(again.interval(5, 0.9).low, wide.low);
  EXPECT_THROW(model.interval(5, 0.99), InvalidArgument) << "30 validation rows";
  EXPECT_THROW(train("label").model.interval(0, 0.9), InvalidArgument);
  EXPECT_THROW(model.with_model(*model.model()).interval(5, 0.5), InvalidArgument) << "its residuals are not known";
}

TEST_F(TablesFromCode, TrainTheBitsThatTheToolTrains) {
  for (const auto& [target, settings] : std::vector<std::pair<std::string, TrainSettings>>{
           {"y", {}},
           {"label", {{"optimizer", "ignd"}, {"seed", "7"}}},
           {"three", {{"lr", "0.01"}}},
           {"y", {{"batch", "8"}, {"batch-mode", "exact"}, {"lr", "0.1"}}},
           {"label", {{"ensemble", "3"}, {"seed", "7"}}},
           {"three", {{"ensemble", "2"}, {"pieces", "0"}}}}) {
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
    const ModelFile model = ModelFile::load(path("m.ignd"));
    EXPECT_EQ(model.kind(), ModelKind::table);
    EXPECT_EQ(model.target(), target);
    EXPECT_EQ(expect_same_predictions(path("m.ignd"), path("t.csv")).size(), 300U);
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
  EXPECT_EQ(fault({{"size", "8"}}), "'size' can only be given for images");
  EXPECT_EQ(fault({{"lambda", "2"}, {"memory", "9"}}), "'lambda', 'memory' can only be given with 'batch'");
  EXPECT_EQ(fault({{"batch", "4"}, {"lambda", "2"}}), "'lambda' can only be given with 'batch-mode' exact");
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

TEST_F(TablesFromCode, AreInspectedWithoutTheirTrainingRun) {
  train("y", {{"lr", "0.01"}}).model.save(path("m.ignd"));
  const auto text = run_tool({"inspect", path("m.ignd")});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_TRUE(testing::contains(text.out, "target y: number")) << text.out;
  const auto line = run_tool({"inspect", path("m.ignd"), "--json"});
  EXPECT_EQ(line.exit_code, 0) << line.err;
  EXPECT_TRUE(testing::contains(line.out, "\"features\":")) << line.out;
}

std::string message_of(const std::function<void()>& use) {
  try {
    use();
  } catch (const Error& fault) {
    return fault.what();
  }
  return "";
}

std::map<std::string, double> scores_of(const std::string& model, const std::string& data, const std::string& weight) {
  std::vector<std::string> words{"evaluate", model, data, "--json"};
  if (!weight.empty()) words.insert(words.end(), {"--weight", weight});
  const nlohmann::json printed = nlohmann::json::parse(run_tool(words).out)["metrics"]["test"];
  std::map<std::string, double> scores;
  for (const auto& [name, value] : printed.items()) {
    std::string key = name;
    std::ranges::replace(key, '_', '-');
    if (value.is_number()) scores[key] = value;
  }
  return scores;
}

// Everything that `ignd evaluate` prints and a program is told has the same bits.
void expect_same_scores(const std::string& path, const std::string& data, const std::string& weight = "") {
  const auto scores = ModelFile::load(path).evaluate(data, weight);
  const auto printed = scores_of(path, data, weight);
  EXPECT_TRUE(std::isfinite(scores.at("loss")));
  EXPECT_GE(scores.size(), 4U);
  for (const auto& [name, value] : scores) {
    if (name == "loss") continue;
    EXPECT_EQ(value, printed.at(name)) << name;
  }
}

TEST_F(TablesFromCode, AreEvaluatedAsByTheTool) {
  for (const std::string target : {"y", "label", "three"}) {
    const Trained trained = train(target, {{"lr", "0.01"}});
    trained.model.save(path("m.ignd"));
    expect_same_scores(path("m.ignd"), path("t.csv"));
  }
  const ModelFile model = ModelFile::load(path("m.ignd"));
  EXPECT_THROW(model.evaluate(path("none.csv")), FileError);
  EXPECT_TRUE(testing::contains(message_of([&] { model.evaluate(path("t.csv"), "weigth"); }), "no column 'weigth'"));
}

// The rows of t.csv as lines of Vowpal Wabbit's format.
std::string lines_of_numbers() {
  RandomStream stream(4, "lines");
  std::string text;
  for (int i = 0; i < 300; ++i) {
    const double a = stream.normal();
    text += fmt::format("{} |n a:{} |c c{}\n", 2 * a + 0.1 * stream.normal(), a, i % 3);
  }
  return text;
}

class StreamsFromCode : public TablesFromCode {
 protected:
  ModelFile learned(const std::string& data, const std::string& target) const {
    std::vector<std::string> words{"train", "--stream", data, "--save", path("s.ignd"), "--quiet"};
    if (!target.empty()) words.insert(words.end(), {"--target", target});
    EXPECT_EQ(run_tool(words).exit_code, 0);
    return ModelFile::load(path("s.ignd"));
  }

  std::string lines(const std::string& name) const {
    std::ofstream(path(name)) << lines_of_numbers();
    return path(name);
  }

  // The rows of t.csv with weights.
  std::string weighted() const {
    std::istringstream rows(testing::content_of(path("t.csv")));
    std::ofstream file(path("w.csv"));
    std::size_t i = 0;
    for (std::string line; std::getline(rows, line); ++i) {
      file << line << "," << (i == 0 ? "w" : std::to_string(i % 3)) << "\n";
    }
    return path("w.csv");
  }
};

TEST_F(StreamsFromCode, PredictWhatTheToolPredicts) {
  for (const std::string target : {"y", "label"}) {
    const ModelFile model = learned(path("t.csv"), target);
    EXPECT_EQ(model.kind(), ModelKind::stream);
    EXPECT_EQ(model.target(), target);
    EXPECT_EQ(model.columns().size(), 5U);
    EXPECT_EQ(model.spec(), "hashed-linear:bits=18,bias=1");
    EXPECT_EQ(model.classes(), target == "y" ? std::vector<std::string>() : std::vector<std::string>({"no", "yes"}));
    EXPECT_EQ(expect_same_predictions(path("s.ignd"), path("t.csv")).size(), 300U);
    const std::map<std::string, std::string> row{{"a", "0.5"},     {"day", "2024-03-11"}, {"colour", "blue, dark"},
                                                 {"label", "yes"}, {"three", "mid"},      {"y", "5"},
                                                 {"other", "x"}};
    std::ofstream(path("row.csv")) << "a,day,colour,y,label,three\n0.5,2024-03-11,\"blue, dark\",5,yes,mid\n";
    EXPECT_EQ(model.predict(row).value, model.predict_file(path("row.csv")).at(0).value);
    EXPECT_EQ(model.predict(row).probabilities, model.predict_file(path("row.csv")).at(0).probabilities);
    EXPECT_TRUE(testing::contains(message_of([&] { model.predict({{"a", "1"}}); }), "the column 'day' is missing"));
    expect_same_scores(path("s.ignd"), path("t.csv"));
    expect_same_scores(path("s.ignd"), weighted(), "w");
  }
}

TEST_F(StreamsFromCode, OfLinesWithoutColumnsPredictFiles) {
  const ModelFile model = learned(lines("t.vw"), "");
  EXPECT_EQ(model.target(), "");
  EXPECT_TRUE(model.columns().empty());
  EXPECT_EQ(model.predict_file(path("t.vw")).size(), 300U);
  expect_same_scores(path("s.ignd"), path("t.vw"));
  EXPECT_GT(model.evaluate(path("t.vw")).at("r2"), 0.9);
  EXPECT_TRUE(testing::contains(message_of([&] { model.predict({{"a", "1"}}); }), "without columns"));
  EXPECT_THROW(model.evaluate(path("t.vw"), "a"), FileError);
  EXPECT_THROW(model.predict_file(path("t.csv")), FileError);
  EXPECT_THROW(model.predict_file(path("s.ignd")), FileError);
}

// The loss is the learner's own: of the squared loss the mean of (f - y)^2, of the logistic loss the log loss.
TEST_F(StreamsFromCode, NameTheirLoss) {
  const auto numbers = learned(path("t.csv"), "y").evaluate(path("t.csv"));
  EXPECT_NEAR(numbers.at("loss"), numbers.at("rmse") * numbers.at("rmse"), 1e-12 * numbers.at("loss"));
  const auto classes = learned(path("t.csv"), "label").evaluate(weighted(), "w");
  EXPECT_NEAR(classes.at("loss"), classes.at("log-loss"), 1e-12);
}

TEST_F(StreamsFromCode, AreSavedToLearnOn) {
  const ModelFile model = learned(path("t.csv"), "label");
  model.save(path("copy.ignd"));
  EXPECT_EQ(testing::content_of(path("copy.ignd")), testing::content_of(path("s.ignd")));
  EXPECT_EQ(run_tool({"train", "--stream", path("t.csv"), "--resume", path("copy.ignd"), "--quiet"}).exit_code, 0);

  // The first examples are held back until the loss is known; a model that is to predict has learned them.
  OnlineLearner few("y");
  for (int i = 0; i < 20; ++i) few.learn({{"x", i}}, i % 2);
  few.save(path("few.ignd"));
  EXPECT_EQ(few.predict({{"x", 1}}).label, "");
  const ModelFile loaded = ModelFile::load(path("few.ignd"));
  EXPECT_EQ(loaded.classes(), (std::vector<std::string>{"0", "1"}));
  few.finish();
  EXPECT_EQ(loaded.predict({{"x", "1"}}).probabilities, few.predict({{"x", 1}}).probabilities);
}

using testing::Members;

// Models of files of two classes, trained by the tool.
class FilesFromCode : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return (scratch_ / name.c_str()).string(); }

  std::string fill(const std::string& name, const Members& members) const {
    for (const auto& [member, content] : members) {
      const auto file = std::filesystem::path(path(name)) / member;
      std::filesystem::create_directories(file.parent_path());
      std::ofstream(file, std::ios::binary) << content;
    }
    return path(name);
  }

  std::vector<Prediction> expect_same(const std::string& source) const {
    return expect_same_predictions(path("m.ignd"), source);
  }

  // A copy saved without the training run predicts the same.
  void expect_to_be_saved(const std::string& source) const {
    const ModelFile model = ModelFile::load(path("m.ignd"));
    const auto before = model.predict_file(source);
    model.save(path("copy.ignd"));
    const ModelFile copy = ModelFile::load(path("copy.ignd"));
    EXPECT_EQ(copy.kind(), model.kind());
    EXPECT_EQ(copy.spec(), model.spec());
    const auto after = copy.predict_file(source);
    ASSERT_EQ(after.size(), before.size());
    for (std::size_t i = 0; i < after.size(); ++i) EXPECT_EQ(after[i].probabilities, before[i].probabilities);
    EXPECT_EQ(run_tool({"predict", path("copy.ignd"), source}).out, run_tool({"predict", path("m.ignd"), source}).out);
    EXPECT_EQ(run_tool({"inspect", path("copy.ignd")}).exit_code, 0);
  }

  testing::ScratchFolder scratch_;
  testing::Variable cache_{"XDG_CACHE_HOME", path("cache")};
};

Members pictures() {
  Members members;
  for (unsigned i = 0; i < 24; ++i) {
    const bool bright = i % 2 == 0;
    Image image = testing::noise_image({8, 8}, i);
    for (std::uint8_t& value : image.pixels) value = static_cast<std::uint8_t>(value / 2 + (bright ? 128 : 0));
    members.emplace_back(fmt::format("{}/{:02}.{}", bright ? "bright" : "dark", i, i % 3 == 0 ? "png" : "jpg"),
                         i % 3 == 0 ? testing::encode_png(image) : testing::encode_jpeg(image));
  }
  return members;
}

TEST_F(FilesFromCode, ImagesArePredictedAsByTheTool) {
  const std::string photos = fill("photos", pictures());
  ASSERT_EQ(run_tool({"train", photos, "--size", "8", "--model", "cnn:2/4", "--epochs", "2", "--lr", "0.01", "--save",
                      path("m.ignd"), "--quiet"})
                .exit_code,
            0);
  const ModelFile model = ModelFile::load(path("m.ignd"));
  EXPECT_EQ(model.kind(), ModelKind::images);
  EXPECT_EQ(model.classes(), (std::vector<std::string>{"bright", "dark"}));
  EXPECT_TRUE(model.columns().empty());

  const auto from_folder = expect_same(photos);
  ASSERT_EQ(from_folder.size(), 24U);
  expect_same_scores(path("m.ignd"), photos);
  EXPECT_THROW(model.evaluate(photos, "w"), InvalidArgument) << "files have no weights";
  Members backwards = pictures();
  std::ranges::reverse(backwards);
  testing::make_archive(path("photos.zip"), backwards);
  const auto from_archive = expect_same(path("photos.zip"));
  ASSERT_EQ(from_archive.size(), 24U);
  for (std::size_t i = 0; i < 24; ++i) {
    EXPECT_EQ(from_archive[i].name, from_folder[i].name);
    EXPECT_EQ(from_archive[i].probabilities, from_folder[i].probabilities);
  }
  EXPECT_EQ(expect_same(photos + "/bright/00.png").at(0).probabilities, from_folder[0].probabilities);
  fill("photos", {{"bright/99.png", "not an image"}});
  EXPECT_EQ(expect_same(photos).size(), 24U) << "what cannot be read is left out";
  expect_to_be_saved(photos);

  testing::make_archive(path("broken.zip"), {{"z.png", "no image"}, pictures()[0], {"a.png", "no image"}});
  const std::string warning = run_tool({"predict", path("m.ignd"), path("broken.zip")}).err;
  EXPECT_LT(warning.find("a.png"), warning.find("z.png")) << warning;

  EXPECT_TRUE(testing::contains(message_of([&] { model.predict({{"a", "1"}}); }), "of images"));
  EXPECT_THROW(model.predict({}), InvalidArgument);
  EXPECT_THROW(model.predict_file(path("none")), FileError);
  EXPECT_THROW(model.predict_file(path("m.ignd")), FileError);
  EXPECT_TRUE(testing::contains(message_of([&] { train(photos, {{"loss", "squared"}}); }), "they have two classes"));
}

// Without a learning rate, both search for it on the same part of the images.
TEST_F(FilesFromCode, ImagesAreTrainedToTheBitsOfTheTool) {
  Members many;
  for (unsigned copy = 0; copy < 12; ++copy) {
    for (const auto& [name, content] : pictures()) {
      const std::size_t file = name.find('/') + 1;
      many.emplace_back(fmt::format("{}{}-{}", name.substr(0, file), copy, name.substr(file)), content);
    }
  }
  const std::string photos = fill("photos", many);
  ASSERT_EQ(run_tool({"train", photos, "--size", "8", "--model", "cnn:2/4", "--epochs", "4", "--save", path("m.ignd"),
                      "--quiet"})
                .exit_code,
            0);
  train(photos, {{"size", "8"}, {"model", "cnn:2/4"}, {"epochs", "4"}}).model.save(path("code.ignd"));
  const Checkpoint tool = Checkpoint::read(path("m.ignd")), code = Checkpoint::read(path("code.ignd"));
  for (const auto& [name, value] : code.entries()) {
    ASSERT_TRUE(tool.entries().contains(name)) << name;
    EXPECT_EQ(tool.entries().at(name), value) << name;
  }
}

TEST_F(FilesFromCode, TextsArePredictedAsByTheTool) {
  const char* folder = std::getenv("IGND_DATA");
  if (folder == nullptr || *folder == '\0') {
    GTEST_SKIP() << "IGND_DATA does not say where cl100k_base.tiktoken is, and no made-up one has its checksum";
  }
  Members reviews;
  std::string table = "id,review,mood\n", bare = "review\n";
  RandomStream stream(3, "reviews");
  for (unsigned i = 0; i < 40; ++i) {
    const bool good = i % 2 == 0;
    const std::string text = fmt::format("{} film number {}, seen in a small and rather cold cinema far from here",
                                         good ? "a great" : "a dull", stream.below(1000));
    reviews.emplace_back(fmt::format("{}/{:02}.txt", good ? "good" : "bad", i), text);
    table += fmt::format("{},\"{}\",{}\n", i, text, good ? "good" : "bad");
  }
  const std::string files = fill("reviews", reviews);
  std::ofstream(path("reviews.csv")) << table;
  const std::vector<std::string> options{"--model", "lstm:4x4", "--length",     "8",      "--epochs", "2", "--lr",
                                         "0.03",    "--save",   path("m.ignd"), "--quiet"};

  std::vector<std::string> on_files{"train", files};
  on_files.insert(on_files.end(), options.begin(), options.end());
  ASSERT_EQ(run_tool(on_files).exit_code, 0);
  const ModelFile of_files = ModelFile::load(path("m.ignd"));
  EXPECT_EQ(of_files.kind(), ModelKind::texts);
  EXPECT_TRUE(of_files.columns().empty());
  EXPECT_EQ(expect_same(files).size(), 40U);
  EXPECT_EQ(expect_same(files + "/good/00.txt").size(), 1U);
  expect_to_be_saved(files);
  EXPECT_TRUE(testing::contains(message_of([&] { of_files.predict({{"review", "great"}}); }), "of texts in files"));
  EXPECT_THROW(of_files.predict_file(path("reviews.csv")), FileError);

  std::vector<std::string> on_column{"train", path("reviews.csv"), "--text", "review", "--target", "mood"};
  on_column.insert(on_column.end(), options.begin(), options.end());
  ASSERT_EQ(run_tool(on_column).exit_code, 0);
  const ModelFile of_column = ModelFile::load(path("m.ignd"));
  EXPECT_EQ(of_column.target(), "mood");
  EXPECT_EQ(of_column.columns(), std::vector<std::string>{"review"});
  const auto rows = expect_same(path("reviews.csv"));
  ASSERT_EQ(rows.size(), 40U);
  for (std::size_t i = 0; i < 40; ++i) {
    const Prediction alone = of_column.predict({{"review", reviews[i].second}, {"id", "x"}});
    EXPECT_EQ(alone.probabilities, rows[i].probabilities) << i;
    EXPECT_EQ(alone.label, rows[i].label);
  }
  expect_same(files);
  expect_to_be_saved(path("reviews.csv"));
  EXPECT_TRUE(testing::contains(message_of([&] { of_column.predict({{"id", "1"}}); }), "'review' is missing"));
}

}  // namespace
}  // namespace ignd
