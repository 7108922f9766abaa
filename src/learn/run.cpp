#include "learn/run.hpp"

#include "base/pinned.hpp"
#include "base/stopped.hpp"
#include "base/text.hpp"
#include "ignd/checkpoint.hpp"
#include "ignd/error.hpp"
#include "ignd/random.hpp"
#include "learn/model_outputs.hpp"
#include "learn/run_spec.hpp"
#include "learn/step_log.hpp"
#include "learn/trained_model.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace ignd {

// What trains a model in a run: one sample at a time, or in batches. A model of several outputs is trained in batches,
// of one sample if nothing else is asked for.
class Learner : Pinned {
 public:
  virtual ~Learner() = default;

  struct Learned {
    std::size_t samples = 0;  // fewer than were given where the run ended
    double loss = 0;          // their sum, by weight, each before it was learned from
  };
  // Learns from the samples, at most as many as a batch has.
  virtual Learned learn(std::span<const Sample<float>> samples) = 0;

  virtual void watch(StepObserver& observer) = 0;

  virtual StepStatus status() const = 0;
  virtual std::unique_ptr<Model<float>> snapshot() const = 0;
  virtual void save(Checkpoint& checkpoint) const = 0;
  virtual void restore(const Checkpoint& checkpoint) = 0;
};

namespace {

struct LearnerOptions {
  std::string loss;
  Optimizer optimizer;
  Schedule schedule;
  double l2 = 0;
  std::optional<BatchOptions> batch;
};

// Takes the steps of a trainer and measures how far the weights go, whatever the transform.
class WatchedSteps {
 public:
  WatchedSteps(Trainer<float>& trainer, StepObserver& observer) : trainer_(trainer), observer_(observer) {}

  StepInfo step(const Sample<float>& sample) {
    if (before_.empty()) keep(*trainer_.snapshot());
    const StepInfo info = trainer_.step(sample);
    if (info.status != StepStatus::learned) return info;
    const auto now = trainer_.snapshot();
    double square = 0;
    for (std::size_t k = 0; k < before_.size(); ++k) {
      const double change = static_cast<double>(now->parameters()[k]) - static_cast<double>(before_[k]);
      square += change * change;
    }
    observer_.step(info, std::sqrt(square));
    keep(*now);
    return info;
  }

  void forget() { before_.clear(); }  // once the weights are others

 private:
  void keep(const Model<float>& now) { before_.assign(now.parameters().begin(), now.parameters().end()); }

  Trainer<float>& trainer_;
  StepObserver& observer_;
  std::vector<float> before_;  // the weights after the last step
};

class OneAtATime final : public Learner {
 public:
  OneAtATime(Model<float>& model, const LearnerOptions& options)
      : trainer_(model, {.loss = make_loss(options.loss),
                         .optimizer = options.optimizer,
                         .schedule = options.schedule,
                         .l2 = options.l2}) {}

  void watch(StepObserver& observer) override { watcher_.emplace(trainer_, observer); }

  Learned learn(std::span<const Sample<float>> samples) override {
    infos_.resize(samples.size());
    if (watcher_) {
      for (std::size_t k = 0; k < samples.size(); ++k) infos_[k] = watcher_->step(samples[k]);
    } else {
      ignd::learn<float>(trainer_, samples, infos_);
    }
    Learned learned;
    for (; learned.samples < samples.size(); ++learned.samples) {
      const StepInfo& info = infos_[learned.samples];
      if (info.status != StepStatus::learned && info.status != StepStatus::zero_weight) break;
      learned.loss += samples[learned.samples].weight * info.loss.value;
    }
    return learned;
  }

  StepStatus status() const override { return trainer_.status(); }
  std::unique_ptr<Model<float>> snapshot() const override { return trainer_.snapshot(); }
  void save(Checkpoint& checkpoint) const override { trainer_.save(checkpoint); }
  void restore(const Checkpoint& checkpoint) override {
    trainer_.restore(checkpoint);
    if (watcher_) watcher_->forget();
  }

 private:
  Trainer<float> trainer_;
  std::optional<WatchedSteps> watcher_;
  std::vector<StepInfo> infos_;
};

class InBatches final : public Learner {
 public:
  InBatches(Model<float>& model, const LearnerOptions& options, const BatchOptions& batch)
      : trainer_(model, {.loss = make_vector_loss(options.loss),
                         .optimizer = options.optimizer,
                         .schedule = options.schedule,
                         .l2 = options.l2,
                         .batch = batch}) {}

