#include "ignd/checkpoint.hpp"
#include "ignd/error.hpp"
#include "ignd/random.hpp"
#include "learn/file_dataset.hpp"
#include "learn/run.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

// Samples of two classes that come from no table, and runs on them.
namespace ignd {
namespace {

const std::atomic<bool> never = false;

// Texts of tokens 2 ... 9; those of the second class have a token 1 somewhere.
std::shared_ptr<const TextSet> texts(std::size_t count, bool parts = false, std::size_t classes = 2) {
  RandomStream stream(1, "texts");
  std::vector<std::string> names;
  for (std::size_t k = 0; k < classes; ++k) names.push_back(fmt::format("class{}", k));
  auto set = std::make_shared<TextSet>(names);
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<std::uint32_t> tokens(1 + stream.below(8));
    for (auto& token : tokens) token = static_cast<std::uint32_t>(2 + stream.below(8));
    if (i % 2 == 1) tokens[stream.below(tokens.size())] = 1;
    const FilePart part = !parts ? FilePart::none : i % 4 < 2 ? FilePart::train : FilePart::test;
    set->add(fmt::format("{}.txt", i), i % 2, part, tokens);
  }
  return set;
}

TextDataset task_of(std::shared_ptr<const TextSet> set, const DatasetOptions& options = {}, std::size_t length = 8) {
  return {std::move(set), {.length = length, .vocabulary = 10, .text_column = "", .target_column = ""}, options};
}

TrainingOptions run_options() {
  TrainingOptions options;
  options.model = "lstm:4x6";
  options.optimizer = find_optimizer("adam-ignd");
  options.rate = 0.03;
  options.epochs = 6;
  options.seed = 3;
  return options;
}

TEST(ClassDataset, SplitsEverySampleOnce) {
  const auto set = texts(200);
  const TextDataset task = task_of(set, {.validation = 0.2, .test = 0.1, .seed = 5});
  EXPECT_EQ(task.split().validation.size(), 40U);
  EXPECT_EQ(task.split().test.size(), 20U);
  std::set<std::uint32_t> all;
  for (const auto* part : {&task.split().train, &task.split().validation, &task.split().test}) {
    all.insert(part->begin(), part->end());
  }
  EXPECT_EQ(all.size(), 200U);
  EXPECT_NE(task.split().test, task_of(set, {.validation = 0.2, .test = 0.1, .seed = 6}).split().test);
}

// Of 30 samples of a rare class, each part has its share to within one; drawn at random, another number is as likely.
TEST(ClassDataset, GivesEachPartItsShareOfEachClass) {
  auto set = std::make_shared<TextSet>(std::vector<std::string>{"often", "rare"});
  for (std::uint32_t i = 0; i < 300; ++i) {
    set->add(fmt::format("{}.txt", i), i % 10 == 7 ? 1 : 0, FilePart::none, std::vector<std::uint32_t>{i % 10});
  }
  const auto rare_in = [](const TextDataset& task, const std::vector<std::uint32_t>& part) {
    return std::ranges::count_if(part, [&](std::uint32_t row) { return task.target_in_units(row) == 1; });
  };
  int off = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const TextDataset task = task_of(set, {.validation = 0.2, .test = 0.1, .seed = seed});
    EXPECT_EQ(rare_in(task, task.split().validation), 6) << seed;
    EXPECT_EQ(rare_in(task, task.split().test), 3) << seed;
    const TextDataset random = task_of(set, {.validation = 0.2, .test = 0.1, .seed = seed, .stratified = false});
    off += rare_in(random, random.split().validation) == 6 ? 0 : 1;
  }
  EXPECT_GT(off, 10);
}

TEST(ClassDataset, KeepsTheTestSetThatTheDataHave) {
  const TextDataset task = task_of(texts(200, true), {.validation = 0.1, .test = 0.5});
  EXPECT_EQ(task.split().test.size(), 100U);
  for (const std::uint32_t row : task.split().test) EXPECT_GE(row % 4, 2U);
  EXPECT_EQ(task.split().validation.size(), 10U) << "out of those to learn from";
  for (const std::uint32_t row : task.split().validation) EXPECT_LT(row % 4, 2U);
}

// The first class may be the positive one: labels and the order of the classes turn round, the split does not.
TEST(ClassDataset, ThePositiveClassCanBeChosen) {
  const auto set = texts(60);
  const TextDataset usual = task_of(set), same = task_of(set, {.positive = "class1"}),
                    turned = task_of(set, {.positive = "class0"});
  EXPECT_EQ(usual.target().classes, (std::vector<std::string>{"class0", "class1"}));
  EXPECT_EQ(same.target().classes, usual.target().classes);
  EXPECT_EQ(turned.target().classes, (std::vector<std::string>{"class1", "class0"}));
  EXPECT_EQ(turned.split().test, usual.split().test);
  const TextDataset measured(set, {.length = 8, .vocabulary = 10, .text_column = "", .target_column = ""}, "class0");
  for (std::uint32_t row = 0; row < 60; ++row) {
    EXPECT_EQ(usual.sample(row, {}).y, row % 2);
    EXPECT_EQ(same.sample(row, {}).y, row % 2);
    EXPECT_EQ(turned.sample(row, {}).y, 1 - row % 2);
    EXPECT_EQ(measured.target_in_units(row), 1 - row % 2);
  }
  EXPECT_THROW(task_of(set, {.positive = "class2"}), InvalidArgument);
}

