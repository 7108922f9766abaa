#include "ignd/trainer.hpp"

#include "base/text.hpp"
#include "core/importance.hpp"
#include "core/preconditioner.hpp"
#include "core/running_mean.hpp"
#include "core/saved_run.hpp"
#include "core/updater.hpp"
#include "ignd/checkpoint.hpp"
#include "ignd/error.hpp"
#include "ignd/loss_check.hpp"
#include "ignd/samples.hpp"
#include "kernels/flush_to_zero.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

namespace ignd {
namespace {

// How many samples ahead to prefetch: a step takes longer than a cache line takes to arrive from memory.
constexpr std::size_t fetch_ahead = 2;

// One test for all of them: x - x is zero for a finite number and NaN for any other.
template <class... Numbers>
bool all_finite(Numbers... numbers) {
  return (... + (numbers - numbers)) == 0;
}

template <class T>
auto input_blocks(const Sensitivity<T>& j) {
  return std::count_if(j.begin(), j.end(), [](const auto& any) {
    return std::visit([](const auto& block) { return block.on_input; }, any);
  });
}

[[noreturn]] void refuse_curvature(const Loss& loss, double curvature, double y, double f) {
  throw NonConvexLoss(
      fmt::format("the loss '{}' has second derivative {} at target {} and output {}; "
                  "Gauss-Newton needs a loss that is convex in the output",
                  loss.spec(), curvature, y, f));
}

[[noreturn]] void refuse_shrinking(std::uint64_t step, double rate, double l2) {
  throw InvalidArgument(
      fmt::format("at step {} the rate {} and l2 {} would shrink all weights to zero or past it; lower one of them",
                  step, rate, l2));
}

constexpr EnumName<StepStatus> status_names[]{{StepStatus::learned, "learned"},
                                              {StepStatus::zero_weight, "zero weight"},
                                              {StepStatus::output_not_finite, "output not finite"},
                                              {StepStatus::loss_not_finite, "loss not finite"},
                                              {StepStatus::sensitivity_not_finite, "sensitivity not finite"},
                                              {StepStatus::coefficient_not_finite, "coefficient not finite"}};

constexpr EnumName<PreconditionerKind> preconditioner_names[]{
    {PreconditionerKind::identity, "identity"},
    {PreconditionerKind::second_moment, "second-moment"},
    {PreconditionerKind::fading_second_moment, "fading-second-moment"}};

}  // namespace

const char* to_string(StepStatus status) { return name_in(status_names, status); }

const char* to_string(PreconditionerKind preconditioner) { return name_in(preconditioner_names, preconditioner); }

std::optional<PreconditionerKind> parse_preconditioner(std::string_view name) {
  return value_in(preconditioner_names, name);
}

std::string to_string(const StepInfo& info) {
  return fmt::format("step {} f {:.6g} loss {:.6g} l_f {:.6g} l_ff {:.6g} s {:.6g} c {:.6g} rate {:.6g} h {:.6g} {}",
                     info.step, info.prediction, info.loss.value, info.loss.d1, info.loss.d2, info.sensitivity,
                     info.coefficient, info.rate, info.h, to_string(info.status));
}

template <class T>
Trainer<T>::Trainer(Model<T>& model, TrainerOptions options)
    : model_(model), options_(std::move(options)), trace_(model) {
  std::vector<std::string> faults;
  if (options_.loss == nullptr) faults.emplace_back("there is no loss");
  check_not_negative(faults, "l2", options_.l2);
  if (options_.preconditioner != PreconditionerKind::identity && input_blocks(trace_.j) != 1) {
    faults.push_back(
        fmt::format("a preconditioner needs a model with one block of weights that multiply the inputs; '{}' has none",
                    model.spec()));
  }
  if (options_.preconditioner == PreconditionerKind::fading_second_moment && options_.l2 > 0) {
    faults.emplace_back(
        "l2 with the fading preconditioner: the steps get smaller, but the l2 part would not; use second_moment");
  }
  rule_ = collect_fault(faults, [&] { return make_step_rule(options_.optimizer.rule); });
  if (rule_ != nullptr && options_.l2 > 0 && !rule_->allows_l2()) {
    faults.push_back(fmt::format("l2 with the rule '{}', which scales by the size of the sample's own gradient alone",
                                 rule_->spec()));
  }
  const auto transform = collect_fault(faults, [&] { return make_transform<T>(options_.optimizer.transform); });
  const typename Updater<T>::Options update{transform, options_.schedule, model.row_tables(), options_.l2,
                                            options_.average_from};
  if (transform != nullptr) {
    for (auto& fault : Updater<T>::faults(update)) faults.push_back(std::move(fault));
  }
  if (!faults.empty()) throw InvalidArgument(list_faults(faults));

  give_advice(loss_advice(*options_.loss, *rule_));
  uses_minimum_ = rule_->uses_minimum();
  curvature_floor_ = options_.loss->curvature_floor();
  if (rule_->memory() > 0) usual_curvature_ = std::make_unique<RunningMean>(rule_->memory());
  updater_ = std::make_unique<Updater<T>>(update, model.parameters().size());
  updater_->mark_waiting(trace_.j);
  if (options_.preconditioner != PreconditionerKind::identity) {
    preconditioner_ = std::make_unique<Preconditioner<T>>(options_.preconditioner, trace_.j, update.tables);
  }
}

template <class T>
Trainer<T>::~Trainer() = default;
template <class T>
Trainer<T>::Trainer(Trainer&&) noexcept = default;

template <class T>
void Trainer<T>::check(const Sample<T>& sample) const {
  model_.check(sample.x);
  options_.loss->check_target(sample.y);
  if (!(sample.weight >= 0 && sample.weight <= largest_weight)) refuse_weight(sample.weight);
}

// Called only after a failed step: one input that is not finite is enough to fail it.
template <class T>
void Trainer<T>::check_values(const Sample<T>& sample) {
  const auto& values = sample.x.values;
  const auto bad = std::find_if(values.begin(), values.end(), [](T x) { return !std::isfinite(x); });
  if (bad == values.end()) return;
  throw BadSample(fmt::format("value {} of the sample is {}; the inputs must be finite", bad - values.begin(), *bad));
}

template <class T>
StepInfo Trainer<T>::step(const Sample<T>& sample) {
  [[maybe_unused]] const kernels::FlushToZero flush;
  StepInfo info;
  step_without_denormals(sample, info);
  return info;
}

template <class T>
void Trainer<T>::step_without_denormals(const Sample<T>& sample, StepInfo& info) {
  info = {};
  info.step = steps_;
  info.rate = options_.schedule.rate(steps_ + 1);
  info.status = status_;
  if (status_ != StepStatus::learned) return;
  check(sample);
  try {
    info.status = predict_and_descend(sample, info);
  } catch (...) {
    if (preconditioner_) preconditioner_->rollback(model_.parameters());
    throw;
  }
  if (info.status == StepStatus::learned) return;
  if (preconditioner_) preconditioner_->rollback(model_.parameters());
  if (info.status == StepStatus::zero_weight) return;
  check_values(sample);
  status_ = info.status;
}

template <class T>
StepStatus Trainer<T>::predict_and_descend(const Sample<T>& sample, StepInfo& info) {
  updater_->begin(model_.parameters(), steps_);
  trace_.reader = updater_->waits() ? updater_.get() : nullptr;
  info.prediction = model_.forward(sample.x, trace_);
  if (preconditioner_ && preconditioner_->rescale_for(trace_.j, model_.parameters())) {
    updater_->begin(model_.parameters(), steps_);
    info.prediction = model_.forward(sample.x, trace_);
  }
  if (!std::isfinite(info.prediction)) return StepStatus::output_not_finite;

  const Loss& loss = *options_.loss;
  StepInput input{.loss = loss.at(sample.y, info.prediction),
                  .minimum = uses_minimum_ ? loss.minimum(sample.y) : 0,
                  .curvature_floor = curvature_floor_,
                  .l2 = options_.l2};
  // Field by field: a wide load of fields that were just stored would stall until they reach the cache.
  info.loss = {input.loss.value, input.loss.d1, input.loss.d2};
  return descend(sample, input, info);
}

template <class T>
StepStatus Trainer<T>::descend(const Sample<T>& sample, StepInput& input, StepInfo& info) {
  const Loss& loss = *options_.loss;
  if (!all_finite(input.loss.value, input.loss.d1, input.loss.d2)) return StepStatus::loss_not_finite;
  if (input.loss.d2 < 0) refuse_curvature(loss, input.loss.d2, sample.y, info.prediction);
  if (sample.weight == 0) return StepStatus::zero_weight;

  model_.sensitivity(sample.x, trace_);
  const Sensitivity<T>& direction = preconditioner_ ? preconditioner_->direction(trace_.j) : trace_.j;
  const bool known = !preconditioner_ && trace_.squared_norm >= 0;
  info.sensitivity = input.s = known ? trace_.squared_norm : inner_product(trace_.j, direction);
  if (!std::isfinite(input.s)) return StepStatus::sensitivity_not_finite;
  if (usual_curvature_) usual_curvature_->begin();

  const WeightedStep step =
      weighted_step(loss, *rule_, sample.y, info.prediction, input, info.rate, sample.weight, usual_curvature_.get());
  info.coefficient = step.coefficient;
  if (!all_finite(static_cast<T>(step.coefficient), static_cast<T>(step.decay), static_cast<T>(info.rate),
                  static_cast<T>(info.rate * step.coefficient))) {
    return StepStatus::coefficient_not_finite;
  }
  const std::uint64_t t = steps_ + 1;
  if (info.rate * step.decay >= 1) refuse_shrinking(t, info.rate, options_.l2);

  if (preconditioner_) preconditioner_->observe(trace_.j);
  if (usual_curvature_) usual_curvature_->commit();
  info.h = updater_->finish(trace_.j, direction,
                            {.t = t, .alpha = info.rate, .c = step.coefficient, .decay = step.decay, .s = input.s});
  info.step = steps_ = t;
  return StepStatus::learned;
}

template <class T>
std::unique_ptr<Model<T>> Trainer<T>::snapshot(Iterate which) const {
  return current_model(model_, *updater_, steps_, options_.average_from, which);
}

template <class T>
void Trainer<T>::describe(Checkpoint& checkpoint) const {
  describe_run<T>({model_.spec(), options_.loss->spec(), rule_->spec(), updater_->transform().spec(), options_.schedule,
                   options_.l2, options_.preconditioner, options_.average_from},
                  checkpoint);
}

template <class T>
void Trainer<T>::save(Checkpoint& checkpoint) const {
  describe(checkpoint);
  save_state(model_, *updater_, preconditioner_.get(), steps_, status_, checkpoint);
  if (usual_curvature_) usual_curvature_->save(checkpoint, usual_curvature_name);
}

template <class T>
void Trainer<T>::restore(const Checkpoint& checkpoint) {
  Checkpoint own;
  describe(own);
  check_same_run(own, checkpoint);
  if (checkpoint.has("batch")) throw FileError("the checkpoint belongs to another run: one in batches");
  auto usual = usual_curvature_ ? std::make_unique<RunningMean>(*usual_curvature_) : nullptr;
  if (usual) usual->restore(checkpoint, usual_curvature_name);
  restore_state(checkpoint, model_, updater_, preconditioner_, steps_, status_);
  usual_curvature_ = std::move(usual);
}

template <class T>
StepInfo learn(Trainer<T>& trainer, const Samples<T>& samples, std::span<const std::uint32_t> order) {
  [[maybe_unused]] const kernels::FlushToZero flush;
  StepInfo last;
  for (std::size_t k = 0; k < order.size(); ++k) {
    if (order[k] >= samples.size()) {
      throw InvalidArgument(fmt::format("the order names sample {}, but there are {}", order[k], samples.size()));
    }
    if (k + fetch_ahead < order.size()) samples.prefetch(order[k + fetch_ahead]);
    trainer.step_without_denormals(samples[order[k]], last);
    if (trainer.status() != StepStatus::learned) break;
  }
  return last;
}

template <class T>
StepInfo learn(Trainer<T>& trainer, std::span<const Sample<T>> samples, std::span<StepInfo> steps) {
  [[maybe_unused]] const kernels::FlushToZero flush;
  StepInfo last;
  for (std::size_t k = 0; k < samples.size(); ++k) {
    trainer.step_without_denormals(samples[k], last);
    if (!steps.empty()) steps[k] = last;
    if (trainer.status() != StepStatus::learned) break;
  }
  return last;
}

template class Trainer<float>;
template class Trainer<double>;
template StepInfo learn(Trainer<float>&, std::span<const Sample<float>>, std::span<StepInfo>);
template StepInfo learn(Trainer<double>&, std::span<const Sample<double>>, std::span<StepInfo>);
template StepInfo learn(Trainer<float>&, const Samples<float>&, std::span<const std::uint32_t>);
template StepInfo learn(Trainer<double>&, const Samples<double>&, std::span<const std::uint32_t>);

}  // namespace ignd
