#include "environment.hpp"
#include "ignd/checkpoint.hpp"
#include "ignd/random.hpp"
#include "learn/split.hpp"
#include "make_archive.hpp"
#include "make_image.hpp"
#include "scratch_folder.hpp"
#include "support.hpp"
#include "tool_support.hpp"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

// Training on images and texts, and using what was learned.
namespace ignd {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::contains;
using testing::content_of;
using testing::events;
using testing::expect_refusal;
using testing::lines_of;
using testing::make_archive;
using testing::Members;
using testing::operator+;
using testing::Outcome;
using testing::Process;
using testing::run_tool;
using testing::ScratchFolder;
using testing::tool_with;
using testing::without_names;
using testing::Words;
using testing::write_text;

// An image of noise, brighter or darker than half.
std::string picture(bool bright, unsigned seed) {
  Image image = testing::noise_image({8, 8}, seed);
  for (std::uint8_t& value : image.pixels) value = static_cast<std::uint8_t>(value / 2 + (bright ? 128 : 0));
  return seed % 2 == 0 ? testing::encode_png(image) : testing::encode_jpeg(image);
}

Members pictures(unsigned count = 30) {
  Members members;
  for (unsigned i = 0; i < count; ++i) {
    members.emplace_back(fmt::format("bright/{:02}", i) + (i % 2 == 0 ? ".png" : ".jpg"), picture(true, i));
    members.emplace_back(fmt::format("dark/{:02}", i) + (i % 2 == 0 ? ".png" : ".jpg"), picture(false, i + 1000));
  }
  std::ranges::sort(members);
  return members;
}

class NetworkTool : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return (folder_ / name.c_str()).string(); }

  // A folder with these files.
  std::string fill(const std::string& name, const Members& members) const {
    for (const auto& [member, content] : members) {
      const fs::path file = fs::path(path(name)) / member;
      fs::create_directories(file.parent_path());
      write_text(file, content);
    }
    return path(name);
  }

  json result(const Words& arguments) const {
    const Outcome outcome = run_tool(arguments + Words{"--json"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return outcome.out.empty() ? json() : events(outcome.out).back();
  }

  // Ended by a signal again and again, a run ends with the same bits.
  void expect_to_go_on(const std::function<Words(const std::string& save)>& command, int signal,
                       const Words& more = {}) const {
    const std::string whole = path("whole.ignd");
    EXPECT_EQ(run_tool(command(whole)).exit_code, 0);
    RandomStream stream(22, "moments");
    Words next = command(model_) + more;
    for (int interruption = 0; interruption < 3; ++interruption) {
      Process process(tool_with(next));
      process.read_lines(3 + stream.below(8));
      process.signal(signal);
      const Outcome outcome = process.finish();
      EXPECT_EQ(outcome.exit_code, signal == SIGKILL ? -SIGKILL : 130) << outcome.err;
      EXPECT_FALSE(fs::exists(model_));
      const std::string partial = path("model.partial.ignd");
      EXPECT_EQ(events(run_tool({"inspect", partial, "--json"}).out).back()["status"], "running");
      next = command(model_) + more + Words{"--resume", partial};
    }
    EXPECT_EQ(run_tool(next).exit_code, 0);
    EXPECT_EQ(content_of(model_), content_of(whole));
    fs::remove(model_);
  }

  ScratchFolder folder_;
  testing::Variable cache_{"XDG_CACHE_HOME", path("cache")};
  std::string model_ = path("model.ignd");
};

// The default split of files, whose folders begin with different letters.
Split split_of(const Members& files) {
  std::vector<std::uint64_t> classes;
  for (const auto& file : files) classes.push_back(static_cast<std::uint64_t>(file.first[0]));
  return split_by_class(classes, {0.1, 0.1}, 1);
}

class ImageTool : public NetworkTool {
 protected:
  void SetUp() override {
    if (!testing::has_convolutions) GTEST_SKIP() << testing::no_convolutions;
  }
  Words train(const Words& more = {}) const {
    return Words{"train",    data_, "--size", "8",    "--model", "cnn:2/4",
                 "--epochs", "4",   "--lr",   "0.01", "--save",  model_} +
           more;
  }

  std::string data_ = fill("photos", pictures());
};

TEST_F(ImageTool, LearnsToTellClassesApart) {
  const Outcome outcome =
      run_tool({"train", data_, "--size", "8", "--model", "cnn:4/8", "--epochs", "12", "--save", model_, "--json"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  const auto lines = events(outcome.out);
  ASSERT_EQ(lines.size(), 15U);
  EXPECT_EQ(lines[0]["event"], "data");
  EXPECT_EQ(lines[0]["images"], 60);
  EXPECT_EQ(lines[0]["pixels"], 8);
  EXPECT_EQ(lines[0]["train"], 48);
  EXPECT_EQ(lines[0]["skipped"], json::array());
  EXPECT_EQ(lines[1]["event"], "rate");
  const json& last = lines.back();
  EXPECT_EQ(last["loss"], "logistic");
  EXPECT_EQ(last["metrics"]["test"]["accuracy"], 1.0);
  EXPECT_LT(last["baselines"]["best_constant"]["test"]["accuracy"], 1.0);
  EXPECT_EQ(last["baselines"].size(), 1U);
  EXPECT_EQ(last["saved"], model_);
}

// Noise that is dark, of half the brightness, or bright.
TEST_F(ImageTool, LearnsThreeClasses) {
  Members members;
  for (unsigned i = 0; i < 20; ++i) {
    const Words names{"bright", "dark", "medium"};
    for (unsigned k = 0; k < 3; ++k) {
      Image image = testing::noise_image({8, 8}, 100 * k + i);
      const int low = k == 0 ? 170 : k == 1 ? 0 : 85;
      for (std::uint8_t& value : image.pixels) value = static_cast<std::uint8_t>(value / 3 + low);
      members.emplace_back(fmt::format("{}/{:02}.png", names[k], i), testing::encode_png(image));
    }
  }
  std::ranges::sort(members);
  const std::string data = fill("three", members);
  const Words run{"train",    data, "--size", "8",    "--model", "cnn:4/8",
                  "--epochs", "12", "--lr",   "0.01", "--save",  model_};
  const json trained = result(run);
  EXPECT_EQ(trained["loss"], "softmax");
  EXPECT_EQ(trained["classes"], (json{"bright", "dark", "medium"}));
  EXPECT_GT(trained["metrics"]["test"]["accuracy"], 0.6);
  EXPECT_TRUE(trained["baselines"]["best_constant"]["test"].contains("macro_f1"));
  const json found = result({"evaluate", model_, data});
  EXPECT_GT(found["metrics"]["test"]["accuracy"], 0.7);
  EXPECT_EQ(found["images"], 60);
  const Words lines = lines_of(run_tool({"predict", model_, data}).out);
  EXPECT_EQ(lines[0], "file,prediction,probability_bright,probability_dark,probability_medium");
  ASSERT_EQ(lines.size(), 61U);
  EXPECT_TRUE(contains(run_tool({"inspect", model_}).out, "one of 3 classes, 'bright', 'dark' and 'medium'"));
  expect_refusal({"evaluate", model_, data_}, 1, "the model knows 'bright', 'dark' and 'medium'");
  result(run + Words{"--batch", "4"});
  result(run + Words{"--batch", "4", "--batch-mode", "exact"});
  expect_refusal(run + Words{"--loss", "logistic"}, 2, "give the softmax loss");
  expect_refusal(run + Words{"--positive", "dark"}, 2, "not learned as two classes");
  expect_refusal({"train", data, "--size", "8", "--model", "network:flatten; dense 1"}, 2,
                 "the network has 1 output, but the target needs 3: end it with dense 3");
  expect_refusal({"train", data_, "--size", "8", "--model", "cnn:2", "--loss", "softmax"}, 2, "give the logistic loss");
}

TEST_F(ImageTool, SaysWhatItDoes) {
  fill("photos", {{"bright/a.jpg", "no image"}, {"dark/cut.png", picture(false, 0).substr(0, 90)}});
  const Outcome outcome = run_tool(train());
  EXPECT_EQ(outcome.exit_code, 0);
  for (const char* part :
       {"60 images: 48 to train on, 6 to validate", "class bright or dark", "8 x 8 pixels",
        "model cnn:2/4, image 3 8 8; loss logistic", "epoch   4", "accuracy", "best constant", "saved "}) {
    EXPECT_TRUE(contains(outcome.out, part)) << part << " is not in " << outcome.out;
  }
  EXPECT_FALSE(contains(outcome.out, "this takes about"));
  EXPECT_TRUE(contains(outcome.err, "2 files are left out: ")) << outcome.err;
  EXPECT_TRUE(contains(outcome.err, "'bright/a.jpg'") && contains(outcome.err, "'dark/cut.png'")) << outcome.err;
  const auto data = events(run_tool(train({"--json"})).out).front();
  EXPECT_EQ(data["skipped"], (json{"bright/a.jpg", "dark/cut.png"}));

  const Outcome inspected = run_tool({"inspect", model_});
  for (const char* part : {"network:image 3 8 8; convolution 2", "finished", "class bright or dark", "8 x 8 pixels"}) {
    EXPECT_TRUE(contains(inspected.out, part)) << part << " is not in " << inspected.out;
  }
  const json summary = events(run_tool({"inspect", model_, "--json"}).out).back();
  EXPECT_EQ(summary["kind"], "image model");
  EXPECT_EQ(summary["pixels"], 8);
}

TEST_F(ImageTool, GivesTheSameModelWhateverItPrintsAndReads) {
  run_tool(train());
  const std::string plain = content_of(model_);
  const auto plain_entries = without_names(model_);
  for (const Words& more : {Words{"--quiet"}, Words{"--json"}, Words{"--save-every", "1"}}) {
    EXPECT_EQ(run_tool(train(more)).exit_code, 0);
    EXPECT_EQ(content_of(model_), plain);
  }
  for (const char* name : {"photos.zip", "photos.tgz", "photos.tar.gz"}) {
    make_archive(path(name), pictures());
    data_ = path(name);
    EXPECT_EQ(run_tool(train()).exit_code, 0);
    EXPECT_TRUE(without_names(model_) == plain_entries) << name;
  }
  run_tool(train({"--seed", "2"}));
  EXPECT_NE(content_of(model_), plain);
}

TEST_F(ImageTool, ReportsWhatAnEvaluationFinds) {
  const json trained = result(train());
  const Members all = pictures();
  const Split split = split_of(all);
  Members test;
  for (const std::uint32_t i : split.test) test.push_back(all[i]);
  const json evaluated = result({"evaluate", model_, fill("test", test)});
  EXPECT_EQ(evaluated["images"], 6);
  EXPECT_EQ(evaluated["metrics"]["test"], trained["metrics"]["test"]);
  EXPECT_TRUE(contains(run_tool({"evaluate", model_, path("test")}).out, "6 images"));
  EXPECT_EQ(evaluated["classes"], json({"bright", "dark"}));
  const json turned = result(train({"--positive", "bright"}));
  const json measured = result({"evaluate", model_, path("test")});
  EXPECT_EQ(measured["classes"], json({"dark", "bright"}));
  EXPECT_EQ(measured["metrics"]["test"], turned["metrics"]["test"]);
  EXPECT_EQ(measured["confusion"], turned["confusion"]);
  ASSERT_EQ(run_tool(train()).exit_code, 0);

  // Where the data say what the test is, that alone is measured.
  Members parts;
  for (const auto& [name, content] : test) parts.emplace_back("test/" + name, content);
  for (const auto& [name, content] : all) parts.emplace_back("train/" + name, content);
  EXPECT_EQ(result({"evaluate", model_, fill("parts", parts)})["metrics"], evaluated["metrics"]);
  data_ = path("parts");
  EXPECT_EQ(events(run_tool(train({"--json"})).out).front()["test"], 6);
}

TEST_F(ImageTool, PredictsInTheOrderOfTheNames) {
  run_tool(train());
  const Outcome outcome = run_tool({"predict", model_, data_});
  EXPECT_EQ(outcome.err, "");
  const Words lines = lines_of(outcome.out);
  ASSERT_EQ(lines.size(), 61U);
  EXPECT_EQ(lines[0], "file,prediction,probability");
  const Members all = pictures();
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_TRUE(lines[i + 1].starts_with(all[i].first + ",")) << lines[i + 1];
    const double probability = std::stod(lines[i + 1].substr(lines[i + 1].rfind(',') + 1));
    EXPECT_TRUE(contains(lines[i + 1], probability >= 0.5 ? ",dark," : ",bright,")) << lines[i + 1];
  }
  make_archive(path("photos.zip"), {all.rbegin(), all.rend()});
  EXPECT_EQ(run_tool({"predict", model_, path("photos.zip")}).out, outcome.out);
  EXPECT_EQ(run_tool({"predict", model_, data_, "-o", path("out.csv")}).out, "");
  EXPECT_EQ(content_of(path("out.csv")), outcome.out);

  // One of them, and without folders.
  const std::string one = lines[1].substr(lines[1].find('/') + 1);
  EXPECT_EQ(run_tool({"predict", model_, data_ + "/" + all[0].first}).out, lines[0] + "\n" + one + "\n");
  fill("flat", {{"00.png", all[0].second}, {"b.txt", "no image"}});
  const Outcome flat = run_tool({"predict", model_, path("flat")});
  EXPECT_EQ(flat.exit_code, 0);
  EXPECT_EQ(flat.out, lines[0] + "\n" + one + "\n");
  EXPECT_TRUE(contains(flat.err, "1 file is left out: ")) << flat.err;
}

TEST_F(ImageTool, NoFileIsIgnoredInSilence) {
  fill("photos", {{"stray.png", picture(true, 90)}, {"dark/more/1.png", picture(false, 91)}});
  const Outcome trained = run_tool(train());
  EXPECT_EQ(trained.exit_code, 0) << trained.err;
  EXPECT_TRUE(contains(trained.err, "2 files are left out: 'dark/more/1.png' is not in a class folder")) << trained.err;
  const Outcome measured = run_tool({"evaluate", model_, data_});
  EXPECT_TRUE(contains(measured.err, "'stray.png' is not in a class folder")) << measured.err;
  const Outcome predicted = run_tool({"predict", model_, data_});
  EXPECT_EQ(lines_of(predicted.out).size(), 63U) << "classes do not matter";
  EXPECT_TRUE(contains(predicted.out, "\ndark/more/1.png,") && contains(predicted.out, "\nstray.png,"));
  EXPECT_EQ(predicted.err, "");
}

TEST_F(ImageTool, RefusesToUseOtherData) {
  run_tool(train());
  expect_refusal({"evaluate", model_, fill("other", {{"bright/1.png", picture(true, 0)}, {"light/1.png", ""}})}, 1,
                 "has the classes 'bright' and 'light'; the model knows 'bright' and 'dark'");
  expect_refusal({"evaluate", model_, fill("one", {{"dark/1.png", picture(false, 0)}})}, 1, "has the class 'dark'");
  expect_refusal({"evaluate", model_, fill("flat", {{"1.png", picture(false, 0)}})}, 1, "has no class folders");
  expect_refusal({"predict", model_, fill("texts", {{"1.txt", "words"}})}, 1, "holds no image that can be read");
  expect_refusal({"predict", model_, path("none")}, 1, "none");
  expect_refusal({"predict", model_, model_}, 1, "is a model, not data");
  expect_refusal({"predict", data_, model_}, 1, "is a model, not data; are the two in the right order?");
  expect_refusal({"evaluate", model_, model_}, 1, "is a model, not data");
  expect_refusal({"predict", model_, data_, "--format", "csv"}, 2, "--format cannot be given for images");
  expect_refusal({"evaluate", model_, data_, "--weight", "w", "--header", "no"}, 2, "--header, --weight cannot");
  expect_refusal({"predict", model_, data_, "-o", path("no/such/out.csv")}, 1, "there is no folder");
  fs::create_directories(path("empty"));
  expect_refusal({"predict", model_, path("empty")}, 1, "holds no files");
}

TEST_F(ImageTool, RefusesBrokenModels) {
  run_tool(train());
  const auto refuse = [&](const std::function<void(Checkpoint&)>& change, const std::string& part) {
    Checkpoint checkpoint = Checkpoint::read(model_);
    change(checkpoint);
    checkpoint.write(path("broken.ignd"));
    for (const char* command : {"predict", "evaluate"}) expect_refusal({command, path("broken.ignd"), data_}, 1, part);
    expect_refusal({"inspect", path("broken.ignd")}, 1, part);
  };
  const std::vector<std::uint64_t> small{4, 4}, huge{1U << 31U, 1U << 31U}, none{0, 0};
  for (const auto* size : {&small, &none}) {
    refuse([&](Checkpoint& c) { c.set("image.size", std::span<const std::uint64_t>(*size)); }, "do not fit together");
  }
  refuse([&](Checkpoint& c) { c.set("image.size", std::span<const std::uint64_t>(huge)); }, "too large");
  refuse([](Checkpoint& c) { c.set("target.kind", std::string("number")); }, "cannot be learned by its loss");
  refuse([](Checkpoint& c) { c.set("trained.model", std::string("network:image 3 8 8; flatten; dense 2")); },
         "its model");
  refuse([](Checkpoint& c) { c.set("kind", std::string("text model")); }, "cannot be used");
  refuse([](Checkpoint& c) { c.set("kind", std::string("table model")); }, "cannot be used");
}

TEST_F(ImageTool, GoesOnWhereItWasStopped) {
  const auto command = [&](const std::string& save) -> Words {
    return {"train",    data_, "--size", "8",          "--model", "cnn:2/4", "--lr", "0.01",
            "--epochs", "200", "--json", "--patience", "200",     "--save",  save};
  };
  expect_to_go_on(command, SIGINT);
  expect_to_go_on(command, SIGKILL, {"--save-every", "1"});
}

TEST_F(ImageTool, GoesOnWithTheSameOptionsAndDataOnly) {
  run_tool(train());
  const auto refuse = [&](const Words& more, const std::string& part) {
    expect_refusal(Words{"train", data_, "--epochs", "4", "--quiet", "--resume", model_} + more, 1, part);
  };
  refuse({"--size", "9", "--model", "cnn:2/4"}, "its size is '8', not '9'");
  refuse({"--size", "8", "--model", "cnn:2/4", "--seed", "2"}, "its seed is '1', not '2'");
  refuse({"--size", "8", "--model", "cnn:2/4", "--lr", "0.1"}, "its lr is '0.01', not '0.1'");
  refuse({"--size", "8", "--model", "cnn:3/4"}, "its model is");
  fill("photos", {{"dark/00.png", picture(false, 77)}});
  refuse({"--size", "8", "--model", "cnn:2/4"}, "other data");
  write_text(path("table.csv"), "a,y\n1,2\n2,3\n3,5\n4,4\n");
  expect_refusal({"train", path("table.csv"), "--target", "y", "--resume", model_}, 1,
                 "holds no training run on a table; it is of the kind 'image model'");
}

TEST_F(ImageTool, RefusesWhatMeansNothingForImages) {
  const auto refuse = [&](const Words& options, const std::string& part) {
    expect_refusal(Words{"train", data_} + options, 2, part);
  };
  refuse({"--target", "y"}, "--target cannot be given for images");
  refuse({"--weight", "w", "--split-by", "a"}, "--weight, --split-by cannot be given for images");
  refuse({"--split-time", "t"}, "--split-time cannot");
  refuse({"--class-weight", "balanced"}, "--class-weight cannot");
  refuse({"--loss", "squared"}, "the loss squared cannot be given for images");
  refuse({"--stream"}, "--stream cannot be given");
  refuse({"--text", "t"}, "--text names a column of a table");
  refuse({"--length", "3"}, "--length can only be given for texts");
  refuse({"--format", "csv"}, "--format cannot");
  refuse({"--bits", "3"}, "--bits can only be given with --stream");
  refuse({"--size", "0"}, "--size");
  refuse({"--size", "5000"}, "--size");
  refuse({"--size", "8", "--model", "mlp:3"}, "there is no network 'mlp:3'");
  refuse({"--size", "8", "--model", "lstm:3x3"}, "an lstm reads texts");
  refuse({"--size", "8", "--model", "cnn:1,1,1,1"}, "layer");
  refuse({"--size", "8", "--model", "cnn:x"}, "a width of 'cnn:x'");
  refuse({"--size", "8", "--model", "network:dense 1"}, "flatten");
  refuse({"--size", "8", "--model", "network:"}, "network");
  refuse({"--model", "cnn:2", "--lr", "x"}, "learning rate");
  refuse({"--validation", "0.6", "--test", "0.6", "--size", "8", "--model", "cnn:2"}, "fractions");
  EXPECT_EQ(run_tool(train({"--loss", "logistic"})).exit_code, 0);
  write_text(path("table.csv"), "a,y\n1,2\n2,3\n3,5\n4,4\n");
  expect_refusal({"train", path("table.csv"), "--target", "y", "--size", "8"}, 2,
                 "--size can only be given for images");
  expect_refusal({"train", path("table.csv"), "--target", "y", "--length", "8"}, 2, "--length can only be");
}

TEST_F(ImageTool, RefusesOtherFolders) {
  const auto refuse = [&](const std::string& name, const Members& members, int code, const std::string& part) {
    expect_refusal({"train", fill(name, members), "--size", "8", "--model", "cnn:2"}, code, part);
  };
  const std::string image = picture(true, 0);
  refuse("mixed", {{"a/1.png", image}, {"b/1.txt", "words"}}, 1, "holds images and texts");
  refuse("neither", {{"a/1.doc", "x"}, {"b/1.doc", "x"}}, 1, "neither images");
  refuse("one", {{"a/1.png", image}}, 2, "there is 1 class: a, but two are needed");
  refuse("flat", {{"1.png", image}}, 2, "there are no classes; put the files of each into a folder");
  refuse("few", {{"a/1.png", image}, {"b/1.png", image}}, 2, "too few");
  refuse("broken", {{"a/1.png", "x"}, {"b/1.png", "y"}}, 1, "holds no image that can be read");
  write_text(path("broken.zip"), "PK\x03\x04 and no more");
  expect_refusal({"train", path("broken.zip")}, 1, "broken.zip");
  expect_refusal({"train", path("none.zip")}, 1, "none.zip");
}

TEST_F(NetworkTool, TakesNetworksFromFiles) {
  if (!testing::has_convolutions) GTEST_SKIP() << testing::no_convolutions;
  const std::string data = fill("photos", pictures());
  write_text(
      path("net.toml"),
      "[[layer]]\nkind = \"convolution\"\nchannels = 2\n[[layer]]\nkind = \"tanh\"\n[[layer]]\nkind = \"max-pool\"\n"
      "[[layer]]\nkind = \"flatten\"\n[[layer]]\nkind = \"dense\"\nunits = 1\n");
  const Words run{"train", data,   "--size", "8",    "--epochs", "2",
                  "--lr",  "0.01", "--save", model_, "--quiet",  "--model"};
  EXPECT_EQ(run_tool(run + Words{path("net.toml")}).exit_code, 0);
  const std::string from_file = content_of(model_);
  EXPECT_EQ(run_tool(run + Words{"network:convolution 2; tanh; max-pool; flatten; dense 1"}).exit_code, 0);
  EXPECT_EQ(content_of(model_), from_file);
  expect_refusal(run + Words{path("none.toml")}, 1, "none.toml");
  write_text(path("bad.toml"), "[[layer]]\nkind = \"dense\"\nunits = 0\n[[layer]]\nkind = \"lost\"\n");
  expect_refusal(run + Words{path("bad.toml")}, 2, "line 3: units must be a whole number from 1 to 1000000000; line 5");
  write_text(path("unfit.toml"), "[[layer]]\nkind = \"dense\"\nunits = 1\n");
  expect_refusal(run + Words{path("unfit.toml")}, 2, "put flatten before it");
  write_text(path("garbage.toml"), std::string("\0\xff[[", 4));
  expect_refusal(run + Words{path("garbage.toml")}, 2, "line 1");
}

TEST_F(NetworkTool, LearnsTablesWithAnyNetwork) {
  std::string table = "a,b,y\n";
  for (int i = 0; i < 100; ++i) table += fmt::format("{},{},{}\n", i, i % 7, 3 * i + i % 7);
  write_text(path("table.csv"), table);
  const Words run{"train", path("table.csv"), "--target", "y", "--save", model_, "--model"};
  const json trained = result(run + Words{"network:dense 8; tanh; dense 1"});
  EXPECT_GT(trained["metrics"]["test"]["r2"], 0.9);
  EXPECT_EQ(result({"evaluate", model_, path("table.csv")})["rows"], 100);
  EXPECT_EQ(lines_of(run_tool({"predict", model_, path("table.csv")}).out).size(), 101U);
  EXPECT_TRUE(contains(run_tool({"inspect", model_}).out, "network:values 2; dense 8; tanh; dense 1"));
  write_text(path("net.toml"),
             "[[layer]]\nkind = \"dense\"\nunits = 8\n[[layer]]\nkind = \"tanh\"\n"
             "[[layer]]\nkind = \"dense\"\nunits = 1\n");
  EXPECT_EQ(result(run + Words{path("net.toml")})["metrics"], trained["metrics"]);
  std::string classes = "a,b,y\n";
  for (int i = 0; i < 120; ++i) classes += fmt::format("{},{},{}\n", i, i % 7, i < 40 ? "x" : i < 80 ? "y" : "z");
  write_text(path("classes.csv"), classes);
  const Words of_classes{"train", path("classes.csv"), "--target", "y", "--save", path("classes.ignd"), "--model"};
  EXPECT_GT(result(of_classes + Words{"network:dense 8; tanh; dense 3"})["metrics"]["test"]["accuracy"], 0.8);
  expect_refusal(of_classes + Words{"network:dense 8; tanh; dense 1"}, 2,
                 "the network has 1 output, but the target needs 3: end it with dense 3");
  expect_refusal(run + Words{"network:flatten; dense 1"}, 2, "layer 1 of the network, 'flatten'");
  expect_refusal(run + Words{"cnn:3"}, 2, "a cnn reads images");
}

class TextTool : public NetworkTool {
 protected:
  void SetUp() override {
    const char* folder = std::getenv("IGND_DATA");
    if (folder == nullptr || *folder == '\0') {
      GTEST_SKIP() << "IGND_DATA does not say where cl100k_base.tiktoken is, and no made-up one has its checksum";
    }
  }

  static Members reviews() {
    const Words good{"wonderful", "great", "fine", "lovely"}, bad{"awful", "poor", "dull", "boring"};
    RandomStream stream(3, "reviews");
    Members members;
    for (unsigned i = 0; i < 30; ++i) {
      for (const bool is_good : {false, true}) {
        const Words& words = is_good ? good : bad;
        members.emplace_back(
            fmt::format("{}/{:02}.txt", is_good ? "pos" : "neg", i),
            fmt::format("a {} and {} film, \"the\" end", words[stream.below(4)], words[stream.below(4)]));
      }
    }
    std::ranges::sort(members);
    return members;
  }

  static std::string table_of(const Members& members) {
    std::string table = "id,review,sentiment\n";
    for (std::size_t i = 0; i < members.size(); ++i) {
      std::string text;
      for (const char c : members[i].second) text.append(c == '"' ? 2 : 1, c);
      table += fmt::format("{},\"{}\",{}\n", i, text, members[i].first.substr(0, 3));
    }
    return table;
  }

  Words train(const Words& data, const Words& more = {}) const {
    return Words{"train"} + data +
           Words{"--model", "lstm:4x4", "--length", "8", "--epochs", "6", "--lr", "0.03", "--save", model_} + more;
  }
};

TEST_F(TextTool, LearnsFromFiles) {
  const std::string data = fill("reviews", reviews());
  const Outcome outcome = run_tool(train({data}));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  for (const char* part :
       {"60 texts: 48 to train on", "class neg or pos", "the last 8 tokens of each", "best constant"}) {
    EXPECT_TRUE(contains(outcome.out, part)) << part << " is not in " << outcome.out;
  }
  EXPECT_GT(result({"evaluate", model_, data})["metrics"]["test"]["accuracy"], 0.9);
  const Words lines = lines_of(run_tool({"predict", model_, data}).out);
  ASSERT_EQ(lines.size(), 61U);
  EXPECT_EQ(lines[0], "file,prediction,probability");
  EXPECT_TRUE(lines[1].starts_with("neg/00.txt,"));
  const std::string one = run_tool({"predict", model_, data + "/neg/00.txt"}).out;
  EXPECT_EQ(one, lines[0] + "\n" + lines[1].substr(4) + "\n");
  EXPECT_TRUE(contains(run_tool({"inspect", model_}).out, "files of text: the last 8 tokens of each"));
  EXPECT_EQ(events(run_tool({"inspect", model_, "--json"}).out).back()["tokens"], 8);
  expect_refusal({"evaluate", model_, fill("other", {{"neg/1.txt", "a"}, {"new/1.txt", "b"}})}, 1, "the model knows");
  expect_refusal({"predict", model_, "-"}, 2, "cannot come from the standard input");
}

TEST_F(TextTool, LearnsFromAColumnOfATable) {
  const Members all = reviews();
  write_text(path("reviews.csv"), table_of(all));
  const Words data{path("reviews.csv"), "--text", "review", "--target", "sentiment"};
  const json trained = result(train(data));
  const Split split = split_of(all);
  Members test;
  for (const std::uint32_t i : split.test) test.push_back(all[i]);
  write_text(path("test.csv"), table_of(test));
  const json evaluated = result({"evaluate", model_, path("test.csv")});
  EXPECT_EQ(evaluated["metrics"]["test"], trained["metrics"]["test"]);
  EXPECT_EQ(result({"evaluate", model_, fill("test", test)})["metrics"], evaluated["metrics"]);
  const Words lines = lines_of(run_tool({"predict", model_, path("test.csv")}).out);
  EXPECT_EQ(lines[0], "row,prediction,probability");
  EXPECT_TRUE(lines[1].starts_with("1,"));
  write_text(path("plain.csv"), "review\nawful\n");
  EXPECT_EQ(lines_of(run_tool({"predict", model_, path("plain.csv")}).out).size(), 2U);
  write_text(path("plain.txt"), "review\nawful\n");
  EXPECT_TRUE(contains(run_tool({"predict", model_, path("plain.txt")}).out, "\nplain.txt,"));
  EXPECT_TRUE(contains(run_tool({"predict", model_, path("plain.txt"), "--format", "csv"}).out, "\n1,"));
  expect_refusal({"evaluate", model_, path("plain.csv")}, 1, "there is no column 'sentiment'");
  write_text(path("other.csv"), "review,sentiment\nawful,bad\n");
  expect_refusal({"evaluate", model_, path("other.csv")}, 1, "is 'bad', but the model knows 'neg' and 'pos'");
  expect_refusal({"evaluate", model_, path("test.csv"), "--weight", "id"}, 2, "--weight cannot be given for texts");
  expect_refusal({"predict", model_, model_}, 1, "is a model, not data");
  // The same texts give the same model, but for how they are found.
  EXPECT_EQ(result(train({fill("reviews", all)}))["metrics"], trained["metrics"]);
}

TEST_F(TextTool, LearnsMoreClassesAndNumbers) {
  const Words words{"awful", "so-so", "lovely"}, names{"bad", "fair", "good"};
  RandomStream stream(4, "three kinds of reviews");
  Members members;
  std::string table = "review,kind,price,stars\n";
  for (unsigned i = 0; i < 90; ++i) {
    const std::size_t k = i % 3;
    const std::string text = fmt::format("a {} film, the end", words[k]);
    members.emplace_back(fmt::format("{}/{:02}.txt", names[k], i), text);
    table +=
        fmt::format("\"{}\",{},{:.2f},{}\n", text, names[k], 10.0 * static_cast<double>(k) + stream.normal(), k + 1);
  }
  const std::string folder = fill("three", members);
  write_text(path("three.csv"), table);
  const Words column{path("three.csv"), "--text", "review", "--target"};
  for (const Words& data : {Words{folder}, column + Words{"kind"}}) {
    const json trained = result(train(data));
    EXPECT_EQ(trained["loss"], "softmax");
    EXPECT_GT(trained["metrics"]["test"]["accuracy"], 0.9);
    EXPECT_EQ(result({"evaluate", model_, folder})["metrics"]["test"]["accuracy"], 1.0);
    const Words lines = lines_of(run_tool({"predict", model_, folder}).out);
    EXPECT_EQ(lines[0], "file,prediction,probability_bad,probability_fair,probability_good");
  }
  expect_refusal({"evaluate", model_, fill("other", {{"bad/1.txt", "a"}, {"worse/1.txt", "b"}})}, 1,
                 "the model knows 'bad', 'fair' and 'good'");
  write_text(path("one.csv"), "review,kind\nx,worse\n");
  expect_refusal({"evaluate", model_, path("one.csv")}, 1, "is 'worse', but the model knows 'bad', 'fair', 'good'");

  const json priced = result(train(column + Words{"price"}));
  EXPECT_EQ(priced["loss"], "squared");
  EXPECT_GT(priced["metrics"]["test"]["r2"], 0.8);
  EXPECT_GT(result({"evaluate", model_, path("three.csv")})["metrics"]["test"]["r2"], 0.9);
  EXPECT_EQ(lines_of(run_tool({"predict", model_, path("three.csv")}).out)[0], "row,prediction");
  EXPECT_TRUE(contains(run_tool({"inspect", model_}).out, "target price: number, mean"));
  expect_refusal({"evaluate", model_, folder}, 1, "has no numbers to compare with");
  write_text(path("bad.csv"), "review,price\nx,cheap\ny,2\n");
  expect_refusal({"evaluate", model_, path("bad.csv")}, 1, "row 1");

  const Outcome stars = run_tool(train(column + Words{"stars"}));
  EXPECT_TRUE(contains(stars.out, "--loss softmax learns classes")) << stars.out;
  EXPECT_EQ(result(train(column + Words{"stars", "--loss", "softmax"}))["classes"], (json{"1", "2", "3"}));
  EXPECT_EQ(result({"evaluate", model_, path("three.csv")})["metrics"]["test"]["accuracy"], 1.0);
  EXPECT_EQ(result(train(column + Words{"stars", "--loss", "poisson"}))["loss"], "poisson");
}

TEST_F(TextTool, WhatIsNoTextIsLeftOut) {
  const std::string data = fill("reviews", reviews());
  run_tool(train({data}));
  expect_refusal({"predict", model_, fill("photos", {{"cat/1.jpg", std::string("\xff\xd8\0\0", 4)}})}, 1,
                 "holds no text: 'cat/1.jpg' is not a text: it contains zero bytes");
  fill("photos", {{"cat/2", "words"}});
  const Outcome mixed = run_tool({"predict", model_, path("photos")});
  EXPECT_EQ(lines_of(mixed.out).size(), 2U);
  EXPECT_TRUE(contains(mixed.err, "1 file is left out: 'cat/1.jpg' is not a text")) << mixed.err;
  write_text(path("new.csv"), table_of(reviews()));
  expect_refusal({"predict", model_, path("new.csv")}, 1,
                 "is a table, but the model learned from files of one text each");
}

TEST_F(TextTool, GoesOnWhereItWasStopped) {
  const std::string data = fill("reviews", reviews());
  expect_to_go_on(
      [&](const std::string& save) -> Words {
        return {"train", data,       "--optimizer", "ignd",   "--model",    "lstm:2x2", "--length", "8", "--lr",
                "0.01",  "--epochs", "100",         "--json", "--patience", "100",      "--save",   save};
      },
      SIGTERM);
}

TEST_F(TextTool, RefusesWhatMeansNothingForTexts) {
  const std::string data = fill("reviews", reviews());
  write_text(path("reviews.csv"), table_of(reviews()));
  const Words table{"train", path("reviews.csv"), "--text", "review"};
  expect_refusal(table, 2, "--target");
  expect_refusal(table + Words{"--target", "review"}, 2, "the same column");
  expect_refusal(table + Words{"--target", "sentimen"}, 2, "did you mean 'sentiment'");
  expect_refusal(table + Words{"--target", "sentiment", "--weight", "id"}, 2, "--weight cannot be given for texts");
  expect_refusal(table + Words{"--target", "sentiment", "--size", "8"}, 2, "--size can only be given for images");
  expect_refusal(table + Words{"--target", "sentiment", "--model", "cnn:3"}, 2, "a cnn reads images");
  expect_refusal(table + Words{"--target", "sentiment", "--format", "svmlight"}, 2, "no text columns");
  expect_refusal(table + Words{"--stream"}, 2, "--text cannot be given with --stream");
  expect_refusal({"train", data, "--target", "y"}, 2, "--target cannot be given for files of text");
  expect_refusal({"train", data, "--length", "0"}, 2, "--length");
  expect_refusal({"train", data, "--loss", "squared"}, 2,
                 "the loss squared cannot be given for texts: folders are classes");
}

}  // namespace
}  // namespace ignd
