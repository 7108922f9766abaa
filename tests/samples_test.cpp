#include "ignd/samples.hpp"

#include "support.hpp"

#include <cstdint>

#include <gtest/gtest.h>

namespace ignd::testing {
namespace {

template <class T>
class Packed : public ::testing::Test {};

using Numbers = ::testing::Types<float, double>;
TYPED_TEST_SUITE(Packed, Numbers);

TYPED_TEST(Packed, GivesBackWhatWasAddedAndStartsAtACacheLine) {
  RandomStream stream(61, "samples");
  for (const std::size_t features : {0, 1, 3, 8, 12, 13, 40}) {
    Samples<TypeParam> samples(features);
    std::vector<std::vector<TypeParam>> kept;
    for (int i = 0; i < 20; ++i) {
      kept.push_back(normal_vector<TypeParam>(stream, features));
      samples.add(kept.back(), i, 0.5 * i);
    }
    ASSERT_EQ(samples.size(), 20U);
    for (std::size_t i = 0; i < 20; ++i) {
      const Sample<TypeParam> sample = samples[i];
      EXPECT_TRUE(std::ranges::equal(sample.x.values, kept[i]));
      EXPECT_EQ(sample.y, static_cast<double>(i));
      EXPECT_EQ(sample.weight, 0.5 * static_cast<double>(i));
      // The target and the weight come first.
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(sample.x.values.data()) % alignment, 2 * sizeof(double));
      samples.prefetch(i);
    }
  }
}

TYPED_TEST(Packed, RefusesOtherNumbersOfFeatures) {
  Samples<TypeParam> samples(2);
  EXPECT_THROW(samples.add(std::vector<TypeParam>{1}, 0), BadSample);
  EXPECT_THROW(samples.add(std::vector<TypeParam>{1, 2, 3}, 0), BadSample);
  EXPECT_EQ(samples.size(), 0U);
}

TYPED_TEST(Packed, LearningManyIsALoopOfLearningOne) {
  RandomStream stream(62, "samples");
  Samples<TypeParam> samples(3);
  for (int i = 0; i < 50; ++i) samples.add(normal_vector<TypeParam>(stream, 3), stream.normal(), 1 + stream.uniform());
  std::vector<std::uint32_t> order(50);
  for (std::uint32_t i = 0; i < 50; ++i) order[i] = i;
  stream.shuffle(order);

  Mlp<TypeParam> one({3, 8}, {.seed = 1});
  Mlp<TypeParam> many({3, 8}, {.seed = 1});
  Trainer<TypeParam> one_by_one(one, {.optimizer = find_optimizer("adam-ignd")});
  Trainer<TypeParam> at_once(many, {.optimizer = find_optimizer("adam-ignd")});
  StepInfo last;
  for (const std::uint32_t i : order) last = one_by_one.step(samples[i]);
  EXPECT_EQ(learn(at_once, samples, std::span<const std::uint32_t>(order)).prediction, last.prediction);
  EXPECT_TRUE(std::ranges::equal(one.parameters(), many.parameters()));
}

TYPED_TEST(Packed, LearningASequenceIsALoopOfLearningOne) {
  RandomStream stream(63, "samples");
  std::vector<std::vector<TypeParam>> values;
  std::vector<std::vector<std::uint32_t>> index;
  std::vector<Sample<TypeParam>> samples;
  for (std::uint32_t i = 0; i < 40; ++i) {
    values.push_back(normal_vector<TypeParam>(stream, 3));
    index.push_back({i % 5, 5 + i % 7, i % 3});  // not always in order
  }
  for (std::size_t i = 0; i < 40; ++i) samples.push_back({{values[i], index[i]}, stream.normal()});

  HashedLinear<TypeParam> one(4);
  HashedLinear<TypeParam> many(4);
  Trainer<TypeParam> one_by_one(one, {.optimizer = find_optimizer("ignd")});
  Trainer<TypeParam> at_once(many, {.optimizer = find_optimizer("ignd")});
  std::vector<StepInfo> steps(samples.size());
  const StepInfo last = learn<TypeParam>(at_once, samples, steps);
  for (std::size_t i = 0; i < 40; ++i) EXPECT_EQ(one_by_one.step(samples[i]).prediction, steps[i].prediction);
  EXPECT_EQ(last.prediction, steps.back().prediction);
  EXPECT_TRUE(std::ranges::equal(one.parameters(), many.parameters()));
}

TYPED_TEST(Packed, AnOrderThatNamesNoSampleIsRefused) {
  Samples<TypeParam> samples(1);
  samples.add(std::vector<TypeParam>{1}, 1);
  Linear<TypeParam> model(1);
  Trainer<TypeParam> trainer(model, {});
  const std::vector<std::uint32_t> order{0, 7};
  EXPECT_THROW(learn(trainer, samples, std::span<const std::uint32_t>(order)), InvalidArgument);
  EXPECT_EQ(trainer.steps(), 1U);
}

TYPED_TEST(Packed, LearningEndsWithTheRun) {
  Samples<TypeParam> samples(1);
  samples.add(std::vector<TypeParam>{1}, 1);
  samples.add(std::vector<TypeParam>{0}, 1);
  Linear<TypeParam> model(1);
  model.parameters()[0] = std::numeric_limits<TypeParam>::infinity();
  Trainer<TypeParam> trainer(model, {});
  const std::vector<std::uint32_t> order{0, 1};
  EXPECT_EQ(learn(trainer, samples, std::span<const std::uint32_t>(order)).status, StepStatus::output_not_finite);
  EXPECT_EQ(trainer.steps(), 0U);
}

}  // namespace
}  // namespace ignd::testing