  void watch(StepObserver& /*observer*/) override {
    throw InvalidArgument("the steps of batches, and of models with several outputs, cannot be logged");
  }

  Learned learn(std::span<const Sample<float>> samples) override {
    const BatchStepInfo info = trainer_.step(samples);
    if (trainer_.status() != StepStatus::learned) return {};
    return {samples.size(), info.weight * info.loss};
  }

  StepStatus status() const override { return trainer_.status(); }
  std::unique_ptr<Model<float>> snapshot() const override { return trainer_.snapshot(); }
  void save(Checkpoint& checkpoint) const override { trainer_.save(checkpoint); }
  void restore(const Checkpoint& checkpoint) override { trainer_.restore(checkpoint); }

 private:
  BatchTrainer<float> trainer_;
};

// Samples of a step of such a learner; none if it takes one sample after the other, however many it is given.
std::optional<BatchOptions> batch_of(const Model<float>& model, const std::optional<BatchOptions>& asked) {
  if (asked || model.reads_single_samples()) return asked;
  return BatchOptions{.size = 1};
}

// The model must outlive it. Throws InvalidArgument.
std::unique_ptr<Learner> make_learner(Model<float>& model, const LearnerOptions& options) {
  if (const auto batch = batch_of(model, options.batch)) return std::make_unique<InBatches>(model, options, *batch);
  return std::make_unique<OneAtATime>(model, options);
}

LearnerOptions learner_options(const Dataset& dataset, const TrainingOptions& options,
                               const std::optional<BatchOptions>& batch) {
  const std::size_t rows = dataset.split().train.size();
  if (batch && batch->size > rows) {
    throw InvalidArgument(fmt::format("a batch of {} samples, but there are {} to learn from", batch->size, rows));
  }
  const std::size_t together = batch ? std::max<std::size_t>(batch->size, 1) : 1;
  const std::uint64_t steps = options.epochs * ((rows + together - 1) / together);
  return {.loss = dataset.loss(),
          .optimizer = options.optimizer,
          .schedule = run_schedule(options.schedule, options.rate, steps),
          .l2 = options.l2,
          .batch = batch};
}

// The spec that leads to such a run, with what was found out in place of what was left open.
RunSpec spec_of(const Dataset& dataset, const TrainingOptions& options) {
  RunSpec spec;
  spec.dataset = dataset.options();
  spec.dataset.loss = dataset.loss();
  spec.model = options.model;
  spec.epochs = options.epochs;
  spec.patience = options.patience;
  spec.batch = options.batch.value_or(spec.batch);
  spec.training = options;
  spec.method = {
      .rule = options.optimizer.rule, .transform = options.optimizer.transform, .rate = format_number(options.rate)};
  return spec;
}

constexpr const char* option_prefix = "run.option.";

Settings saved_keys(const Checkpoint& checkpoint) {
  std::map<std::string, std::string> saved;
  for (const RunKey& key : run_keys()) {
    const std::string entry = option_prefix + key.name;
    if (checkpoint.has(entry)) saved[key.name] = checkpoint.text(entry);
  }
  return Settings(std::move(saved));
}

bool has_all_keys(const Checkpoint& checkpoint) { return checkpoint.has(option_prefix + std::string("lr")); }

void check_version(const Checkpoint& checkpoint) {
  if (has_all_keys(checkpoint)) return;
  throw FileError(fmt::format("the saved run was begun by {}, and this is a later version; begin again",
                              checkpoint.has("run.epoch") ? "an early version of ignd 0.2" : "ignd 0.1"));
}

std::unique_ptr<Model<float>> initial_model(const Dataset& dataset, const TrainingOptions& options) {
  auto model = make_model<float>(dataset.model_spec(options.model), options.seed);
  if (options.start) {
    if (options.start->size() != model->parameters().size()) {
      throw InvalidArgument(fmt::format("the model to start from has {} weights, but {} has {}", options.start->size(),
                                        options.model, model->parameters().size()));
    }
    std::ranges::copy(*options.start, model->parameters().begin());
  }
  if (options.initial_factor == 1) return model;
  for (float& w : model->parameters()) w *= static_cast<float>(options.initial_factor);
  return model;
}

void set_number(Checkpoint& checkpoint, const std::string& name, double value) {
  checkpoint.set(name, std::span<const double>(&value, 1));
}

double number_in(const Checkpoint& checkpoint, const std::string& name) { return checkpoint.array<double>(name, 1)[0]; }

std::optional<Scores> evaluate_unless(const std::atomic<bool>& stop, const Dataset& dataset, const Model<float>& model,
                                      std::span<const std::uint32_t> rows) {
  ModelOutputs outputs_of(model);
  try {
    return evaluate(dataset, rows, [&](const Input<float>& x, std::span<double> outputs) {
      if (stop.load(std::memory_order_relaxed)) throw Stopped();
      outputs_of(x, outputs);
    });
  } catch (const Stopped&) {
    return std::nullopt;
  }
}

RunStatus status_of(const std::string& name) {
  const auto status = parse_run_status(name);
  if (!status) throw FileError(fmt::format("the run has an unknown status {}", in_quotes(name)));
  return *status;
}

}  // namespace

