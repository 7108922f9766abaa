#include "learn/stream_learner.hpp"

#include "ignd/checkpoint.hpp"
#include "ignd/random.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace ignd {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

void add(ExampleBlock& block, double y, const std::vector<std::uint32_t>& index, const std::vector<float>& value,
         double weight = 1) {
  block.index.insert(block.index.end(), index.begin(), index.end());
  block.value.insert(block.value.end(), value.begin(), value.end());
  block.finish(y, weight, 10 * (block.size() + 1));
}

// Examples [first, last) of a block.
ExampleBlock part(const ExampleBlock& all, std::size_t first, std::size_t last) {
  ExampleBlock cut;
  for (std::size_t i = first; i < last; ++i) {
    const auto index = all.indices(i);
    const auto values = all.values(i);
    cut.index.insert(cut.index.end(), index.begin(), index.end());
    cut.value.insert(cut.value.end(), values.begin(), values.end());
    cut.finish(all.target[i], all.weight[i], all.line[i]);
  }
  return cut;
}

// y = w.z + .1 N(0,1) with eight features x_i = s_i z_i, z_i and w_i ~ N(0,1).
ExampleBlock regression(std::uint64_t seed, std::size_t rows, const std::vector<double>& scales) {
  RandomStream stream(seed, "regression");
  std::array<double, 8> w{};
  for (double& each : w) each = stream.normal();
  ExampleBlock block;
  for (std::size_t row = 0; row < rows; ++row) {
    double y = 0;
    for (std::uint32_t i = 0; i < w.size(); ++i) {
      const double z = stream.normal();
      y += w[i] * z;
      block.index.push_back(i);
      block.value.push_back(static_cast<float>(scales[i] * z));
    }
    block.finish(y + 0.1 * stream.normal(), 1, row + 1);
  }
  return block;
}

const std::vector<double> ones(8, 1.0);

std::vector<double> random_scales(RandomStream& stream) {
  std::vector<double> scales(8);
  for (double& s : scales) s = std::pow(10, stream.uniform(-4, 4)) * (stream.below(2) == 0 ? 1 : -1);
  return scales;
}

// Everything at once: a feature that all examples have and whose mean is not zero, one that most have, rare ones,
// several of one weight, missing labels, importance.
ExampleBlock mixed(std::uint64_t seed, std::size_t rows, double low = -1, double high = 1) {
  RandomStream stream(seed, "mixed");
  ExampleBlock block;
  for (std::size_t row = 0; row < rows; ++row) {
    const double a = 5 + stream.normal();
    const double b = stream.normal();
    std::vector<std::uint32_t> index{7, 3, static_cast<std::uint32_t>(stream.below(1000)), 7 + (1U << 18)};
    std::vector<float> value{static_cast<float>(a), static_cast<float>(b), 1, 0.25F};
    if (stream.below(4) != 0) {
      index.push_back(9);
      value.push_back(1);
    }
    const double y = a - 5 + b + 0.5 * stream.normal() > 0 ? high : low;
    add(block, stream.below(10) == 0 ? nan : y, index, value, stream.below(8) == 0 ? 2.5 : 1);
  }
  return block;
}

struct Watched {
  StreamLearner learner;
  std::vector<StreamPrediction> predictions;
  std::vector<StreamStatistics> reports;

  explicit Watched(const StreamOptions& options) : Watched(StreamLearner(options)) {}
  explicit Watched(StreamLearner made) : learner(std::move(made)) {
    learner.set_events({.report = [this](const StreamStatistics& s) { reports.push_back(s); },
                        .prediction = [this](const StreamPrediction& p) { predictions.push_back(p); }});
  }
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;
};

Checkpoint saved(const StreamLearner& learner) {
  Checkpoint checkpoint;
  learner.save(checkpoint);
  return checkpoint;
}

// By their bytes: a NaN equals itself.
std::string bytes_of(const Checkpoint::Entry& entry) {
  return std::visit(
      [](const auto& values) {
        return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(values[0]));
      },
      entry);
}