TEST(ClassDataset, NeedsTwoClasses) {
  for (const std::size_t classes : {0, 1, 3, 9}) {
    EXPECT_THROW(task_of(texts(20, false, classes)), InvalidArgument) << classes;
  }
  EXPECT_THROW(task_of(texts(2)), InvalidArgument) << "too few for all parts";
}

TEST(TextDataset, GivesTheTokensThatTheNetworkReads) {
  const auto set = texts(50);
  const TextDataset task = task_of(set, {}, 3);
  for (std::uint32_t row = 0; row < 50; ++row) {
    const auto tokens = set->tokens(row);
    const Sample<float> sample = task.sample(row, {});
    EXPECT_TRUE(sample.x.values.empty());
    EXPECT_TRUE(std::ranges::equal(sample.x.index, tokens.last(std::min<std::size_t>(3, tokens.size()))));
    EXPECT_EQ(sample.y, row % 2);
  }
  EXPECT_EQ(task.model_spec("lstm:4x6"), "network:tokens 3 10; embedding 4; lstm 6; last; dense 1");
  EXPECT_EQ(task.model_spec("network:threads 2; embedding 4; last; dense 1"),
            "network:threads 2; tokens 3 10; embedding 4; last; dense 1");
  for (const char* bad :
       {"", "lstm", "lstm:", "lstm:4", "lstm:4x", "lstm:x4", "lstm:4x5x6", "cnn:3/4", "mlp:3", "\xff"}) {
    EXPECT_THROW(task.model_spec(bad), InvalidArgument) << bad;
  }
}

TEST(TextDataset, ChecksumIsOfEverything) {
  const auto make = [](const char* name, std::size_t label, FilePart part, std::vector<std::uint32_t> tokens) {
    TextSet set({"a", "b"});
    set.add(name, label, part, tokens);
    return set.checksum();
  };
  const std::set<std::uint64_t> all{make("x", 0, FilePart::none, {1, 2}),    make("y", 0, FilePart::none, {1, 2}),
                                    make("x", 1, FilePart::none, {1, 2}),    make("x", 0, FilePart::test, {1, 2}),
                                    make("x", 0, FilePart::none, {1, 3}),    make("x", 0, FilePart::none, {1}),
                                    make("x", 0, FilePart::none, {1, 2, 0}), make("", 0, FilePart::none, {1, 2})};
  EXPECT_EQ(all.size(), 8U);
}

TEST(TextRun, LearnsWhichTextsHaveAWord) {
  const TextDataset task = task_of(texts(600));
  ignd::Run run(task, run_options());
  while (run.status() == RunStatus::running) run.learn_epoch(never, [] {});
  const auto model = run.kept();
  const Scores quality = evaluate(task, task.split().test, [&](const Input<float>& x) { return model->predict(x); });
  EXPECT_GT(quality.classification->accuracy, 0.95) << "the classes can be told apart without error";
}

TEST(TextRun, StoppedAnywhereEndsWithTheSameBits) {
  const TextDataset task = task_of(texts(120));
  ignd::Run whole(task, run_options());
  while (whole.status() == RunStatus::running) whole.learn_epoch(never, [] {});
  auto run = std::make_unique<ignd::Run>(task, run_options());
  for (std::uint64_t steps = 7; run->status() == RunStatus::running; steps += 31) {
    run->learn_epoch(
        never, [] {}, steps);
    if (run->status() == RunStatus::running && run->learned() < steps) continue;
    EXPECT_LE(run->learned(), steps);
    Checkpoint saved;
    run->save(saved);
    run = std::make_unique<ignd::Run>(task, run_options());
    run->restore(saved);
  }
  EXPECT_EQ(run->epoch(), whole.epoch());
  EXPECT_TRUE(std::ranges::equal(run->last()->parameters(), whole.last()->parameters()));
  EXPECT_TRUE(std::ranges::equal(run->kept()->parameters(), whole.kept()->parameters()));
}

TEST(TextRun, GoesOnWithNothingButItself) {
  const TextDataset task = task_of(texts(60));
  Checkpoint saved;
  ignd::Run(task, run_options()).save(saved);
  const TextDataset others = task_of(texts(62));
  EXPECT_THROW(ignd::Run(others, run_options()).restore(saved), FileError);
  const TextDataset shorter = task_of(texts(60), {}, 5);
  EXPECT_THROW(ignd::Run(shorter, run_options()).restore(saved), FileError);
  EXPECT_NO_THROW(ignd::Run(task, run_options()).restore(saved));
}

}  // namespace
}  // namespace ignd
