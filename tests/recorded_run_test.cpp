#include "learn/recorded_run.hpp"

#include "base/stopped.hpp"
#include "ignd/error.hpp"
#include "ignd/random.hpp"
#include "learn/baselines.hpp"
#include "learn/metrics.hpp"
#include "learn/table_dataset.hpp"
#include "scratch_folder.hpp"

#include <array>
#include <atomic>
#include <cmath>
#include <set>
#include <thread>

#include <gtest/gtest.h>

// The paper's protocol for tables, and runs with their learning curves.
namespace ignd {
namespace {

const std::atomic<bool> never = false;

struct Columns {
  std::vector<double> rows;  // two numbers, an indicator and the target, row after row

  std::size_t size() const { return rows.size() / 4; }
  double& at(std::size_t row, std::size_t column) { return rows[row * 4 + column]; }
  Table table() const { return Table::of_numbers({"a", "b", "c", "y"}, rows); }
};

// The target is a smooth function of the others.
Columns columns_of(std::size_t rows, std::uint64_t seed) {
  RandomStream stream(seed, "table");
  Columns made;
  for (std::size_t i = 0; i < rows; ++i) {
    const double a = 100 + 7 * stream.normal();
    const double b = 0.01 * stream.normal();
    const double c = static_cast<double>(stream.below(2));
    made.rows.insert(made.rows.end(), {a, b, c, 3 + std::tanh((a - 100) / 7) + c + 20 * b});
  }
  return made;
}

// The paper's: numbers standardised as they are, the target in its units.
DatasetOptions protocol(std::uint64_t seed, InputFactors factors = InputFactors::one) {
  DatasetOptions options;
  options.target = "y";
  options.seed = seed;
  options.scaling = NumberScaling::standard;
  options.scale_target = false;
  options.factors = factors;
  return options;
}

using Rows = std::vector<std::vector<double>>;

Rows rows_of(const TableDataset& dataset, const std::vector<std::uint32_t>& part) {
  Rows rows;
  for (const std::uint32_t row : part) {
    const Sample<float> sample = dataset.sample(row, {});
    rows.emplace_back(sample.x.values.begin(), sample.x.values.end());
    rows.back().push_back(sample.y);
  }
  return rows;
}

TrainingOptions training(const std::string& optimizer, double rate, std::uint64_t seed) {
  TrainingOptions options;
  options.model = "mlp:16,8";
  options.optimizer = find_optimizer(optimizer);
  options.rate = rate;
  options.schedule = "constant";
  options.epochs = 3;
  options.keep_last = true;
  options.seed = seed;
  options.is_trial = true;
  return options;
}

// Steps of one length, far too long and never infinite.
TrainingOptions wild_training(std::uint64_t seed) { return training("ngd", 3000, seed); }

constexpr RecordOptions by_mape{.score = ScoreKind::mape, .points = 2};

TEST(Protocol, SplitsEveryRowOnce) {
  const Columns columns = columns_of(1000, 1);
  const Table table = columns.table();
  const TableDataset dataset(table, protocol(1));
  EXPECT_EQ(dataset.split().train.size(), 800U);
  EXPECT_EQ(dataset.split().validation.size(), 100U);
  EXPECT_EQ(dataset.split().test.size(), 100U);
  std::multiset<double> targets, all;
  for (const auto* part : {&dataset.split().train, &dataset.split().validation, &dataset.split().test}) {
    for (const auto& row : rows_of(dataset, *part)) targets.insert(row.back());
  }
  for (std::size_t i = 0; i < table.size(); ++i) all.insert(table[i][3]);
  EXPECT_EQ(targets, all) << "in the target's own units";
}

TEST(Protocol, NumbersAreStandardisedAndIndicatorsAreNot) {
  const Table table = columns_of(1000, 2).table();
  const TableDataset dataset(table, protocol(3));
  const Rows rows = rows_of(dataset, dataset.split().train);
  for (std::size_t k = 0; k < 2; ++k) {
    double sum = 0;
    double squares = 0;
    for (const auto& row : rows) sum += row[k], squares += row[k] * row[k];
    EXPECT_NEAR(sum / 800, 0, 1e-5);
    EXPECT_NEAR(squares / 800, 1, 1e-5);
  }
  for (const auto& row : rows) EXPECT_TRUE(row[2] == 0 || row[2] == 1);
}

// A value far out stays where it is; robust scaling would cut it off.
TEST(Protocol, NothingIsCutOff) {
  Columns columns = columns_of(1000, 2);
  columns.at(17, 0) = 1e6;
  const Table table = columns.table();
  for (const NumberScaling scaling : {NumberScaling::standard, NumberScaling::robust}) {
    DatasetOptions options = protocol(3);
    options.scaling = scaling;
    const TableDataset dataset(table, options);
    EXPECT_EQ(dataset.sample(17, {}).x.values[0] > 20, scaling == NumberScaling::standard);
  }
}

// The detector: what is changed in held-out rows must not reach the training rows. Shown to notice by a table that was
// standardised by all of its rows.
double largest_change(const Rows& a, const Rows& b) {
  double change = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t k = 0; k < a[i].size(); ++k) change = std::max(change, std::abs(a[i][k] - b[i][k]));
  }
  return change;
}