void expect_same(const StreamLearner& a, const StreamLearner& b) {
  const Checkpoint left = saved(a), right = saved(b);
  ASSERT_EQ(left.entries().size(), right.entries().size());
  for (const auto& [name, entry] : left.entries()) {
    ASSERT_TRUE(right.has(name)) << name;
    EXPECT_TRUE(bytes_of(entry) == bytes_of(right.entries().find(name)->second)) << name;
  }
}

double loss_of(const ExampleBlock& block, const StreamOptions& options = {}) {
  StreamLearner learner(options);
  learner.learn(block);
  learner.finish();
  return learner.statistics().average_loss().value();
}

TEST(StreamLearner, ProgressiveLossEqualsALoopWrittenByHand) {
  const ExampleBlock block = regression(1, 3000, ones);
  StreamLearner learner({.loss = "squared"});
  learner.learn(block);

  // The documented update, in double precision: the fading metric, the centring and the offset of the target.
  std::array<double, 9> w{}, mean_square{}, seen{}, mean{};
  double offset = 0, sum = 0;
  for (std::size_t row = 0; row < block.size(); ++row) {
    const auto values = block.values(row);
    const double t = static_cast<double>(row + 1);
    std::array<double, 9> x{};
    for (std::size_t i = 0; i < 8; ++i) x[i] = static_cast<double>(values[i]) - mean[i];
    x[8] = 1;
    for (std::size_t i = 0; i < 9; ++i) {  // an input larger than all before it scales its weight down
      if (x[i] * x[i] <= mean_square[i] * seen[i] || mean_square[i] == 0) continue;
      w[i] *= mean_square[i] / (mean_square[i] + (x[i] * x[i] - mean_square[i]) / (seen[i] + 1));
    }
    double f = 0;
    for (std::size_t i = 0; i < 9; ++i) f += w[i] * x[i];
    const double error = f + offset - block.target[row];
    sum += error * error;
    if (row < 10) offset += (block.target[row] - offset) / t;

    double s = 0;
    std::array<double, 9> direction{};
    for (std::size_t i = 0; i < 9; ++i) {
      seen[i] += 1;
      mean_square[i] += (x[i] * x[i] - mean_square[i]) / seen[i];
      direction[i] = x[i] / (mean_square[i] * std::sqrt(seen[i]));
      s += x[i] * direction[i];
    }
    const double c = std::min(t / 10, 1.0) * (f + offset - block.target[row]) / (s + 2);
    for (std::size_t i = 0; i < 9; ++i) w[i] -= c * direction[i];
    for (std::size_t i = 0; i < 8; ++i) {
      const double moved = (static_cast<double>(values[i]) - mean[i]) / (t + 1);
      mean[i] += moved;
      w[8] += w[i] * moved;
    }
  }
  const double expected = sum / static_cast<double>(block.size());
  EXPECT_NEAR(learner.statistics().average_loss().value(), expected, 1e-5 * expected);
  EXPECT_EQ(learner.statistics().examples, 3000U);
  EXPECT_EQ(learner.statistics().weight, 3000);
}

