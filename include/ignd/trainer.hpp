#pragma once

#include "ignd/api.hpp"
#include "ignd/loss.hpp"
#include "ignd/model.hpp"
#include "ignd/optimizer.hpp"
#include "ignd/schedule.hpp"
#include "ignd/step_rule.hpp"
#include "ignd/transform.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace ignd {

class Checkpoint;
class RunningMean;
template <class T>
class Preconditioner;
template <class T>
class Updater;

template <class T>
struct Sample {
  Input<T> x;
  double y = 0;
  double weight = 1;  // importance, 0 to 1e6: a step of weight 2 counts as two repetitions
};

enum class PreconditionerKind {
  identity,             // P = I, the paper
  second_moment,        // P_i = 1 / (running second moment of input i): features may have scales of their own
  fading_second_moment  // the same divided by the root of how often input i was seen: its steps shrink
};

IGND_API const char* to_string(PreconditionerKind preconditioner);

// What a training run is, besides its model and its data.
struct TrainerOptions {
  std::shared_ptr<const Loss> loss = make_loss("squared");
  Optimizer optimizer = {};
  Schedule schedule = Schedule::constant(0.1);
  double l2 = 0;  // lambda of the objective l + lambda/2 ||w||^2, over all weights
  PreconditionerKind preconditioner = PreconditionerKind::identity;
  std::uint64_t average_from = 0;  // if not 0: average the iterates from this step on
};

enum class StepStatus {
  learned,
  zero_weight,        // no step, as asked
  output_not_finite,  // these four end the run: the weights stay as they were before the step
  loss_not_finite,
  sensitivity_not_finite,
  coefficient_not_finite,
};

IGND_API const char* to_string(StepStatus status);

// One step, as seen before the weights moved.
struct StepInfo {
  std::uint64_t step = 0;  // 1, 2, ...: steps taken, this one included
  double prediction = 0;   // f
  LossAt loss;             // l, l_f, l_ff
  double sensitivity = 0;  // s = j^T P j
  double coefficient = 0;  // c, importance included
  double rate = 0;         // alpha_t
  double h = 0;            // j^T dw
  StepStatus status = StepStatus::learned;
};

// One line of text, "step 12 f 0.5 ...".
IGND_API std::string to_string(const StepInfo& info);

enum class Iterate { last, averaged };

template <class T>
class Samples;
template <class T>
class Trainer;

// Trains on the samples in order, exactly like a loop of Trainer::step but without its start-up cost. Stops early if
// the run ends. Returns the last step; `steps` receives every step unless it is empty.
template <class T>
IGND_API StepInfo learn(Trainer<T>& trainer, std::span<const Sample<T>> samples, std::span<StepInfo> steps = {});

// The same for packed samples in the given order. Throws InvalidArgument for an index out of range.
template <class T>
IGND_API StepInfo learn(Trainer<T>& trainer, const Samples<T>& samples, std::span<const std::uint32_t> order);

// Trains on one sample at a time: predicts first, then steps. The trainer changes the weights of the model, which must
// outlive it. A run is a pure function of the options, the initial weights and the samples.
template <class T>
class IGND_API Trainer {
 public:
  // Throws InvalidArgument, listing every fault of the options and every pair that cannot be combined.
  Trainer(Model<T>& model, TrainerOptions options);
  ~Trainer();
  Trainer(Trainer&&) noexcept;
  Trainer& operator=(Trainer&&) noexcept = delete;

  // Throws BadSample, NonConvexLoss, or InvalidArgument where the rate and l2 together would shrink all weights to zero
  // or past it; then nothing has changed. Once a step has ended the run (see StepStatus), later steps return the same
  // status and change nothing.
  StepInfo step(const Sample<T>& sample);

  // A copy of the model as it is now, with all rows up to date, or of the averaged iterate. Taking a snapshot does not
  // affect training. Keep the copy alive while you read its parameters().
  std::unique_ptr<Model<T>> snapshot(Iterate which = Iterate::last) const;

  std::uint64_t steps() const { return steps_; }
  StepStatus status() const { return status_; }
  const TrainerOptions& options() const { return options_; }
  const Model<T>& model() const { return model_; }

  // A checkpoint holds everything needed to resume bit by bit. restore() needs a trainer made from the same model, loss
  // and options; otherwise it throws FileError, naming every difference, and changes nothing.
  void save(Checkpoint& checkpoint) const;
  void restore(const Checkpoint& checkpoint);

 private:
  friend StepInfo learn<T>(Trainer& trainer, std::span<const Sample<T>> samples, std::span<StepInfo> steps);
  friend StepInfo learn<T>(Trainer& trainer, const Samples<T>& samples, std::span<const std::uint32_t> order);

  void check(const Sample<T>& sample) const;
  static void check_values(const Sample<T>& sample);
  void step_without_denormals(const Sample<T>& sample, StepInfo& info);  // the caller has set the processor
  StepStatus predict_and_descend(const Sample<T>& sample, StepInfo& info);
  StepStatus descend(const Sample<T>& sample, StepInput& input, StepInfo& info);
  void describe(Checkpoint& checkpoint) const;

  Model<T>& model_;
  TrainerOptions options_;
  std::shared_ptr<const StepRule> rule_;
  std::unique_ptr<RunningMean> usual_curvature_;  // none: the rule has no memory
  bool uses_minimum_ = false;
  double curvature_floor_ = 0;
  Trace<T> trace_;
  std::unique_ptr<Preconditioner<T>> preconditioner_;  // none: the identity
  std::unique_ptr<Updater<T>> updater_;
  std::uint64_t steps_ = 0;
  StepStatus status_ = StepStatus::learned;
};

}  // namespace ignd
