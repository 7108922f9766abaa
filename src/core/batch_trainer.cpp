#include "ignd/batch_trainer.hpp"

#include "base/text.hpp"
#include "core/batch_algebra.hpp"
#include "core/damped_system.hpp"
#include "core/importance.hpp"
#include "core/preconditioner.hpp"
#include "core/running_mean.hpp"
#include "core/saved_run.hpp"
#include "core/updater.hpp"
#include "ignd/checkpoint.hpp"
#include "ignd/error.hpp"
#include "ignd/loss_check.hpp"
#include "kernels/flush_to_zero.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <new>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

namespace ignd {

namespace {

// Which linear systems a step solves.
enum class BatchSystems {
  none,        // one output, whose system is a number; or gradients
  of_samples,  // one per sample, with a row per output
  of_batch     // one for the whole batch
};

// By their bits and without leaving early, so that the loop becomes one over vectors.
template <class T>
bool all_finite(std::span<const T> numbers) {
  using Bits = std::conditional_t<sizeof(T) == sizeof(std::uint32_t), std::uint32_t, std::uint64_t>;
  constexpr Bits infinite = std::bit_cast<Bits>(std::numeric_limits<T>::infinity());
  Bits any = 0;
  for (const T x : numbers) any |= (std::bit_cast<Bits>(x) & infinite) == infinite ? 1 : 0;
  return any == 0;
}

bool all_finite(std::span<double> numbers) { return all_finite(std::span<const double>(numbers)); }

// The inputs that a preconditioner would cover; none if the model has no single block of weights that multiply them.
template <class T>
std::size_t preconditioned_inputs(const BatchSensitivity<T>& j, std::span<const RowTable> tables) {
  std::size_t blocks = 0, inputs = 0;
  for (const auto& any : j.blocks) {
    if (const auto* outer = std::get_if<OuterBatch<T>>(&any); outer != nullptr && outer->on_input) {
      ++blocks;
      inputs = outer->inputs;
    } else if (const auto* rows = std::get_if<RowsBatch<T>>(&any); rows != nullptr && rows->on_input) {
      ++blocks;
      inputs = tables.front().rows;
    }
  }
  return blocks == 1 ? inputs : 0;
}

// What the Gram matrices, the Hessians and the solver take, in bytes.
double bytes_of(BatchSystems systems, std::size_t samples, std::size_t outputs, std::size_t number) {
  const auto b = static_cast<double>(samples), c = static_cast<double>(outputs), rows = b * c;
  const double matrices = outputs == 1 ? 2 : 3;
  switch (systems) {
    case BatchSystems::none:
      return 0;
    case BatchSystems::of_samples:
      return (2 * rows * c + (matrices + 2) * c * c) * sizeof(double);
    case BatchSystems::of_batch:
      return (matrices * rows * rows + 3 * rows * c) * sizeof(double) +
             (rows * rows + b * b) * static_cast<double>(number);
  }
  return 0;
}

// Where no sample has had a sensitivity, nothing moves, whatever the damping.
double relative_damping(const StepRule::Damping& damping, double usual) {
  return usual > 0 ? damping.eps_lm + damping.rho * usual : 1;
}

std::string megabytes(double bytes) {
  return bytes < 1e9 ? fmt::format("{:.3g}", bytes / 1e6) : fmt::format("{:.0f}", bytes / 1e6);
}

// How lambda changes when the quadratic model predicted the loss well or badly (Levenberg-Marquardt in the form of
// Martens).
constexpr double lambda_factor = 1.5;
constexpr double good_gain = 0.75, bad_gain = 0.25;
constexpr double least_lambda = 1e-12, most_lambda = 1e12;

// Everything a step writes to, made once.
template <class T>
struct Workspace {
  Workspace(const Model<T>& model, const BatchOptions& options, std::size_t targets, BatchSystems systems)
      : outputs(model.outputs()),
        targets_each(targets),
        batch(model.make_batch(options.size)),
        algebra(options.size, systems == BatchSystems::none ? 1 : outputs, systems == BatchSystems::of_batch),
        system(rows_of(systems, options.size), outputs, std::numeric_limits<T>::epsilon()),
        x(options.size),
        weight(options.size),
        y(options.size * targets),
        f(options.size * outputs),
        d1(f.size()),
        d2(outputs == 1 || systems != BatchSystems::none ? f.size() * outputs : 0),
        change(f.size()),
        z(f.size()),
        of_samples(systems == BatchSystems::of_batch ? 0 : d2.size()),
        factors(f.size()),
        z_cast(f.size()),
        value(options.size) {}

