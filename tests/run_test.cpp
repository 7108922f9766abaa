#include "learn/run.hpp"

#include "ignd/checkpoint.hpp"
#include "ignd/error.hpp"
#include "ignd/random.hpp"
#include "learn/baselines.hpp"
#include "learn/model_outputs.hpp"
#include "learn/run_spec.hpp"
#include "learn/search.hpp"
#include "learn/table_model.hpp"
#include "models/model_specs.hpp"
#include "support.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace ignd {
namespace {

Table table_of(const std::string& csv) {
  return Table::parse_csv(csv, {.dialect = {.delimiter = ',', .header = true}});
}

const std::atomic<bool> never = false;

// y = 100 + 10 a + 5 |b| and a little noise; and a class that depends on a.
const Table& curved() {
  static const Table table = [] {
    RandomStream stream(7, "curved");
    std::string csv = "a,b,c,y,label,group,w\n";
    for (int i = 0; i < 600; ++i) {
      const double a = stream.normal();
      const double b = stream.normal();
      const double y = 100 + 10 * a + 5 * std::abs(b) + 0.1 * stream.normal();
      const bool label = a + 0.2 * stream.normal() > 0.5;
      csv += fmt::format("{},{},{},{},{},{},{}\n", a, b, i % 3 == 0 ? "red" : "blue", y, label ? "yes" : "no", i / 7,
                         stream.below(4));
    }
    return table_of(csv);
  }();
  return table;
}

DatasetOptions task_options(const std::string& target = "y") { return {.target = target}; }

TrainingOptions run_options() {
  return {.model = "mlp:8,8", .optimizer = find_optimizer("adam"), .rate = 0.01, .epochs = 8};
}

std::vector<EpochReport> finish(ignd::Run& run) {
  std::vector<EpochReport> reports;
  while (run.status() == RunStatus::running) {
    if (const auto report = run.learn_epoch(never, [] {})) reports.push_back(*report);
  }
  return reports;
}

std::vector<float> weights_of(const ignd::Run& run) {
  const auto kept = run.kept();
  return {kept->parameters().begin(), kept->parameters().end()};
}

Scores test_quality(const TableDataset& task, const std::unique_ptr<Model<float>>& model) {
  ModelOutputs outputs_of(*model);
  return evaluate(task, task.split().test,
                  [&](const Input<float>& x, std::span<double> outputs) { outputs_of(x, outputs); });
}

TEST(Run, LearnsACurveBetterThanItsBaselines) {
  const TableDataset task(curved(), task_options());
  ignd::Run run(task, run_options());
  EXPECT_EQ(finish(run).size(), 8U);
  const double rmse = test_quality(task, run.kept()).regression->rmse;
  for (const Predictor& baseline : fit_baselines(task)) {
    EXPECT_LT(rmse, 0.5 * evaluate(task, task.split().test, baseline.outputs).regression->rmse) << baseline.name;
  }
}

TEST(Run, LearnsClasses) {
  const TableDataset task(curved(), task_options("label"));
  ignd::Run run(task, run_options());
  finish(run);
  const Scores quality = test_quality(task, run.kept());
  const auto constant = fit_baselines(task)[0];
  EXPECT_LT(quality.classification->log_loss,
            0.8 * evaluate(task, task.split().test, constant.outputs).classification->log_loss);
}

TEST(Run, KeepsTheBestOrTheLast) {
  const TableDataset task(curved(), task_options());
  TrainingOptions options = run_options();
  options.rate = 0.1;  // rough, so that the last is not the best
  options.schedule = "constant";
  options.epochs = 12;
  options.patience = 100;
  ignd::Run best(task, options);
  const auto reports = finish(best);
  const auto lowest = std::ranges::min_element(reports, {}, [](const auto& report) { return report.validation.loss; });
  EXPECT_EQ(best.kept_epoch(), lowest->epoch);
  ASSERT_NE(lowest->epoch, 12U);
  for (const auto& report : reports) {
    const bool is_best = std::ranges::all_of(reports, [&](const auto& other) {
      return other.epoch >= report.epoch || other.validation.loss > report.validation.loss;
    });
    EXPECT_EQ(report.best, is_best);
  }
  options.keep_last = true;
  ignd::Run last(task, options);
  finish(last);
  EXPECT_EQ(last.kept_epoch(), 12U);
  // The best is what training up to it would have given.
  options.epochs = lowest->epoch;
  ignd::Run shorter(task, options);
  finish(shorter);
  EXPECT_EQ(weights_of(best), weights_of(shorter));
  EXPECT_NE(weights_of(best), weights_of(last));
}

TEST(Run, LosesPatience) {
  const TableDataset task(curved(), task_options());
  TrainingOptions options = run_options();
  options.rate = 0.1;
  options.schedule = "constant";
  options.epochs = 1000;
  options.patience = 3;
  ignd::Run run(task, options);
  finish(run);
  EXPECT_EQ(run.status(), RunStatus::stopped_early);
  EXPECT_EQ(run.epoch(), run.kept_epoch() + 3);
}

TEST(Run, SaysThatItDiverged) {
  const TableDataset task(curved(), task_options());
  for (const char* schedule : {"constant", "cosine"}) {
    TrainingOptions options = run_options();
    options.optimizer = find_optimizer("sgd");
    options.schedule = schedule;
    options.rate = 1e6;
    ignd::Run run(task, options);
    finish(run);
    EXPECT_EQ(run.status(), RunStatus::diverged);
    EXPECT_EQ(run.kept_epoch(), 0U);
    for (const float weight : weights_of(run)) EXPECT_TRUE(std::isfinite(weight));
  }
}

TEST(Run, DoesNotTakeRowsThatAConstantFitsForDivergence) {
  // The only validation row lies at the mean.
  std::string csv = "x,y,when\n";
  for (int i = 0; i < 8; ++i) csv += fmt::format("{},{},{}\n", i, i % 2 == 0 ? 1 : 3, i);
  csv += "5,2,8\n3,1,9\n";
  const Table table = table_of(csv);
  const TableDataset task(table, {.target = "y", .loss = "squared", .split_time = "when"});
  ASSERT_EQ(task.split().validation.size(), 1U);
  ignd::Run run(task, run_options());
  finish(run);
  EXPECT_EQ(run.status(), RunStatus::finished);
}

TEST(Run, IsSavedAndRestoredBitByBit) {
  RandomStream stream(11, "moments");
  for (const char* optimizer : {"adam", "ignd", "adam-ignd"}) {
    const TableDataset task(curved(), task_options());
    TrainingOptions options = run_options();
    options.optimizer = find_optimizer(optimizer);
    options.epochs = 4;
    ignd::Run whole(task, options);
    finish(whole);
    Checkpoint expected;
    whole.save(expected);

    auto run = std::make_unique<ignd::Run>(task, options);
    while (run->status() == RunStatus::running) {
      // Stopped after a random number of calls.
      std::atomic<bool> stop = false;
      std::uint64_t left = stream.below(12);
      run->learn_epoch(stop, [&] { stop = left-- == 0; });
      Checkpoint saved;
      run->save(saved);
      run = std::make_unique<ignd::Run>(task, options);
      run->restore(saved);
    }
    Checkpoint ended;
    run->save(ended);
    EXPECT_EQ(ended.entries(), expected.entries()) << optimizer;
  }
}

TEST(Run, GoesOnWithNothingButItself) {
  const TableDataset task(curved(), task_options());
  Checkpoint saved;
  ignd::Run(task, run_options()).save(saved);
  const auto expect_refusal = [&](const TableDataset& other_task, const TrainingOptions& options,
                                  const std::string& why) {
    ignd::Run run(other_task, options);
    const auto before = weights_of(run);
    try {
      run.restore(saved);
      ADD_FAILURE() << "nothing was thrown; expected " << why;
    } catch (const FileError& fault) {
      EXPECT_NE(std::string(fault.what()).find(why), std::string::npos) << fault.what();
    }
    EXPECT_EQ(weights_of(run), before);
    EXPECT_EQ(run.learned(), 0U);
  };
  TrainingOptions options = run_options();
  options.seed = 2;
  expect_refusal(task, options, "its seed is '1', not '2'");
  options = run_options();
  options.epochs = 9;
  expect_refusal(task, options, "its epochs is '8', not '9'");
  options = run_options();
  options.patience = 3;
  expect_refusal(task, options, "patience");
  options = run_options();
  options.model = "linear";
  expect_refusal(task, options, "its model is");
  options = run_options();
  options.l2 = 0.5;
  options.optimizer = find_optimizer("ignd");
  expect_refusal(task, options, "its l2 is '0', not '0.5'");

  DatasetOptions other = task_options();
  other.validation = 0.2;
  expect_refusal(TableDataset(curved(), other), run_options(), "its validation is '0.1', not '0.2'");
  other = task_options("label");
  expect_refusal(TableDataset(curved(), other), run_options(), "its target is 'y', not 'label'");

  // Equal in size and columns, different in one number.
  std::string csv = "a,b,c,y,label,group,w\n";
  for (std::size_t row = 0; row < curved().size(); ++row) {
    const auto values = curved()[row];
    csv += fmt::format("{},{},{},{},{},{},{}\n", values[0], row == 17 ? 0.5 : values[1], row % 3 == 0 ? "red" : "blue",
                       values[3], row % 2 == 0 ? "yes" : "no", values[5], values[6]);
  }
  const Table changed = table_of(csv);
  expect_refusal(TableDataset(changed, task_options()), run_options(), "other data");

  // As a version that measured the scale of a column in another way would have saved it.
  const double scale[] = {0.25, 3};
  saved.set("column.0.scale", std::span<const double>(scale));
  expect_refusal(task, run_options(), "other inputs");
}

// A run's spec that allows every key to be something else.
RunSpec spec_for(const RunKey& key) {
  RunSpec spec;
  spec.dataset.target = key.name == "class-weight" || key.name == "positive" ? "label" : "y";
  spec.model = "mlp:4";
  spec.epochs = 2;
  spec.method.rate = "0.01";
  if (key.group == "Mini-batches") {
    spec.batch.size = 4;
    spec.batch.mode = BatchMode::exact;
  }
  return spec;
}

// A value that is not `was`.
std::string other_value(const RunKey& key, const std::string& was) {
  static const std::map<std::string, std::string> words{
      {"model", "linear"}, {"loss", "huber"},     {"target", "b"},     {"weight", "w"},
      {"positive", "no"},  {"split-by", "group"}, {"split-time", "a"}, {"schedule", "constant"},
      {"text", "c"},       {"optimizer", "sgd"},  {"rule", "polyak"},  {"transform", "momentum"},
      {"lr", "0.5"},       {"features", "a,b"},   {"drop", "c"}};
  if (key.kind == SettingKey::Kind::flag) return was == "true" ? "false" : "true";
  if (key.kind == SettingKey::Kind::count) return was == "3" ? "5" : "3";
  if (key.kind == SettingKey::Kind::number) return was == "0.25" ? "0.125" : "0.25";
  for (const std::string& choice : key.choices) {
    if (choice != was && choice != left_open) return choice;
  }
  return words.at(key.name);  // a new key needs a line above
}

// A run on the table, as the spec wants it.
struct RunOfSpec {
  explicit RunOfSpec(RunSpec spec) : data(curved(), spec.dataset), run(data, options_of(std::move(spec))) {}