std::string describe(const BatchOptions& batch) {
  std::string text = fmt::format("{} {}", batch.size, to_string(batch.mode));
  if (batch.mode == BatchMode::exact) text += " lambda " + format_number(batch.lambda);
  return text + (batch.adaptive ? " adaptive" : "");
}

double rate_of_saved(const Checkpoint& checkpoint) {
  check_version(checkpoint);
  const Settings keys = saved_keys(checkpoint);
  try {
    if (const auto rate = rate_of({.rate = keys.word("lr")})) return *rate;
    throw InvalidArgument("its learning rate is not known");
  } catch (const InvalidArgument& fault) {
    throw FileError(fault.what());
  }
}

std::string batch_of_saved(const Checkpoint& checkpoint) {
  const std::string entry = option_prefix + std::string("batch");
  if (!has_all_keys(checkpoint)) return checkpoint.has(entry) ? checkpoint.text(entry) : "";  // of ignd 0.2 or earlier
  RunSpec spec;
  try {
    const Settings keys = saved_keys(checkpoint);
    for (const auto& [name, value] : keys.values()) {
      const auto key = std::ranges::find(run_keys(), name, &RunKey::name);
      key->set(spec, canonical_value(*key, value, name));
    }
  } catch (const InvalidArgument& fault) {
    throw FileError(fault.what());
  }
  return spec.batch.size > 0 ? describe(spec.batch) : "";
}

Schedule run_schedule(const std::string& text, double rate, std::optional<std::uint64_t> steps) {
  const std::size_t colon = text.find(':');
  const std::string name = text.substr(0, colon);
  const std::string options = colon == std::string::npos ? "" : text.substr(colon + 1);
  if (options.find("rate=") != std::string::npos) {
    throw InvalidArgument(fmt::format("the schedule {} has a rate of its own; give the rate as such", in_quotes(text)));
  }
  if (!name.empty() && std::string_view("0123456789.+-").find(name[0]) != std::string_view::npos) {
    throw InvalidArgument(fmt::format("there is no schedule {}; give the rate as such", in_quotes(text)));
  }
  std::string spec = fmt::format("{}:rate={}", name, rate);
  if (steps && name == "cosine" && options.find("steps=") == std::string::npos) {
    spec += fmt::format(",steps={}", std::max<std::uint64_t>(*steps, 1));
  }
  if (colon != std::string::npos) spec += "," + options;
  return Schedule::parse(spec);
}

void check_run(const Dataset& dataset, const TrainingOptions& options) {
  const auto model = make_model<float>(dataset.model_spec(options.model), options.seed);
  const auto batch = batch_of(*model, options.batch);
  make_learner(*model, learner_options(dataset, options, batch));
  // A step divides by the weight of its batch.
  if (batch && batch->size == 1 && dataset.is_weighted()) {
    throw InvalidArgument(
        "weights of samples and classes have no effect on more than two classes learned one sample at a time; learn in "
        "batches, of 32 for example");
  }
}

