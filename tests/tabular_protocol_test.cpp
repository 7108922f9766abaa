#include "lab/tabular_protocol.hpp"

#include "ignd/error.hpp"
#include "ignd/random.hpp"
#include "lab/tabular_run.hpp"
#include "learn/metrics.hpp"

#include <array>
#include <atomic>
#include <cmath>
#include <set>

#include <gtest/gtest.h>

namespace ignd {
namespace {

const std::atomic<bool> never = false;

// Two numbers and an indicator; the target is a smooth function of them.
FeatureTable table_of(std::size_t rows, std::uint64_t seed) {
  RandomStream stream(seed, "table");
  FeatureTable table{{"a", "b", "c"}, 2, {}, {}};
  for (std::size_t i = 0; i < rows; ++i) {
    const double a = 100 + 7 * stream.normal();
    const double b = 0.01 * stream.normal();
    const double c = static_cast<double>(stream.below(2));
    table.features.insert(table.features.end(), {a, b, c});
    table.targets.push_back(3 + std::tanh((a - 100) / 7) + c + 20 * b);
  }
  return table;
}

std::vector<std::vector<double>> rows_of(const Samples<float>& samples) {
  std::vector<std::vector<double>> rows;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    rows.emplace_back(samples[i].x.values.begin(), samples[i].x.values.end());
    rows.back().push_back(samples[i].y);
  }
  return rows;
}

RunConfig config_of(const std::string& optimizer, double rate, std::uint64_t seed,
                    std::map<std::string, std::string> batch = {{"batch", "0"}, {"batch-mode", "average"}}) {
  std::map<std::string, std::string> others{{"hidden", "16,8"}, {"epochs", "3"}, {"schedule", "constant"},
                                            {"points", "2"},    {"lambda", "1"}, {"timed", "false"}};
  batch.merge(others);
  return {"tabular", Settings(batch), find_optimizer(optimizer), rate, seed};
}

// Steps of one length, far too long and never infinite.
RunConfig wild_config(std::uint64_t seed) { return config_of("ngd", 3000, seed); }

TEST(TabularProtocol, SplitsEveryRowOnce) {
  const FeatureTable table = table_of(1000, 1);
  const TabularSplit split = split_and_standardise(table, 1, InputScales::one);
  EXPECT_EQ(split.train.size(), 800U);
  EXPECT_EQ(split.validation.size(), 100U);
  EXPECT_EQ(split.test.size(), 100U);
  std::multiset<double> targets;
  for (const auto* part : {&split.train, &split.validation, &split.test}) {
    for (std::size_t i = 0; i < part->size(); ++i) targets.insert((*part)[i].y);
  }
  EXPECT_EQ(targets, std::multiset<double>(table.targets.begin(), table.targets.end()));
}

TEST(TabularProtocol, NumbersAreStandardisedAndIndicatorsAreNot) {
  const TabularSplit split = split_and_standardise(table_of(1000, 2), 3, InputScales::one);
  const auto rows = rows_of(split.train);
  for (std::size_t k = 0; k < 2; ++k) {
    double sum = 0;
    double squares = 0;
    for (const auto& row : rows) sum += row[k], squares += row[k] * row[k];
    EXPECT_NEAR(sum / 800, 0, 1e-5);
    EXPECT_NEAR(squares / 800, 1, 1e-5);
  }
  for (const auto& row : rows) EXPECT_TRUE(row[2] == 0 || row[2] == 1);
}

// The detector: what is changed in rows to be measured on must not reach what is learned from. It is shown to notice by
// a protocol that standardises by all rows.
double largest_change(const Samples<float>& before, const Samples<float>& after) {
  const auto a = rows_of(before);
  const auto b = rows_of(after);
  double change = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t k = 0; k < a[i].size(); ++k) change = std::max(change, std::abs(a[i][k] - b[i][k]));
  }
  return change;
}

// The rows of a part, by their targets, which are all different.
std::set<double> targets_of(const Samples<float>& part) {
  std::set<double> targets;
  for (std::size_t i = 0; i < part.size(); ++i) targets.insert(part[i].y);
  return targets;
}

FeatureTable with_wild_rows(FeatureTable table, const std::set<double>& targets) {
  for (std::size_t row = 0; row < table.size(); ++row) {
    if (!targets.contains(table.targets[row])) continue;
    for (std::size_t k = 0; k < table.numbers; ++k) table.features[row * table.names.size() + k] *= 1000;
  }
  return table;
}

// Leaky on purpose.
Samples<float> standardised_by_all(const FeatureTable& table, std::uint64_t seed) {
  FeatureTable scaled = table;
  for (std::size_t k = 0; k < table.numbers; ++k) {
    double sum = 0;
    double squares = 0;
    for (std::size_t row = 0; row < table.size(); ++row) sum += table[row][k];
    const double mean = sum / static_cast<double>(table.size());
    for (std::size_t row = 0; row < table.size(); ++row) squares += std::pow(table[row][k] - mean, 2);
    const double deviation = std::sqrt(squares / static_cast<double>(table.size()));
    for (std::size_t row = 0; row < table.size(); ++row) {
      double& value = scaled.features[row * table.names.size() + k];
      value = (value - mean) / deviation;
    }
  }
  scaled.numbers = 0;
  return split_and_standardise(scaled, seed, InputScales::one).train;
}