TEST(StreamLearner, StatisticsAreThoseOfThePredictionsMade) {
  for (const bool classes : {false, true}) {
    ExampleBlock block = mixed(2, 3000, 1, 2);
    if (!classes) {
      for (std::size_t i = 0; i < block.size(); ++i) block.target[i] *= static_cast<double>(block.value[4 * i]);
    }
    Watched run(StreamOptions{});
    run.learner.learn(block);
    ASSERT_EQ(run.predictions.size(), block.size());
    double weight = 0, loss = 0, correct = 0;
    std::uint64_t examples = 0;
    for (std::size_t i = 0; i < block.size(); ++i) {
      const StreamPrediction& made = run.predictions[i];
      EXPECT_EQ(made.row, i + 1);
      EXPECT_EQ(made.line, block.line[i]);
      const double y = block.target[i];
      if (std::isnan(y)) continue;
      ++examples;
      weight += block.weight[i];
      if (classes) {
        EXPECT_EQ(made.prediction, made.probability > 0.5 ? 2 : 1);
        loss -= block.weight[i] * std::log(y == 2 ? made.probability : 1 - made.probability);
        correct += made.prediction == y ? block.weight[i] : 0;
      } else {
        EXPECT_EQ(made.prediction, made.output);
        EXPECT_TRUE(std::isnan(made.probability));
        loss += block.weight[i] * (made.prediction - y) * (made.prediction - y);
      }
    }
    const StreamStatistics& statistics = run.learner.statistics();
    EXPECT_EQ(run.learner.classifies(), classes);
    EXPECT_EQ(statistics.rows, 3000U);
    EXPECT_EQ(statistics.examples, examples);
    EXPECT_DOUBLE_EQ(statistics.weight, weight);
    EXPECT_NEAR(statistics.average_loss().value(), loss / weight, 1e-9 * loss / weight);
    EXPECT_DOUBLE_EQ(statistics.correct, correct);
    if (classes) {
      EXPECT_GT(statistics.accuracy().value(), 0.85);
    }
  }
}

TEST(StreamLearner, ReportsComeAtDoublingIntervals) {
  Watched run(StreamOptions{.loss = "squared"});
  const ExampleBlock block = regression(3, 100, ones);
  run.learner.learn(block);
  ASSERT_EQ(run.reports.size(), 7U);
  double loss = 0;
  std::uint64_t before = 0;
  for (std::size_t k = 0; k < run.reports.size(); ++k) {
    const StreamStatistics& report = run.reports[k];
    EXPECT_EQ(report.examples, std::uint64_t{1} << k);
    EXPECT_EQ(report.recent_weight, static_cast<double>(report.examples - before));
    EXPECT_NEAR(report.average_recent_loss().value(), (report.loss - loss) / report.recent_weight, 1e-9 * report.loss);
    loss = report.loss;
    before = report.examples;
  }
}

TEST(StreamLearner, TheScaleOfAFeatureChangesNothing) {
  RandomStream stream(4, "scales");
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const double plain = loss_of(regression(seed, 20000, ones));
    for (int trial = 0; trial < 3; ++trial) {
      EXPECT_NEAR(loss_of(regression(seed, 20000, random_scales(stream))), plain, 1e-3 * plain);
    }
  }
}

TEST(StreamLearner, TheUnitsOfTheTargetChangeNothing) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const ExampleBlock block = regression(seed, 2000, ones);
    Watched plain(StreamOptions{.bits = 10, .loss = "squared"});
    plain.learner.learn(block);
    for (const double scale : {1e-40, 1e-6, -3.0, 1e5, 1e40}) {
      for (const double offset : {0.0, 1.0, -1e4}) {  // in multiples of the scale
        SCOPED_TRACE(fmt::format("seed {} scale {} offset {}", seed, scale, offset));
        ExampleBlock other = block;
        for (double& y : other.target) y = scale * (y + offset);
        Watched run(StreamOptions{.bits = 10, .loss = "squared"});
        run.learner.learn(other);
        // Nothing can be known before the first label.
        for (std::size_t i = 1; i < block.size(); ++i) {
          const double back = run.predictions[i].prediction / scale - offset;
          ASSERT_NEAR(back, plain.predictions[i].prediction, 1e-4) << i;
        }
      }
    }
  }
}

// The noise alone is .01, and what eight weights cost to learn comes on top. bench/compare_vw.py has Vowpal Wabbit on
// streams of this kind.
TEST(StreamLearner, EndsNearTheNoiseWhateverTheScales) {
  RandomStream stream(6, "scales");
  double sum = 0;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const double loss = loss_of(regression(seed, 100000, random_scales(stream)));
    EXPECT_LT(loss, 0.0189);
    EXPECT_GT(loss, 0.0099) << "nothing predicts the noise";
    sum += loss;
  }
  EXPECT_LT(sum / 3, 0.013);
}

