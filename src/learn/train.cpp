#include "ignd/train.hpp"

#include "base/text.hpp"
#include "data/network_file.hpp"
#include "ignd/checkpoint.hpp"
#include "ignd/error.hpp"
#include "ignd/optimizer.hpp"
#include "ignd/step_rule.hpp"
#include "ignd/transform.hpp"
#include "learn/open_dataset.hpp"
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

MethodWords method_words(const TrainSettings& settings) {
  MethodWords words;
  const auto take = [&](const char* name, std::string& word) {
    if (const auto found = settings.find(name); found != settings.end()) word = found->second;
  };
  take("optimizer", words.optimizer);
  take("rule", words.rule);
  take("transform", words.transform);
  take("lr", words.rate);
  return words;
}

// Those of a method and of a run, which no table of keys has.
std::vector<TrainOption> other_options() {
  using Kind = TrainOption::Kind;
  return {{.name = "optimizer",
           .help = fmt::format("{}; adam, or ignd for exact steps, if not given", join(optimizer_names(), ", "))},
          {.name = "rule", .help = "Step rule, in place of an optimizer: " + join(step_rule_names(), ", ")},
          {.name = "transform", .help = "Transform of the steps, beside a rule: " + join(transform_names(), ", ")},
          {.name = "lr", .default_value = "auto", .help = "Learning rate; auto: a short search"},
          {.name = "seed",
           .kind = Kind::count,
           .default_value = "1",
           .help = "Of the split, the initial weights and the order of the samples"}};
}

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
  const std::vector<TrainOption> options = train_options();
  for (const RunKey& key : run_keys()) {
    if (!is_train_option(key) || key.name != name) continue;
    try {
      key.set(spec, canonical_value(key, value));
      return;
    } catch (const InvalidArgument& fault) {
      throw InvalidArgument(fmt::format("the option '{}' {}", name, fault.what()));
    }
  }
  if (std::ranges::find(options, name, &TrainOption::name) != options.end()) return;
  std::vector<std::string> known(options.size());
  std::ranges::transform(options, known.begin(), &TrainOption::name);
  throw InvalidArgument(fmt::format("there is no option {}{}", in_quotes(name), suggestion(name, known)));
}

std::map<std::string, double> named_scores(const Scores& scores) {
  std::map<std::string, double> named{{"loss", scores.loss}};
  for (const auto& [name, value] : further_scores(scores)) named[name] = value;
  return named;
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
  if (spec.model.ends_with(".toml")) spec.model = read_network_file(spec.model);
  spec.complete(kind);
  check_training(given_keys(settings), spec, kind);
  const MethodWords words = method_words(settings);
  spec.training.optimizer = optimizer_of(words, spec.batch);
  if (const auto rate = rate_of(words)) spec.training.rate = *rate;
  if (settings.contains("seed")) spec.training.seed = parse_count(settings.at("seed"), "the seed");
  spec.dataset.seed = spec.training.seed;
  return spec;
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
  for (TrainOption& option : other_options()) options.push_back(std::move(option));
  return options;
}

// A training that a program asked for.
class LibraryTraining final : public RunObserver {
 public:
  LibraryTraining(RunSpec spec, const TrainSettings& settings, const TrainProgress& progress)
      : spec_(std::move(spec)),
        progress_(progress),
        dataset_(read_dataset(spec_)),
        searches_(!rate_of(method_words(settings))) {}

  Trained train() {
    check_run(*dataset_, spec_.training);
    if (searches_) search_for_rate();
    const RunSlot slot{&spec_.training, this};
    cpu_engine().train({&slot, 1}, *dataset_, stop_);
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
                       .test = scores_on(run, dataset_->split().test)};
    Checkpoint checkpoint;
    dataset_->save_reader(checkpoint);
    save_trained_model(checkpoint, dataset_->target(), dataset_->loss(), *run.kept());
    trained_.emplace(Trained{ModelFile(TrainedModel::load(checkpoint)), std::move(report)});
  }

 private:
  static constexpr const char* nothing_learned = "training was ended before its first epoch was complete";

  void search_for_rate() {
    const RateSearch result = search_rate(parallel_cpu_engine(), *dataset_, spec_.training, {}, stop_,
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

  RunSpec spec_;
  const TrainProgress& progress_;
  std::shared_ptr<const Dataset> dataset_;
  bool searches_;
  std::atomic<bool> stop_ = false;
  std::optional<Trained> trained_;
};

Trained train(const std::string& path, const TrainSettings& settings, const TrainProgress& progress) {
  return LibraryTraining(spec_from({.path = path}, settings), settings, progress).train();
}

Trained train(const Frame& frame, const TrainSettings& settings, const TrainProgress& progress,
              std::size_t validation_rows) {
  return LibraryTraining(frame_spec(frame, settings, validation_rows), settings, progress).train();
}

}  // namespace ignd
