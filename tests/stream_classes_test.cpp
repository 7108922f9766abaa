#include "learn/stream_classes.hpp"

#include "dense_algebra.hpp"
#include "ignd/checkpoint.hpp"
#include "ignd/error.hpp"
#include "ignd/random.hpp"
#include "learn/model_outputs.hpp"
#include "learn/stream_learner.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

// Streams of more than two classes.
namespace ignd {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

std::vector<double> random_probabilities(RandomStream& stream, std::size_t classes, double spread) {
  std::vector<double> p(classes);
  for (double& each : p) each = spread * stream.normal();
  softmax_probabilities(p, p);
  return p;
}

TEST(SoftmaxStep, SolvesTheDampedGaussNewtonSystem) {
  RandomStream stream(1, "softmax step");
  for (const double spread : {0.0, 1.0, 5.0}) {
    for (const std::size_t classes : {2U, 3U, 7U}) {
      const std::vector<double> p = random_probabilities(stream, classes, spread);
      const double s = std::exp(2 * stream.normal()), k = std::exp(stream.normal() - 2);
      const std::size_t label = stream.below(classes);
      std::vector<double> z(classes);
      softmax_step(p, label, s, k, z);

      const auto n = static_cast<Eigen::Index>(classes);
      Eigen::MatrixXd system = k * Eigen::MatrixXd::Identity(n, n);
      Eigen::VectorXd gradient(n);
      for (Eigen::Index r = 0; r < n; ++r) {
        const auto row = static_cast<std::size_t>(r);
        gradient[r] = p[row] - (row == label ? 1 : 0);
        for (Eigen::Index c = 0; c < n; ++c) {
          system(r, c) += s * ((r == c ? p[row] : 0) - p[row] * p[static_cast<std::size_t>(c)]);
        }
      }
      const Eigen::VectorXd expected = testing::solve_definite(system, gradient);
      double sum = 0, size = 0;
      for (std::size_t c = 0; c < classes; ++c) {
        size = std::max(size, std::abs(z[c]));
        sum += z[c];
      }
      for (std::size_t c = 0; c < classes; ++c) {
        EXPECT_NEAR(z[c], expected[static_cast<Eigen::Index>(c)], 1e-9 * size) << classes << " " << spread;
      }
      EXPECT_NEAR(sum, 0, 1e-12 * size);
    }
  }
}

TEST(SoftmaxStep, StaysFiniteWhereAProbabilityVanishes) {
  std::vector<double> z(3);
  softmax_step(std::vector{1.0, 1e-300, 0.0}, 1, 2, 0.5, z);
  EXPECT_NEAR(z[1], -2, 1e-12) << "the label's own row of the system is k z = -1";
  EXPECT_NEAR(z[0], 2, 1e-12);
  EXPECT_EQ(z[2], 0);
  softmax_step(std::vector{1.0, 0.0}, 0, 2, 0.5, std::span(z).first(2));
  EXPECT_EQ(z[0], 0) << "nothing is left to learn";
  softmax_step(std::vector{1.0, 0.0}, 1, 0, 0, std::span(z).first(2));
  EXPECT_EQ(z[1], 0) << "a singular system moves nothing";
  softmax_step(std::vector{1.0}, 0, 2, 0.5, std::span(z).first(1));
  EXPECT_EQ(z[0], 0) << "of one class";
}

// A class by the largest of three noisy functions, with a feature of a large mean, a rare one, and a missing label now
// and then.
ExampleBlock three_classes(std::uint64_t seed, std::size_t rows, std::size_t third_from = 0) {
  RandomStream stream(seed, "three classes");
  ExampleBlock block;
  for (std::size_t row = 0; row < rows; ++row) {
    const double a = stream.normal(), b = stream.normal();
    const std::array<double, 3> score{a + 0.3 * stream.normal(), b + 0.3 * stream.normal(), 0.3 * stream.normal()};
    auto best = static_cast<std::size_t>(std::ranges::max_element(score) - score.begin());
    if (best == 2 && row < third_from) best = 0;
    block.index.insert(block.index.end(), {3, 5});
    block.value.insert(block.value.end(), {static_cast<float>(a + 4), static_cast<float>(b)});
    if (row > 20) {  // what is rare is not centred: it may not be among the first examples
      block.index.push_back(static_cast<std::uint32_t>(8 + stream.below(500)));
      block.value.push_back(1);
    }
    const bool labelled = stream.below(10) != 0;
    const double label = best == 0 ? 30 : best == 1 ? 10 : 20;
    block.finish(labelled ? label : nan, stream.below(8) == 0 ? 2.5 : 1, row + 1);
  }
  return block;
}

std::string name_of(double label) { return label == 10 ? "ten" : label == 20 ? "twenty" : "thirty"; }

Checkpoint saved(const StreamLearner& learner) {
  Checkpoint checkpoint;
  learner.save(checkpoint);
  return checkpoint;
}

// By their bytes: a NaN equals itself.
std::string bytes_of(const Checkpoint& checkpoint) {
  std::string all;
  for (const auto& [name, entry] : checkpoint.entries()) {
    all += name;
    std::visit(
        [&](const auto& values) {
          all.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(values[0]));
        },
        entry);
  }
  return all;
}

