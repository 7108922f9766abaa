#include "lab/tabular_task.hpp"

#include "data/catalogue.hpp"
#include "data/feature_table.hpp"
#include "ignd/batch_trainer.hpp"
#include "ignd/error.hpp"
#include "lab/tabular_run.hpp"

#include <map>
#include <memory>
#include <mutex>

#include <fmt/format.h>

namespace ignd {
namespace {

using Kind = SettingKey::Kind;

FeatureTable load(const std::string& name) {
  const auto path = find_data(name);
  return name == "diamonds" ? load_diamonds(path) : load_california_housing(path);
}

// Read once, by whoever comes first.
const FeatureTable& data_set(const std::string& name) {
  static std::mutex mutex;
  static std::map<std::string, FeatureTable> loaded;
  const std::lock_guard lock(mutex);
  const auto found = loaded.find(name);
  return found != loaded.end() ? found->second : loaded.emplace(name, load(name)).first->second;
}

InputScales scales_of(const std::string& word) {
  if (word == "hundred") return InputScales::hundred;
  return word == "separate" ? InputScales::separate : InputScales::one;
}

class TabularTask final : public Task {
 public:
  std::string name() const override { return "tabular"; }
  std::string meaning() const override {
    return "Regression on California Housing or Diamonds, one sample at a time. The score is the mean absolute "
           "percentage error on the test rows at the last iterate, as a fraction; the curve is that error over the "
           "epochs.";
  }
  std::span<const SettingKey> keys() const override;
  std::vector<std::string> faults(const Settings& settings) const override;
  std::vector<Column> columns() const override { return {{seconds_column, "of learning, for an epoch"}}; }
  bool validates() const override { return true; }
  std::string missing(const Settings& settings) const override;
  double cost(const RunConfig& config) const override;
  RunResult run(const RunConfig& config, const RunControl& control) const override;
};

std::span<const SettingKey> TabularTask::keys() const {
  static const std::vector<SettingKey> keys{
      {"data", Kind::word, "california-housing", 0, 0, {"california-housing", "diamonds"}, "the data set"},
      {"model",
       Kind::word,
       "network",
       0,
       0,
       {"network", "mean-of-targets", "least-squares"},
       "what is fitted; the last two know no rate and no epochs"},
      {"hidden", Kind::word, "32,64,32", 0, 0, {}, "widths of the network's layers"},
      {"epochs", Kind::count, "4", 1, 1e6, {}, "passes over the rows, each in another order"},
      {"schedule", Kind::word, "constant", 0, 0, {"constant", "cosine"}, "of the learning rate"},
      {"inputs",
       Kind::word,
       "one",
       0,
       0,
       {"one", "hundred", "separate"},
       "what standardised inputs are multiplied by: 1, 100, or each its own 10^U(-2,2)"},
      {"points", Kind::count, "4", 1, 1000, {}, "points of the curve for each epoch"},
      {"batch", Kind::count, "0", 0, 4096, {}, "rows that are learned together; 0: one at a time"},
      {"batch-mode", Kind::word, "average", 0, 0, {"average", "exact"}, "how a batch steps (docs/minibatch.md)"},
      {"lambda", Kind::number, "1", 0, 1e12, {}, "damping of exact steps"},
      {"timed", Kind::flag, "false", 0, 0, {}, "time the learning: the column `seconds`, which no two runs have alike"},
  };
  return keys;
}

std::vector<std::string> TabularTask::faults(const Settings& settings) const {
  try {
    parse_widths(settings.word("hidden"));
    if (settings.count("batch") == 0 && find_batch_mode(settings.word("batch-mode")) == BatchMode::exact) {
      return {"exact steps need a batch of one row at least"};
    }
    return {};
  } catch (const InvalidArgument& fault) {
    return {fault.what()};
  }
}

std::string TabularTask::missing(const Settings& settings) const {
  const DataSet& set = find_data_set(settings.word("data"));
  const DataPlace place = look_for_data(set);
  return place.path.empty() ? absence_of(set, place) : "";
}

double TabularTask::cost(const RunConfig& config) const {
  const double rows = config.settings.word("data") == "diamonds" ? 43e3 : 16.5e3;
  const double step = config.optimizer.has_plain_transform() ? 0.6e-6 : 2.5e-6;
  const bool trains = config.settings.word("model") == "network";
  return trains ? rows * step * static_cast<double>(config.settings.count("epochs")) : 0.01;
}

RunResult TabularTask::run(const RunConfig& config, const RunControl& control) const {
  const FeatureTable& table = data_set(config.settings.word("data"));
  const TabularSplit data = split_and_standardise(table, config.seed, scales_of(config.settings.word("inputs")));
  const std::string& model = config.settings.word("model");
  if (model == "mean-of-targets") return run_mean_of_targets(data);
  if (model == "least-squares") return run_least_squares(data);
  return run_network(config, data, control);
}

}  // namespace

const Task& tabular_task() {
  static const TabularTask task;
  return task;
}

}  // namespace ignd