TEST(TabularProtocol, NothingLeaksFromValidationOrTest) {
  const FeatureTable table = table_of(1000, 4);
  const TabularSplit split = split_and_standardise(table, 5, InputScales::one);
  for (const auto* held_out : {&split.validation, &split.test}) {
    const FeatureTable wild = with_wild_rows(table, targets_of(*held_out));
    EXPECT_EQ(largest_change(split.train, split_and_standardise(wild, 5, InputScales::one).train), 0);
    EXPECT_GT(largest_change(standardised_by_all(table, 5), standardised_by_all(wild, 5)), 0.1);
  }
}

TEST(TabularProtocol, LearningDoesNotLookAtHeldOutTargets) {
  const FeatureTable table = table_of(600, 6);
  const TabularSplit split = split_and_standardise(table, 7, InputScales::one);
  FeatureTable changed = table;
  const auto validation = targets_of(split.validation);
  for (double& y : changed.targets) {
    if (validation.contains(y)) y += 0.5;
  }
  const TabularSplit other = split_and_standardise(changed, 7, InputScales::one);
  const RunResult before = run_network(config_of("ignd", 0.1, 7), split, never);
  const RunResult after = run_network(config_of("ignd", 0.1, 7), other, never);
  EXPECT_EQ(before.score, after.score);
  EXPECT_EQ(before.y, after.y);
  EXPECT_NE(before.validation, after.validation);
}

// What decides about rates, the status and the validation score, knows nothing of the rows that are reported on.
TEST(TabularProtocol, ChoosingDoesNotLookAtTestRows) {
  const auto [fine, infinite, far_off] = std::array{config_of("sgd", 0.1, 7), config_of("sgd", 1e3, 7), wild_config(7)};
  for (const RunConfig& config : {fine, infinite, far_off}) {
    TabularSplit split = split_and_standardise(table_of(600, 6), 7, InputScales::one);
    const RunResult before = run_network(config, split, never);
    Samples<float> other(split.test.features());
    const std::vector<float> same(split.test.features(), 1.0F);
    for (std::size_t i = 0; i < split.test.size(); ++i) other.add(same, 1e9);
    split.test = other;
    const RunResult after = run_network(config, split, never);
    EXPECT_EQ(before.status, after.status);
    EXPECT_EQ(before.failed_at, after.failed_at);
    EXPECT_EQ(before.validation, after.validation);
    EXPECT_NE(before.y, after.y);
  }
}

TEST(TabularProtocol, InputsAreScaledAsAsked) {
  const FeatureTable table = table_of(500, 8);
  const auto one = rows_of(split_and_standardise(table, 1, InputScales::one).test);
  const auto hundred = rows_of(split_and_standardise(table, 1, InputScales::hundred).test);
  const auto separate = rows_of(split_and_standardise(table, 1, InputScales::separate).test);
  const auto another_seed = rows_of(split_and_standardise(table, 2, InputScales::separate).test);
  const auto another_one = rows_of(split_and_standardise(table, 2, InputScales::one).test);
  std::set<double> factors;
  for (std::size_t k = 0; k < 3; ++k) {
    const std::size_t known = one[0][k] != 0 ? 0 : 1;
    const double factor = separate[known][k] / one[known][k];
    factors.insert(factor);
    EXPECT_TRUE(factor >= 0.01 && factor <= 100) << factor;
    const std::size_t also = another_one[0][k] != 0 ? 0 : 1;
    EXPECT_NEAR(another_seed[also][k] / another_one[also][k], factor, 1e-4 * factor) << "the same for all seeds";
    for (std::size_t i = 0; i < one.size(); ++i) {
      EXPECT_NEAR(hundred[i][k], 100 * one[i][k], 1e-4 * std::abs(hundred[i][k]));
      if (one[i][k] == 0) continue;
      EXPECT_NEAR(separate[i][k] / one[i][k], factor, 1e-4 * std::abs(factor));
    }
  }
}

TEST(TabularRun, ALossFarBeyondTheStartIsAFailureEvenIfItIsFinite) {
  const TabularSplit split = split_and_standardise(table_of(500, 11), 1, InputScales::one);
  const RunResult run = run_network(wild_config(1), split, never);
  EXPECT_EQ(run.status, RunStatus::diverged);
  EXPECT_EQ(run.failed_at, split.train.size()) << "after the first epoch";
  EXPECT_TRUE(std::isfinite(run.y.back()));
}