Run::Run(const Dataset& dataset, TrainingOptions options)
    : dataset_(dataset),
      options_(std::move(options)),
      model_(initial_model(dataset, options_)),
      batch_(batch_of(*model_, options_.batch)),
      learner_(make_learner(*model_, learner_options(dataset, options_, batch_))),
      at_a_time_(batch_ ? batch_->size : dataset.samples_at_a_time()),
      scratch_(at_a_time_ * dataset.scratch_size()) {
  const auto& judges = dataset.split().validation.empty() ? dataset.split().train : dataset.split().validation;
  const auto zero = [](const Input<float>&, std::span<double> outputs) { std::ranges::fill(outputs, 0.0); };
  // Scaled targets cost about 1 where zero is predicted, and others about what the untrained network costs. The rows
  // may be few, and zero right by chance.
  constexpr double divergence = 1000;
  largest_loss_ = divergence * (evaluate(dataset, judges, OutputsOf(zero)).loss + 1);
  keep(*model_);
  if (options_.epochs == 0) status_ = RunStatus::finished;
  start_epoch();
}

Run::~Run() = default;

void Run::start_epoch() {
  position_ = 0;
  epoch_loss_ = epoch_weight_ = 0;
  order_ = dataset_.split().train;
  RandomStream(options_.seed, fmt::format("order of epoch {}", epoch_)).shuffle(order_);
}

void Run::learn_some(std::uint64_t most) {
  const std::size_t width = dataset_.scratch_size();
  const std::size_t limit = batch_ ? at_a_time_ : std::min<std::uint64_t>(at_a_time_, most);
  const std::size_t count = std::min<std::uint64_t>(limit, order_.size() - position_);
  samples_.clear();
  for (std::size_t i = 0; i < count; ++i) {
    samples_.push_back(dataset_.sample(order_[position_ + i], std::span(scratch_).subspan(i * width, width)));
  }
  if (!options_.is_trial) {
    learn_samples();
    return;
  }
  try {
    learn_samples();
  } catch (const InvalidArgument&) {
    status_ = RunStatus::diverged;
  } catch (const SingularSystem&) {
    status_ = RunStatus::diverged;
  }
}

void Run::learn_samples() {
  const auto start = std::chrono::steady_clock::now();
  const Learner::Learned learned = learner_->learn(samples_);
  learning_seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  epoch_loss_ += learned.loss;
  for (const Sample<float>& sample : samples_) epoch_weight_ += sample.weight;
  position_ += learned.samples;
  if (learner_->status() != StepStatus::learned) status_ = RunStatus::diverged;
}

void Run::keep(const Model<float>& now) {
  best_weights_.assign(now.parameters().begin(), now.parameters().end());
  best_epoch_ = epoch_;
}

std::optional<EpochReport> Run::finish_epoch(const std::atomic<bool>& stop) {
  EpochReport report{.epoch = epoch_ + 1, .training_loss = epoch_loss_ / epoch_weight_, .validation = {}};
  const auto now = learner_->snapshot();
  double loss = report.training_loss;
  if (!dataset_.split().validation.empty()) {
    const auto scores = evaluate_unless(stop, dataset_, *now, dataset_.split().validation);
    if (!scores) return std::nullopt;
    report.validation = *scores;
    loss = report.validation.loss;
  }
  ++epoch_;
  position_ = 0;
  if (!(loss <= largest_loss_)) {
    status_ = RunStatus::diverged;
    return report;
  }
  report.best = !keeps_best() || loss < best_loss_;
  if (report.best) {
    best_loss_ = loss;
    keep(*now);
    // One row says nothing about whether all are predicted alike.
    kept_collapsed_ = dataset_.split().validation.size() > 1 && is_collapsed(dataset_, report.validation);
  }
  const bool early = keeps_best() && epoch_ - best_epoch_ >= options_.patience;
  const bool over = epoch_ >= options_.epochs || early;
  if (options_.is_trial && kept_collapsed_ && (over || !keeps_best())) {
    status_ = RunStatus::collapsed;
  } else if (over) {
    status_ = epoch_ >= options_.epochs ? RunStatus::finished : RunStatus::stopped_early;
  } else {
    start_epoch();
  }
  return report;
}

std::optional<EpochReport> Run::learn_epoch(const std::atomic<bool>& stop, const std::function<void()>& progress,
                                            std::uint64_t most) {
  while (status_ == RunStatus::running && position_ < order_.size()) {
    if (stop.load(std::memory_order_relaxed) || learned() >= most) return std::nullopt;
    learn_some(most - learned());
    progress();
  }
  if (status_ != RunStatus::running) return std::nullopt;
  return finish_epoch(stop);
}