Columns standardised_by_all(Columns columns) {
  for (std::size_t k = 0; k < 2; ++k) {
    double sum = 0;
    double squares = 0;
    const auto count = static_cast<double>(columns.size());
    for (std::size_t row = 0; row < columns.size(); ++row) sum += columns.at(row, k);
    for (std::size_t row = 0; row < columns.size(); ++row) squares += std::pow(columns.at(row, k) - sum / count, 2);
    for (std::size_t row = 0; row < columns.size(); ++row) {
      columns.at(row, k) = (columns.at(row, k) - sum / count) / std::sqrt(squares / count);
    }
  }
  return columns;
}

TEST(Protocol, NothingLeaksFromValidationOrTest) {
  const Columns columns = columns_of(1000, 4);
  const Table table = columns.table();
  const TableDataset dataset(table, protocol(5));
  const Rows before = rows_of(dataset, dataset.split().train);
  for (const auto* held_out : {&dataset.split().validation, &dataset.split().test}) {
    Columns wild = columns;
    for (const std::uint32_t row : *held_out) wild.at(row, 0) *= 1000, wild.at(row, 1) *= 1000;
    const Table wild_table = wild.table();
    const TableDataset other(wild_table, protocol(5));
    EXPECT_EQ(largest_change(before, rows_of(other, other.split().train)), 0);
    const auto leaky_rows = [&](const Columns& from) {
      Rows rows;
      Columns leaky = standardised_by_all(from);
      for (const std::uint32_t row : dataset.split().train) rows.push_back({leaky.at(row, 0), leaky.at(row, 1)});
      return rows;
    };
    EXPECT_GT(largest_change(leaky_rows(columns), leaky_rows(wild)), 0.1);
  }
}

TEST(Protocol, LearningDoesNotLookAtHeldOutTargets) {
  const Columns columns = columns_of(600, 6);
  const Table table = columns.table();
  const TableDataset dataset(table, protocol(7));
  Columns changed = columns;
  for (const std::uint32_t row : dataset.split().validation) changed.at(row, 3) += 0.5;
  const Table changed_table = changed.table();
  const TableDataset other(changed_table, protocol(7));
  const RunResult before = record_run(dataset, training("ignd", 0.1, 7), by_mape, never);
  const RunResult after = record_run(other, training("ignd", 0.1, 7), by_mape, never);
  EXPECT_EQ(before.score, after.score);
  EXPECT_EQ(before.y, after.y);
  EXPECT_NE(before.validation, after.validation);
}

// What decides about rates, the status and the validation score, knows nothing of the test rows.
TEST(Protocol, ChoosingDoesNotLookAtTestRows) {
  const Columns columns = columns_of(600, 6);
  const Table table = columns.table();
  const TableDataset dataset(table, protocol(7));
  Columns other_test = columns;
  for (const std::uint32_t row : dataset.split().test) other_test.at(row, 3) = 1e9;
  const Table other_table = other_test.table();
  const TableDataset other(other_table, protocol(7));
  for (const TrainingOptions& options : {training("sgd", 0.1, 7), training("sgd", 1e3, 7), wild_training(7)}) {
    const RunResult before = record_run(dataset, options, by_mape, never);
    const RunResult after = record_run(other, options, by_mape, never);
    EXPECT_EQ(before.status, after.status);
    EXPECT_EQ(before.failed_at, after.failed_at);
    EXPECT_EQ(before.validation, after.validation);
    EXPECT_NE(before.y, after.y);
  }
}