TEST(TabularRun, EveryOptimizerLearns) {
  const TabularSplit split = split_and_standardise(table_of(2000, 9), 1, InputScales::one);
  const RunResult constant = run_mean_of_targets(split);
  const RunResult linear = run_least_squares(split);
  EXPECT_LT(linear.score.value(), constant.score.value());
  for (const auto& [optimizer, rate] :
       std::vector<std::pair<std::string, double>>{{"sgd", 1e-2}, {"ignd", 0.1}, {"adam", 1e-2}, {"adam-ignd", 1e-2}}) {
    const RunResult run = run_network(config_of(optimizer, rate, 1), split, never);
    ASSERT_EQ(run.status, RunStatus::finished) << optimizer;
    EXPECT_LT(run.score.value(), 0.5 * constant.score.value()) << optimizer;
    ASSERT_EQ(run.x.size(), 7U);  // before anything, and twice in each of three epochs
    EXPECT_EQ(run.x.back(), 3);
    EXPECT_EQ(run.y.back(), run.score.value());
  }
}

TEST(TabularRun, BatchesLearnAndAreTimedIfAsked) {
  const TabularSplit split = split_and_standardise(table_of(2000, 9), 1, InputScales::one);
  const RunResult constant = run_mean_of_targets(split);
  struct Kind {
    const char* optimizer;
    double rate;
    const char* mode;
  };
  for (const Kind& kind : {Kind{"sgd", 0.05, "average"}, Kind{"ignd", 1, "average"}, Kind{"ignd", 0.3, "exact"},
                           Kind{"adam", 1e-2, "average"}, Kind{"adam-ignd", 1e-2, "exact"}}) {
    for (const char* timed : {"false", "true"}) {
      const std::map<std::string, std::string> batch{{"batch", "16"}, {"batch-mode", kind.mode}, {"timed", timed}};
      const RunResult run = run_network(config_of(kind.optimizer, kind.rate, 1, batch), split, never);
      ASSERT_EQ(run.status, RunStatus::finished) << kind.optimizer;
      EXPECT_LT(run.score.value(), 0.5 * constant.score.value()) << kind.optimizer << " " << kind.mode;
      EXPECT_EQ(run.x.back(), 3);
      EXPECT_EQ(run.extras.size(), std::string(timed) == "true" ? 1U : 0U);
      for (const auto& [name, seconds] : run.extras) EXPECT_GT(seconds, 0) << name;
    }
  }
}

TEST(TabularRun, IsAFunctionOfItsSeed) {
  const TabularSplit split = split_and_standardise(table_of(500, 10), 1, InputScales::one);
  const auto run = [&](std::uint64_t seed) { return run_network(config_of("adam-ignd", 1e-3, seed), split, never); };
  EXPECT_EQ(run(1), run(1));
  EXPECT_NE(run(1), run(2));
}

TEST(TabularRun, FailuresAreNamed) {
  const TabularSplit split = split_and_standardise(table_of(500, 11), 1, InputScales::one);
  const RunResult wild = run_network(config_of("sgd", 1e3, 1), split, never);
  EXPECT_EQ(wild.status, RunStatus::diverged);
  EXPECT_GT(wild.failed_at, 0U);
  EXPECT_FALSE(wild.score);
  EXPECT_FALSE(wild.validation);
  const std::atomic<bool> stop = true;
  EXPECT_THROW(run_network(config_of("sgd", 1e-3, 1), split, stop), RunStopped);
}

// A network whose units are all dead predicts a constant: nothing is infinite, and nothing was learned.
TEST(TabularRun, AConstantIsNoResult) {
  FeatureTable table = table_of(500, 12);
  std::fill(table.features.begin(), table.features.end(), 0.0);
  const TabularSplit split = split_and_standardise(table, 1, InputScales::one);
  const RunResult run = run_network(config_of("ignd", 0.1, 1), split, never);
  EXPECT_EQ(run.status, RunStatus::collapsed);
  EXPECT_FALSE(run.score);
}

TEST(TabularRun, MapeIsThePapers) {
  MapeSum sum;  // of learn/metrics.hpp, for experiments and for the tool
  sum.add(2, 1);
  sum.add(-4, -5);
  EXPECT_DOUBLE_EQ(sum.mean(), (0.5 + 0.25) / 2);
  sum.add(0, 1e-15);
  EXPECT_DOUBLE_EQ(sum.mean(), (0.5 + 0.25 + 1) / 3);
}

TEST(TabularRun, WidthsAreNumbers) {
  EXPECT_EQ(parse_widths("32,64,32"), (std::vector<std::uint64_t>{32, 64, 32}));
  EXPECT_EQ(parse_widths("7"), std::vector<std::uint64_t>{7});
  for (const auto* bad : {"", ",", "3,", ",3", "0", "3,x", "3 ,4", "-1", "1e3", "99999999999999999999"}) {
    EXPECT_THROW(parse_widths(bad), InvalidArgument) << bad;
  }
}

}  // namespace
}  // namespace ignd
