#include "ignd/train_table.hpp"

#include "base/spec.hpp"
#include "base/text.hpp"
#include "ignd/checkpoint.hpp"
#include "ignd/error.hpp"
#include "ignd/step_rule.hpp"
#include "ignd/transform.hpp"
#include "learn/datasets.hpp"
#include "learn/race.hpp"
#include "learn/table_model.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <utility>

#include <fmt/format.h>

namespace ignd {
namespace {

// What `ignd train` calls an optimizer: a name, or a rule and a transform.
Optimizer optimizer_of(const TrainSettings& settings, bool exact) {
  const auto given = [&](const char* name) {
    const auto found = settings.find(name);
    return found == settings.end() ? "" : tidy_spec(found->second);
  };
  const std::string name = given("optimizer"), rule = given("rule"), transform = given("transform");
  if (!name.empty() && (!rule.empty() || !transform.empty())) {
    throw InvalidArgument("give an optimizer, or a rule and a transform, not both");
  }
  if (rule.empty() && transform.empty()) return find_optimizer(!name.empty() ? name : exact ? "ignd" : "adam");
  Optimizer pair{.rule = rule.empty() ? "gauss-newton" : rule, .transform = transform.empty() ? "plain" : transform};
  make_step_rule(pair.rule);
  make_transform<float>(pair.transform);
  return pair;
}

void set_key(RunSpec& spec, const std::string& name, const std::string& value) {
  static const std::vector<std::string> others{"optimizer", "rule", "transform", "lr", "seed"};
  std::vector<std::string> known = others;
  for (const RunKey& key : run_keys()) {
    if (!key.is_option || (key.uses & RunKey::tables) == 0) continue;
    known.push_back(key.name);
    if (key.name != name) continue;
    try {
      key.set(spec, canonical_value(key, value));
      return;
    } catch (const InvalidArgument& fault) {
      throw InvalidArgument(fmt::format("the option '{}' {}", name, fault.what()));
    }
  }
  if (std::ranges::find(others, name) != others.end()) return;
  throw InvalidArgument(fmt::format("there is no option {}{}", in_quotes(name), suggestion(name, known)));
}

std::map<std::string, double> named_scores(const Scores& scores) {
  std::map<std::string, double> named{{"loss", scores.loss}};
  for (const auto& [name, value] : further_scores(scores)) named[name] = value;
  return named;
}

}  // namespace

// One training on a table.
class TableTraining {
 public:
  TableTraining(const std::string& path, const std::string& target, const TrainSettings& settings,
                const TrainProgress& progress)
      : spec_(spec_of(path, target, settings)),
        progress_(progress),
        table_(read_table(spec_.data, spec_.dataset)),
        dataset_(table_, spec_.dataset),
        races_(!settings.contains("lr") || settings.at("lr") == "auto") {}

  TrainedTable train() {
    // Checked before a race: whether a batch is possible, the rows and the model say.
    if (races_) choose_rate();
    Run run(dataset_, spec_.training);
    while (run.status() == RunStatus::running && !stop_) {
      run.learn_epoch(stop_, [&] { tell(run.learned(), run.to_learn()); });
    }
    if (run.kept_epoch() == 0 && spec_.training.epochs > 0) {
      throw Error(stop_ ? "training was ended before its first epoch was complete"
                        : "training diverged in its first epoch; choose a smaller rate");
    }
    return finish(run);
  }

 private:
  static RunSpec spec_of(const std::string& path, const std::string& target, const TrainSettings& settings) {
    RunSpec spec;
    spec.data.path = path;
    spec.dataset.target = target;
    for (const auto& [name, value] : settings) set_key(spec, name, value);
    spec.complete(DataKind::table);
    spec.training.optimizer = optimizer_of(settings, spec.batch.mode == BatchMode::exact);
    if (settings.contains("seed")) spec.training.seed = parse_count(settings.at("seed"), "the seed");
    spec.dataset.seed = spec.training.seed;
    if (settings.contains("lr") && settings.at("lr") != "auto") {
      spec.training.rate = parse_number(settings.at("lr"), "the learning rate");
      if (!(spec.training.rate > 0) || !std::isfinite(spec.training.rate)) {
        throw InvalidArgument("the learning rate must be auto or a finite number above 0");
      }
    }
    return spec;
  }

  void choose_rate() {
    const Race result =
        race(dataset_, spec_.training, table_race_samples, stop_, [&](std::uint64_t, std::uint64_t) { tell(0, 1); });
    if (stop_) throw Error("training was ended before its first epoch was complete");
    if (!result.best) throw Error("training diverged with every rate of the race; choose one as 'lr'");
    spec_.training.rate = *result.best;
  }

  void tell(std::uint64_t done, std::uint64_t all) {
    if (progress_ && !progress_(static_cast<double>(done) / static_cast<double>(all))) stop_ = true;
  }

  TrainedTable finish(const Run& run) const {
    TrainReport report{.status = to_string(run.status()),
                       .rate = spec_.training.rate,
                       .epochs = run.epoch(),
                       .kept_epoch = run.kept_epoch(),
                       .validation = {},
                       .test = {}};
    auto kept = run.kept();
    const std::atomic<bool> never = false;
    const auto measure = [&](std::span<const std::uint32_t> rows) -> std::map<std::string, double> {
      if (rows.empty()) return {};
      return named_scores(*evaluate_unless(never, dataset_, *kept, rows));
    };
    report.validation = measure(dataset_.split().validation);
    report.test = measure(dataset_.split().test);
    TableModel model({dataset_.target(), dataset_.loss(), std::move(kept)}, dataset_.encoder());
    return {ModelFile(std::make_shared<const TableModel>(std::move(model))), std::move(report)};
  }

  RunSpec spec_;
  const TrainProgress& progress_;
  Table table_;
  TableDataset dataset_;
  bool races_;
  std::atomic<bool> stop_ = false;
};

TrainedTable train_table(const std::string& path, const std::string& target, const TrainSettings& settings,
                         const TrainProgress& progress) {
  return TableTraining(path, target, settings, progress).train();
}

}  // namespace ignd