TEST(Protocol, InputsAreScaledAsAsked) {
  const Table table = columns_of(500, 8).table();
  const auto test_rows = [&](std::uint64_t seed, InputFactors factors) {
    const TableDataset dataset(table, protocol(seed, factors));
    return rows_of(dataset, dataset.split().test);
  };
  const Rows one = test_rows(1, InputFactors::one), hundred = test_rows(1, InputFactors::hundred);
  const Rows separate = test_rows(1, InputFactors::separate);
  const Rows another_seed = test_rows(2, InputFactors::separate), another_one = test_rows(2, InputFactors::one);
  for (std::size_t k = 0; k < 3; ++k) {
    const std::size_t known = one[0][k] != 0 ? 0 : 1;
    const double factor = separate[known][k] / one[known][k];
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

TEST(RecordedRun, ALossFarBeyondTheStartIsAFailureEvenIfItIsFinite) {
  const Table table = columns_of(500, 11).table();
  const TableDataset dataset(table, protocol(1));
  const RunResult run = record_run(dataset, wild_training(1), by_mape, never);
  EXPECT_EQ(run.status, RunStatus::diverged);
  EXPECT_EQ(run.failed_at, dataset.split().train.size()) << "after the first epoch";
  EXPECT_TRUE(std::isfinite(run.y.back()));
}

double constant_score(const TableDataset& dataset) {
  return record_predictor(dataset, fit_constant(dataset, FitWeights::loss).outputs, by_mape).score.value();
}

TEST(RecordedRun, EveryOptimizerLearns) {
  const Table table = columns_of(2000, 9).table();
  const TableDataset dataset(table, protocol(1));
  const double constant = constant_score(dataset);
  EXPECT_LT(record_predictor(dataset, fit_linear(dataset, FitWeights::loss)->outputs, by_mape).score.value(), constant);
  for (const auto& [optimizer, rate] :
       std::vector<std::pair<std::string, double>>{{"sgd", 1e-2}, {"ignd", 0.1}, {"adam", 1e-2}, {"adam-ignd", 1e-2}}) {
    const RunResult run = record_run(dataset, training(optimizer, rate, 1), by_mape, never);
    ASSERT_EQ(run.status, RunStatus::finished) << optimizer;
    EXPECT_LT(run.score.value(), 0.5 * constant) << optimizer;
    ASSERT_EQ(run.x.size(), 7U);  // before anything, and twice in each of three epochs
    EXPECT_EQ(run.x.back(), 3);
    EXPECT_EQ(run.y.back(), run.score.value());
  }
}

TEST(RecordedRun, BatchesLearnAndAreTimedIfAsked) {
  const Table table = columns_of(2000, 9).table();
  const TableDataset dataset(table, protocol(1));
  const double constant = constant_score(dataset);
  struct Kind {
    const char* optimizer;
    double rate;
    BatchMode mode;
  };
  for (const Kind& kind :
       {Kind{"sgd", 0.05, BatchMode::average}, Kind{"ignd", 1, BatchMode::average}, Kind{"ignd", 0.3, BatchMode::exact},
        Kind{"adam", 1e-2, BatchMode::average}, Kind{"adam-ignd", 1e-2, BatchMode::exact}}) {
    for (const bool timed : {false, true}) {
      TrainingOptions options = training(kind.optimizer, kind.rate, 1);
      options.batch = {.size = 16, .mode = kind.mode};
      RecordOptions record = by_mape;
      record.timed = timed;
      const RunResult run = record_run(dataset, options, record, never);
      ASSERT_EQ(run.status, RunStatus::finished) << kind.optimizer;
      EXPECT_LT(run.score.value(), 0.5 * constant) << kind.optimizer;
      EXPECT_EQ(run.x.back(), 3);
      EXPECT_EQ(run.extras.back().first == seconds_column, timed);
      EXPECT_GT(run.extras.back().second, 0);
    }
  }
}

TEST(RecordedRun, IsAFunctionOfItsSeed) {
  const Table table = columns_of(500, 10).table();
  const TableDataset dataset(table, protocol(1));
  const auto run = [&](std::uint64_t seed) {
    return record_run(dataset, training("adam-ignd", 1e-3, seed), by_mape, never);
  };
  EXPECT_EQ(run(1), run(1));
  EXPECT_NE(run(1), run(2));
}

TEST(RecordedRun, FailuresAreNamed) {
  const Table table = columns_of(500, 11).table();
  const TableDataset dataset(table, protocol(1));
  const RunResult wild = record_run(dataset, training("sgd", 1e3, 1), by_mape, never);
  EXPECT_EQ(wild.status, RunStatus::diverged);
  EXPECT_GT(wild.failed_at, 0U);
  EXPECT_FALSE(wild.score);
  EXPECT_FALSE(wild.validation);
  const std::atomic<bool> stop = true;
  EXPECT_THROW(record_run(dataset, training("sgd", 1e-3, 1), by_mape, stop), Stopped);
}

// A lambda that is too small for a batch has failed like a rate that diverges; a user's own run says what is wrong.
TEST(RecordedRun, ASingularSystemIsAFailedTrial) {
  Columns columns = columns_of(400, 13);
  for (std::size_t row = 0; row < columns.size(); ++row) columns.at(row, 0) = columns.at(row % 2, 0);
  for (std::size_t row = 0; row < columns.size(); ++row) columns.at(row, 1) = columns.at(row, 2) = 0;
  const Table table = columns.table();
  const TableDataset dataset(table, protocol(1));
  TrainingOptions options = training("ignd", 0.3, 1);
  options.batch = {.size = 16, .mode = BatchMode::exact, .lambda = 0};
  EXPECT_EQ(record_run(dataset, options, by_mape, never).status, RunStatus::diverged);
  options.is_trial = false;
  EXPECT_THROW(record_run(dataset, options, by_mape, never), SingularSystem);
}

// A network whose inputs say nothing predicts a constant: nothing is infinite, and nothing was learned.
TEST(RecordedRun, AConstantIsNoResult) {
  Columns columns = columns_of(500, 12);
  for (std::size_t row = 0; row < columns.size(); ++row) {
    for (std::size_t k = 0; k < 3; ++k) columns.at(row, k) = row == 0 && k == 0 ? 1 : 0;
  }
  const Table table = columns.table();
  std::uint64_t seed = 1;  // one whose only different row is a training row
  while (std::ranges::count(TableDataset(table, protocol(seed)).split().train, 0U) == 0) ++seed;
  const TableDataset dataset(table, protocol(seed));
  const RunResult run = record_run(dataset, training("ignd", 0.1, 1), by_mape, never);
  EXPECT_EQ(run.status, RunStatus::collapsed);
  EXPECT_FALSE(run.score);
  TrainingOptions own = training("ignd", 0.1, 1);
  own.is_trial = false;
  EXPECT_EQ(record_run(dataset, own, by_mape, never).status, RunStatus::finished) << "a single run is the user's own";
}

TEST(RecordedRun, OfATableIsResumedBitByBit) {
  const Table table = columns_of(3000, 14).table();
  const TableDataset dataset(table, protocol(1));
  TrainingOptions options = training("adam-ignd", 1e-3, 3);
  options.keep_last = false;
  options.epochs = 12;
  const RecordOptions record{.score = ScoreKind::mape, .points = 2, .steps = true};
  const RunResult whole = record_run(dataset, options, record, never);
  EXPECT_FALSE(whole.steps.empty());
  const testing::ScratchFolder folder;
  int stops = 0;
  for (;;) {
    std::atomic<bool> stop = false;
    std::atomic<double> share = 0;
    const double until = 0.11 * ++stops;
    std::jthread watch([&](const std::stop_token& ended) {
      while (!ended.stop_requested() && share < until) std::this_thread::yield();
      stop = true;
    });
    try {
      EXPECT_EQ(record_run(dataset, options, record, RunControl(stop, folder / "run.ignd", &share)), whole);
      break;
    } catch (const Stopped&) {
      ASSERT_LT(stops, 100);
    }
  }
  EXPECT_GT(stops, 1);
}

TEST(RecordedRun, AScoreMustSuitTheTarget) {
  const Table table = columns_of(500, 10).table();
  const TableDataset dataset(table, protocol(1));
  EXPECT_THROW(record_run(dataset, training("sgd", 1e-3, 1), {.score = ScoreKind::accuracy}, never), InvalidArgument);
  for (const ScoreKind kind : {ScoreKind::automatic, ScoreKind::loss, ScoreKind::rmse, ScoreKind::mae}) {
    EXPECT_TRUE(record_run(dataset, training("sgd", 1e-3, 1), {.score = kind}, never).score);
  }
}

TEST(RecordedRun, MapeIsThePapers) {
  MapeSum sum;  // of learn/metrics.hpp, for experiments and for the tool
  sum.add(2, 1);
  sum.add(-4, -5);
  EXPECT_DOUBLE_EQ(sum.mean(), (0.5 + 0.25) / 2);
  sum.add(0, 1e-15);
  EXPECT_DOUBLE_EQ(sum.mean(), (0.5 + 0.25 + 1) / 3);
}

}  // namespace
}  // namespace ignd