  static TrainingOptions options_of(RunSpec spec) {
    spec.complete(DataKind::table);
    spec.training.optimizer = optimizer_of(spec.method, spec.batch);
    spec.training.rate = *rate_of(spec.method);
    return spec.training;
  }

  TableDataset data;
  ignd::Run run;
};

TEST(Run, IsResumedWithTheSameValueOfEveryKeyThatDeterminesIt) {
  std::set<std::string> others;
  for (const RunKey& key : run_keys()) {
    if (!key.determines) {
      others.insert(key.name);
      continue;
    }
    RunSpec spec = spec_for(key);
    Checkpoint saved;
    RunOfSpec(spec).run.save(saved);
    EXPECT_NO_THROW(RunOfSpec(spec).run.restore(saved)) << key.name;
    key.set(spec, other_value(key, key.get(spec)));
    // A named optimizer is its parts.
    const std::string name = key.name == "optimizer" ? "transform" : key.name;
    try {
      RunOfSpec(spec).run.restore(saved);
      ADD_FAILURE() << key.name << " may be another";
    } catch (const FileError& fault) {
      EXPECT_NE(std::string(fault.what()).find("its " + name + " is '"), std::string::npos) << fault.what();
    }
  }
  // How the file is read (what was read is compared), what is recorded, and a limit that runs do not reach.
  EXPECT_EQ(others,
            (std::set<std::string>{"data", "checksum", "format", "delimiter", "header", "decimal", "memory", "score",
                                   "measured-on", "steps", "points", "timed", "ensemble", "fast", "start-from"}));
}

// A later version may have more keys: its runs of before had their defaults.
TEST(Run, WasSavedWithTheDefaultsOfLaterKeys) {
  const TableDataset task(curved(), task_options());
  Checkpoint saved;
  ignd::Run(task, run_options()).save(saved);
  const Checkpoint earlier = testing::without_entries(saved, "run.option.scaling");
  EXPECT_NO_THROW(ignd::Run(task, run_options()).restore(earlier));
  DatasetOptions other = task_options();
  other.scaling = NumberScaling::standard;
  const TableDataset standard(curved(), other);
  EXPECT_THROW(ignd::Run(standard, run_options()).restore(earlier), FileError);
}

TEST(Run, DependsOnItsSeedAlone) {
  const TableDataset task(curved(), task_options());
  TrainingOptions options = run_options();
  options.epochs = 2;
  ignd::Run first(task, options), again(task, options);
  options.seed = 2;
  ignd::Run other(task, options);
  for (ignd::Run* run : {&first, &again, &other}) finish(*run);
  EXPECT_EQ(weights_of(first), weights_of(again));
  EXPECT_NE(weights_of(first), weights_of(other));
}

TEST(Run, MultipliesItsInitialWeights) {
  const TableDataset dataset(curved(), task_options());
  TrainingOptions options = run_options();
  const auto usual = ignd::Run(dataset, options).last();
  options.initial_factor = 4;
  ignd::Run run(dataset, options);
  const auto larger = run.last();
  bool moved = false;
  for (std::size_t k = 0; k < usual->parameters().size(); ++k) {
    EXPECT_EQ(larger->parameters()[k], 4 * usual->parameters()[k]);
    moved = moved || usual->parameters()[k] != 0;
  }
  EXPECT_TRUE(moved);
  Checkpoint saved;
  run.save(saved);
  options.initial_factor = 1;
  ignd::Run other(dataset, options);
  EXPECT_THROW(other.restore(saved), FileError);
}

TEST(TableDataset, MultipliesTargetsAndSaysThemInTheirUnits) {
  DatasetOptions options = task_options();
  const TableDataset usual(curved(), options);
  options.target_factor = 4;
  const TableDataset larger(curved(), options);
  std::vector<float> scratch(usual.scratch_size()), other(larger.scratch_size());
  for (const std::uint32_t row : usual.split().train) {
    const double y = usual.sample(row, scratch).y;
    EXPECT_NEAR(larger.sample(row, other).y, 4 * y, 1e-12);
    EXPECT_NEAR(larger.target().in_units(4 * y), usual.target().in_units(y), 1e-9);
    EXPECT_EQ(larger.target_in_units(row), usual.target_in_units(row));
  }
  options.target = "label";
  EXPECT_THROW(TableDataset(curved(), options), InvalidArgument) << "a class cannot be multiplied";
}

TEST(Run, LearnsNothingInNoEpochs) {
  const TableDataset task(curved(), task_options());
  TrainingOptions options = run_options();
  options.epochs = 0;
  ignd::Run run(task, options);
  EXPECT_EQ(run.status(), RunStatus::finished);
  EXPECT_TRUE(finish(run).empty());
  EXPECT_EQ(run.learned(), 0U);
}

TEST(Run, TakesWeightsForRepetitions) {
  // Two answers to one question: the weighted mean is the best, 3 of 4 times the first.
  std::string csv = "x,y,w\n";
  for (int i = 0; i < 400; ++i) csv += fmt::format("{},{},{}\n", i % 2, i % 4 < 2 ? 10 : 20, i % 4 < 2 ? 3 : 1);
  const Table table = table_of(csv);
  const TableDataset task(table, {.target = "y", .loss = "squared", .weight = "w"});
  TrainingOptions run = run_options();
  run.model = "linear";
  run.optimizer = find_optimizer("ignd");
  run.epochs = 40;
  run.keep_last = true;
  ignd::Run training(task, run);
  finish(training);
  const auto model = training.kept();
  std::vector<float> x(task.encoder().features());
  for (const std::uint32_t row : {0U, 1U}) {
    task.sample(row, x);
    EXPECT_NEAR(task.target().in_units(model->predict({x})), 12.5, 0.5);
  }
}

TEST(Run, LearnsNothingFromWeightZero) {
  const auto table_with = [](double target_of_ignored) {
    std::string csv = "x,y,w,row\n";
    for (int i = 0; i < 100; ++i) {
      const bool ignored = i % 5 == 0;
      csv += fmt::format("{},{},{},{}\n", i % 7, ignored ? target_of_ignored : i % 7 > 3 ? 1 : 0, ignored ? 0 : 1, i);
    }
    return table_of(csv);
  };
  std::vector<std::vector<float>> weights;
  for (const double y : {0.0, 1.0}) {
    const Table table = table_with(y);
    // By groups of one row each: which class a row has would change a split by class.
    const TableDataset task(table, {.target = "y", .weight = "w", .split_by = "row"});
    ignd::Run run(task, run_options());
    finish(run);
    weights.push_back(weights_of(run));
  }
  EXPECT_EQ(weights[0], weights[1]);
}

TEST(TableDataset, BalancesClasses) {
  DatasetOptions options = task_options("label");
  options.weight = "w";
  options.balanced = true;
  const TableDataset task(curved(), options);
  std::vector<float> x(task.encoder().features());
  double sum[2] = {};
  double plain = 0;
  for (const std::uint32_t row : task.split().train) {
    const auto sample = task.sample(row, x);
    sum[sample.y > 0 ? 1 : 0] += sample.weight;
    plain += task.row_weight(row);
  }
  EXPECT_NEAR(sum[0], sum[1], 1e-9 * plain);
  EXPECT_NEAR(sum[0] + sum[1], plain, 1e-9 * plain);
  options.target = "y";
  EXPECT_THROW(TableDataset(curved(), options), InvalidArgument);
}

TEST(TableDataset, FitsOnTheTrainingRowsOnly) {
  const TableDataset task(curved(), task_options());
  double sum = 0;
  for (const std::uint32_t row : task.split().train) sum += curved()[row][0];
  const auto count = static_cast<double>(task.split().train.size());
  EXPECT_NEAR(task.encoder().columns()[0].mean, sum / count, 1e-12);
  double target = 0;
  for (const std::uint32_t row : task.split().train) target += curved()[row][3];
  EXPECT_NEAR(task.target().mean, target / count, 1e-9);
}

TEST(TableDataset, KeepsGroupsTogetherAndDoesNotLearnFromThem) {
  DatasetOptions options = task_options();
  options.split_by = "group";
  const TableDataset task(curved(), options);
  const auto groups = [&](const std::vector<std::uint32_t>& rows) {
    std::set<double> all;
    for (const std::uint32_t row : rows) all.insert(curved()[row][5]);
    return all;
  };
  const auto test = groups(task.split().test);
  const auto validation = groups(task.split().validation);
  for (const double group : groups(task.split().train)) {
    EXPECT_FALSE(test.contains(group) || validation.contains(group));
  }
  for (const ColumnCode& code : task.encoder().columns()) EXPECT_NE(code.name, "group");
}

TEST(TableDataset, RefusesBadWeightsAndTargets) {
  const auto make = [](const std::string& csv, const std::string& loss, bool weighted) {
    const Table table = table_of(csv);
    const std::optional<std::string> weight = weighted ? std::optional<std::string>("w") : std::nullopt;
    const TableDataset task(table, {.target = "y", .loss = loss, .weight = weight, .validation = 0, .test = 0});
  };
  EXPECT_THROW(make("x,y,w\n1,1,-1\n2,2,1\n3,3,1\n", "", true), BadSample);
  EXPECT_THROW(make("x,y,w\n1,1,\n2,2,1\n3,3,1\n", "", true), BadSample);
  EXPECT_THROW(make("x,y,w\n1,1,1e7\n2,2,1\n3,3,1\n", "", true), BadSample);
  EXPECT_THROW(make("x,y,w\n1,1,0\n2,2,0\n3,3,0\n", "", true), BadSample);
  EXPECT_THROW(make("x,y,w\n1,1,a\n2,2,b\n3,3,c\n", "", true), InvalidArgument);
  EXPECT_THROW(make("x,y\n1,1\n2,-2\n3,3\n", "poisson", false), BadSample);
  EXPECT_THROW(make("x,y\n1,1\n1,2\n1,3\n", "", false), InvalidArgument);
}

TEST(Baselines, AreInTheUnitsOfCounts) {
  std::string csv = "x,y\n";
  RandomStream stream(3, "counts");
  for (int i = 0; i < 200; ++i)
    csv += fmt::format("{},{}\n", i % 10, static_cast<std::uint64_t>(i % 10) * 2 + stream.below(3));
  const Table table = table_of(csv);
  const TableDataset task(table, {.target = "y", .loss = "poisson", .validation = 0, .test = 0});
  const auto baselines = fit_baselines(task);
  ASSERT_EQ(baselines.size(), 2U);
  const auto constant = evaluate(task, task.split().train, baselines[0].outputs).regression;
  const auto linear = evaluate(task, task.split().train, baselines[1].outputs).regression;
  EXPECT_NEAR(*constant->r2, 0, 1e-9);
  EXPECT_GT(*linear->r2, 0.9);
}

TEST(Judge, WeighsRowsAsRepetitions) {
  const Table weighted = table_of("x,y,w\n1,1,2\n2,5,0\n3,4,1\n4,9,3\n");
  const Table repeated = table_of("x,y\n1,1\n1,1\n3,4\n4,9\n4,9\n4,9\n");
  const TableDataset plain(repeated, {.target = "y", .validation = 0, .test = 0});
  const TableDataset task(weighted, plain.encoder(), plain.target(), plain.loss(), "w");
  const OutputOf output = [](const Input<float>& x) { return 0.5 * x.values[0]; };
  const Scores by_weight = evaluate(task, task.split().test, output);
  const Scores by_row = evaluate(plain, plain.split().train, output);
  EXPECT_NEAR(by_weight.loss, by_row.loss, 1e-12);
  EXPECT_NEAR(by_weight.regression->rmse, by_row.regression->rmse, 1e-12);
  EXPECT_NEAR(*by_weight.regression->mape, *by_row.regression->mape, 1e-12);
  EXPECT_NEAR(*by_weight.regression->r2, *by_row.regression->r2, 1e-12);
}

TEST(Judge, SaysInfinityWhereAnOutputIsNot) {
  const TableDataset task(curved(), task_options());
  for (const double output : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
    const Scores quality = evaluate(task, task.split().test, [=](const Input<float>&) { return output; });
    EXPECT_EQ(quality.loss, HUGE_VAL);
    EXPECT_FALSE(quality.regression);
  }
}

// Rows of four classes, with weights, to be measured on.
const Table& colours() {
  static const Table table = [] {
    RandomStream stream(8, "colours");
    std::string csv = "a,b,colour,w\n";
    const char* const names[] = {"red", "green", "blue", "grey"};
    for (int i = 0; i < 200; ++i) {
      csv += fmt::format("{},{},{},{}\n", stream.normal(), stream.normal(), names[stream.below(4)], stream.below(3));
    }
    return table_of(csv);
  }();
  return table;
}

TableDataset colour_task() {
  std::vector<std::uint32_t> rows(colours().size());
  std::iota(rows.begin(), rows.end(), 0U);
  const std::vector<std::size_t> columns{0, 1};
  return {colours(), Encoder::fit(colours(), columns, rows), fit_target(colours(), 2, rows, rows, ""), softmax_loss,
          "w"};
}

void write_logits(const Input<float>& x, std::span<double> outputs) {
  for (std::size_t k = 0; k < outputs.size(); ++k) outputs[k] = static_cast<double>(k) * x.values[0] - x.values[1];
}

TEST(Judge, MeasuresSeveralClasses) {
  const TableDataset task = colour_task();
  const Scores quality = evaluate(task, task.split().test, write_logits);
  std::vector<double> labels, logits, weights;
  std::vector<float> room(task.scratch_size());
  double largest = 0;
  for (const std::uint32_t row : task.split().test) {
    std::vector<double> outputs(4);
    write_logits(task.sample(row, room).x, outputs);
    labels.push_back(task.target_in_units(row));
    weights.push_back(task.row_weight(row));
    logits.insert(logits.end(), outputs.begin(), outputs.end());
  }
  const auto expected = multiclass_metrics(labels, logits, weights, 4);
  ASSERT_TRUE(quality.multiclass);
  EXPECT_TRUE(quality.is_measured());
  EXPECT_FALSE(quality.classification);
  EXPECT_EQ(quality.multiclass->confusion, expected.confusion);
  EXPECT_EQ(quality.multiclass->accuracy, expected.accuracy);
  EXPECT_EQ(quality.multiclass->macro_f1, expected.macro_f1);
  EXPECT_DOUBLE_EQ(quality.multiclass->log_loss, expected.log_loss);
  EXPECT_DOUBLE_EQ(quality.loss, expected.log_loss) << "no class weighs more than another";
  for (std::size_t k = 0; k < 4; ++k) {
    double mean = 0, squares = 0;
    for (std::size_t i = 0; i < 200; ++i) mean += logits[4 * i + k] / 200;
    for (std::size_t i = 0; i < 200; ++i) squares += std::pow(logits[4 * i + k] - mean, 2) / 200;
    largest = std::max(largest, std::sqrt(squares));
  }
  EXPECT_NEAR(quality.deviation, largest, 1e-12);
}

TEST(Judge, SaysInfinityWhereALogitOfSeveralIsNot) {
  const TableDataset task = colour_task();
  for (const double output : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
    const Scores quality = evaluate(task, task.split().test, [=](const Input<float>&, std::span<double> outputs) {
      std::ranges::fill(outputs, 0);
      outputs.back() = output;
    });
    EXPECT_TRUE(std::isinf(quality.loss));
    EXPECT_FALSE(quality.is_measured());
  }
  const Scores constant = evaluate(
      task, task.split().test, [](const Input<float>&, std::span<double> outputs) { std::ranges::fill(outputs, 3); });
  EXPECT_NEAR(constant.loss, std::log(4), 1e-12);
  EXPECT_EQ(constant.deviation, 0);
}

// Three classes that a plane cannot tell apart, with weights.
const Table& rings() {
  static const Table table = [] {
    RandomStream stream(9, "rings");
    std::string csv = "a,b,ring,w\n";
    for (int i = 0; i < 900; ++i) {
      const double a = 1.5 * stream.normal(), b = 1.5 * stream.normal(), radius = std::hypot(a, b);
      csv += fmt::format("{},{},{},{}\n", a, b,
                         radius < 1.2   ? "inner"
                         : radius < 2.2 ? "middle"
                                        : "outer",
                         1 + stream.below(2));
    }
    return table_of(csv);
  }();
  return table;
}

// A step divides by the weight of its batch: with one sample in it, weights would change nothing without a word.
TEST(Run, WeightsOfSeveralClassesNeedBatches) {
  TrainingOptions options = run_options();
  const auto check = [&](const DatasetOptions& data) { check_run(TableDataset(rings(), data), options); };
  EXPECT_NO_THROW(check({.target = "ring"}));
  EXPECT_THROW(check({.target = "ring", .balanced = true}), InvalidArgument);
  EXPECT_THROW(check({.target = "ring", .weight = "w"}), InvalidArgument);
  options.batch = BatchOptions{.size = 16};
  EXPECT_NO_THROW(check({.target = "ring", .weight = "w", .balanced = true}));
}

TEST(Run, LearnsSeveralClasses) {
  for (const bool balanced : {false, true}) {
    const TableDataset task(rings(), {.target = "ring", .weight = "w", .balanced = balanced});
    EXPECT_EQ(task.loss(), "softmax");
    for (const auto* optimizer : {"adam", "ignd", "adam-ignd"}) {
      for (const std::optional<BatchOptions>& batch :
           {std::optional<BatchOptions>(), std::optional(BatchOptions{.size = 16}),
            std::optional(BatchOptions{.size = 16, .mode = BatchMode::exact, .lambda = 0.1})}) {
        const bool exact = batch && batch->mode == BatchMode::exact;
        if (exact && std::string(optimizer) == "adam") continue;
        TrainingOptions options = run_options();
        options.optimizer = find_optimizer(optimizer);
        options.rate = options.optimizer.transform == "adam" ? 0.01 : exact ? 0.3 : batch ? 1 : 0.1;
        options.epochs = 20;
        options.batch = batch;
        ignd::Run run(task, options);
        finish(run);
        const Scores quality = test_quality(task, run.kept());
        const Scores constant = evaluate(task, task.split().test, fit_baselines(task)[0].outputs);
        ASSERT_EQ(fit_baselines(task).size(), 1U);
        EXPECT_LT(quality.multiclass->log_loss, 0.5 * constant.multiclass->log_loss)
            << optimizer << " " << balanced << " " << (batch ? static_cast<int>(batch->size) : 0) << exact;
      }
    }
  }
}

TEST(Baselines, OfSeveralClassesAreHowOftenTheyAreThere) {
  const TableDataset task(rings(), {.target = "ring", .validation = 0, .test = 0});
  std::vector<double> counts(3), logits(3);
  for (const std::uint32_t row : task.split().train) counts[static_cast<std::size_t>(task.target_in_units(row))] += 1;
  fit_baselines(task)[0].outputs({}, logits);
  for (std::size_t k = 1; k < 3; ++k) EXPECT_NEAR(logits[k] - logits[0], std::log(counts[k] / counts[0]), 1e-12);
}

TEST(Run, ALinearModelOfSeveralClassesIsTheSoftmaxOfTheirLogits) {
  const TableDataset task(rings(), {.target = "ring", .weight = "w"});
  EXPECT_EQ(task.model_spec("linear"), "mlp:widths=2,activation=identity,outputs=3");
  EXPECT_EQ(task.model_spec("mlp:8"), "mlp:widths=2x8,outputs=3");
  EXPECT_THROW(task.model_spec("network:dense 4; relu; dense 1"), InvalidArgument);
}

TEST(Run, BatchesGoOnBitByBit) {
  const TableDataset task(curved(), task_options());
  for (const BatchOptions& batch :
       {BatchOptions{.size = 7}, BatchOptions{.size = 7, .mode = BatchMode::exact, .lambda = 1, .adaptive = true}}) {
    TrainingOptions options = run_options();
    options.optimizer = find_optimizer("ignd");
    options.rate = 0.1;
    options.epochs = 3;
    options.batch = batch;
    ignd::Run whole(task, options), first(task, options), second(task, options);
    finish(whole);
    first.learn_epoch(
        never, [] {}, 700);  // in the middle of the second epoch
    first.learn_epoch(
        never, [] {}, 700);
    EXPECT_GE(first.learned(), 700U);
    EXPECT_LT(first.learned(), 707U);
    Checkpoint saved;
    first.save(saved);
    second.restore(saved);
    EXPECT_EQ(second.learned(), first.learned());
    finish(second);
    EXPECT_EQ(second.learned(), second.to_learn());
    EXPECT_EQ(weights_of(second), weights_of(whole));

    options.batch = std::nullopt;
    ignd::Run other(task, options);
    EXPECT_THROW(other.restore(saved), FileError);
  }
}

TEST(Run, RefusesBatchesThatCannotBe) {
  const TableDataset task(curved(), task_options());
  TrainingOptions options = run_options();
  options.batch = BatchOptions{.size = 481};
  EXPECT_EQ(testing::message_of([&] { ignd::Run run(task, options); }),
            "a batch of 481 samples, but there are 480 to learn from");
  options.batch = BatchOptions{.size = 0};
  EXPECT_THROW(ignd::Run(task, options), InvalidArgument);
}

TEST(TrainingLoss, KnowsSoftmaxBesidesTheLossesOfOneOutput) {
  make_vector_loss("softmax");
  make_vector_loss("huber:delta=2");
  for (const char* loss : {"", "softmax:", "soft", "softmax:classes=3"}) {
    EXPECT_THROW(make_vector_loss(loss), InvalidArgument) << loss;
  }
}

TEST(RateSearch, KeepsToItsBudget) {
  const TableDataset task(curved(), task_options());
  for (const std::uint64_t samples : {1U, 7U, 100U, 480U, 1000U, 2000U, 1000000U}) {
    const RateSearch result = search_rate(parallel_cpu_engine(), task, run_options(), {.samples = samples}, never);
    EXPECT_LE(result.samples, samples);
    EXPECT_LE(result.rows, task.split().train.size());
    EXPECT_EQ(result.samples % result.rows, 0U);
    EXPECT_LE(result.samples / result.rows, run_options().epochs);
    EXPECT_EQ(result.rates.size(), usual_rates(run_options().optimizer).size());
  }
}

// What an optimizer is, and not how it is spelled, says which rates are tried.
TEST(RateSearch, TriesTheSameRatesForEverySpelling) {
  for (const char* plain : {" plain", "plain ", "\tplain"}) {
    EXPECT_EQ(usual_rates({"gradient", plain}), usual_rates({"gradient", "plain"})) << plain;
    EXPECT_EQ(usual_rates({" gradient", plain}), usual_rates({"gradient", "plain"})) << plain;
    EXPECT_EQ(usual_rates({"gauss-newton:eps_c=0", plain}), usual_rates({"gauss-newton", "plain"})) << plain;
  }
  EXPECT_NE(usual_rates({"gradient", "plain"}), usual_rates({"gauss-newton", "plain"}));
  EXPECT_NE(usual_rates({"gradient", "plain"}), usual_rates({"gradient", "adam"}));
  EXPECT_EQ(usual_rates({"gradient", " adam : eps=1e-8"}), usual_rates({"gradient", "adam"}));
}

TEST(RateSearch, TakesTheSmallestOfTheGoodRates) {
  const TableDataset task(curved(), task_options());
  const RateSearch result = search_rate(parallel_cpu_engine(), task, run_options(), {.samples = 4000}, never);
  double lowest = HUGE_VAL;
  for (const TriedRate& tried : result.rates) lowest = std::min(lowest, tried.loss);
  for (const TriedRate& tried : result.rates) {
    if (tried.rate <= *result.best) {
      EXPECT_EQ(tried.loss <= 1.05 * lowest, tried.rate == *result.best);
    }
  }
}

TEST(RateSearch, IsTheSameEveryTime) {
  const TableDataset task(curved(), task_options());
  const RateSearch first = search_rate(parallel_cpu_engine(), task, run_options(), {.samples = 1000}, never);
  const RateSearch again = search_rate(parallel_cpu_engine(), task, run_options(), {.samples = 1000}, never);
  EXPECT_EQ(first.best, again.best);
  for (std::size_t i = 0; i < first.rates.size(); ++i) EXPECT_EQ(first.rates[i].loss, again.rates[i].loss);
}

TEST(RateSearch, IsLostByRatesThatDiverge) {
  // Four copies of one feature: the steps of a momentum that forgets nothing add up until they explode.
  std::string csv = "a,b,c,d,y\n";
  RandomStream stream(5, "race");
  for (int i = 0; i < 300; ++i) {
    const double x = stream.normal();
    csv += fmt::format("{},{},{},{},{}\n", x, x, x, x, 3 * x);
  }
  const Table table = table_of(csv);
  const TableDataset task(table, {.target = "y"});
  TrainingOptions options = run_options();
  options.model = "linear";
  options.optimizer = {"gradient", "momentum:beta=0.999999"};
  options.schedule = "constant";
  const RateSearch some = search_rate(parallel_cpu_engine(), task, options, {.samples = 30000}, never);
  bool diverged = false;
  for (const TriedRate& tried : some.rates) {
    if (std::isfinite(tried.loss)) continue;
    diverged = true;
    EXPECT_NE(some.best, tried.rate);
  }
  EXPECT_TRUE(diverged);
}

TEST(RateSearch, StopsWhenAsked) {
  const TableDataset task(curved(), task_options());
  const std::atomic<bool> stop = true;
  const RateSearch result = search_rate(parallel_cpu_engine(), task, run_options(), {.samples = 1000}, stop);
  EXPECT_FALSE(result.best);
}

TEST(RateSearch, HoldsRowsBackIfThereAreNoneToValidate) {
  DatasetOptions options = task_options();
  options.validation = 0;
  const TableDataset task(curved(), options);
  const RateSearch result = search_rate(parallel_cpu_engine(), task, run_options(), {.samples = 2000}, never);
  EXPECT_TRUE(result.best);
  EXPECT_LT(result.rows, task.split().train.size());
}

// One row to validate with: its prediction cannot differ from others.
TEST(RateSearch, FindsARateForAFewRows) {
  std::string csv = "x,y\n";
  for (int i = 0; i < 10; ++i) csv += fmt::format("{},{}\n", i, 3 * i);
  const Table table = table_of(csv);
  const TableDataset task(table, {.target = "y"});
  ASSERT_EQ(task.split().validation.size(), 1U);
  EXPECT_TRUE(search_rate(parallel_cpu_engine(), task, run_options(), {.samples = 1000}, never).best);
}

TEST(RunSchedule, CompletesWhatIsGiven) {
  EXPECT_EQ(run_schedule("constant", 0.5, 10).spec(), "constant:rate=0.5");
  EXPECT_EQ(run_schedule("cosine", 0.5, 10).spec(), "cosine:rate=0.5,steps=10,final=0");
  EXPECT_EQ(run_schedule("cosine:steps=7,final=0.1", 0.5, 10).spec(), "cosine:rate=0.5,steps=7,final=0.1");
  EXPECT_EQ(run_schedule("robbins-monro:power=0.5,warmup=3", 0.5, 10).spec(),
            "robbins-monro:rate=0.5,horizon=1000,power=0.5,warmup=3");
  for (const char* bad : {"", "0.1", "-1", ".5", "cosin", "constant:rate=1", "cosine:steps=0", "cosine:", "cosine,2",
                          "cosine:final=x", "robbins-monro:power=-1", "\xff", "cosine:steps=1,steps=2"}) {
    EXPECT_THROW(run_schedule(bad, 0.5, 10), InvalidArgument) << bad;
  }
}

TEST(ModelSpec, NamesTheModels) {
  EXPECT_EQ(model_spec("linear", 4), "linear:features=4");
  EXPECT_EQ(model_spec("mlp:32,64,32", 4), "mlp:widths=4x32x64x32");
  for (const char* bad : {"", "mlp", "mlp:", "mlp:3,", "mlp:,3", "mlp:a", "mlp:-3", "mlp:3.5", "mlp:3x4", "lstm:3",
                          "linear:features=3", "mlp:widths=3", "\xff"}) {
    EXPECT_THROW(model_spec(bad, 4), InvalidArgument) << bad;
  }
}

TEST(TableModel, IsRefusedIfItDoesNotFitTogether) {
  const TableDataset task(curved(), task_options());
  Checkpoint good;
  ignd::Run(task, run_options()).save(good);
  TableModel::load(good);
  const auto expect_refusal = [&](const char* name, const std::string& text) {
    Checkpoint bad = good;
    bad.set(name, text);
    EXPECT_THROW(TableModel::load(bad), FileError) << name << " " << text;
  };
  expect_refusal("kind", "stream model");
  expect_refusal("trained.model", "linear:features=3");
  expect_refusal("trained.model", "mlp:widths=99x8x8");
  expect_refusal("trained.model", "nonsense");
  expect_refusal("trained.loss", "nonsense");
  expect_refusal("trained.loss", "softmax");
  expect_refusal("target.kind", "nonsense");
  expect_refusal("column.0.form", "nonsense");
  expect_refusal("column.0.form", "dropped");
  expect_refusal("columns", "text instead of a number");
  EXPECT_THROW(TableModel::load(Checkpoint()), FileError);
}

}  // namespace
}  // namespace ignd