std::vector<StreamPrediction> predictions_of(const StreamLearner& learner, const ExampleBlock& block) {
  std::vector<StreamPrediction> made;
  learner.predict(block, made);
  return made;
}

TEST(StreamClasses, ProgressiveLossEqualsALoopWrittenByHand) {
  const ExampleBlock block = three_classes(2, 2000);
  StreamLearner learner({.bits = 10, .loss = "softmax"});
  learner.learn(block);

  // The documented update in double precision: fading preconditioner, centring, a new class by the rule of succession.
  constexpr std::size_t features = 1025, bias = 1024;
  std::vector<std::array<double, 3>> w(features);
  std::vector<double> mean_square(features), seen(features), mean(features), present(features);
  std::vector<double> order;
  double loss = 0, weights = 0, examples = 0;
  for (std::size_t row = 0; row < block.size(); ++row) {
    if (std::isnan(block.target[row])) continue;
    std::vector<double> x(features);
    for (std::size_t k = 0; k < block.indices(row).size(); ++k)
      x[block.indices(row)[k]] = static_cast<double>(block.values(row)[k]);
    const std::vector<double> plain = x;
    for (const std::size_t i : {3U, 5U}) x[i] -= mean[i];
    x[bias] = 1;
    for (std::size_t i = 0; i < features; ++i) {
      if (x[i] * x[i] <= mean_square[i] * seen[i] || mean_square[i] == 0) continue;
      const double factor = mean_square[i] / (mean_square[i] + (x[i] * x[i] - mean_square[i]) / (seen[i] + 1));
      for (double& each : w[i]) each *= factor;
    }
    std::vector<double> f(order.size());
    for (std::size_t c = 0; c < f.size(); ++c) {
      for (std::size_t i = 0; i < features; ++i) f[c] += w[i][c] * x[i];
    }
    const double label = block.target[row], weight = block.weight[row];
    const auto at = static_cast<std::size_t>(std::ranges::find(order, label) - order.begin());
    if (at == order.size()) {
      loss += weight * std::log(examples + 2);
      double sum = 0;
      for (const double each : f) sum += std::exp(each);
      w[bias][at] = f.empty() ? 0 : std::log(sum) - std::log(examples + 1);
      f.push_back(w[bias][at]);
      order.push_back(label);
    } else {
      loss += weight * cross_entropy(at, f);
    }
    weights += weight;
    examples += 1;
    double s = 0;
    std::vector<double> direction(features);
    for (std::size_t i = 0; i < features; ++i) {
      if (x[i] == 0) continue;
      seen[i] += 1;
      mean_square[i] += (x[i] * x[i] - mean_square[i]) / seen[i];
      direction[i] = x[i] / (mean_square[i] * std::sqrt(seen[i]));
      s += x[i] * direction[i];
    }
    const double rate = std::min(examples / 10, 1.0);
    std::vector<double> total(f.size());
    for (double left = weight; left > 0; left -= 1) {
      const auto n = static_cast<Eigen::Index>(f.size());
      std::vector<double> p = f;
      softmax_probabilities(p, p);
      Eigen::MatrixXd system = (0.2 * s + 1) * Eigen::MatrixXd::Identity(n, n);
      Eigen::VectorXd gradient(n);
      for (Eigen::Index r = 0; r < n; ++r) {
        gradient[r] = p[static_cast<std::size_t>(r)] - (static_cast<std::size_t>(r) == at ? 1 : 0);
        system(r, r) += s * p[static_cast<std::size_t>(r)];
        for (Eigen::Index c = 0; c < n; ++c) {
          system(r, c) -= s * p[static_cast<std::size_t>(r)] * p[static_cast<std::size_t>(c)];
        }
      }
      const Eigen::VectorXd z = testing::solve_definite(system, gradient);
      for (std::size_t c = 0; c < f.size(); ++c) {
        const double part = std::min(left, 1.0) * z[static_cast<Eigen::Index>(c)];
        total[c] += part;
        f[c] -= rate * s * part;
      }
    }
    for (std::size_t i = 0; i < features; ++i) {
      for (std::size_t c = 0; c < f.size(); ++c) w[i][c] -= rate * total[c] * direction[i];
    }
    for (const std::size_t i : {3U, 5U}) {
      const double moved = (plain[i] - mean[i]) / (examples + 1);
      mean[i] += moved;
      for (std::size_t c = 0; c < f.size(); ++c) w[bias][c] += w[i][c] * moved;
    }
  }
  const double expected = loss / weights;
  EXPECT_NEAR(learner.statistics().average_loss().value(), expected, 1e-5 * expected);
  EXPECT_EQ(learner.loss(), "softmax");
  EXPECT_EQ(learner.decision(), "softmax loss, as given");
  EXPECT_GT(learner.statistics().accuracy().value(), 0.75);
}

