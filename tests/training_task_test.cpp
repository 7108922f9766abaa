#include "data/archive.hpp"
#include "ignd/error.hpp"
#include "ignd/random.hpp"
#include "lab/task.hpp"
#include "learn/baselines.hpp"
#include "learn/open_dataset.hpp"
#include "scratch_folder.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <numeric>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace ignd {
namespace {

const std::atomic<bool> never = false;

std::shared_ptr<const TableDataset> prepared_table(RunSpec spec, std::uint64_t seed) {
  spec.dataset.seed = seed;
  return open_table(spec);
}

std::vector<std::string> faults_of(const RunSpec& spec) { return training_task().faults(settings_of(spec)); }

class TrainingTaskTest : public ::testing::Test {
 protected:
  TrainingTaskTest() { write(1); }

  void write(std::uint64_t seed) {
    std::ofstream file(path());
    RandomStream stream(seed, "rows");
    file << "a,b,y,label\n";
    for (int i = 0; i < 200; ++i) {
      const double a = stream.normal();
      const double b = stream.normal();
      file << fmt::format("{},{},{},{}\n", a, b, 5 + 3 * a - b * b, a + stream.normal() > 0 ? "yes" : "no");
    }
  }

  std::string path() const { return (scratch_ / "t.csv").string(); }

  RunSpec study() const {
    RunSpec made;
    made.data.path = path();
    made.checksum = sha256_of_file(path());
    made.dataset.target = "y";
    made.model = "mlp:4";
    made.epochs = 3;
    return made;
  }

  static RunConfig config(const RunSpec& spec, double rate, std::uint64_t seed) {
    return {"training", settings_of(spec), find_optimizer("ignd"), rate, seed};
  }