  std::size_t outputs, targets_each;
  std::unique_ptr<Batch<T>> batch;
  BatchAlgebra<T> algebra;
  DampedSystem system;

  std::size_t samples = 0;  // those with a weight
  double all_weight = 0;
  std::vector<Input<T>> x;
  std::vector<double> weight, y;
  std::vector<double> f, d1, d2, change, z, of_samples;
  std::vector<T> factors, z_cast;
  std::vector<double> value;

  std::size_t rows_of(BatchSystems systems, std::size_t size) const {
    return systems == BatchSystems::none ? 0 : systems == BatchSystems::of_samples ? outputs : size * outputs;
  }
  std::size_t rows() const { return samples * outputs; }
  std::span<const double> target(std::size_t s) const { return std::span(y).subspan(s * targets_each, targets_each); }
};

constexpr EnumName<BatchMode> mode_names[]{{BatchMode::average, "average"}, {BatchMode::exact, "exact"}};

}  // namespace

const char* to_string(BatchMode mode) { return name_in(mode_names, mode); }

BatchMode find_batch_mode(std::string_view name) {
  if (const auto mode = value_in(mode_names, name)) return *mode;
  throw InvalidArgument(fmt::format("there is no batch mode {}; known: average, exact", in_quotes(name)));
}

std::string to_string(const BatchStepInfo& info) {
  const std::string gain = info.gain ? fmt::format(" gain {:.4g}", *info.gain) : "";
  return fmt::format("step {} samples {} loss {:.6g} rate {:.6g} lambda {:.6g}{} {}", info.step, info.samples,
                     info.loss, info.rate, info.lambda, gain, to_string(info.status));
}

template <class T>
class BatchTrainer<T>::Impl {
 public:
  Impl(Model<T>& model, BatchTrainerOptions options);

  BatchStepInfo step(std::span<const Sample<T>> samples, std::span<const double> targets);
  std::unique_ptr<Model<T>> snapshot(Iterate which) const {
    return current_model(model_, *updater_, steps_, options_.average_from, which);
  }
  std::uint64_t steps() const { return steps_; }
  StepStatus status() const { return status_; }
  const BatchTrainerOptions& options() const { return options_; }
  const Model<T>& model() const { return model_; }
  double lambda() const { return lambda_; }
  void save(Checkpoint& checkpoint) const;
  void restore(const Checkpoint& checkpoint);

 private:
  std::vector<std::string> faults() const;
  std::vector<std::string> rule_faults() const;
  BatchSystems systems() const;
  void check(std::span<const Sample<T>> samples, std::span<const double> targets) const;
  void gather(std::span<const Sample<T>> samples, std::span<const double> targets);
  StepStatus forward_and_descend(BatchStepInfo& info);
  StepStatus evaluate_loss(std::span<const T> outputs, BatchStepInfo& info);
  const BatchSensitivity<T>& sensitivities();
  StepStatus average_steps(const BatchSensitivity<T>& j, const BatchSensitivity<T>& d, double& decay);
  StepStatus average_vector_steps();
  StepStatus solve_exactly(const BatchSensitivity<T>& j, const BatchSensitivity<T>& d);
  double usual_with(double sum);
  StepStatus descend(const BatchSensitivity<T>& d, double decay, BatchStepInfo& info);
  void follow_gain(BatchStepInfo& info);
  void describe(Checkpoint& checkpoint) const;

