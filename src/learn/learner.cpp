#include "learn/learner.hpp"

#include "base/text.hpp"

#include <utility>
#include <vector>

#include <fmt/format.h>

namespace ignd {
namespace {

class OneAtATime final : public Learner {
 public:
  OneAtATime(Model<float>& model, const LearnerOptions& options)
      : trainer_(model, {.loss = make_loss(options.loss),
                         .optimizer = options.optimizer,
                         .schedule = options.schedule,
                         .l2 = options.l2}) {}

  Learned learn(std::span<const Sample<float>> samples) override {
    infos_.resize(samples.size());
    ignd::learn<float>(trainer_, samples, infos_);
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
  void restore(const Checkpoint& checkpoint) override { trainer_.restore(checkpoint); }

 private:
  Trainer<float> trainer_;
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

}  // namespace

std::string describe(const BatchOptions& batch) {
  std::string text = fmt::format("{} {}", batch.size, to_string(batch.mode));
  if (batch.mode == BatchMode::exact) text += " lambda " + format_number(batch.lambda);
  return text + (batch.adaptive ? " adaptive" : "");
}

std::optional<BatchOptions> batch_of(const Model<float>& model, const std::optional<BatchOptions>& asked) {
  if (asked || model.outputs() == 1) return asked;
  return BatchOptions{.size = 1};
}

std::unique_ptr<Learner> make_learner(Model<float>& model, const LearnerOptions& options) {
  if (const auto batch = batch_of(model, options.batch)) return std::make_unique<InBatches>(model, options, *batch);
  return std::make_unique<OneAtATime>(model, options);
}

}  // namespace ignd
