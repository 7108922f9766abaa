#include "ignd/train.hpp"

#include "base/text.hpp"
#include "ignd/checkpoint.hpp"
#include "ignd/error.hpp"
#include "ignd/saved_model.hpp"
#include "learn/ensemble.hpp"
#include "learn/error_bars.hpp"
#include "learn/open_dataset.hpp"
#include "learn/recorded_run.hpp"
#include "learn/run_checks.hpp"
#include "learn/search.hpp"
#include "learn/trained_model.hpp"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <functional>
#include <set>
#include <system_error>
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
  LibraryTraining(RunSpec spec, const TrainProgress& progress, const PartialRun& partial)
      : spec_(std::move(spec)), progress_(progress), partial_(partial), dataset_(read_dataset(spec_)) {}

  Trained train() {
    std::optional<EnsemblePlan> plan;
    if (spec_.is_ensemble()) plan = plan_ensemble(spec_, *dataset_);
    if (plan) spec_.training = plan->network;
    resuming([&] { read_partial_run(plan ? &*plan : nullptr); });
    check_run(*dataset_, spec_.training);
    if (!rate_of(spec_.method) && !saved_) search_for_rate();
    if (plan) {
      plan->network.rate = spec_.training.rate;
      plan->keep_states = partial_.save_every > 0;
      train_ensemble(engine_for(Machine::own), *dataset_, *plan, *this, stop_);
    } else {
      const RunSlot slot{.options = &spec_.training, .observer = this};
      train_group(engine_for(Machine::own), {&slot, 1}, *dataset_, stop_);
    }
    if (!trained_) throw Error(nothing_learned);
    return std::move(*trained_);
  }

  void begin(RunView& run) override {
    if (saved_) resuming([&] { run.restore(*saved_); });
  }

  void look(RunView& run, const std::optional<EpochReport>& epoch) override {
    if (!epoch || partial_.save_every == 0 || run.status() != RunStatus::running) return;
    if (run.epoch() % partial_.save_every == 0) save_partial_run(run);
  }

  static Untrained untrained(const RunSpec& spec) {
    const auto dataset = read_dataset(spec);
    std::optional<EnsemblePlan> plan;
    if (spec.is_ensemble()) plan = plan_ensemble(spec, *dataset);
    const TrainingOptions& options = plan ? plan->network : spec.training;
    check_run(*dataset, options);
    std::vector<std::unique_ptr<Model<float>>> networks;
    for (std::size_t k = 0; k < (plan ? plan->members : 1); ++k) {
      networks.push_back(make_model<float>(dataset->model_spec(options.model), seed_of_member(options.seed, k)));
    }
    Checkpoint checkpoint;
    dataset->save_reader(checkpoint);
    save_trained_model(checkpoint, dataset->target(), dataset->loss(), *networks[0]);
    return {.model = ModelFile(TrainedModel::load(checkpoint)),
            .networks = std::move(networks),
            .batch = options.batch ? options.batch->size : 0};
  }

  void progress(const RunView& run) override {
    tell(static_cast<double>(run.learned()) / static_cast<double>(run.to_learn()));
  }

  void end(RunView& run) override {
    if (run.status() == RunStatus::running) {
      save_partial_run(run);
    } else if (!partial_.path.empty()) {
      std::error_code ignored;
      std::filesystem::remove(partial_.path, ignored);
    }
    if (run.kept_epoch() == 0 && spec_.training.epochs > 0) {
      throw Error(stop_ ? nothing_learned : "training diverged in its first epoch; choose a smaller rate");
    }
    TrainReport report{.status = to_string(run.status()),
                       .rate = spec_.training.rate,
                       .epochs = run.epoch(),
                       .kept_epoch = run.kept_epoch(),
                       .validation = scores_on(run, dataset_->split().validation),
                       .test = {},
                       .save_fault = save_fault_};
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

  void resuming(const std::function<void()>& use_file) const {
    try {
      use_file();
    } catch (const FileError& fault) {
      throw FileError(fmt::format("cannot resume {}: {}", quoted_path(partial_.path), fault.what()));
    }
  }

  // Of what is in the file, if it is there, the rate: no search is made again.
  void read_partial_run(const EnsemblePlan* plan) {
    if (partial_.path.empty() || !std::filesystem::exists(partial_.path)) return;
    saved_ = Checkpoint::read(partial_.path);
    check_saved_run(*saved_, plan);
    if (rate_of(spec_.method)) return;
    spec_.training.rate = plan != nullptr ? rate_of_saved_ensemble(*saved_) : rate_of_saved(*saved_);
  }

  // A failure does not end training: what was learned must not be lost.
  void save_partial_run(const RunView& run) {
    if (partial_.path.empty()) return;
    Checkpoint checkpoint;
    run.save(checkpoint);
    try {
      checkpoint.write(partial_.path);
      save_fault_.clear();
    } catch (const FileError& fault) {
      save_fault_ = fault.what();
    }
  }

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
  const PartialRun& partial_;
  std::optional<Checkpoint> saved_;
  std::string save_fault_;
  std::shared_ptr<const Dataset> dataset_;
  std::atomic<bool> stop_ = false;
  std::optional<Trained> trained_;
};

Trained train(const std::string& path, const TrainSettings& settings, const TrainProgress& progress,
              const PartialRun& partial) {
  return LibraryTraining(spec_from({.path = path}, settings), progress, partial).train();
}

Trained train(const Frame& frame, const TrainSettings& settings, const TrainProgress& progress,
              std::size_t validation_rows, const PartialRun& partial) {
  return LibraryTraining(frame_spec(frame, settings, validation_rows), progress, partial).train();
}

Untrained begin_training(const Frame& frame, const TrainSettings& settings) {
  RunSpec spec = frame_spec(frame, settings, 0);
  spec.dataset.validation = spec.dataset.test = 0;
  return LibraryTraining::untrained(spec);
}

}  // namespace ignd