// Features seen now and then, whose first values may be anything: no prediction may run away.
TEST(StreamLearner, RareFeaturesOfAnySizeDoNotThrowThePrediction) {
  RandomStream stream(17, "rare");
  std::vector<double> w(4096);
  for (double& each : w) each = stream.normal();
  ExampleBlock block;
  constexpr std::size_t active = 20;
  for (std::size_t row = 0; row < 20'000; ++row) {
    double y = 0;
    for (std::size_t k = 0; k < active; ++k) {
      const auto feature = static_cast<std::uint32_t>(stream.below(w.size()));
      const double x = stream.normal();
      y += w[feature] * x;
      block.index.push_back(feature);
      block.value.push_back(static_cast<float>(x));
    }
    block.finish(y, 1, row + 1);
  }
  StreamLearner learner({.loss = "squared"});
  learner.learn(block);
  // Predicting zero would give the variance of the target.
  EXPECT_LT(learner.statistics().average_loss().value(), static_cast<double>(active));
}

TEST(StreamLearner, LargeMeansOfDenseFeaturesDoNotHurt) {
  for (const bool classes : {false, true}) {
    const auto shifted = [&](double mean) {
      RandomStream stream(7, "means");
      ExampleBlock block;
      for (int row = 0; row < 20000; ++row) {
        double y = 0;
        for (std::uint32_t i = 0; i < 5; ++i) {
          const double z = stream.normal();
          y += (i % 2 == 0 ? 1 : -2) * z;
          block.index.push_back(i);
          block.value.push_back(static_cast<float>(z + mean));
        }
        y += stream.normal();
        block.finish(classes ? (y > 0 ? 1 : 0) : y, 1, 1);
      }
      return block;
    };
    const double there = loss_of(shifted(20));
    EXPECT_LT(there, loss_of(shifted(0)) * 1.1);
    EXPECT_LT(there * 1.2, loss_of(shifted(20), {.centre = false}));
  }
}

TEST(StreamLearner, PredictsAsItDoesWhileLearning) {
  // A mean that moves takes the bias along: what is predicted for the next example does not depend on who asks.
  for (const char* transform : {"plain", "momentum"}) {
    Watched run(
        StreamOptions{.bits = 12, .optimizer = {"gauss-newton", transform}, .schedule = Schedule::constant(0.1)});
    const ExampleBlock block = mixed(8, 1500);
    std::vector<StreamPrediction> asked;
    for (std::size_t i = 0; i < block.size(); ++i) {
      const ExampleBlock one = part(block, i, i + 1);
      if (i >= 1200) run.learner.predict(one, asked);
      run.learner.learn(one);
      if (i >= 1200) {
        ASSERT_NEAR(asked[0].output, run.predictions[i].output, 1e-5) << i;
        ASSERT_EQ(asked[0].prediction, run.predictions[i].prediction) << i;
      }
    }
  }
}

TEST(StreamLearner, AnswersDoNotDependOnHowTheStreamIsCut) {
  for (const char* loss : {"", "logistic", "squared"}) {
    const ExampleBlock block = mixed(9, 2500);
    Watched whole(StreamOptions{.loss = loss});
    whole.learner.learn(block);
    Watched cut(StreamOptions{.loss = loss});
    RandomStream stream(10, "cuts");
    for (std::size_t at = 0; at < block.size();) {
      const std::size_t next = std::min<std::size_t>(block.size(), at + stream.below(200));
      cut.learner.learn(part(block, at, next));
      at = next;
    }
    expect_same(whole.learner, cut.learner);
    ASSERT_EQ(whole.predictions.size(), cut.predictions.size());
    EXPECT_EQ(whole.reports.size(), cut.reports.size());
  }
}

