#include "learn/run.hpp"

#include "base/text.hpp"
#include "ignd/checkpoint.hpp"
#include "ignd/error.hpp"
#include "ignd/random.hpp"
#include "learn/model_outputs.hpp"
#include "learn/trained_model.hpp"

#include <algorithm>
#include <stdexcept>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace ignd {
namespace {

// So many at a time, fewer if they are large: between them a run can be stopped. Texts, which need no room, take long.
constexpr std::size_t most_at_a_time = 64;
std::size_t samples_at_a_time(std::size_t room) {
  if (room == 0) return 1;
  constexpr std::size_t most_numbers = std::size_t{1} << 16;
  return std::clamp<std::size_t>(most_numbers / room, 1, most_at_a_time);
}

std::size_t checked_size(const BatchOptions& batch, std::size_t rows) {
  if (batch.size <= rows) return batch.size;
  throw InvalidArgument(fmt::format("a batch of {} samples, but there are {} to learn from", batch.size, rows));
}

// The options a run depends on, as the user writes them, besides those that the trainer compares itself.
std::vector<std::pair<std::string, std::string>> describe(const Dataset& task, const RunOptions& run) {
  auto options = task.options_used();
  options.insert(options.end(), {{"seed", std::to_string(run.seed)},
                                 {"epochs", std::to_string(run.epochs)},
                                 {"patience", std::to_string(run.patience)},
                                 {"last", run.keep_last ? "yes" : "no"},
                                 {"batch", run.batch ? describe(*run.batch) : ""}});
  return options;
}

std::string option_entry(const std::string& name) { return "run.option." + name; }

struct Stopped : std::runtime_error {
  Stopped() : std::runtime_error("the run was stopped") {}
};

TrainingStatus status_of(const std::string& name) {
  for (const TrainingStatus known :
       {TrainingStatus::running, TrainingStatus::finished, TrainingStatus::stopped_early, TrainingStatus::diverged}) {
    if (name == to_string(known)) return known;
  }
  throw FileError(fmt::format("the run has an unknown status {}", in_quotes(name)));
}

}  // namespace

Schedule run_schedule(const std::string& text, double rate, std::uint64_t steps) {
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
  if (name == "cosine" && options.find("steps=") == std::string::npos) {
    spec += fmt::format(",steps={}", std::max<std::uint64_t>(steps, 1));
  }
  if (colon != std::string::npos) spec += "," + options;
  return Schedule::parse(spec);
}

const char* to_string(TrainingStatus status) {
  switch (status) {
    case TrainingStatus::running:
      return "running";
    case TrainingStatus::finished:
      return "finished";
    case TrainingStatus::stopped_early:
      return "stopped early";
    case TrainingStatus::diverged:
      return "diverged";
  }
  return "unknown";
}

std::optional<Scores> evaluate_unless(const std::atomic<bool>& stop, const Dataset& task, const Model<float>& model,
                                      std::span<const std::uint32_t> rows) {
  ModelOutputs outputs_of(model);
  try {
    return evaluate(task, rows, [&](const Input<float>& x, std::span<double> outputs) {
      if (stop.load(std::memory_order_relaxed)) throw Stopped();
      outputs_of(x, outputs);
    });
  } catch (const Stopped&) {
    return std::nullopt;
  }
}

Run::Run(const Dataset& task, RunOptions options)
    : task_(task),
      options_(std::move(options)),
      model_(make_model<float>(task.model_spec(options_.model), options_.seed)),
      batch_(batch_of(*model_, options_.batch)),
      at_a_time_(batch_ ? checked_size(*batch_, task.split().train.size()) : samples_at_a_time(task.room())),
      room_(at_a_time_ * task.room()) {
  const std::size_t rows = task.split().train.size(), together = batch_ ? std::max<std::size_t>(batch_->size, 1) : 1;
  const std::uint64_t steps = options_.epochs * ((rows + together - 1) / together);
  learner_ = make_learner(*model_, {.loss = task.loss(),
                                    .optimizer = options_.optimizer,
                                    .schedule = run_schedule(options_.schedule, options_.rate, steps),
                                    .l2 = options_.l2,
                                    .batch = batch_});
  const auto& judged = task.split().validation.empty() ? task.split().train : task.split().validation;
  const double constant_loss = evaluate(task, judged, [](const Input<float>&, std::span<double> outputs) {
                                 std::ranges::fill(outputs, 0.0);
                               }).loss;
  // Targets are scaled, so that a constant costs about 1; the rows may be few, and fit the constant by chance.
  constexpr double divergence = 1000;
  largest_loss_ = divergence * (constant_loss + 1);
  keep(*model_);
  if (options_.epochs == 0) status_ = TrainingStatus::finished;
  start_epoch();
}

void Run::start_epoch() {
  position_ = 0;
  epoch_loss_ = epoch_weight_ = 0;
  order_ = task_.split().train;
  RandomStream(options_.seed, fmt::format("order of epoch {}", epoch_)).shuffle(order_);
}

