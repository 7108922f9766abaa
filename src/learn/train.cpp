#include "ignd/train.hpp"

#include "base/text.hpp"
#include "ignd/checkpoint.hpp"
#include "ignd/error.hpp"
#include "learn/ensemble.hpp"
#include "learn/error_bars.hpp"
#include "learn/open_dataset.hpp"
#include "learn/recorded_run.hpp"
#include "learn/run_checks.hpp"
#include "learn/search.hpp"
#include "learn/trained_model.hpp"

#include <algorithm>
#include <atomic>
#include <set>
#include <utility>

#include <fmt/format.h>

namespace ignd {
namespace {

bool is_train_option(const RunKey& key) { return key.is_option && (key.uses & (RunKey::tables | RunKey::files)) != 0; }

// A table in memory has been read, and its path is no file.
bool is_about_files(const RunKey& key) {
  static const std::set<std::string> names{"format", "delimiter", "header"};
  return (key.uses & RunKey::tables) == 0 || names.contains(key.name);
}

TrainOption train_option(const RunKey& key) {
  using Kind = TrainOption::Kind;
  const Kind kind = key.kind == SettingKey::Kind::number  ? Kind::number
                    : key.kind == SettingKey::Kind::count ? Kind::count
                    : key.kind == SettingKey::Kind::flag  ? Kind::flag
                                                          : Kind::word;
  return {.name = key.name,
          .kind = kind,
          .default_value = key.default_value,
          .choices = key.choices,
          .help = key.help,
          .for_frames = !is_about_files(key)};
}

void set_key(RunSpec& spec, const std::string& name, const std::string& value) {
  std::vector<std::string> known;
  for (const RunKey& key : run_keys()) {
    if (!is_train_option(key)) continue;
    known.push_back(key.name);
    if (key.name != name) continue;
    key.set(spec, canonical_value(key, value, fmt::format("the option '{}'", name)));
    return;
  }
  throw InvalidArgument(fmt::format("there is no option {}{}", in_quotes(name), suggestion(name, known)));
}

GivenKeys given_keys(const TrainSettings& settings) {
  GivenKeys given{.open = "'", .close = "'"};
  for (const auto& [name, value] : settings) given.names.insert(name);
  return given;
}

RunSpec spec_from(DataFile data, const TrainSettings& settings) {
  RunSpec spec;
  spec.data = std::move(data);
  for (const auto& [name, value] : settings) set_key(spec, name, value);
  const DataKind kind = kind_of_data(spec);
  return complete_spec(std::move(spec), given_keys(settings), kind);
}

RunSpec frame_spec(const Frame& frame, const TrainSettings& settings, std::size_t validation_rows) {
  const GivenKeys given = given_keys(settings);
  for (const TrainOption& option : train_options()) {
    if (!option.for_frames) given.refuse({option.name}, "cannot be given for a table in memory");
  }
  if (validation_rows > 0) {
    given.refuse({"validation", "test", "split-by", "split-time"}, "cannot be given beside validation rows");
  }
  RunSpec spec = spec_from({.frame = &frame}, settings);
  spec.dataset.last_validation = validation_rows;
  return spec;
}

}  // namespace

std::vector<TrainOption> train_options() {
  std::vector<TrainOption> options;
  for (const RunKey& key : run_keys()) {
    if (is_train_option(key)) options.push_back(train_option(key));
  }
  return options;
}

// A training that a program asked for.
class LibraryTraining final : public EnsembleObserver {
 public:
  LibraryTraining(RunSpec spec, const TrainProgress& progress)
      : spec_(std::move(spec)), progress_(progress), dataset_(read_dataset(spec_)) {}