void Run::watch_steps(StepObserver& observer) { learner_->watch(observer); }

std::unique_ptr<Model<float>> Run::last() const { return learner_->snapshot(); }

std::unique_ptr<Model<float>> Run::kept() const {
  auto model = model_->clone();
  std::ranges::copy(best_weights_, model->parameters().begin());
  return model;
}

std::optional<Scores> Run::measure(Iterate iterate, std::span<const std::uint32_t> rows,
                                   const std::atomic<bool>& stop) const {
  return evaluate_unless(stop, dataset_, iterate == Iterate::last ? *last() : *kept(), rows);
}

std::optional<std::vector<double>> Run::outputs(std::span<const std::uint32_t> rows,
                                                const std::atomic<bool>& stop) const {
  try {
    return outputs_on(dataset_, rows, *kept(), &stop);
  } catch (const Stopped&) {
    return std::nullopt;
  }
}

void Run::save(Checkpoint& checkpoint) const {
  dataset_.save_reader(checkpoint);
  save_trained_model(checkpoint, dataset_.target(), dataset_.loss(), *kept());
  learner_->save(checkpoint);
  const Settings keys = determining_keys(spec_of(dataset_, options_));
  for (const auto& [name, value] : keys.values()) checkpoint.set(option_prefix + name, value);
  checkpoint.set("run.data", dataset_.fingerprint());
  checkpoint.set("run.status", std::string(to_string(status_)));
  checkpoint.set("run.epoch", epoch_);
  checkpoint.set("run.position", position_);
  checkpoint.set("run.kept-epoch", best_epoch_);
  checkpoint.set("run.kept-collapsed", std::uint64_t{kept_collapsed_});
  set_number(checkpoint, "run.epoch-loss", epoch_loss_);
  set_number(checkpoint, "run.epoch-weight", epoch_weight_);
  set_number(checkpoint, "run.best-loss", best_loss_);
}

void Run::check_same_run(const Checkpoint& checkpoint) const {
  check_version(checkpoint);
  const auto found = differences(saved_keys(checkpoint), determining_keys(spec_of(dataset_, options_)));
  if (!found.empty()) throw FileError("the saved run had other options: " + list_faults(found));
  if (checkpoint.number("run.data") != dataset_.fingerprint()) {
    throw FileError("the saved run had other data than this");
  }
  // A run of an earlier version may have scaled its inputs in another way.
  Checkpoint here;
  dataset_.save_reader(here);
  for (const auto& [name, value] : here.entries()) {
    const auto there = checkpoint.entries().find(name);
    if (there == checkpoint.entries().end() || there->second == value) continue;
    throw FileError("the saved run made other inputs of the data than this version does; begin again");
  }
}

void Run::restore(const Checkpoint& checkpoint) {
  check_same_run(checkpoint);
  const RunModel::Parts kept = RunModel::Parts::load(checkpoint);
  const RunStatus status = status_of(checkpoint.text("run.status"));
  const std::uint64_t position = checkpoint.number("run.position");
  const double epoch_loss = number_in(checkpoint, "run.epoch-loss");
  const double epoch_weight = number_in(checkpoint, "run.epoch-weight");
  const double best_loss = number_in(checkpoint, "run.best-loss");
  const std::uint64_t epoch = checkpoint.number("run.epoch");
  const std::uint64_t best_epoch = checkpoint.number("run.kept-epoch");
  const bool collapsed = checkpoint.number("run.kept-collapsed") != 0;
  if (kept.model->spec() != checkpoint.text("model")) throw FileError("the saved run has two different models");
  if (position > order_.size()) throw FileError("the saved run is further in its epoch than there are rows");
  learner_->restore(checkpoint);
  epoch_ = epoch;
  start_epoch();
  position_ = position;
  best_epoch_ = best_epoch;
  kept_collapsed_ = collapsed;
  epoch_loss_ = epoch_loss;
  epoch_weight_ = epoch_weight;
  best_loss_ = best_loss;
  best_weights_.assign(kept.model->parameters().begin(), kept.model->parameters().end());
  status_ = status;
}

}  // namespace ignd