TEST(StreamLearner, ResumedItContinuesBitByBit) {
  const ExampleBlock block = mixed(11, 2500);
  const std::vector<StreamOptions> all{
      {},
      {.bits = 12, .loss = "logistic"},
      {.bits = 12, .loss = "huber:delta=2"},
      {.bits = 12, .l2 = 1e-3},
      {.bits = 12, .optimizer = {"gauss-newton", "adam"}, .schedule = Schedule::constant(1e-3)},
      {.bits = 10, .preconditioner = PreconditionerKind::second_moment, .centre = false}};
  for (const StreamOptions& options : all) {
    for (const std::size_t at : {0, 1, 5, 10, 11, 700, 1500}) {
      SCOPED_TRACE(fmt::format("{} {} at {}", options.loss, options.optimizer.transform, at));
      StreamLearner whole(options);
      whole.learn(block);
      StreamLearner first(options);
      first.learn(part(block, 0, at));
      StreamLearner second = StreamLearner::restore(saved(first));
      EXPECT_EQ(second.decision(), first.decision());
      second.learn(part(block, at, block.size()));
      expect_same(whole, second);
    }
  }
}

// The layout of version 1: numbers of several kinds in two arrays.
Checkpoint as_version_1(const Checkpoint& now) {
  const std::vector<const char*> numbers{
      "learner.class.negative", "learner.class.positive",   "learner.target.offset",
      "learner.target.scale",   "statistics.weight",        "statistics.loss",
      "statistics.correct",     "statistics.recent-weight", "statistics.recent-loss"};
  const std::vector<const char*> counts{"learner.target.seen", "learner.target.has-scale", "statistics.rows",
                                        "statistics.examples", "statistics.skipped"};
  const auto is_packed = [&](const std::string& name) {
    return std::ranges::find(numbers, name) != numbers.end() || std::ranges::find(counts, name) != counts.end();
  };
  Checkpoint old;
  for (const auto& [name, entry] : now.entries()) {
    if (is_packed(name) || name == "statistics.largest-error") continue;
    std::visit(
        [&](const auto& values) {
          if constexpr (std::is_same_v<std::decay_t<decltype(values)>, std::string>) {
            old.set(name, values);
          } else {
            old.set(name, std::span(values));
          }
        },
        entry);
  }
  std::vector<double> packed;
  for (const char* name : numbers) packed.push_back(now.array<double>(name, 1)[0]);
  old.set("learner.numbers", std::span<const double>(packed));
  std::vector<std::uint64_t> counted;
  for (const char* name : counts) counted.push_back(now.number(name));
  old.set("learner.counts", std::span<const std::uint64_t>(counted));
  old.set("learner.largest-error", std::span<const double>(now.array<double>("statistics.largest-error", 1)));
  old.set("learner", std::string("stream, version 1"));
  return old;
}

TEST(StreamLearner, CheckpointsOfVersion1ContinueBitByBit) {
  const ExampleBlock block = mixed(11, 2500);
  for (const char* loss : {"", "logistic", "squared"}) {
    for (const std::size_t at : {5, 700, 1500}) {
      SCOPED_TRACE(fmt::format("'{}' at {}", loss, at));
      StreamLearner whole({.bits = 10, .loss = loss});
      whole.learn(part(block, 0, at));
      StreamLearner resumed = StreamLearner::restore(as_version_1(saved(whole)));
      expect_same(whole, resumed);
      whole.learn(part(block, at, block.size()));
      resumed.learn(part(block, at, block.size()));
      expect_same(whole, resumed);
    }
  }
}

TEST(StreamLearner, DecidesForClassesWhereThereAreTwoLabels) {
  for (const auto& [low, high] : {std::pair{-1.0, 1.0}, {0.0, 1.0}, {1.0, 2.0}, {3.0, 1e6}}) {
    StreamLearner learner({});
    learner.learn(mixed(12, 1200, low, high));
    EXPECT_TRUE(learner.classifies());
    EXPECT_NE(learner.decision().find(fmt::format("labels are {} and {}", low, high)), std::string::npos)
        << learner.decision();
    EXPECT_GT(learner.statistics().accuracy().value(), 0.8);
  }
}

