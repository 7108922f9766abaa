#include "learn/stream_merge.hpp"

#include "ignd/error.hpp"
#include "ignd/random.hpp"
#include "learn/stream_model.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace ignd {
namespace {

constexpr unsigned bits = 5;
constexpr std::size_t inputs = 1U << bits;

struct Example {
  std::vector<std::uint32_t> index;
  std::vector<float> value;
  double y = 0;
};

// Two inputs that are always there, far from zero, and rare ones, of which each part prefers some.
std::vector<Example> examples(RandomStream& stream, std::size_t count, std::uint32_t preferred = 0) {
  std::vector<Example> made(count);
  for (Example& one : made) {
    const auto add = [&](std::uint32_t index, double value, double weight) {
      one.index.push_back(index);
      one.value.push_back(static_cast<float>(value));
      one.y += weight * value;
    };
    add(1, 100 + 3 * stream.normal() + preferred, 2);
    add(2, -5 + stream.normal(), -1);
    const auto rare = static_cast<std::uint32_t>(4 + preferred + stream.below(10));
    add(rare, stream.normal(), 0.1 * rare);
    one.y += 0.1 * stream.normal();
  }
  return made;
}

ExampleBlock block_of(const std::vector<Example>& all) {
  ExampleBlock block;
  for (const Example& one : all) {
    block.index.insert(block.index.end(), one.index.begin(), one.index.end());
    block.value.insert(block.value.end(), one.value.begin(), one.value.end());
    block.finish(one.y, 1, block.size() + 1);
  }
  return block;
}

StreamOptions options(bool centre = true) { return {.bits = bits, .loss = "squared", .centre = centre}; }

StreamPart saved(const StreamModel& model, std::string name = "part") {
  StreamPart part{std::move(name), {}};
  model.save(part.saved);
  return part;
}

StreamPart learned(const std::vector<Example>& data, const StreamOptions& how) {
  StreamModel model("", "", how);
  model.learner().learn(block_of(data));
  model.learner().finish();
  return saved(model, "base");
}

StreamPart continued(const StreamPart& base, const std::vector<Example>& data) {
  StreamModel model(base.saved);
  model.learner().learn(block_of(data));
  return saved(model);
}

// The prediction of a saved model.
double prediction(const Checkpoint& of, const Example& x) {
  std::vector<StreamPrediction> made;
  StreamModel(of).learner().predict(block_of({x}), made);
  return made[0].output;
}

struct Parts {
  std::vector<Example> first;
  std::vector<std::vector<Example>> rest;
  StreamPart base;
  std::vector<StreamPart> parts;
};

Parts random_parts(RandomStream& stream, std::size_t count, const StreamOptions& how, std::uint32_t apart = 3) {
  Parts made;
  made.first = examples(stream, 20 + stream.below(50));
  made.base = learned(made.first, how);
  for (std::size_t k = 0; k < count; ++k) {
    const auto preferred = static_cast<std::uint32_t>(k) * apart;
    made.rest.push_back(examples(stream, 1 + stream.below(200), preferred));
    made.parts.push_back(continued(made.base, made.rest.back()));
  }
  return made;
}

using Counts = std::vector<std::uint64_t>;

// Against plain sums over all examples, in whatever part they were.
TEST(StreamMerge, CountsAndSecondMomentsAddUpExactly) {
  RandomStream stream(1, "counts");
  for (int round = 0; round < 20; ++round) {
    const Parts made = random_parts(stream, 2 + stream.below(4), options(false));
    const Checkpoint merged = merge_streams(made.base, made.parts);
    Counts seen(inputs);
    std::vector<double> squares(inputs);
    std::uint64_t all = 0;
    const auto count = [&](const std::vector<Example>& data) {
      all += data.size();
      for (const Example& one : data) {
        for (std::size_t k = 0; k < one.index.size(); ++k) {
          ++seen[one.index[k]];
          squares[one.index[k]] += static_cast<double>(one.value[k]) * static_cast<double>(one.value[k]);
        }
      }
    };
    count(made.first);
    for (const auto& rest : made.rest) count(rest);
    const auto& found = merged.array<std::uint64_t>("metric.seen", inputs + 1);
    const auto& moments = merged.array<double>("metric.mean-square", inputs + 1);
    for (std::size_t i = 0; i < inputs; ++i) {
      EXPECT_EQ(found[i], seen[i]) << i;
      const double mean = seen[i] == 0 ? 0 : squares[i] / static_cast<double>(seen[i]);
      EXPECT_NEAR(moments[i], mean, 1e-12 * mean) << i;
    }
    EXPECT_EQ(merged.number("statistics.rows"), all);
    EXPECT_EQ(merged.number("statistics.examples"), all);
    EXPECT_EQ(merged.number("steps"), all);
    EXPECT_EQ(merged.array<double>("statistics.weight", 1)[0], static_cast<double>(all));
  }
}

TEST(StreamMerge, LossesAddUp) {
  RandomStream stream(2, "losses");
  const Parts made = random_parts(stream, 3, options());
  const auto loss = [](const Checkpoint& of) { return of.array<double>("statistics.loss", 1)[0]; };
  double sum = loss(made.base.saved);
  for (const StreamPart& part : made.parts) sum += loss(part.saved) - loss(made.base.saved);
  EXPECT_NEAR(loss(merge_streams(made.base, made.parts)), sum, 1e-9 * sum);
}

TEST(StreamMerge, WeightsAreMeansByHowOftenEachPartSawTheInput) {
  RandomStream stream(3, "weights");
  for (int round = 0; round < 20; ++round) {
    const Parts made = random_parts(stream, 2 + stream.below(4), options());
    const auto weights = [](const Checkpoint& of) { return of.array<float>("weights", inputs + 1); };
    const auto seen = [](const Checkpoint& of) { return of.array<std::uint64_t>("metric.seen", inputs + 1); };
    const auto found = weights(merge_streams(made.base, made.parts));
    const auto before = seen(made.base.saved);
    for (std::size_t i = 0; i < inputs; ++i) {
      double sum = 0, count = 0, last = static_cast<double>(weights(made.base.saved)[i]);
      int parts = 0;
      for (const StreamPart& part : made.parts) {
        const auto since = static_cast<double>(seen(part.saved)[i] - before[i]);
        if (since == 0) continue;
        ++parts;
        last = static_cast<double>(weights(part.saved)[i]);
        sum += since * last;
        count += since;
      }
      const double want = parts > 1 ? sum / count : last;
      EXPECT_NEAR(static_cast<double>(found[i]), want, 1e-6 * std::abs(want)) << i;
      if (parts > 1) continue;
      EXPECT_EQ(static_cast<double>(found[i]), last) << "one part's weight keeps its bits";
    }
  }
}

// The means of what is centred are those of all examples, and there the prediction is the mean of the parts'.
TEST(StreamMerge, AtTheMeanInputItPredictsTheMeanOfTheParts) {
  RandomStream stream(4, "mean input");
  for (int round = 0; round < 20; ++round) {
    const Parts made = random_parts(stream, 2 + stream.below(4), options());
    const Checkpoint merged = merge_streams(made.base, made.parts);
    std::array<double, 3> sums{};
    double all = 0, outputs = 0, since = 0;
    const auto add = [&](const std::vector<Example>& data) {
      all += static_cast<double>(data.size());
      for (const Example& one : data) {
        for (const std::size_t k : {0U, 1U}) sums[one.index[k]] += static_cast<double>(one.value[k]);
      }
    };
    add(made.first);
    for (const auto& rest : made.rest) add(rest);
    Example mean{.index = {1, 2}, .value = {}};
    for (const std::size_t i : {1U, 2U}) mean.value.push_back(static_cast<float>(sums[i] / (all + 1)));
    for (std::size_t k = 0; k < made.parts.size(); ++k) {
      const auto count = static_cast<double>(made.rest[k].size());
      outputs += count * prediction(made.parts[k].saved, mean);
      since += count;
    }
    const double want = outputs / since;
    EXPECT_NEAR(prediction(merged, mean), want, 1e-5 * (std::abs(want) + 100));
  }
}

// A model and itself agree everywhere, and so does what they become.
TEST(StreamMerge, PartsThatAreEqualKeepTheirPredictions) {
  RandomStream stream(5, "equal");
  const Parts made = random_parts(stream, 1, options());
  const Checkpoint merged = merge_streams(made.base, {made.parts[0], made.parts[0], made.parts[0]});
  for (const Example& x : examples(stream, 50, 7)) {
    const double want = prediction(made.parts[0].saved, x);
    EXPECT_NEAR(prediction(merged, x), want, 1e-5 * (std::abs(want) + 100));
  }
}

TEST(StreamMerge, OnePartIsTheResultBitByBit) {
  RandomStream stream(6, "one");
  const Parts made = random_parts(stream, 1, options());
  const Checkpoint one = merge_streams(made.base, made.parts);
  const Checkpoint among = merge_streams(made.base, {made.base, made.parts[0], made.base});
  EXPECT_EQ(one.to_bytes(), made.parts[0].saved.to_bytes());
  EXPECT_EQ(among.to_bytes(), made.parts[0].saved.to_bytes());
  const Checkpoint nothing = merge_streams(made.base, {made.base, made.base});
  EXPECT_EQ(nothing.array<float>("weights", inputs + 1), made.base.saved.array<float>("weights", inputs + 1));
  EXPECT_EQ(nothing.number("steps"), made.base.saved.number("steps"));
}

TEST(StreamMerge, TheOrderOfThePartsMeansNothing) {
  RandomStream stream(7, "order");
  Parts made = random_parts(stream, 4, options());
  const Checkpoint merged = merge_streams(made.base, made.parts);
  std::ranges::reverse(made.parts);
  std::swap(made.parts[0], made.parts[2]);
  const Checkpoint other = merge_streams(made.base, made.parts);
  EXPECT_EQ(merged.array<std::uint64_t>("metric.seen", inputs + 1),
            other.array<std::uint64_t>("metric.seen", inputs + 1));
  for (const Example& x : examples(stream, 20)) {
    const double want = prediction(merged, x);
    EXPECT_NEAR(prediction(other, x), want, 1e-5 * (std::abs(want) + 100));
  }
}

// An input that one part no longer centres is centred no longer, and its predictions do not jump.
TEST(StreamMerge, AnInputThatGotRareInAPartIsNotCentred) {
  RandomStream stream(8, "rare");
  Parts made = random_parts(stream, 1, options(), 0);
  std::vector<Example> without = examples(stream, 300);
  for (Example& one : without) {
    one.index.erase(one.index.begin());
    one.y -= 2 * static_cast<double>(one.value[0]);
    one.value.erase(one.value.begin());
  }
  made.parts.push_back(continued(made.base, without));
  const auto centred = [](const Checkpoint& of) {
    return of.array<std::uint32_t>("centring.index", of.number("centring.features"));
  };
  ASSERT_EQ(centred(made.parts[0].saved), (std::vector<std::uint32_t>{1, 2}));
  ASSERT_EQ(centred(made.parts[1].saved), std::vector<std::uint32_t>{2});
  EXPECT_EQ(centred(merge_streams(made.base, made.parts)), std::vector<std::uint32_t>{2});
  const Checkpoint merged = merge_streams(made.base, made.parts);
  EXPECT_TRUE(std::isfinite(prediction(merged, without[0])));
}

TEST(StreamMerge, TheResultLearnsOnAndIsTheNextBase) {
  RandomStream stream(9, "rounds");
  StreamPart base = learned(examples(stream, 30), options());
  for (int round = 0; round < 4; ++round) {
    const std::vector<StreamPart> parts{continued(base, examples(stream, 300)), continued(base, examples(stream, 300))};
    base.saved = merge_streams(base, parts);
  }
  double squares = 0;
  const auto unseen = examples(stream, 200);
  for (const Example& x : unseen) squares += std::pow(prediction(base.saved, x) - x.y, 2);
  EXPECT_LT(squares / 200, 0.1) << "the noise has a variance of 0.01";
  EXPECT_EQ(base.saved.number("steps"), 30U + 8 * 300);
}

TEST(StreamMerge, ClassesMeetWhoeverSawThem) {
  RandomStream stream(10, "classes");
  const auto labelled = [&](std::size_t count, const std::vector<double>& labels) {
    auto made = examples(stream, count);
    for (std::size_t i = 0; i < count; ++i) made[i].y = labels[i % labels.size()];
    return made;
  };
  const StreamOptions how{.bits = bits, .loss = "logistic"};
  StreamModel open("", "", how);
  const StreamPart base = learned(labelled(1000, {-1}), how);
  const StreamPart same = continued(base, labelled(20, {-1})), two = continued(base, labelled(20, {-1, 1}));
  const StreamPart other = continued(base, labelled(20, {-1, 3}));
  const auto label = [](const Checkpoint& of, const char* which) {
    return of.array<double>(std::string("learner.class.") + which, 1)[0];
  };
  const Checkpoint merged = merge_streams(base, {same, two});
  EXPECT_EQ(label(merged, "negative"), -1);
  EXPECT_EQ(label(merged, "positive"), 1);
  EXPECT_TRUE(std::isnan(merged.array<double>("learner.only-label", 1)[0]));
  const Checkpoint one = merge_streams(base, {same, same});
  EXPECT_TRUE(std::isnan(label(one, "positive")));
  EXPECT_EQ(one.array<double>("learner.only-label", 1)[0], -1);
  EXPECT_THROW(merge_streams(base, {two, other}), InvalidArgument);
}

std::string fault_of(const std::function<void()>& act) {
  try {
    act();
    return "";
  } catch (const InvalidArgument& fault) {
    return fault.what();
  }
}

TEST(StreamMerge, WhatCannotBeMergedIsRefused) {
  RandomStream stream(11, "refusals");
  const Parts made = random_parts(stream, 2, options());
  const auto refusal = [&](const StreamPart& base, const std::vector<StreamPart>& parts) {
    return fault_of([&] { merge_streams(base, parts); });
  };
  EXPECT_EQ(refusal(made.base, made.parts), "");
  EXPECT_NE(refusal(made.base, {}).find("nothing to merge"), std::string::npos);
  const StreamPart stranger = learned(examples(stream, 500), options());
  EXPECT_NE(refusal(made.base, {made.parts[0], stranger}), "") << "another base";
  EXPECT_NE(refusal(made.parts[0], {made.base}).find("was not resumed from"), std::string::npos);
  const StreamPart uncentred = learned(made.first, options(false));
  EXPECT_NE(refusal(made.base, {uncentred}).find("they differ in 'learner.centre'"), std::string::npos);
  const StreamPart tiny = learned(examples(stream, 5), options());
  EXPECT_NE(refusal(tiny, {tiny}).find("it needs 10"), std::string::npos);
  StreamOptions adam = options();
  adam.optimizer = {"gradient", "adam"};
  adam.schedule = Schedule::constant(0.01);
  const StreamPart moving = learned(made.first, adam);
  EXPECT_NE(refusal(moving, {moving}).find("only plain steps"), std::string::npos);
  StreamOptions decaying = options();
  decaying.l2 = 0.1;
  const StreamPart decayed = learned(made.first, decaying);
  EXPECT_NE(refusal(decayed, {decayed}).find("learned with L2"), std::string::npos);
  StreamPart no_stream{"x", {}};
  no_stream.saved.set("kind", std::string("table model"));
  EXPECT_NE(refusal(no_stream, {no_stream}).find("is no model of a stream"), std::string::npos);
}

}  // namespace
}  // namespace ignd
