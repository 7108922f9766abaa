#include "data/archive.hpp"
#include "ignd/error.hpp"
#include "ignd/random.hpp"
#include "lab/prepared_tables.hpp"
#include "lab/table_study_task.hpp"
#include "learn/table_baselines.hpp"
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

class TableStudyTest : public ::testing::Test {
 protected:
  TableStudyTest() { write(1); }

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

  TableStudy study() const {
    TableStudy made;
    made.data.path = path();
    made.checksum = sha256_of_file(path());
    made.task.target = "y";
    made.run.model = "mlp:4";
    made.run.epochs = 3;
    return made;
  }

  static RunConfig config(const TableStudy& study, double rate, std::uint64_t seed) {
    return {"table", settings_of(study), find_optimizer("ignd"), rate, seed};
  }

  testing::ScratchFolder scratch_;
};

TEST_F(TableStudyTest, SettingsAndStudiesAreTheSameThing) {
  TableStudy odd = study();
  odd.data.format = "csv";
  odd.data.delimiter = ";";
  odd.data.header = "no";
  odd.task.weight = "w = 1\"";
  odd.task.split_by = "b";
  odd.task.split_time = "a";
  odd.task.balanced = true;
  odd.task.loss = "huber:delta=2";
  odd.task.validation = 0.3;
  odd.task.test = 1.0 / 3;
  odd.run.schedule = "constant";
  odd.run.patience = 7;
  odd.run.keep_last = true;
  odd.run.l2 = 1e-7;
  for (const TableStudy& made : {study(), odd}) {
    const Settings settings = settings_of(made);
    EXPECT_EQ(settings_of(study_of(settings)), settings);
    EXPECT_EQ(settings.values().size(), table_study_keys().size());
    for (const SettingKey& key : table_study_keys()) EXPECT_TRUE(settings.values().contains(key.name)) << key.name;
  }
  EXPECT_EQ(study_of(settings_of(odd)).task.weight, odd.task.weight);
  EXPECT_EQ(study_of(settings_of(odd)).run.l2, odd.run.l2);
}

TEST_F(TableStudyTest, NamesEveryFault) {
  EXPECT_TRUE(study_faults(study()).empty());
  TableStudy bad;
  bad.task.validation = bad.task.test = 0;
  bad.task.loss = "squarred";
  bad.run.epochs = 0;
  bad.run.l2 = -1;
  bad.run.model = "mpl";
  bad.run.schedule = "cosin";
  bad.data.delimiter = "ab";
  EXPECT_EQ(study_faults(bad).size(), 11U);
}

TEST_F(TableStudyTest, ARunIsTheTrainingRunOfItsSeed) {
  for (const std::uint64_t seed : {1, 2}) {
    const RunResult result = table_study_task().run(config(study(), 0.1, seed), never);
    const Table table = Table::read_csv(path(), {});
    DatasetOptions options = study().task;
    options.seed = seed;
    const TableDataset task(table, options);
    RunOptions run_options = study().run;
    run_options.optimizer = find_optimizer("ignd");
    run_options.rate = 0.1;
    run_options.seed = seed;
    ignd::Run run(task, run_options);
    const auto rmse_of = [&](const Model<float>& model, const std::vector<std::uint32_t>& rows) {
      return evaluate(task, rows, [&](const Input<float>& x) { return model.predict(x); }).regression->rmse;
    };
    std::vector<double> test_curve, validation_curve;
    while (run.status() == TrainingStatus::running) {
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
    EXPECT_EQ(result, table_study_task().run(config(study(), 0.1, seed), never)) << "a run is a pure function";
  }
}

TEST_F(TableStudyTest, BaselinesAreThoseOfTraining) {
  for (const auto* target : {"y", "label"}) {
    TableStudy wanted = study();
    wanted.task.target = target;
    const auto table = prepared_table(wanted, 3);
    const auto baselines = fit_baselines(*table);
    for (std::size_t k = 0; k < 2; ++k) {
      wanted.run.model = k == 0 ? best_constant_model : best_linear_model;
      const RunResult result = table_study_task().run(config(wanted, 0, 3), never);
      const Scores quality = evaluate(*table, table->split().test, baselines[k].outputs);
      EXPECT_EQ(result.score, quality.regression ? quality.regression->rmse : quality.classification->log_loss);
    }
  }
}

TEST_F(TableStudyTest, BaselinesMinimiseWhatTheyAreScoredBy) {
  std::ofstream file(path());
  file << "a,label\n";
  for (int i = 0; i < 400; ++i) file << fmt::format("{},{}\n", i % 13, i % 8 == 0 ? "rare" : "usual");
  file.close();
  TableStudy wanted = study();
  wanted.task.target = "label";
  wanted.task.balanced = true;
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
    wanted.run.model = model;
    EXPECT_LT(*table_study_task().run(config(wanted, 0, 1), never).score, 0.8) << model;
  }
}