TEST(StreamLearner, DecidesAtTheThirdLabelOrTheThousandthExampleOrTheEnd) {
  ExampleBlock block;
  add(block, nan, {1}, {1});
  add(block, 1, {1}, {1});
  add(block, 2, {1}, {1});
  Watched run(StreamOptions{});
  run.learner.learn(block);
  EXPECT_EQ(run.learner.decision(), "");
  EXPECT_EQ(run.predictions.size(), 1U) << "an example before the first label has nothing to wait for";
  EXPECT_EQ(run.learner.statistics().examples, 0U);

  Watched third(StreamOptions{});
  third.learner.learn(block);
  ExampleBlock more;
  add(more, 5, {1}, {1});
  third.learner.learn(more);
  EXPECT_EQ(third.learner.decision(), "squared loss, because the first 3 labels are more than two numbers");
  EXPECT_EQ(third.learner.statistics().examples, 3U);

  run.learner.finish();
  EXPECT_EQ(run.learner.decision(), "logistic loss, because the first 2 labels are 1 and 2");
  EXPECT_EQ(run.learner.statistics().examples, 2U);
  run.learner.finish();
  EXPECT_EQ(run.learner.statistics().examples, 2U);

  StreamLearner thousand({});
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(thousand.decision(), "");
    ExampleBlock one;
    add(one, 4, {1}, {1});
    thousand.learn(one);
  }
  EXPECT_EQ(thousand.decision(), "squared loss, because the first 1000 labels are all 4");
}

TEST(StreamLearner, AClassMayTurnUpLate) {
  for (const auto& [first, late] : {std::pair{1.0, -1.0}, {1.0, 0.0}, {-1.0, 1.0}, {2.0, 1.0}}) {
    StreamLearner learner({.loss = "logistic"});
    for (int i = 0; i < 1100; ++i) {
      ExampleBlock one;
      add(one, first, {1}, {1});
      learner.learn(one);
    }
    ExampleBlock other;
    add(other, late, {2}, {1});
    learner.learn(other);
    // Even odds count as the negative class, and the late one comes as a surprise.
    EXPECT_EQ(learner.statistics().correct, first == -1 ? 1100 : 1099);
    ExampleBlock third;
    add(third, 7, {2}, {1});
    EXPECT_THROW(learner.learn(third), BadRow);
  }
}

TEST(StreamLearner, ABadRowIsNamedByItsLineAndWhatIsBeforeItIsLearned) {
  struct Case {
    double label;
    float value;
    double weight;
    const char* part;
  };
  const std::vector<Case> cases{{3, 1, 1, "the label is 3, but the classes are -1 and 1"},
                                {infinity, 1, 1, "the label is inf"},
                                {1, std::numeric_limits<float>::quiet_NaN(), 1, "feature 5 has the value nan"},
                                {nan, std::numeric_limits<float>::infinity(), 1, "feature 5 has the value inf"},
                                {1, 1, -1, "weight is -1"},
                                {1, 1, nan, "weight is nan"}};
  for (const Case& bad : cases) {
    for (const std::size_t before : {20, 1500}) {
      if (bad.label == 3 && before == 20) continue;  // there it is one of the labels that decide
      SCOPED_TRACE(bad.part);
      const ExampleBlock good = mixed(13, 2000);
      ExampleBlock block = part(good, 0, before);
      add(block, bad.label, {2, 5}, {1, bad.value}, bad.weight);
      const ExampleBlock rest = part(good, before, good.size());

      StreamLearner strict({});
      try {
        strict.learn(block);
        strict.learn(rest);
        strict.finish();
        ADD_FAILURE() << "nothing was thrown";
      } catch (const BadRow& fault) {
        EXPECT_EQ(fault.line(), 10 * (before + 1));
        EXPECT_NE(std::string(fault.what()).find(bad.part), std::string::npos) << fault.what();
        EXPECT_EQ(std::string(fault.what()).find('\n'), std::string::npos);
      }
      StreamLearner reference({});
      reference.learn(good);
      std::uint64_t labelled = 0;
      for (std::size_t i = 0; i < before; ++i) labelled += std::isnan(good.target[i]) ? 0 : 1;
      EXPECT_EQ(strict.statistics().examples, labelled);

      StreamLearner lenient({.skip_bad_rows = true});
      lenient.learn(block);
      lenient.learn(rest);
      lenient.finish();
      EXPECT_EQ(lenient.statistics().skipped, 1U);
      EXPECT_EQ(lenient.statistics().rows, 2001U);
      EXPECT_EQ(lenient.statistics().examples, reference.statistics().examples);
    }
  }
}