void Run::learn_some(std::uint64_t most) {
  const std::size_t width = task_.room();
  const std::size_t limit = batch_ ? at_a_time_ : std::min<std::uint64_t>(at_a_time_, most);
  const std::size_t count = std::min<std::uint64_t>(limit, order_.size() - position_);
  samples_.clear();
  for (std::size_t i = 0; i < count; ++i) {
    samples_.push_back(task_.sample(order_[position_ + i], std::span(room_).subspan(i * width, width)));
  }
  const Learner::Learned learned = learner_->learn(samples_);
  epoch_loss_ += learned.loss;
  for (const Sample<float>& sample : samples_) epoch_weight_ += sample.weight;
  position_ += learned.samples;
  if (learner_->status() != StepStatus::learned) status_ = TrainingStatus::diverged;
}

void Run::keep(const Model<float>& now) {
  best_weights_.assign(now.parameters().begin(), now.parameters().end());
  best_epoch_ = epoch_;
}

std::optional<EpochReport> Run::finish_epoch(const std::atomic<bool>& stop) {
  EpochReport report{.epoch = epoch_ + 1, .training_loss = epoch_loss_ / epoch_weight_, .validation = {}};
  const auto now = learner_->snapshot();
  double loss = report.training_loss;
  if (!task_.split().validation.empty()) {
    const auto quality = evaluate_unless(stop, task_, *now, task_.split().validation);
    if (!quality) return std::nullopt;
    report.validation = *quality;
    loss = report.validation.loss;
  }
  ++epoch_;
  position_ = 0;
  if (!(loss <= largest_loss_)) {
    status_ = TrainingStatus::diverged;
    return report;
  }
  report.best = !keeps_best() || loss < best_loss_;
  if (report.best) {
    best_loss_ = loss;
    keep(*now);
  }
  if (epoch_ >= options_.epochs) {
    status_ = TrainingStatus::finished;
  } else if (keeps_best() && epoch_ - best_epoch_ >= options_.patience) {
    status_ = TrainingStatus::stopped_early;
  } else {
    start_epoch();
  }
  return report;
}

std::optional<EpochReport> Run::learn_epoch(const std::atomic<bool>& stop, const std::function<void()>& progress,
                                            std::uint64_t most) {
  while (status_ == TrainingStatus::running && position_ < order_.size()) {
    if (stop.load(std::memory_order_relaxed) || learned() >= most) return std::nullopt;
    learn_some(most - learned());
    progress();
  }
  if (status_ != TrainingStatus::running) return std::nullopt;
  return finish_epoch(stop);
}

std::unique_ptr<Model<float>> Run::kept() const {
  auto model = model_->clone();
  std::ranges::copy(best_weights_, model->parameters().begin());
  return model;
}

void Run::save(Checkpoint& checkpoint) const {
  task_.save_reader(checkpoint);
  save_trained_model(checkpoint, task_.target(), task_.loss(), *kept());
  learner_->save(checkpoint);
  for (const auto& [name, value] : describe(task_, options_)) checkpoint.set(option_entry(name), value);
  checkpoint.set("run.data", task_.fingerprint());
  checkpoint.set("run.status", std::string(to_string(status_)));
  const std::uint64_t counts[] = {epoch_, position_, best_epoch_};
  checkpoint.set("run.counts", std::span<const std::uint64_t>(counts));
  const double sums[] = {epoch_loss_, epoch_weight_, best_loss_};
  checkpoint.set("run.sums", std::span<const double>(sums));
}

void Run::check_same_run(const Checkpoint& checkpoint) const {
  std::vector<std::string> differences;
  for (const auto& [name, here] : describe(task_, options_)) {
    const std::string there = checkpoint.has(option_entry(name)) ? checkpoint.text(option_entry(name)) : "";
    if (there != here)
      differences.push_back(fmt::format("its {} is {}, not {}", name, in_quotes(there), in_quotes(here)));
  }
  if (!differences.empty()) throw FileError("the saved run had other options: " + list_faults(differences));
  if (checkpoint.number("run.data") != task_.fingerprint()) {
    throw FileError("the saved run had other data than this");
  }
  // A run of an earlier version may have scaled its inputs in another way.
  Checkpoint here;
  task_.save_reader(here);
  for (const auto& [name, value] : here.entries()) {
    const auto there = checkpoint.entries().find(name);
    if (there == checkpoint.entries().end() || there->second == value) continue;
    throw FileError("the saved run made other inputs of the data than this version does; begin again");
  }
}

void Run::restore(const Checkpoint& checkpoint) {
  check_same_run(checkpoint);
  const TrainedModel kept = TrainedModel::load(checkpoint);
  const TrainingStatus status = status_of(checkpoint.text("run.status"));
  const auto& counts = checkpoint.array<std::uint64_t>("run.counts", 3);
  const auto& sums = checkpoint.array<double>("run.sums", 3);
  if (kept.model->spec() != checkpoint.text("model")) throw FileError("the saved run has two different models");
  if (counts[1] > order_.size()) throw FileError("the saved run is further in its epoch than there are rows");
  learner_->restore(checkpoint);
  epoch_ = counts[0];
  start_epoch();
  position_ = counts[1];
  best_epoch_ = counts[2];
  epoch_loss_ = sums[0];
  epoch_weight_ = sums[1];
  best_loss_ = sums[2];
  best_weights_.assign(kept.model->parameters().begin(), kept.model->parameters().end());
  status_ = status;
}

}  // namespace ignd
