#include "train/table_run.hpp"

#include "ignd/checkpoint.hpp"
#include "ignd/error.hpp"
#include "ignd/random.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

namespace ignd {
namespace {

constexpr std::size_t samples_at_a_time = 64;
constexpr double divergence = 1000;  // times the loss of the best constant

// A schedule's name or spec, completed by the rate and the length of the run.
Schedule make_schedule(const RunOptions& options, std::uint64_t steps) {
  const std::string& text = options.schedule;
  const std::size_t colon = text.find(':');
  std::string spec = fmt::format("{}:rate={}", text.substr(0, colon), options.rate);
  if (text.starts_with("cosine") && text.find("steps=") == std::string::npos) {
    spec += fmt::format(",steps={}", std::max<std::uint64_t>(steps, 1));
  }
  if (colon != std::string::npos) spec += "," + text.substr(colon + 1);
  return Schedule::parse(spec);
}

}  // namespace

const char* to_string(RunStatus status) {
  switch (status) {
    case RunStatus::running:
      return "running";
    case RunStatus::finished:
      return "finished";
    case RunStatus::stopped_early:
      return "stopped early";
    case RunStatus::diverged:
      return "diverged";
  }
  return "unknown";
}

TableRun::TableRun(const TableTask& task, RunOptions options)
    : task_(task),
      options_(std::move(options)),
      model_(make_model<float>(model_spec(options_.model, task.encoder().features()), options_.seed)),
      features_(samples_at_a_time * task.encoder().features()),
      infos_(samples_at_a_time) {
  trainer_ =
      std::make_unique<Trainer<float>>(*model_, TrainerOptions{.loss = make_loss(task.loss()),
                                                               .optimizer = options_.optimizer,
                                                               .schedule = make_schedule(options_, total_steps()),
                                                               .l2 = options_.l2});
  const auto& judged = task.split().validation.empty() ? task.split().train : task.split().validation;
  constant_loss_ = judge(task, judged, [](std::span<const float>) { return 0.0; }).loss;
  keep();
  best_loss_ = std::numeric_limits<double>::infinity();
  if (options_.epochs == 0) status_ = RunStatus::finished;
  start_epoch();
}

void TableRun::start_epoch() {
  position_ = 0;
  epoch_loss_ = epoch_weight_ = 0;
  order_ = task_.split().train;
  Stream(options_.seed, fmt::format("order of epoch {}", epoch_)).shuffle(order_);
}

void TableRun::learn_some() {
  const std::size_t width = task_.encoder().features();
  const std::size_t count = std::min(samples_at_a_time, order_.size() - position_);
  samples_.clear();
  for (std::size_t i = 0; i < count; ++i) {
    samples_.push_back(task_.sample(order_[position_ + i], std::span(features_).subspan(i * width, width)));
  }
  learn<float>(*trainer_, samples_, infos_);
  for (std::size_t i = 0; i < count; ++i) {
    epoch_loss_ += samples_[i].weight * infos_[i].loss.value;
    epoch_weight_ += samples_[i].weight;
  }
  position_ += count;
  if (trainer_->status() != StepStatus::learned) status_ = RunStatus::diverged;
}

void TableRun::keep() {
  const auto now = trainer_->snapshot();
  best_weights_.assign(now->parameters().begin(), now->parameters().end());
  best_epoch_ = epoch_;
}

EpochReport TableRun::finish_epoch() {
  ++epoch_;
  EpochReport report{.epoch = epoch_, .training_loss = epoch_loss_ / epoch_weight_, .validation = {}};
  const auto now = trainer_->snapshot();
  Trace<float> trace(*now);
  const auto output = [&](std::span<const float> x) { return now->predict({x}, trace); };
  if (!task_.split().validation.empty()) report.validation = judge(task_, task_.split().validation, output);
  const double loss = report.validation.loss;
  if (!(loss <= divergence * constant_loss_)) {
    status_ = RunStatus::diverged;
    return report;
  }
  report.best = !keeps_best() || loss < best_loss_;
  if (report.best) {
    best_loss_ = loss;
    best_epoch_ = epoch_;
    best_weights_.assign(now->parameters().begin(), now->parameters().end());
  }
  if (epoch_ >= options_.epochs) {
    status_ = RunStatus::finished;
  } else if (keeps_best() && epoch_ - best_epoch_ >= options_.patience) {
    status_ = RunStatus::stopped_early;
  } else {
    start_epoch();
  }
  return report;
}

std::optional<EpochReport> TableRun::learn_epoch(const std::atomic<bool>& stop, const std::function<void()>& progress) {
  while (status_ == RunStatus::running && position_ < order_.size()) {
    if (stop.load(std::memory_order_relaxed)) return std::nullopt;
    learn_some();
    progress();
  }
  if (status_ != RunStatus::running) return std::nullopt;
  return finish_epoch();
}

TableModel TableRun::kept() const {
  TableModel kept{.encoder = task_.encoder(), .target = task_.target(), .loss = task_.loss(), .model = model_->clone()};
  std::ranges::copy(best_weights_, kept.model->parameters().begin());
  return kept;
}

void TableRun::save(Checkpoint& checkpoint) const {
  kept().save(checkpoint);
  trainer_->save(checkpoint);
  checkpoint.set("run.status", std::string(to_string(status_)));
  const std::uint64_t counts[] = {epoch_, position_, best_epoch_, task_.split().train.size(), task_.table().size()};
  checkpoint.set("run.counts", std::span<const std::uint64_t>(counts));
  const double sums[] = {epoch_loss_, epoch_weight_, best_loss_};
  checkpoint.set("run.sums", std::span<const double>(sums));
}

void TableRun::restore(const Checkpoint& checkpoint) {
  const auto& counts = checkpoint.array<std::uint64_t>("run.counts", 5);
  if (counts[3] != task_.split().train.size() || counts[4] != task_.table().size()) {
    throw FileError(fmt::format("the run was saved with {} rows of which {} are for training; here are {} and {}",
                                counts[4], counts[3], task_.table().size(), task_.split().train.size()));
  }
  const TableModel kept = TableModel::load(checkpoint);
  if (kept.encoder.features() != task_.encoder().features()) {
    throw FileError("the run was saved with other columns than the data has");
  }
  const auto& sums = checkpoint.array<double>("run.sums", 3);
  trainer_->restore(checkpoint);
  epoch_ = counts[0];
  if (status_ == RunStatus::running) start_epoch();
  position_ = counts[1];
  best_epoch_ = counts[2];
  epoch_loss_ = sums[0];
  epoch_weight_ = sums[1];
  best_loss_ = sums[2];
  best_weights_.assign(kept.model->parameters().begin(), kept.model->parameters().end());
  const std::string& status = checkpoint.text("run.status");
  for (const RunStatus known : {RunStatus::finished, RunStatus::stopped_early, RunStatus::diverged}) {
    if (status == to_string(known)) status_ = known;
  }
}

}  // namespace ignd
