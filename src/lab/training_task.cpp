#include "base/stopped.hpp"
#include "data/catalogue.hpp"
#include "ignd/error.hpp"
#include "lab/machine.hpp"
#include "lab/task.hpp"
#include "learn/baselines.hpp"
#include "learn/open_dataset.hpp"
#include "learn/run_checks.hpp"
#include "models/model_specs.hpp"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace ignd {
namespace {

RunSpec complete_spec(const Settings& settings) {
  RunSpec spec = spec_of(settings);
  spec.complete(kind_of_data(spec));
  return spec;
}

RunSpec complete_spec(const RunConfig& config) {
  RunSpec spec = complete_spec(config.settings);
  spec.training.optimizer = config.optimizer;
  spec.training.rate = config.rate;
  spec.training.seed = config.seed;
  spec.training.is_trial = true;
  spec.dataset.seed = config.seed;
  return spec;
}

bool is_checksum(const std::string& text) {
  constexpr std::size_t digits = 64;
  return text.size() == digits && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

bool is_named(const std::string& data) {
  return std::ranges::find(data_sets(), data, &DataSet::name) != data_sets().end();
}

// Samples of the parts, before any are left out, as far as that is known without reading them.
struct PartSizes {
  double training = 0, validation = 0, test = 0;
};

PartSizes file_sizes(const RunSpec& spec) {
  const DatasetOptions& options = spec.dataset;
  const bool texts = spec.data.path == "imdb";
  const double known = texts || spec.data.path == "cats-vs-dogs" ? 25'000 : 3'000;
  const double test_share = texts ? 0 : options.test;
  const auto limited = [](double all, std::uint64_t most) {
    return most == 0 ? all : std::min(all, static_cast<double>(most));
  };
  return {limited(known * (1 - options.validation - test_share), options.most_training),
          limited(known * options.validation, options.most_validation),
          limited(texts ? known : known * test_share, options.most_test)};
}

// Measured on made-up samples of the same shape.
double file_cost(const RunSpec& spec, DataKind kind) {
  const Shape input = sample_shape(spec, kind);
  const StepCost cost = measured_cost(named_network(spec.training.model, input), input, spec.training.optimizer);
  const PartSizes parts = file_sizes(spec);
  const auto epochs = static_cast<double>(spec.training.epochs);
  const double looks = epochs * static_cast<double>(spec.record.points) + 1;
  const double test = spec.record.on_validation ? 0 : parts.test + (looks - 1) * std::min(parts.test, parts.validation);
  return epochs * parts.training * cost.step + (looks * parts.validation + test) * cost.prediction;
}

// By the size of the file alone: nothing is read only to guess.
double table_cost(const RunSpec& spec) {
  constexpr double bytes_of_a_row = 60;
  const double row_seconds = spec.training.optimizer.has_plain_transform() ? 0.6e-6 : 2.5e-6;
  std::error_code missing;
  auto bytes = static_cast<double>(std::filesystem::file_size(spec.data.path, missing));
  if (missing) {
    const auto set = std::ranges::find(data_sets(), spec.data.path, &DataSet::name);
    bytes = set == data_sets().end() ? 0 : static_cast<double>(set->size);
  }
  return (1 + bytes / bytes_of_a_row) * row_seconds * static_cast<double>(spec.training.epochs);
}

RunResult run_baseline(const Dataset& dataset, const RunSpec& spec, const std::atomic<bool>& stop) {
  const auto* table = dynamic_cast<const TableDataset*>(&dataset);
  const BeforeRow look = [&] {
    if (stop) throw Stopped();
  };
  // The score is a mean of the loss, so that is what they have to make small.
  if (spec.model == best_constant_model) {
    return record_predictor(dataset, fit_constant(dataset, FitWeights::loss, look).outputs, spec.record);
  }
  const auto fitted = table != nullptr ? fit_linear(*table, FitWeights::loss, look) : std::nullopt;
  if (!fitted)
    throw InvalidArgument("a linear baseline needs a table of not too many features, and at most two classes");
  return record_predictor(dataset, fitted->outputs, spec.record);
}

class TrainingTask final : public Task {
 public:
  std::string name() const override { return "training"; }
  std::string meaning() const override {
    return "A model trained on a table, on images or on texts, as `ignd train` does it with the same options and seed: "
           "the seed draws the split, the initial weights and the order. The score is measured on the test samples, of "
           "the iterate that is kept; the curves are those of the iterate along the way, on the test samples (on as "
           "many as there are validation samples, until the end) and on the validation samples. A run has failed if it "
           "diverges or predicts a constant. Data sets by name: california-housing, diamonds, imdb, cats-vs-dogs and "
           "cats-vs-dogs-3000; IMDB keeps its own test set. Runs that are interrupted are resumed.";
  }
  std::span<const SettingKey> keys() const override {
    static const std::vector<SettingKey> keys = run_setting_keys();
    return keys;
  }
  std::vector<Column> columns() const override {
    return {{"rmse", "root mean squared error on the test samples"},
            {"mae", "mean absolute error"},
            {"mape", "mean absolute percentage error, as a fraction"},
            {"r2", "share of the variance explained"},
            {"accuracy", "share of test samples whose class is right"},
            {"log-loss", "mean logistic loss or cross-entropy"},
            {"auc", "share of pairs of samples of both classes in the right order"},
            {"macro-f1", "mean over more than two classes of each one's F1"},
            {"validation", "the score on the validation samples"},
            {seconds_column, "of learning, for an epoch, where runs are timed"}};
  }
  bool validates() const override { return true; }
  bool resumes() const override { return true; }

  std::vector<std::string> faults(const Settings& settings) const override {
    try {
      const RunSpec spec = complete_spec(settings);
      auto found = study_faults(spec, kind_of_data(spec));
      if (!spec.checksum.empty() && !is_checksum(spec.checksum)) {
        found.emplace_back("the checksum is not what `sha256sum` prints for a file");
      } else if (spec.checksum.empty() && kind_of_data(spec) == DataKind::table && !is_named(spec.data.path)) {
        found.emplace_back("there is no checksum; give what `sha256sum` prints for the file");
      }
      return found;
    } catch (const Error& fault) {
      return {fault.what()};
    }
  }

  MissingData missing(const Settings& settings) const override { return missing_data(spec_of(settings)); }

  bool measures_cost(const Settings& settings) const override {
    return kind_of_data(spec_of(settings)) != DataKind::table;
  }

  double cost(const RunConfig& config) const override {
    const RunSpec spec = complete_spec(config);
    if (spec.is_baseline()) return 0;
    const DataKind kind = kind_of_data(spec);
    return kind == DataKind::table ? table_cost(spec) : file_cost(spec, kind);
  }

  std::string group_of(const RunConfig& config) const override {
    const RunSpec spec = complete_spec(config);
    return spec.is_baseline() ? "" : group_key(spec);
  }

  void run_group(std::span<const TaskRun> group, const Engine& engine, const RunEnded& ended) const override {
    std::vector<RunSpec> specs;
    specs.reserve(group.size());
    for (const TaskRun& run : group) specs.push_back(complete_spec(*run.config));
    const std::atomic<bool>& stop = group[0].control->stop();
    const auto dataset = open_dataset(specs[0], &stop);
    if (specs[0].is_baseline()) {
      ended(0, run_baseline(*dataset, specs[0], stop));
      return;
    }
    std::mutex lock;  // an engine may end runs on several threads
    std::size_t left = group.size();
    std::vector<std::unique_ptr<CurveRecorder>> recorders;
    std::vector<RunSlot> slots;
    for (std::size_t i = 0; i < group.size(); ++i) {
      const RunSpec& spec = specs[i];
      recorders.push_back(std::make_unique<CurveRecorder>(*dataset, spec.training, spec.record, *group[i].control,
                                                          [&ended, &left, &lock, i](RunResult result) {
                                                            const std::lock_guard one_at_a_time(lock);
                                                            --left;
                                                            ended(i, std::move(result));
                                                          }));
      slots.push_back({&spec.training, recorders.back().get()});
    }
    train_group(engine, slots, *dataset, stop);
    if (left > 0) throw Stopped();
  }

  RunResult run(const RunConfig& config, const RunControl& control) const override {
    RunResult made;
    const TaskRun one{&config, &control};
    run_group({&one, 1}, engine_for(Machine::shared), [&](std::size_t, RunResult result) { made = std::move(result); });
    return made;
  }
};

}  // namespace

const Task& training_task() {
  static const TrainingTask task;
  return task;
}

}  // namespace ignd