  Trained train() {
    std::optional<EnsemblePlan> plan;
    if (spec_.is_ensemble()) plan = plan_ensemble(spec_, *dataset_);
    if (plan) spec_.training = plan->network;
    check_run(*dataset_, spec_.training);
    if (!rate_of(spec_.method)) search_for_rate();
    if (plan) {
      plan->network.rate = spec_.training.rate;
      train_ensemble(engine_for(Machine::own), *dataset_, *plan, *this, stop_);
    } else {
      const RunSlot slot{.options = &spec_.training, .observer = this};
      train_group(engine_for(Machine::own), {&slot, 1}, *dataset_, stop_);
    }
    if (!trained_) throw Error(nothing_learned);
    return std::move(*trained_);
  }

  void progress(const RunView& run) override {
    tell(static_cast<double>(run.learned()) / static_cast<double>(run.to_learn()));
  }

  void end(RunView& run) override {
    if (run.kept_epoch() == 0 && spec_.training.epochs > 0) {
      throw Error(stop_ ? nothing_learned : "training diverged in its first epoch; choose a smaller rate");
    }
    TrainReport report{.status = to_string(run.status()),
                       .rate = spec_.training.rate,
                       .epochs = run.epoch(),
                       .kept_epoch = run.kept_epoch(),
                       .validation = scores_on(run, dataset_->split().validation),
                       .test = {}};
    measure_test(run, report);
    Checkpoint checkpoint;
    dataset_->save_reader(checkpoint);
    save_trained_model(checkpoint, dataset_->target(), dataset_->loss(), *run.kept());
    const std::atomic<bool> never = false;
    const auto intervals = intervals_of(run, *dataset_, spec_.training.seed, never);
    if (intervals) intervals->save(checkpoint);
    trained_.emplace(Trained{ModelFile(TrainedModel::load(checkpoint)), std::move(report)});
  }

 private:
  static constexpr const char* nothing_learned = "training was ended before its first epoch was complete";

  void search_for_rate() {
    const RateSearch result =
        search_rate(engine_for(Machine::own), *dataset_, spec_.training, dataset_->search_budget(), stop_,
                    [&](std::uint64_t, std::uint64_t) { tell(0); });
    if (stop_) throw Error(nothing_learned);
    if (!result.best) throw Error("training diverged at every rate tried; choose one as 'lr'");
    spec_.training.rate = *result.best;
  }

  void tell(double share) {
    if (progress_ && !progress_(share)) stop_ = true;
  }

  static std::map<std::string, double> scores_on(const RunView& run, const std::vector<std::uint32_t>& rows) {
    const std::atomic<bool> never = false;
    if (rows.empty()) return {};
    return named_scores(*run.measure(RunView::Iterate::kept, rows, never));
  }

  void measure_test(const RunView& run, TrainReport& report) const {
    const std::atomic<bool> never = false;
    const auto& rows = dataset_->split().test;
    if (rows.empty()) return;
    JudgedSamples judged;
    const Scores scores = evaluate(*dataset_, rows, *run.outputs(rows, never), &judged);
    report.test = named_scores(scores);
    const ErrorBars bars = error_bars(judged, spec_.training.seed);
    if (!bars) return;
    const std::vector<Measure> shown = measures(scores);
    for (std::size_t m = 0; m < shown.size(); ++m) {
      std::string name = shown[m].key;
      std::ranges::replace(name, '_', '-');
      const auto& interval = bars.intervals[m];
      if (interval && report.test.contains(name)) report.test_intervals[name] = {interval->low, interval->high};
    }
  }

  RunSpec spec_;
  const TrainProgress& progress_;
  std::shared_ptr<const Dataset> dataset_;
  std::atomic<bool> stop_ = false;
  std::optional<Trained> trained_;
};

Trained train(const std::string& path, const TrainSettings& settings, const TrainProgress& progress) {
  return LibraryTraining(spec_from({.path = path}, settings), progress).train();
}

Trained train(const Frame& frame, const TrainSettings& settings, const TrainProgress& progress,
              std::size_t validation_rows) {
  return LibraryTraining(frame_spec(frame, settings, validation_rows), progress).train();
}

}  // namespace ignd