TEST(StreamClasses, TwoOfThemAreLearnedAsWithTheLogisticLoss) {
  ExampleBlock block = three_classes(3, 1500);
  for (double& label : block.target) label = std::isnan(label) ? nan : label == 20 ? 10 : label;
  // With twice the damping: the difference of two logits is shared out between them.
  const auto options = [](const char* loss, const char* rule) {
    return StreamOptions{.bits = 10,
                         .loss = loss,
                         .optimizer = {rule, "plain"},
                         .schedule = Schedule::constant(1),
                         .preconditioner = PreconditionerKind::fading_second_moment};
  };
  StreamLearner two(options("logistic", "gauss-newton:eps_c=0.1,eps_lm=2"));
  StreamLearner many(options("softmax", "gauss-newton:eps_c=0.2,eps_lm=4"));
  two.learn(block);
  two.finish();
  // The loss of the first example of each class is another one; the steps are not, if both classes are known.
  ExampleBlock labels;
  labels.finish(10, 0, 1);
  labels.finish(30, 0, 2);
  many.learn(labels);
  const auto before = predictions_of(many, block);
  EXPECT_NEAR(before[0].probability, 2.0 / 3, 1e-6) << "the second class had the probability 1/3";

  StreamLearner fair(options("softmax", "gauss-newton:eps_c=0.2,eps_lm=4"));
  ExampleBlock rest = block;
  fair.learn(rest);
  // One step from another start is forgotten slowly: compare the decisions.
  const auto a = predictions_of(two, block), b = predictions_of(fair, block);
  std::size_t differ = 0;
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    differ += a[i].prediction != b[i].prediction ? 1 : 0;
    const double of_30 = b[i].prediction == 30 ? b[i].probability : 1 - b[i].probability;
    largest = std::max(largest, std::abs(a[i].probability - of_30));
  }
  EXPECT_LE(differ, 15U);
  EXPECT_LT(largest, 0.05);
}

