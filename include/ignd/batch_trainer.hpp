#pragma once

#include "ignd/api.hpp"
#include "ignd/batch.hpp"
#include "ignd/trainer.hpp"
#include "ignd/vector_loss.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace ignd {

class Checkpoint;

enum class BatchMode {
  average,  // the mean of what each sample's own step would be: of gradients or, with Gauss-Newton, of IGND directions
  exact     // the damped Gauss-Newton step of the whole batch
};

IGND_API const char* to_string(BatchMode mode);
IGND_API BatchMode find_batch_mode(std::string_view name);  // throws InvalidArgument

struct BatchOptions {
  std::size_t size = 32;
  BatchMode mode = BatchMode::average;
  // The damping of an exact step, in place of the rule's eps_LM: d solves
  // ((1/b) J^T C J + lambda I) d = -(1/b) J^T l_f, C = l_ff + eps_c. With the rule `relative` it is in units of rho
  // times the usual curvature.
  double lambda = 1;
  bool adaptive = false;                          // lambda follows the gain ratio; needs plain steps
  std::uint64_t memory = std::uint64_t{1} << 32;  // largest size of the linear systems, in bytes
};

struct BatchTrainerOptions {
  std::shared_ptr<const VectorLoss> loss = make_vector_loss("squared");
  Optimizer optimizer = {};
  Schedule schedule = Schedule::constant(0.1);
  double l2 = 0;                                                     // in average mode only
  PreconditionerKind preconditioner = PreconditionerKind::identity;  // or second_moment
  std::uint64_t average_from = 0;
  BatchOptions batch = {};
};

// One step, as seen before the weights moved.
struct BatchStepInfo {
  std::uint64_t step = 0;  // 1, 2, ...: steps taken, this one included
  std::size_t samples = 0;
  double weight = 0;  // sum over the samples
  double loss = 0;    // mean over them, by their weights
  double rate = 0;
  double lambda = 0;           // of this step; 0 in average mode
  std::optional<double> gain;  // actual over predicted decrease of the batch's loss; if adaptive
  StepStatus status = StepStatus::learned;
};

// One line of text, "step 12 samples 32 ...".
IGND_API std::string to_string(const BatchStepInfo& info);

// Trains on mini-batches, with models of one or several outputs. An importance weight is a number of repetitions: a
// sample of weight 2 counts as two in the batch (but as one for a preconditioner, which looks at inputs alone). The
// model must outlive the trainer. A run is a pure function of the options, the initial weights and the samples.
template <class T>
class IGND_API BatchTrainer {
 public:
  // Throws InvalidArgument, listing every fault of the options and every pair that cannot be combined.
  BatchTrainer(Model<T>& model, BatchTrainerOptions options);
  ~BatchTrainer();
  BatchTrainer(BatchTrainer&&) noexcept;
  BatchTrainer& operator=(BatchTrainer&&) noexcept = delete;

  // Takes 1 to `size` samples. Targets come from the samples or, where the loss has several per sample, from `targets`,
  // sample by sample. Throws BadSample, NonConvexLoss, InvalidArgument for a batch of the wrong size, or SingularSystem
  // where lambda is zero or too small; then nothing has changed. Once a step has ended the run, later steps return the
  // same status and change nothing.
  BatchStepInfo step(std::span<const Sample<T>> samples, std::span<const double> targets = {});

  // As in Trainer.
  std::unique_ptr<Model<T>> snapshot(Iterate which = Iterate::last) const;
  std::uint64_t steps() const;
  StepStatus status() const;
  const BatchTrainerOptions& options() const;
  const Model<T>& model() const;
  double lambda() const;  // of the next step
  void save(Checkpoint& checkpoint) const;
  void restore(const Checkpoint& checkpoint);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ignd