  testing::ScratchFolder scratch_;
};

TEST_F(TrainingTaskTest, SettingsAndSpecsAreTheSameThing) {
  RunSpec odd = study();
  odd.data.format = "csv";
  odd.data.delimiter = ";";
  odd.data.header = false;
  odd.dataset.weight = "w = 1\"";
  odd.dataset.split_by = "b";
  odd.dataset.split_time = "a";
  odd.dataset.balanced = true;
  odd.dataset.loss = "huber:delta=2";
  odd.dataset.validation = 0.3;
  odd.dataset.test = 1.0 / 3;
  odd.training.schedule = "constant";
  odd.training.patience = 7;
  odd.training.keep_last = true;
  odd.training.l2 = 1e-7;
  for (const RunSpec& made : {study(), odd}) {
    const Settings settings = settings_of(made);
    EXPECT_EQ(settings_of(spec_of(settings)), settings);
    EXPECT_EQ(settings.values().size(), run_setting_keys().size());
    for (const RunKey& key : run_keys()) {
      EXPECT_EQ(settings.values().contains(key.name), key.is_setting) << key.name;
    }
  }
  EXPECT_EQ(spec_of(settings_of(odd)).dataset.weight, odd.dataset.weight);
  EXPECT_EQ(spec_of(settings_of(odd)).training.l2, odd.training.l2);
}

TEST_F(TrainingTaskTest, NamesEveryFault) {
  EXPECT_TRUE(faults_of(study()).empty());
  RunSpec bad;
  bad.dataset.validation = bad.dataset.test = 0;
  bad.dataset.loss = "squarred";
  bad.epochs = 0;
  bad.training.l2 = -1;
  bad.model = "mpl";
  bad.training.schedule = "cosin";
  bad.data.delimiter = "ab";
  EXPECT_EQ(faults_of(bad).size(), 10U);
}

TEST_F(TrainingTaskTest, ARunIsTheTrainingRunOfItsSeed) {
  for (const std::uint64_t seed : {1, 2}) {
    const RunResult result = training_task().run(config(study(), 0.1, seed), never);
    const Table table = Table::read_csv(path(), {});
    DatasetOptions options = study().dataset;
    options.seed = seed;
    const TableDataset task(table, options);
    RunSpec complete = study();
    complete.complete(DataKind::table);
    TrainingOptions run_options = complete.training;
    run_options.optimizer = find_optimizer("ignd");
    run_options.rate = 0.1;
    run_options.seed = seed;
    ignd::Run run(task, run_options);
    const auto rmse_of = [&](const Model<float>& model, const std::vector<std::uint32_t>& rows) {
      return evaluate(task, rows, [&](const Input<float>& x) { return model.predict(x); }).regression->rmse;
    };
    const auto before = run.last();
    std::vector<double> test_curve{rmse_of(*before, task.split().test)};
    std::vector<double> validation_curve{rmse_of(*before, task.split().validation)};
    while (run.status() == RunStatus::running) {
      validation_curve.push_back(run.learn_epoch(never, [] {})->validation.regression->rmse);
      test_curve.push_back(rmse_of(*run.last(), task.split().test));
    }
    const auto model = run.kept();
    const auto rmse = [&](const std::vector<std::uint32_t>& rows) { return rmse_of(*model, rows); };
    EXPECT_EQ(result.status, RunStatus::finished);
    EXPECT_EQ(result.score, rmse(task.split().test));
    EXPECT_EQ(result.validation, rmse(task.split().validation));
    EXPECT_EQ(result.y, test_curve);
    EXPECT_EQ(result.validation_y, validation_curve);
    EXPECT_NE(test_curve, validation_curve);
    EXPECT_EQ(result, training_task().run(config(study(), 0.1, seed), never)) << "a run is a pure function";
  }
}

TEST_F(TrainingTaskTest, BaselinesAreThoseOfTraining) {
  for (const auto* target : {"y", "label"}) {
    RunSpec wanted = study();
    wanted.dataset.target = target;
    const auto table = prepared_table(wanted, 3);
    const auto baselines = fit_baselines(*table);
    for (std::size_t k = 0; k < 2; ++k) {
      wanted.model = k == 0 ? best_constant_model : best_linear_model;
      const RunResult result = training_task().run(config(wanted, 0, 3), never);
      const Scores quality = evaluate(*table, table->split().test, baselines[k].outputs);
      EXPECT_EQ(result.score, quality.regression ? quality.regression->rmse : quality.classification->log_loss);
    }
  }
}

TEST_F(TrainingTaskTest, BaselinesMinimiseWhatTheyAreScoredBy) {
  std::ofstream file(path());
  file << "a,label\n";
  for (int i = 0; i < 400; ++i) file << fmt::format("{},{}\n", i % 13, i % 8 == 0 ? "rare" : "usual");
  file.close();
  RunSpec wanted = study();
  wanted.dataset.target = "label";
  wanted.dataset.balanced = true;
  const auto table = prepared_table(wanted, 1);
  double constant = 0;
  fit_constant(*table, FitWeights::loss).outputs({}, {&constant, 1});
  const auto loss_of = [&](const OutputOf& output) { return evaluate(*table, table->split().train, output).loss; };
  const double best = loss_of([&](const Input<float>&) { return constant; });
  EXPECT_NEAR(best, std::log(2), 1e-9);
  for (const double other : {-2.0, -0.1, 0.1, 2.0}) {
    EXPECT_LT(best, loss_of([&](const Input<float>&) { return constant + other; }));
  }
  const OutputOf linear = [fitted = fit_linear(*table, FitWeights::loss)->outputs](const Input<float>& x) {
    double output = 0;
    fitted(x, {&output, 1});
    return output;
  };
  EXPECT_LE(loss_of(linear), best);
  for (const double other : {-0.1, 0.1}) {
    EXPECT_LT(loss_of(linear), loss_of([&](const Input<float>& x) { return linear(x) + other; }));
  }
  for (const auto* model : {best_constant_model, best_linear_model}) {
    wanted.model = model;
    EXPECT_LT(*training_task().run(config(wanted, 0, 1), never).score, 0.8) << model;
  }
}

TEST_F(TrainingTaskTest, FailuresHaveNoScore) {
  RunSpec wanted = study();
  wanted.training.schedule = "constant";
  const RunConfig wild{"training", settings_of(wanted), find_optimizer("sgd"), 1e6, 1};
  const RunResult diverged = training_task().run(wild, never);
  EXPECT_EQ(diverged.status, RunStatus::diverged);
  EXPECT_FALSE(diverged.score || diverged.validation);
  wanted.model = "linear";
  const RunResult collapsed = training_task().run(config(wanted, 1e-12, 1), never);
  EXPECT_EQ(collapsed.status, RunStatus::collapsed);
  EXPECT_FALSE(collapsed.score || collapsed.validation);
  wanted.training.l2 = 10;  // times the rate above 1: nothing that can be learned with
  const RunConfig refused{"training", settings_of(wanted), find_optimizer("sgd"), 1, 1};
  EXPECT_EQ(training_task().run(refused, never).status, RunStatus::diverged);
}

TEST_F(TrainingTaskTest, AStoppedRunLeavesNothing) {
  const std::atomic<bool> stop = true;
  for (const auto* target : {"y", "label"}) {
    for (const auto* model : {"mlp:4", best_constant_model, best_linear_model}) {
      RunSpec wanted = study();
      wanted.dataset.target = target;
      wanted.model = model;
      EXPECT_THROW(training_task().run(config(wanted, 0.1, 1), stop), Stopped) << model;
    }
  }
  RunSpec elsewhere = study();
  elsewhere.data.path = (scratch_ / "none.csv").string();
  EXPECT_THROW(training_task().run(config(elsewhere, 0.1, 1), stop), Stopped) << "no file is looked at any more";
}

TEST_F(TrainingTaskTest, ABaselineCanBeStoppedAtAnyRow) {
  for (const auto* target : {"y", "label"}) {
    RunSpec wanted = study();
    wanted.dataset.target = target;
    const auto table = prepared_table(wanted, 1);
    for (const std::size_t last : {1U, 3U, 160U, 161U, 300U}) {
      std::size_t rows = 0;
      const BeforeRow look = [&] {
        if (++rows == last) throw Stopped();
      };
      EXPECT_THROW(fit_linear(*table, FitWeights::loss, look), Stopped) << last;
      EXPECT_EQ(rows, last);
      rows = 0;
      if (last <= table->split().train.size()) {
        EXPECT_THROW(fit_constant(*table, FitWeights::loss, look), Stopped) << last;
      }
    }
  }
}

TEST_F(TrainingTaskTest, TheFileIsReadOnceAndChecked) {
  const RunSpec first = study();
  const auto one = prepared_table(first, 1);
  EXPECT_EQ(one, prepared_table(first, 1));
  EXPECT_NE(one, prepared_table(first, 2));
  EXPECT_EQ(&one->table(), &prepared_table(first, 2)->table());
  write(2);
  EXPECT_EQ(one, prepared_table(first, 1)) << "what was read stays";
  RunSpec changed = first;
  changed.checksum = std::string(64, '0');
  EXPECT_THROW(prepared_table(changed, 1), FileError);
  EXPECT_NE(&prepared_table(study(), 1)->table(), &one->table());
}

TEST_F(TrainingTaskTest, ThreadsShareTables) {
  constexpr std::size_t threads = 4;
  constexpr std::uint64_t seeds = 3;
  std::vector<std::vector<RunResult>> results(threads);
  {
    std::vector<std::jthread> running;
    for (std::size_t k = 0; k < threads; ++k) {
      running.emplace_back([&, k] {
        for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
          results[k].push_back(training_task().run(config(study(), 0.1, seed), never));
        }
      });
    }
  }
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const RunResult alone = training_task().run(config(study(), 0.1, seed), never);
    for (const auto& made : results) EXPECT_EQ(made[seed - 1], alone);
  }
}

