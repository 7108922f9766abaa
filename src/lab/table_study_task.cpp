#include "lab/table_study_task.hpp"

#include "data/catalogue.hpp"
#include "ignd/error.hpp"
#include "ignd/vector_loss.hpp"
#include "lab/prepared_tables.hpp"
#include "learn/model_outputs.hpp"
#include "learn/table_baselines.hpp"

#include <cmath>
#include <filesystem>
#include <limits>

#include <fmt/format.h>

namespace ignd {
namespace {

bool has_squared_loss(const TableDataset& table) { return make_vector_loss(table.loss())->is_squared_error(); }

// Squared errors are given in the target's units, all other losses as the model learns them: whatever is minimised is
// what methods are compared by. Accuracy and the like are coarser, and nobody learns them.
std::optional<double> score_of(const TableDataset& table, const Scores& quality) {
  const double score = has_squared_loss(table) && quality.regression ? quality.regression->rmse : quality.loss;
  return std::isfinite(score) ? std::optional(score) : std::nullopt;
}

std::vector<std::pair<std::string, double>> further_numbers(const Scores& quality) {
  std::vector<std::pair<std::string, double>> numbers;
  const auto add = [&](const char* name, std::optional<double> value) {
    if (value && std::isfinite(*value)) numbers.emplace_back(name, *value);
  };
  if (const auto& measured = quality.regression) {
    add("rmse", measured->rmse);
    add("mae", measured->mae);
    add("mape", measured->mape);
    add("r2", measured->r2);
  }
  if (const auto& measured = quality.classification) {
    add("accuracy", measured->accuracy);
    add("auc", measured->auc);
  }
  if (const auto& measured = quality.multiclass) {
    add("accuracy", measured->accuracy);
    add("macro-f1", measured->macro_f1);
  }
  return numbers;
}

// Adds the measures to a result that may have a curve already.
RunResult measured(RunResult result, const TableDataset& table, const Scores& validation, const Scores& test) {
  result.validation = score_of(table, validation);
  result.score = score_of(table, test);
  result.extras = further_numbers(test);
  return result;
}

RunResult failed(RunResult result, RunStatus status, std::uint64_t step) {
  result.status = status;
  result.failed_at = step;
  return result;
}

RunResult run_baseline(const TableDataset& table, const std::string& model, const std::atomic<bool>& stop) {
  const BeforeRow look = [&] {
    if (stop) throw RunStopped();
  };
  // The score is a mean of the loss, so that is what they have to make small.
  const auto fitted = model == best_constant_model ? std::optional(fit_constant(table, FitWeights::loss, look))
                                                   : fit_linear(table, FitWeights::loss, look);
  if (!fitted) throw InvalidArgument("the table has too many features for a linear baseline");
  const OutputsOf& output = fitted->outputs;
  return measured({}, table, evaluate(table, table.split().validation, output),
                  evaluate(table, table.split().test, output));
}

// Curves of the last iterate, on the test rows and on the validation rows. The test rows decide nothing here.
RunResult learn(Run& run, const TableDataset& table, const RunControl& control) {
  RunResult result;
  try {
    while (run.status() == TrainingStatus::running) {
      const auto epoch = run.learn_epoch(control.stop(), [&] {
        control.set_share(static_cast<double>(run.learned()) / static_cast<double>(run.to_learn()));
      });
      if (control.stop()) throw RunStopped();
      if (!epoch) break;
      const auto score = score_of(table, epoch->validation);
      if (!score) break;
      const auto test = evaluate_unless(control.stop(), table, *run.last(), table.split().test);
      if (!test) throw RunStopped();
      result.x.push_back(static_cast<double>(epoch->epoch));
      result.y.push_back(score_of(table, *test).value_or(std::numeric_limits<double>::quiet_NaN()));
      result.validation_y.push_back(*score);
    }
  } catch (const InvalidArgument&) {  // a rate that l2 does not allow loses like one that diverges
    return failed(std::move(result), RunStatus::diverged, run.learned());
  } catch (const SingularSystem&) {  // and so does a lambda that is too small
    return failed(std::move(result), RunStatus::diverged, run.learned());
  }
  if (run.status() == TrainingStatus::diverged || run.kept_epoch() == 0) {
    return failed(std::move(result), RunStatus::diverged, run.learned());
  }
  return result;
}

RunResult run_training(const TableDataset& table, const RunOptions& options, const RunControl& control) {
  Run run(table, options);
  RunResult result = learn(run, table, control);
  if (result.status != RunStatus::finished) return result;
  const auto kept = run.kept();
  ModelOutputs outputs_of(*kept);
  const OutputsOf output = [&](const Input<float>& x, std::span<double> outputs) { outputs_of(x, outputs); };
  const Scores validation = evaluate(table, table.split().validation, output);
  // By the validation rows alone: a failed run keeps its rate from being chosen.
  if (!score_of(table, validation)) return failed(std::move(result), RunStatus::diverged, run.learned());
  constexpr double same = 1e-6;
  const bool constant = validation.deviation <= same * table.target().deviation;
  if (constant && table.split().validation.size() > 1) {
    return failed(std::move(result), RunStatus::collapsed, run.learned());
  }
  return measured(std::move(result), table, validation, evaluate(table, table.split().test, output));
}

class TableStudyTask final : public Task {
 public:
  std::string name() const override { return "table"; }
  std::string meaning() const override {
    return "A model trained on a table of your own, as `ignd train` does it with the same options and seed: the seed "
           "draws the split, the initial weights and the order. `ignd compare` writes such experiments. The score is "
           "the root mean squared error on the test rows, in the target's units, or the mean of another loss as it is "
           "learned; the curve is that of the last iterate over the epochs, beside that of the validation rows. A run "
           "has diverged where `ignd train` "
           "says so.";
  }
  std::span<const SettingKey> keys() const override { return table_study_keys(); }
  std::vector<Column> columns() const override {
    return {{"rmse", "root mean squared error on the test rows"},
            {"mae", "mean absolute error"},
            {"mape", "mean absolute percentage error, as a fraction"},
            {"r2", "share of the variance explained"},
            {"accuracy", "share of test rows whose class is right"},
            {"auc", "share of pairs of rows of both classes in the right order"},
            {"macro-f1", "mean over more than two classes of each one's F1"}};
  }
  bool validates() const override { return true; }
  std::vector<std::string> faults(const Settings& settings) const override { return study_faults(study_of(settings)); }
  std::string missing(const Settings& settings) const override;
  double cost(const RunConfig& config) const override;
  RunResult run(const RunConfig& config, const RunControl& control) const override;
};

std::string TableStudyTask::missing(const Settings& settings) const {
  const DataFile data = study_of(settings).data;
  std::error_code ignored;
  if (std::filesystem::exists(data.path, ignored)) return "";
  const DataSet* set = named_data_set(data.path);
  if (set == nullptr) return fmt::format("there is no file {}", data.name());
  const DataPlace place = look_for_data(*set);
  return place.path.empty() ? absence_of(*set, place) : "";
}

// By the size of the file alone: nothing is read only to guess.
double TableStudyTask::cost(const RunConfig& config) const {
  if (is_baseline(config.settings.word("model"))) return 0;
  constexpr double bytes_of_a_row = 60;
  const double row_seconds = config.optimizer.has_plain_transform() ? 1e-6 : 3e-6;
  std::error_code missing;
  const auto bytes = std::filesystem::file_size(config.settings.word("data"), missing);
  const double rows = missing ? 1 : 1 + static_cast<double>(bytes) / bytes_of_a_row;
  return rows * row_seconds * static_cast<double>(config.settings.count("epochs"));
}

RunResult TableStudyTask::run(const RunConfig& config, const RunControl& control) const {
  TableStudy study = study_of(config.settings);
  const auto table = prepared_table(study, config.seed, &control.stop());
  if (is_baseline(study.run.model)) return run_baseline(*table, study.run.model, control.stop());
  study.run.optimizer = config.optimizer;
  study.run.rate = config.rate;
  study.run.seed = config.seed;
  return run_training(*table, study.run, control);
}

}  // namespace

const Task& table_study_task() {
  static const TableStudyTask task;
  return task;
}

std::string score_name(const TableDataset& table) {
  if (has_squared_loss(table)) return "RMSE";
  const std::string loss = table.loss().substr(0, table.loss().find(':'));
  return table.target().is_class() ? "log loss" : loss + " loss";
}

std::vector<std::string> further_columns(const TableDataset& table) {
  if (table.target().is_multiclass()) return {"accuracy", "macro-f1"};
  if (table.target().is_class()) return {"accuracy", "auc"};
  if (has_squared_loss(table)) return {"mae", "mape", "r2"};
  return {"rmse", "mae", "r2"};
}

}  // namespace ignd