TEST(StreamLearner, ASkippedRowLeavesNoTrace) {
  const ExampleBlock good = regression(14, 500, ones);
  StreamLearner without({.loss = "squared", .skip_bad_rows = true});
  without.learn(good);
  StreamLearner with({.loss = "squared", .skip_bad_rows = true});
  for (std::size_t i = 0; i < good.size(); ++i) {
    ExampleBlock bad;
    add(bad, infinity, {1, 2}, {3, 4});
    add(bad, 1, {1, 2}, {3, std::numeric_limits<float>::quiet_NaN()});
    with.learn(bad);
    with.learn(part(good, i, i + 1));
  }
  EXPECT_EQ(with.statistics().loss, without.statistics().loss);
}

TEST(StreamLearner, NothingIsLostWhenANumberStopsBeingFinite) {
  const ExampleBlock good = regression(15, 300, ones);
  StreamLearner learner({.loss = "squared", .optimizer = {"gradient", "plain"}, .schedule = Schedule::constant(0.01)});
  learner.learn(good);
  std::vector<StreamPrediction> before, after;
  learner.predict(good, before);
  ExampleBlock huge;
  add(huge, 1e40, {1}, {1});
  try {
    learner.learn(huge);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const LearningEnded& ended) {
    EXPECT_NE(std::string(ended.what()).find("line 10: coefficient not finite"), std::string::npos) << ended.what();
  }
  EXPECT_THROW(learner.learn(good), LearningEnded);
  const StreamLearner again = StreamLearner::restore(saved(learner));
  again.predict(good, after);
  for (std::size_t i = 0; i < before.size(); ++i) ASSERT_EQ(before[i].output, after[i].output);
}

TEST(StreamLearner, OptionsThatCannotBeUsedAreRefusedBeforeTheFirstExample) {
  EXPECT_THROW(StreamLearner({.bits = 0}), InvalidArgument);
  EXPECT_THROW(StreamLearner({.bits = 64}), InvalidArgument);
  EXPECT_THROW(StreamLearner({.loss = "hinge"}), InvalidArgument);
  EXPECT_THROW(StreamLearner({.loss = "logistic:k=1"}), InvalidArgument);
  EXPECT_THROW(StreamLearner({.l2 = -1}), InvalidArgument);
  EXPECT_THROW(StreamLearner({.optimizer = find_optimizer("adam")}), InvalidArgument) << "there is no rate for it";
  EXPECT_THROW(StreamLearner({.optimizer = {"steepest", "plain"}}), InvalidArgument);
  EXPECT_THROW(StreamLearner({.l2 = 1, .preconditioner = PreconditionerKind::fading_second_moment}), InvalidArgument);
}