TEST_F(TrainingTaskTest, ScoresAreWhatIsLearned) {
  const auto name_with = [&](const char* target, const char* loss) {
    RunSpec wanted = study();
    wanted.dataset.target = target;
    wanted.dataset.loss = loss;
    return score_label(*prepared_table(wanted, 1), ScoreKind::automatic);
  };
  EXPECT_EQ(name_with("y", ""), "RMSE");
  EXPECT_EQ(name_with("label", ""), "log loss");
  EXPECT_EQ(name_with("y", "pinball:tau=0.9"), "pinball loss");
}

TEST_F(TrainingTaskTest, ASplitThatCannotBeUsedIsNamed) {
  std::ofstream file(path());
  file << "a,group,label,y\n";
  for (int i = 0; i < 100; ++i) file << fmt::format("{},{},{},1\n", i % 7, i, i == 40 ? "yes" : "no");
  file.close();
  const auto fault = [&](const std::string& target, bool balanced, std::uint64_t seed) -> std::string {
    RunSpec wanted = study();
    wanted.dataset.target = target;
    wanted.dataset.balanced = balanced;
    wanted.dataset.split_by = "group";  // without groups, every class has a training row
    try {
      prepared_table(wanted, seed);
      return "";
    } catch (const FileError& refused) {
      return refused.what();
    }
  };
  std::vector<std::uint64_t> groups(100);
  std::iota(groups.begin(), groups.end(), std::uint64_t{0});
  std::size_t unlucky = 0;
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    const Split split = split_by_group(groups, {.validation = 0.1, .test = 0.1}, seed);
    const bool usable = std::ranges::find(split.train, 40U) != split.train.end();
    unlucky += usable ? 0 : 1;
    for (const bool balanced : {false, true}) {
      const std::string said = fault("label", balanced, seed);
      const bool named = said.find(fmt::format("the split of seed {} cannot be used", seed)) != std::string::npos;
      EXPECT_EQ(said.empty(), usable) << seed << " " << said;
      EXPECT_EQ(named, !usable) << seed << " " << said;
    }
  }
  EXPECT_GT(unlucky, 0U);
  EXPECT_EQ(fault("y", false, 1).find("the split of seed"), std::string::npos) << "no seed would mend that";
  EXPECT_NE(fault("y", false, 1), "");
}

TEST_F(TrainingTaskTest, RefusesWhatCannotBeLearned) {
  RunSpec wanted = study();
  wanted.dataset.target = "yy";
  EXPECT_THROW(prepared_table(wanted, 1), InvalidArgument);
  wanted = study();
  wanted.dataset.weight = "a";  // some of them negative
  EXPECT_THROW(prepared_table(wanted, 1), FileError);
  wanted = study();
  wanted.data.path = (scratch_ / "none.csv").string();
  EXPECT_THROW(prepared_table(wanted, 1), FileError);
  EXPECT_NE(training_task().missing(settings_of(wanted)).fault, "");
  EXPECT_EQ(training_task().missing(settings_of(study())).fault, "");
}

}  // namespace
}  // namespace ignd