TEST(StreamClasses, AThirdTextMakesAModelOfManyClassesThatPredictsTheSame) {
  const ExampleBlock block = three_classes(4, 1500, 1000);
  StreamLearner learner({.bits = 10});
  learner.set_label_names(name_of);
  std::string told;
  learner.set_events({.report = {}, .prediction = {}, .decision = [&](const std::string& text) { told = text; }});
  std::size_t third = 0;
  while (block.target[third] != 20) ++third;
  learner.learn(block, 0, third);
  ASSERT_EQ(learner.loss(), "logistic");
  const auto before = predictions_of(learner, block);

  // An example of weight 0 moves nothing but brings the class with it, with the probability 1 / (n + 2).
  ExampleBlock one = block;
  one.weight[third] = 0;
  const double surprise = 1 / (static_cast<double>(learner.statistics().examples) + 2);
  learner.learn(one, third, third + 1);
  EXPECT_EQ(learner.loss(), "softmax");
  EXPECT_EQ(told, fmt::format("softmax loss, because row {} has a third class, 'twenty'", third + 1));
  EXPECT_EQ(learner.decision(), told);
  EXPECT_EQ(learner.class_labels(), (std::vector<double>{10, 30, 20})) << "ten, thirty, twenty";
  const auto after = predictions_of(learner, block);
  for (std::size_t i = 0; i < before.size(); ++i) {
    std::vector<double> p = after[i].logits;
    ASSERT_EQ(p.size(), 3U);
    EXPECT_NEAR(p[1] - p[0], before[i].output, 1e-5 * (1 + std::abs(before[i].output)));
    if (i != third) continue;
    softmax_probabilities(p, p);
    EXPECT_NEAR(p[2], surprise, 1e-5 * surprise);
  }
  learner.learn(block, third, block.size());
  EXPECT_GT(learner.statistics().accuracy().value(), 0.7);
}

TEST(StreamClasses, AThirdLabelOfTheLogisticLossThatWasAskedForIsRefused) {
  StreamLearner learner({.bits = 10, .loss = "logistic"});
  learner.set_label_names(name_of);
  EXPECT_THROW(learner.learn(three_classes(4, 500)), BadRow);
  // Nor can these steps learn more than two.
  StreamLearner adam({.bits = 10, .optimizer = find_optimizer("adam"), .schedule = Schedule::constant(0.01)});
  adam.set_label_names(name_of);
  EXPECT_THROW(adam.learn(three_classes(4, 500)), BadRow);
  EXPECT_THROW(
      StreamLearner({.loss = "softmax", .optimizer = find_optimizer("adam"), .schedule = Schedule::constant(0.01)}),
      InvalidArgument);
  EXPECT_THROW(StreamLearner({.loss = "softmax", .l2 = 0.1}), InvalidArgument);
  EXPECT_THROW(StreamLearner({.loss = "softmax:k=1"}), InvalidArgument);
}

TEST(StreamClasses, ResumedTheyContinueBitByBit) {
  const ExampleBlock block = three_classes(5, 900, 300);
  const Optimizer gradient = find_optimizer("sgd");
  for (const bool text : {false, true}) {
    for (const bool plain : {false, true}) {
      StreamOptions options{.bits = 8, .loss = text && !plain ? "" : "softmax"};
      if (plain) {
        options.optimizer = gradient;
        options.schedule = Schedule::constant(0.05);
      }
      const auto name = [&](StreamLearner& learner) {
        if (text) learner.set_label_names(name_of);
      };
      StreamLearner whole(options);
      name(whole);
      whole.learn(block);
      for (const std::size_t at : {0U, 1U, 3U, 200U, 301U, 320U, 700U}) {
        SCOPED_TRACE(fmt::format("text {} plain {} at {}", text, plain, at));
        StreamLearner first(options);
        name(first);
        for (std::size_t i = 0; i < at; ++i) first.learn(block, i, i + 1);
        StreamLearner second = StreamLearner::restore(saved(first));
        name(second);
        second.learn(block, at, block.size());
        EXPECT_TRUE(bytes_of(saved(whole)) == bytes_of(saved(second)));
      }
    }
  }
}