  Model<T>& model_;
  BatchTrainerOptions options_;
  std::shared_ptr<const StepRule> rule_;
  std::optional<RunningMean> usual_curvature_;  // none: the rule has no memory
  std::unique_ptr<Preconditioner<T>> preconditioner_;
  std::unique_ptr<Updater<T>> updater_;
  std::unique_ptr<Workspace<T>> workspace_;
  double lambda_ = 0;
  std::uint64_t steps_ = 0;
  StepStatus status_ = StepStatus::learned;
};

template <class T>
BatchTrainer<T>::Impl::Impl(Model<T>& model, BatchTrainerOptions options)
    : model_(model), options_(std::move(options)), lambda_(options_.batch.lambda) {
  std::vector<std::string> found = faults();
  const auto collect = [&](const auto& make) { return collect_fault(found, make); };
  const std::size_t targets =
      options_.loss == nullptr ? 0 : collect([&] { return options_.loss->targets(model.outputs()); });
  const auto transform = collect([&] { return make_transform<T>(options_.optimizer.transform); });
  const typename Updater<T>::Options update{.transform = transform,
                                            .schedule = options_.schedule,
                                            .tables = model.row_tables(),
                                            .l2 = options_.l2,
                                            .average_from = options_.average_from,
                                            .whole_layers = true};
  rule_ = collect([&] { return make_step_rule(options_.optimizer.rule); });
  if (rule_ != nullptr) std::ranges::move(rule_faults(), std::back_inserter(found));
  if (transform != nullptr && options_.batch.adaptive && !transform->is_plain()) {
    found.push_back(
        fmt::format("an adaptive lambda needs plain steps, not the transform '{}'", options_.optimizer.transform));
  }
  if (transform != nullptr) std::ranges::move(Updater<T>::faults(update), std::back_inserter(found));
  if (!found.empty()) throw InvalidArgument(list_faults(found));
  if (rule_->memory() > 0) usual_curvature_.emplace(rule_->memory());

  // An exact step of several samples rests where their gradients cancel, whatever l_ff is.
  const bool cancels = options_.batch.mode == BatchMode::average || options_.batch.size == 1;
  if (cancels) give_advice(loss_advice(*options_.loss, *rule_, model.outputs()));
  try {
    workspace_ = std::make_unique<Workspace<T>>(model, options_.batch, targets, systems());
    sensitivities();  // allocates on first use
  } catch (const std::bad_alloc&) {
    throw InvalidArgument(fmt::format("there is not enough memory for a batch of {} samples", options_.batch.size));
  } catch (const std::length_error&) {
    throw InvalidArgument(fmt::format("there is not enough memory for a batch of {} samples", options_.batch.size));
  }
  updater_ = std::make_unique<Updater<T>>(update, model.parameters().size());
  if (options_.preconditioner == PreconditionerKind::identity) return;
  const std::size_t inputs = preconditioned_inputs(sensitivities(), std::span(update.tables));
  if (inputs == 0) {
    throw InvalidArgument(
        fmt::format("a preconditioner needs a model with one block of weights that multiply the inputs; '{}' has none",
                    model.spec()));
  }
  preconditioner_ = std::make_unique<Preconditioner<T>>(inputs);
}

// Faults of the numeric options.
template <class T>
std::vector<std::string> BatchTrainer<T>::Impl::faults() const {
  std::vector<std::string> found;
  const BatchOptions& batch = options_.batch;
  const bool exact = batch.mode == BatchMode::exact;
  if (options_.loss == nullptr) found.emplace_back("there is no loss");
  check_not_negative(found, "l2", options_.l2);
  if (batch.size == 0) found.emplace_back("a batch needs at least one sample");
  check_not_negative(found, "lambda", batch.lambda);
  if (batch.adaptive && (!exact || batch.lambda < least_lambda || batch.lambda > most_lambda)) {
    found.push_back(fmt::format("an adaptive lambda needs exact steps and a lambda from {} to {} to start with",
                                least_lambda, most_lambda));
  }
  if (options_.preconditioner == PreconditionerKind::fading_second_moment) {
    found.emplace_back("the fading preconditioner works on single samples only; use second_moment");
  }
  return found;
}

template <class T>
BatchSystems BatchTrainer<T>::Impl::systems() const {
  if (options_.batch.mode == BatchMode::exact) return BatchSystems::of_batch;
  return model_.outputs() > 1 && rule_->damping() ? BatchSystems::of_samples : BatchSystems::none;
}

// Faults of the rule in combination with the other options.
template <class T>
std::vector<std::string> BatchTrainer<T>::Impl::rule_faults() const {
  std::vector<std::string> found;
  const BatchOptions& batch = options_.batch;
  const bool exact = batch.mode == BatchMode::exact, several = model_.outputs() > 1;
  const bool gauss_newton = rule_->damping().has_value();
  if (exact && !gauss_newton) {
    found.push_back(fmt::format("exact steps need the rule gauss-newton or relative, not '{}'", rule_->spec()));
  }
  if (several && !gauss_newton && !rule_->is_gradient()) {
    found.push_back(fmt::format(
        "the rule '{}' supports one output only; for several use gradient, gauss-newton or relative", rule_->spec()));
  }
  if (options_.l2 > 0 && (exact || (several && gauss_newton) || !rule_->allows_l2())) {
    found.push_back(fmt::format("l2 cannot be combined with {} steps of the rule '{}'{}", to_string(batch.mode),
                                rule_->spec(), several ? " and several outputs" : ""));
  }
  const double needed = bytes_of(systems(), batch.size, model_.outputs(), sizeof(T));
  if (needed > static_cast<double>(batch.memory)) {
    found.push_back(fmt::format(
        "{} steps of {} samples with {} output{} take {} MB, more than the {} MB allowed; use smaller batches",
        to_string(batch.mode), batch.size, model_.outputs(), several ? "s" : "", megabytes(needed),
        megabytes(static_cast<double>(batch.memory))));
  }
  return found;
}

template <class T>
void BatchTrainer<T>::Impl::check(std::span<const Sample<T>> samples, std::span<const double> targets) const {
  if (samples.empty() || samples.size() > options_.batch.size) {
    throw InvalidArgument(
        fmt::format("the batch has {} samples, but must have 1 to {}", samples.size(), options_.batch.size));
  }
  const std::size_t each = workspace_->targets_each;
  if (targets.size() != (each > 1 ? samples.size() * each : 0)) {
    throw InvalidArgument(fmt::format("there are {} separate targets for {} samples, but the loss has {} per sample{}",
                                      targets.size(), samples.size(), each,
                                      each == 1 ? ", which is the sample's own" : ""));
  }
  for (std::size_t s = 0; s < samples.size(); ++s) {
    const Sample<T>& sample = samples[s];
    model_.check(sample.x);
    options_.loss->check_target(each > 1 ? targets.subspan(s * each, each) : std::span(&sample.y, 1), model_.outputs());
    if (!(sample.weight >= 0 && sample.weight <= largest_weight)) refuse_weight(sample.weight);
    const auto& values = sample.x.values;
    if (!all_finite(values)) {
      const auto bad = std::find_if(values.begin(), values.end(), [](T x) { return !std::isfinite(x); });
      throw BadSample(
          fmt::format("value {} of sample {} is {}; the inputs must be finite", bad - values.begin(), s, *bad));
    }
  }
}

// Skips samples of weight zero.
template <class T>
void BatchTrainer<T>::Impl::gather(std::span<const Sample<T>> samples, std::span<const double> targets) {
  Workspace<T>& work = *workspace_;
  work.samples = 0;
  work.all_weight = 0;
  for (std::size_t s = 0; s < samples.size(); ++s) {
    if (samples[s].weight == 0) continue;
    work.x[work.samples] = samples[s].x;
    work.weight[work.samples] = samples[s].weight;
    work.all_weight += samples[s].weight;
    const double* y = work.targets_each > 1 ? targets.data() + s * work.targets_each : &samples[s].y;
    std::copy_n(y, work.targets_each, work.y.begin() + static_cast<std::ptrdiff_t>(work.samples * work.targets_each));
    ++work.samples;
  }
}

template <class T>
BatchStepInfo BatchTrainer<T>::Impl::step(std::span<const Sample<T>> samples, std::span<const double> targets) {
  [[maybe_unused]] const kernels::FlushToZero flush;
  BatchStepInfo info{.step = steps_, .rate = options_.schedule.rate(steps_ + 1), .gain = {}, .status = status_};
  if (status_ != StepStatus::learned) return info;
  check(samples, targets);
  gather(samples, targets);
  info.samples = workspace_->samples;
  info.weight = workspace_->all_weight;
  if (options_.batch.mode == BatchMode::exact) info.lambda = lambda_;
  if (workspace_->samples == 0) {
    info.status = StepStatus::zero_weight;
    return info;
  }
  try {
    info.status = forward_and_descend(info);
  } catch (...) {
    if (preconditioner_) preconditioner_->rollback();
    throw;
  }
  if (info.status != StepStatus::learned) {
    if (preconditioner_) preconditioner_->rollback();
    status_ = info.status;
  }
  return info;
}

template <class T>
StepStatus BatchTrainer<T>::Impl::forward_and_descend(BatchStepInfo& info) {
  Workspace<T>& work = *workspace_;
  updater_->begin(model_.parameters(), steps_);
  const auto outputs =
      work.batch->forward(std::span(work.x).first(work.samples), updater_->waits() ? updater_.get() : nullptr);
  if (preconditioner_) preconditioner_->commit();
  if (const StepStatus status = evaluate_loss(outputs, info); status != StepStatus::learned) return status;

  const BatchSensitivity<T>& j = sensitivities();
  if (preconditioner_) preconditioner_->observe(j);
  const BatchSensitivity<T>& d = preconditioner_ ? preconditioner_->direction(j) : j;
  double decay = 0;
  const StepStatus status = options_.batch.mode == BatchMode::exact ? solve_exactly(j, d) : average_steps(j, d, decay);
  if (status != StepStatus::learned) return status;
  return descend(d, decay, info);
}

// The losses and their derivatives, weighted so that the weights of all samples sum to 1.
template <class T>
StepStatus BatchTrainer<T>::Impl::evaluate_loss(std::span<const T> outputs, BatchStepInfo& info) {
  Workspace<T>& work = *workspace_;
  const std::size_t n = work.outputs;
  std::copy(outputs.begin(), outputs.end(), work.f.begin());
  if (!all_finite(std::span(work.f).first(work.rows()))) return StepStatus::output_not_finite;
  for (std::size_t s = 0; s < work.samples; ++s) {
    const auto d2 = work.d2.empty() ? std::span<double>() : std::span(work.d2).subspan(s * n * n, n * n);
    work.value[s] = options_.loss->at(work.target(s), std::span(work.f).subspan(s * n, n),
                                      std::span(work.d1).subspan(s * n, n), d2);
    info.loss += work.weight[s] / work.all_weight * work.value[s];
    for (std::size_t c = 0; c < n && rule_->damping(); ++c) {
      if (d2[c * n + c] < 0) {
        throw NonConvexLoss(
            fmt::format("the loss '{}' has second derivative {} at output {}; Gauss-Newton needs a "
                        "loss that is convex in the outputs",
                        options_.loss->spec(), d2[c * n + c], work.f[s * n + c]));
      }
    }
  }
  const bool finite = std::isfinite(info.loss) && all_finite(std::span(work.d1).first(work.rows())) &&
                      all_finite(std::span(work.d2).first(work.d2.empty() ? 0 : work.rows() * n));
  return finite ? StepStatus::learned : StepStatus::loss_not_finite;
}

// A gradient needs only one row per sample, however many outputs there are.
template <class T>
const BatchSensitivity<T>& BatchTrainer<T>::Impl::sensitivities() {
  Workspace<T>& work = *workspace_;
  if (work.outputs == 1 || rule_->damping()) return work.batch->sensitivities();
  for (std::size_t k = 0; k < work.rows(); ++k) work.factors[k] = static_cast<T>(work.d1[k]);
  return work.batch->combined(std::span(work.factors).first(work.rows()));
}

template <class T>
StepStatus BatchTrainer<T>::Impl::average_steps(const BatchSensitivity<T>& j, const BatchSensitivity<T>& d,
                                                double& decay) {
  Workspace<T>& work = *workspace_;
  const bool gradient = rule_->is_gradient();
  if (!gradient) {
    work.algebra.gram_of_samples(j, d, work.of_samples);
    if (!all_finite(std::span(work.of_samples).first(work.rows() * work.outputs))) {
      return StepStatus::sensitivity_not_finite;
    }
  }
  if (work.outputs == 1) {
    const double floor = options_.loss->curvature_floor();
    const auto input_of = [&](std::size_t s) -> StepInput {
      return {.loss = {work.value[s], work.d1[s], work.d2[s]},
              .minimum = options_.loss->minimum(work.target(s)),
              .curvature_floor = floor,
              .s = gradient ? 0 : work.of_samples[s],
              .l2 = options_.l2};
    };
    double usual = 0;
    if (usual_curvature_) {
      for (std::size_t s = 0; s < work.samples; ++s) usual += work.weight[s] * rule_->curvature(input_of(s));
      usual = usual_with(usual);
    }
    for (std::size_t s = 0; s < work.samples; ++s) {
      const double share = work.weight[s] / work.all_weight;
      StepInput in = input_of(s);
      in.usual_curvature = usual;
      work.z[s] = share * rule_->coefficient(in);
      if (options_.l2 > 0) decay += share * rule_->scale(in) * options_.l2;
    }
    return StepStatus::learned;
  }
  if (gradient) {
    for (std::size_t s = 0; s < work.samples; ++s) work.z[s] = work.weight[s] / work.all_weight;
    decay = options_.l2;
    return StepStatus::learned;
  }
  return average_vector_steps();
}

// The running mean with the samples of this batch, from the sum of their curvatures by weight.
template <class T>
double BatchTrainer<T>::Impl::usual_with(double sum) {
  usual_curvature_->begin();
  return usual_curvature_->add(sum / workspace_->all_weight, workspace_->all_weight);
}

// Solves one system per sample, with a row per output. The curvature of a sample is the mean over its outputs.
template <class T>
StepStatus BatchTrainer<T>::Impl::average_vector_steps() {
  Workspace<T>& work = *workspace_;
  const std::size_t n = work.outputs;
  const auto damping = *rule_->damping();
  const double eps_c = damping.eps_c.value_or(options_.loss->curvature_floor());
  double mu = damping.eps_lm;
  if (usual_curvature_) {
    double sum = 0;
    for (std::size_t s = 0; s < work.samples; ++s) {
      const auto gram = std::span(work.of_samples).subspan(s * n * n, n * n);
      const auto d2 = std::span(work.d2).subspan(s * n * n, n * n);
      double trace = 0;  // of H G
      for (std::size_t k = 0; k < n * n; ++k) trace += d2[k] * gram[k];
      for (std::size_t c = 0; c < n; ++c) trace += eps_c * gram[c * n + c];
      sum += work.weight[s] * trace / static_cast<double>(n);
    }
    mu = relative_damping(damping, usual_with(sum));
  }
  for (std::size_t s = 0; s < work.samples; ++s) {
    std::copy_n(work.of_samples.begin() + static_cast<std::ptrdiff_t>(s * n * n), n * n, work.system.gram().begin());
    std::copy_n(work.d2.begin() + static_cast<std::ptrdiff_t>(s * n * n), n * n, work.system.curvature().begin());
    for (std::size_t c = 0; c < n; ++c) work.system.curvature()[c * n + c] += eps_c;
    const auto z = std::span(work.z).subspan(s * n, n);
    if (!work.system.solve(n, mu, std::span(work.d1).subspan(s * n, n), z)) {
      throw SingularSystem("the system of a sample is singular to rounding; give the rule a larger eps_lm");
    }
    for (double& number : z) number *= work.weight[s] / work.all_weight;
  }
  return StepStatus::learned;
}

template <class T>
StepStatus BatchTrainer<T>::Impl::solve_exactly(const BatchSensitivity<T>& j, const BatchSensitivity<T>& d) {
  Workspace<T>& work = *workspace_;
  const std::size_t n = work.outputs, rows = work.rows();
  work.algebra.gram(j, d, work.system.gram());
  for (std::size_t k = 0; k < rows; ++k) {
    if (!std::isfinite(work.system.gram()[k * rows + k])) return StepStatus::sensitivity_not_finite;
  }
  const double eps_c = rule_->damping()->eps_c.value_or(options_.loss->curvature_floor());
  double size = 0;  // the trace of H G
  for (std::size_t k = 0; k < rows; ++k) {
    const double share = work.weight[k / n] / work.all_weight;
    work.d1[k] *= share;
    for (std::size_t c = 0; c < n; ++c) {
      work.system.curvature()[k * n + c] = share * (work.d2[k * n + c] + (c == k % n ? eps_c : 0));
    }
    size += work.system.curvature()[k * n + k % n] * work.system.gram()[k * rows + k];
  }
  const double unit = usual_curvature_ ? relative_damping(*rule_->damping(),
                                                          usual_with(work.all_weight * size / static_cast<double>(n)))
                                       : 1;
  // A lambda below the rounding of the Gram matrix would be lost in it.
  constexpr double few = 4;
  if (options_.batch.adaptive && unit > 0) {
    lambda_ = std::max(lambda_, few * std::numeric_limits<T>::epsilon() * size / unit);
  }
  if (work.system.solve(rows, lambda_ * unit, work.d1, work.z)) return StepStatus::learned;
  throw SingularSystem(
      fmt::format("the system of the batch is singular to rounding with lambda {}; use a larger one", lambda_));
}

template <class T>
StepStatus BatchTrainer<T>::Impl::descend(const BatchSensitivity<T>& d, double decay, BatchStepInfo& info) {
  Workspace<T>& work = *workspace_;
  const std::size_t rows = d.rows();
  for (std::size_t k = 0; k < rows; ++k) {
    work.z_cast[k] = static_cast<T>(work.z[k]);
    if (!std::isfinite(static_cast<T>(info.rate) * work.z_cast[k])) return StepStatus::coefficient_not_finite;
  }
  if (info.rate * decay >= 1) {
    throw InvalidArgument(
        fmt::format("at step {} the rate {} and l2 {} would shrink all weights to zero or past it; "
                    "lower one of them",
                    steps_ + 1, info.rate, options_.l2));
  }
  const auto z = std::span<const T>(work.z_cast).first(rows);
  const Step step{.t = steps_ + 1, .alpha = info.rate, .c = 1, .decay = decay};
  if (updater_->transform().is_plain() && decay == 0) {
    updater_->finish_plain(step, [&](std::span<T> w) { work.algebra.add(d, z, static_cast<T>(-info.rate), w); });
  } else {
    const Sensitivity<T>& direction = work.algebra.sum(d, z);
    updater_->finish(direction, direction, step);
  }
  info.step = ++steps_;
  if (usual_curvature_) usual_curvature_->commit();
  if (options_.batch.adaptive) follow_gain(info);
  return StepStatus::learned;
}

// Evaluates the batch again, now that the weights have moved.
template <class T>
void BatchTrainer<T>::Impl::follow_gain(BatchStepInfo& info) {
  Workspace<T>& work = *workspace_;
  const std::size_t n = work.outputs, rows = work.rows();
  work.system.multiply_gram(rows, work.z, work.change);
  double promised = 0;
  for (std::size_t k = 0; k < rows; ++k) {
    double bent = 0;
    for (std::size_t c = 0; c < n; ++c) bent += work.system.curvature()[k * n + c] * work.change[k - k % n + c];
    promised += info.rate * work.change[k] * (work.d1[k] - info.rate / 2 * bent);
  }
  // A decrease this small is lost in the rounding of the loss. A negative one is predicted for rates above 2, or by a
  // bad model.
  if (promised <= std::numeric_limits<T>::epsilon() * std::abs(info.loss) && promised >= 0) return;
  const auto outputs = work.batch->forward(std::span(work.x).first(work.samples), nullptr);
  double loss = 0;
  for (std::size_t s = 0; s < work.samples; ++s) {
    for (std::size_t c = 0; c < n; ++c) work.f[c] = static_cast<double>(outputs[s * n + c]);
    loss += work.weight[s] / work.all_weight *
            options_.loss->at(work.target(s), std::span(work.f).first(n), std::span(work.d1).first(n), {});
  }
  info.gain = promised > 0 ? (info.loss - loss) / promised : 0;
  if (*info.gain > good_gain) {
    lambda_ = std::max(lambda_ / lambda_factor, least_lambda);
  } else if (!(*info.gain >= bad_gain)) {
    lambda_ = std::min(lambda_ * lambda_factor, most_lambda);
  }
}

template <class T>
void BatchTrainer<T>::Impl::describe(Checkpoint& checkpoint) const {
  const BatchOptions& batch = options_.batch;
  describe_run<T>({model_.spec(), options_.loss->spec(), rule_->spec(), updater_->transform().spec(), options_.schedule,
                   options_.l2, options_.preconditioner, options_.average_from},
                  checkpoint);
  checkpoint.set("batch", std::to_string(batch.size));
  checkpoint.set("batch-mode", std::string(to_string(batch.mode)));
  checkpoint.set("lambda", format_number(batch.lambda) + (batch.adaptive ? ", adaptive" : ""));
}

template <class T>
void BatchTrainer<T>::Impl::save(Checkpoint& checkpoint) const {
  describe(checkpoint);
  save_state(model_, *updater_, preconditioner_.get(), steps_, status_, checkpoint);
  checkpoint.set("lambda-now", std::span<const double>(&lambda_, 1));
  if (usual_curvature_) usual_curvature_->save(checkpoint, usual_curvature_name);
}

template <class T>
void BatchTrainer<T>::Impl::restore(const Checkpoint& checkpoint) {
  Checkpoint own;
  describe(own);
  check_same_run(own, checkpoint);
  const double lambda = checkpoint.array<double>("lambda-now", 1)[0];
  if (!(lambda >= 0) || !std::isfinite(lambda)) throw FileError(fmt::format("the checkpoint has lambda {}", lambda));
  auto usual = usual_curvature_;
  if (usual) usual->restore(checkpoint, usual_curvature_name);
  restore_state(checkpoint, model_, updater_, preconditioner_, steps_, status_);
  usual_curvature_ = usual;
  lambda_ = lambda;
}

template <class T>
BatchTrainer<T>::BatchTrainer(Model<T>& model, BatchTrainerOptions options)
    : impl_(std::make_unique<Impl>(model, std::move(options))) {}
template <class T>
BatchTrainer<T>::~BatchTrainer() = default;
template <class T>
BatchTrainer<T>::BatchTrainer(BatchTrainer&&) noexcept = default;

template <class T>
BatchStepInfo BatchTrainer<T>::step(std::span<const Sample<T>> samples, std::span<const double> targets) {
  return impl_->step(samples, targets);
}
template <class T>
std::unique_ptr<Model<T>> BatchTrainer<T>::snapshot(Iterate which) const {
  return impl_->snapshot(which);
}
template <class T>
std::uint64_t BatchTrainer<T>::steps() const {
  return impl_->steps();
}
template <class T>
StepStatus BatchTrainer<T>::status() const {
  return impl_->status();
}
template <class T>
const BatchTrainerOptions& BatchTrainer<T>::options() const {
  return impl_->options();
}
template <class T>
const Model<T>& BatchTrainer<T>::model() const {
  return impl_->model();
}
template <class T>
double BatchTrainer<T>::lambda() const {
  return impl_->lambda();
}
template <class T>
void BatchTrainer<T>::save(Checkpoint& checkpoint) const {
  impl_->save(checkpoint);
}
template <class T>
void BatchTrainer<T>::restore(const Checkpoint& checkpoint) {
  impl_->restore(checkpoint);
}

template class BatchTrainer<float>;
template class BatchTrainer<double>;

}  // namespace ignd