TEST_F(TableStudyTest, FailuresHaveNoScore) {
  TableStudy wanted = study();
  wanted.run.schedule = "constant";
  const RunConfig wild{"table", settings_of(wanted), find_optimizer("sgd"), 1e6, 1};
  const RunResult diverged = table_study_task().run(wild, never);
  EXPECT_EQ(diverged.status, RunStatus::diverged);
  EXPECT_FALSE(diverged.score || diverged.validation);
  wanted.run.model = "linear";
  const RunResult collapsed = table_study_task().run(config(wanted, 1e-12, 1), never);
  EXPECT_EQ(collapsed.status, RunStatus::collapsed);
  EXPECT_FALSE(collapsed.score || collapsed.validation);
  wanted.run.l2 = 10;  // times the rate above 1: nothing that can be learned with
  const RunConfig refused{"table", settings_of(wanted), find_optimizer("sgd"), 1, 1};
  EXPECT_EQ(table_study_task().run(refused, never).status, RunStatus::diverged);
}

TEST_F(TableStudyTest, AStoppedRunLeavesNothing) {
  const std::atomic<bool> stop = true;
  for (const auto* target : {"y", "label"}) {
    for (const auto* model : {"mlp:4", best_constant_model, best_linear_model}) {
      TableStudy wanted = study();
      wanted.task.target = target;
      wanted.run.model = model;
      EXPECT_THROW(table_study_task().run(config(wanted, 0.1, 1), stop), RunStopped) << model;
    }
  }
  TableStudy elsewhere = study();
  elsewhere.data.path = (scratch_ / "none.csv").string();
  EXPECT_THROW(table_study_task().run(config(elsewhere, 0.1, 1), stop), RunStopped) << "no file is looked at any more";
}

TEST_F(TableStudyTest, ABaselineCanBeStoppedAtAnyRow) {
  for (const auto* target : {"y", "label"}) {
    TableStudy wanted = study();
    wanted.task.target = target;
    const auto table = prepared_table(wanted, 1);
    for (const std::size_t last : {1U, 3U, 160U, 161U, 300U}) {
      std::size_t rows = 0;
      const BeforeRow look = [&] {
        if (++rows == last) throw RunStopped();
      };
      EXPECT_THROW(fit_linear(*table, FitWeights::loss, look), RunStopped) << last;
      EXPECT_EQ(rows, last);
      rows = 0;
      if (last <= table->split().train.size()) {
        EXPECT_THROW(fit_constant(*table, FitWeights::loss, look), RunStopped) << last;
      }
    }
  }
}

TEST_F(TableStudyTest, TheFileIsReadOnceAndChecked) {
  const TableStudy first = study();
  const auto one = prepared_table(first, 1);
  EXPECT_EQ(one, prepared_table(first, 1));
  EXPECT_NE(one, prepared_table(first, 2));
  EXPECT_EQ(&one->table(), &prepared_table(first, 2)->table());
  write(2);
  EXPECT_EQ(one, prepared_table(first, 1)) << "what was read stays";
  TableStudy changed = first;
  changed.checksum = std::string(64, '0');
  EXPECT_THROW(prepared_table(changed, 1), FileError);
  EXPECT_NE(&prepared_table(study(), 1)->table(), &one->table());
}

TEST_F(TableStudyTest, ThreadsShareTables) {
  constexpr std::size_t threads = 4;
  constexpr std::uint64_t seeds = 3;
  std::vector<std::vector<RunResult>> results(threads);
  {
    std::vector<std::jthread> running;
    for (std::size_t k = 0; k < threads; ++k) {
      running.emplace_back([&, k] {
        for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
          results[k].push_back(table_study_task().run(config(study(), 0.1, seed), never));
        }
      });
    }
  }
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const RunResult alone = table_study_task().run(config(study(), 0.1, seed), never);
    for (const auto& made : results) EXPECT_EQ(made[seed - 1], alone);
  }
}

TEST_F(TableStudyTest, ScoresAreWhatIsLearned) {
  const auto name_with = [&](const char* target, const char* loss) {
    TableStudy wanted = study();
    wanted.task.target = target;
    wanted.task.loss = loss;
    return score_name(*prepared_table(wanted, 1));
  };
  EXPECT_EQ(name_with("y", ""), "RMSE");
  EXPECT_EQ(name_with("label", ""), "log loss");
  EXPECT_EQ(name_with("y", "pinball:tau=0.9"), "pinball loss");
}

TEST_F(TableStudyTest, ASplitThatCannotBeUsedIsNamed) {
  std::ofstream file(path());
  file << "a,group,label,y\n";
  for (int i = 0; i < 100; ++i) file << fmt::format("{},{},{},1\n", i % 7, i, i == 40 ? "yes" : "no");
  file.close();
  const auto fault = [&](const std::string& target, bool balanced, std::uint64_t seed) -> std::string {
    TableStudy wanted = study();
    wanted.task.target = target;
    wanted.task.balanced = balanced;
    wanted.task.split_by = "group";  // without groups, every class has a training row
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

TEST_F(TableStudyTest, RefusesWhatCannotBeLearned) {
  TableStudy wanted = study();
  wanted.task.target = "yy";
  EXPECT_THROW(prepared_table(wanted, 1), InvalidArgument);
  wanted = study();
  wanted.task.weight = "a";  // some of them negative
  EXPECT_THROW(prepared_table(wanted, 1), FileError);
  wanted = study();
  wanted.data.path = (scratch_ / "none.csv").string();
  EXPECT_THROW(prepared_table(wanted, 1), FileError);
  EXPECT_NE(table_study_task().missing(settings_of(wanted)), "");
  EXPECT_EQ(table_study_task().missing(settings_of(study())), "");
}

}  // namespace
}  // namespace ignd