TEST(StreamClasses, ASkippedRowLeavesNoTrace) {
  const ExampleBlock block = three_classes(6, 400, 200);
  ExampleBlock bad;
  bad.index.push_back(3);
  bad.value.push_back(std::numeric_limits<float>::infinity());
  bad.finish(40, 1, 7);
  bad.finish(std::numeric_limits<double>::infinity(), 1, 8);
  bad.finish(50, -1, 9);
  for (const char* loss : {"", "softmax"}) {
    StreamLearner without({.bits = 8, .loss = loss, .skip_bad_rows = true});
    StreamLearner with({.bits = 8, .loss = loss, .skip_bad_rows = true});
    for (StreamLearner* learner : {&with, &without}) {
      learner->set_label_names(name_of);
      learner->learn(block, 0, 150);
      if (learner == &with) learner->learn(bad);
      learner->learn(block, 150, block.size());
    }
    EXPECT_EQ(with.statistics().skipped, 3U);
    EXPECT_EQ(with.class_labels(), without.class_labels());
    const auto a = predictions_of(with, block), b = predictions_of(without, block);
    for (std::size_t i = 0; i < a.size(); ++i) EXPECT_EQ(a[i].logits, b[i].logits);
  }
}

TEST(StreamClasses, ThereAreAtMostAThousand) {
  StreamLearner learner({.bits = 2, .loss = "softmax"});
  ExampleBlock block;
  for (std::size_t i = 0; i < 1000; ++i) {
    block.index.push_back(static_cast<std::uint32_t>(i % 4));
    block.value.push_back(1);
    block.finish(-static_cast<double>(i), 1, i + 1);
  }
  learner.learn(block);
  EXPECT_EQ(learner.class_labels().size(), 1000U);
  EXPECT_EQ(learner.class_labels().front(), -999) << "numbers are in increasing order";
  EXPECT_EQ(learner.weights(), 5000U);
  ExampleBlock more;
  more.finish(1, 1, 1001);
  EXPECT_THROW(learner.learn(more), BadRow);
  ExampleBlock known;
  known.finish(-7, 1, 1001);
  learner.learn(known);
  const StreamLearner again = StreamLearner::restore(saved(learner));
  EXPECT_TRUE(bytes_of(saved(learner)) == bytes_of(saved(again)));
}

TEST(StreamClasses, AnExampleThatOverflowsTakesItsNewClassBack) {
  StreamLearner learner({.bits = 4, .loss = "softmax", .centre = false});
  ExampleBlock block;
  for (std::size_t i = 0; i < 30; ++i) {
    block.index.push_back(1);
    block.value.push_back(i % 2 == 0 ? 1e-30F : -1e-30F);
    block.finish(i % 2 == 0 ? 1 : 2, 1, i + 1);
  }
  learner.learn(block);
  const std::string before = bytes_of(saved(learner));
  ExampleBlock large;
  large.index.push_back(1);
  large.value.push_back(std::numeric_limits<float>::max());
  large.finish(3, 1, 31);
  try {
    learner.learn(large);
    EXPECT_EQ(learner.class_labels().size(), 3U) << "its scale was scaled down: nothing overflows";
  } catch (const LearningEnded&) {
    EXPECT_EQ(learner.class_labels().size(), 2U);
  }
}

}  // namespace
}  // namespace ignd