TEST(StreamLearner, ADamagedCheckpointIsRefused) {
  StreamLearner open({});
  open.learn(mixed(16, 50));
  StreamLearner decided({.loss = "squared"});
  decided.learn(mixed(16, 50));
  EXPECT_THROW(StreamLearner::restore(Checkpoint()), FileError);
  for (const StreamLearner* learner : {&open, &decided}) {
    const Checkpoint good = saved(*learner);
    for (const auto& [name, entry] : good.entries()) {
      SCOPED_TRACE(name);
      Checkpoint other_type = good;
      if (std::holds_alternative<std::string>(entry)) {
        other_type.set(name, std::uint64_t{1});
      } else {
        other_type.set(name, std::string("1"));
      }
      EXPECT_THROW(StreamLearner::restore(other_type), FileError);
    }
    for (const char* name : {"learner", "learner.loss", "learner.rule", "learner.schedule", "learner.metric"}) {
      Checkpoint other_text = good;
      other_text.set(name, std::string("nonsense"));
      EXPECT_THROW(StreamLearner::restore(other_text), FileError) << name;
    }
    for (const char* name : {"learner.bits", "held.features", "held.examples", "centring.features"}) {
      Checkpoint other_number = good;
      other_number.set(name, std::uint64_t{1} << 60);
      EXPECT_THROW(StreamLearner::restore(other_number), FileError) << name;
    }
  }
}

TEST(StreamLearner, GarbageIsRefusedOrEndsTheRunAndLosesNothing) {
  RandomStream stream(18, "garbage");
  int ended = 0;
  for (int trial = 0; trial < 200; ++trial) {
    const bool extreme = trial % 2 == 0;  // any bits at all; otherwise numbers of any size that are not quite as wild
    const auto any_float = [&] {
      return extreme ? std::bit_cast<float>(stream.bits32())
                     : static_cast<float>(std::pow(10, stream.uniform(-30, 30)) * stream.normal());
    };
    StreamLearner learner({.bits = 6, .loss = trial % 3 == 0 ? "" : "squared", .skip_bad_rows = true});
    ExampleBlock block;
    for (int row = 0; row < 300; ++row) {
      std::vector<std::uint32_t> index(stream.below(6));
      std::vector<float> value(index.size());
      for (std::uint32_t& i : index) i = stream.bits32();
      for (float& x : value) x = any_float();
      add(block, static_cast<double>(any_float()), index, value, stream.below(20) == 0 ? any_float() : 1);
    }
    try {
      learner.learn(block);
      learner.finish();
    } catch (const LearningEnded&) {
      ++ended;
    }
    StreamLearner again = StreamLearner::restore(saved(learner));
    expect_same(learner, again);
    ExampleBlock usual;
    add(usual, 1, {1, 2}, {1, 1});
    std::vector<StreamPrediction> predictions;
    again.predict(usual, predictions);
    EXPECT_TRUE(std::isfinite(predictions[0].output));
  }
  EXPECT_GT(ended, 0);
}

TEST(StreamLearner, EmptyExamplesAndEmptyBlocksAreFine) {
  StreamLearner learner({});
  learner.finish();
  learner.learn({});
  ExampleBlock block;
  for (int i = 0; i < 50; ++i) add(block, i % 5, {}, {});
  add(block, 1, {0}, {0});
  learner.learn(block);
  EXPECT_EQ(learner.statistics().examples, 51U);
  std::vector<StreamPrediction> predictions;
  learner.predict(block, predictions);
  EXPECT_NEAR(predictions[0].prediction, 2, 0.5);
}

TEST(StreamLearner, PoissonPredictsCounts) {
  RandomStream stream(17, "counts");
  StreamLearner learner({.loss = "poisson:largest=20"});
  ExampleBlock block;
  for (int i = 0; i < 3000; ++i) {
    const auto group = static_cast<std::uint32_t>(stream.below(2));
    add(block, static_cast<double>(stream.below(group == 0 ? 3 : 9)), {group}, {1});
  }
  learner.learn(block);
  ExampleBlock asked;
  add(asked, nan, {0}, {1});
  add(asked, nan, {1}, {1});
  std::vector<StreamPrediction> predictions;
  learner.predict(asked, predictions);
  EXPECT_NEAR(predictions[0].prediction, 1, 0.3);
  EXPECT_NEAR(predictions[1].prediction, 4, 0.8);
  asked.target[0] = -1;
  EXPECT_THROW(learner.learn(asked), BadRow);
}

}  // namespace
}  // namespace ignd
