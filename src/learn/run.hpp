#pragma once

#include "ignd/batch_trainer.hpp"
#include "ignd/trainer.hpp"
#include "learn/dataset.hpp"
#include "learn/run_result.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace ignd {

class Checkpoint;
class Learner;
class StepObserver;

// How a model is trained.
struct TrainingOptions {
  std::string model = "mlp:32,64,32";
  Optimizer optimizer = find_optimizer("adam");
  double rate = 1e-3;
  double initial_factor = 1;        // of the initial weights
  std::string schedule = "cosine";  // as run_schedule takes it
  std::uint64_t epochs = 20;
  std::uint64_t patience = 10;  // epochs without a better validation loss before it stops
  bool keep_last = false;       // the last iterate instead of the best
  double l2 = 0;
  std::optional<BatchOptions> batch = {};  // none: one sample at a time
  std::uint64_t seed = 1;
  std::shared_ptr<const std::vector<float>> start = {};  // weights to begin with; null: drawn by the seed
  // A run of a search or a study: a model that collapsed, a rate that l2 does not allow or a lambda that leaves a
  // system singular fails the run instead of throwing.
  bool is_trial = false;
};

// "constant", "cosine" or "robbins-monro", with options as Schedule::parse takes them, completed by the rate and, for
// cosine, the length of the run. A stream has no length: there, cosine needs the option "steps". Throws
// InvalidArgument.
Schedule run_schedule(const std::string& text, double rate, std::optional<std::uint64_t> steps);

std::string describe(const BatchOptions& batch);  // "32 exact lambda 1"

// Of a saved run: its rate, and its batches as above, or "". Throw FileError, the first also if an earlier version
// began the run.
double rate_of_saved(const Checkpoint& checkpoint);
std::string batch_of_saved(const Checkpoint& checkpoint);

// Throws InvalidArgument for a run that is not possible: a batch of more samples than there are, or than fit in memory.
void check_run(const Dataset& dataset, const TrainingOptions& options);

struct EpochReport {
  std::uint64_t epoch = 0;
  double training_loss = 0;  // mean over the epoch, each row predicted before it was learned from
  Scores validation;
  bool best = false;
};

// A training run as its observers see it, on whatever device it is trained.
class RunView {
 public:
  virtual ~RunView() = default;

  virtual RunStatus status() const = 0;
  virtual std::uint64_t epoch() const = 0;     // epochs completed
  virtual std::uint64_t learned() const = 0;   // samples so far,
  virtual std::uint64_t to_learn() const = 0;  // and in all epochs

  virtual double learning_seconds() const = 0;  // by this object, without evaluation

  virtual std::unique_ptr<Model<float>> last() const = 0;  // the iterate as it is

  // The iterate that is kept: the best so far, or that of the last epoch; of epoch 0, untrained, until one is complete.
  virtual std::unique_ptr<Model<float>> kept() const = 0;
  virtual std::uint64_t kept_epoch() const = 0;

  // Measures one of the two on some rows of the dataset; nothing once `stop` is set: predictions may take long.
  enum class Iterate { last, kept };
  virtual std::optional<Scores> measure(Iterate iterate, std::span<const std::uint32_t> rows,
                                        const std::atomic<bool>& stop) const = 0;

  // What the kept iterate says of some rows: all outputs of a row side by side, and nothing once `stop` is set. Of rows
  // that the model has learned from, an ensemble gives what the networks say that have not.
  virtual std::optional<std::vector<double>> outputs(std::span<const std::uint32_t> rows,
                                                     const std::atomic<bool>& stop) const = 0;

  // The rows whose outputs are those of models that have not learned from them: the validation rows, and of an ensemble
  // on folds the training rows, too.
  virtual std::span<const std::uint32_t> unseen() const = 0;

  // The kept model, and everything needed to resume from here. Restoring throws FileError, and changes nothing, if the
  // run had other options or other data.
  virtual void save(Checkpoint& checkpoint) const = 0;
  virtual void restore(const Checkpoint& checkpoint) = 0;

 protected:
  RunView() = default;
  RunView(const RunView&) = default;
  RunView& operator=(const RunView&) = default;
  RunView(RunView&&) noexcept = default;
  RunView& operator=(RunView&&) noexcept = default;
};

// Trains a model on a dataset on the CPU, epoch by epoch. A run is a pure function of the two: stopped, saved and
// restored at any moment, it ends with the same bits.
class Run final : public RunView {
 public:
  // The dataset must outlive the run. Throws InvalidArgument.
  Run(const Dataset& dataset, TrainingOptions options);
  ~Run() override;

  RunStatus status() const override { return status_; }
  const TrainingOptions& options() const { return options_; }
  std::uint64_t epoch() const override { return epoch_; }
  std::uint64_t learned() const override { return epoch_ * dataset_.split().train.size() + position_; }
  std::uint64_t to_learn() const override { return options_.epochs * dataset_.split().train.size(); }
  double learning_seconds() const override { return learning_seconds_; }

  // Learns to the end of an epoch and reports on it; or until `stop` is set or `most` samples (with batches a few more)
  // have been learned in all, and then reports nothing. Now and then it calls `progress`.
  std::optional<EpochReport> learn_epoch(const std::atomic<bool>& stop, const std::function<void()>& progress,
                                         std::uint64_t most = std::numeric_limits<std::uint64_t>::max());

  // Shows it every step from now on, which costs a copy of the weights each and changes nothing of the run. The
  // observer must outlive the run. Throws InvalidArgument for a run in batches.
  void watch_steps(StepObserver& observer);

  std::unique_ptr<Model<float>> last() const override;
  std::unique_ptr<Model<float>> kept() const override;
  std::uint64_t kept_epoch() const override { return best_epoch_; }
  std::optional<Scores> measure(Iterate iterate, std::span<const std::uint32_t> rows,
                                const std::atomic<bool>& stop) const override;
  std::optional<std::vector<double>> outputs(std::span<const std::uint32_t> rows,
                                             const std::atomic<bool>& stop) const override;
  std::span<const std::uint32_t> unseen() const override { return dataset_.split().validation; }
  void save(Checkpoint& checkpoint) const override;
  void restore(const Checkpoint& checkpoint) override;

 private:
  void start_epoch();
  void learn_some(std::uint64_t most);
  void learn_samples();
  std::optional<EpochReport> finish_epoch(const std::atomic<bool>& stop);
  void keep(const Model<float>& now);
  void check_same_run(const Checkpoint& checkpoint) const;
  bool keeps_best() const { return !options_.keep_last && !dataset_.split().validation.empty(); }

  const Dataset& dataset_;
  TrainingOptions options_;
  std::unique_ptr<Model<float>> model_;
  std::optional<BatchOptions> batch_;
  std::unique_ptr<Learner> learner_;
  RunStatus status_ = RunStatus::running;
  std::uint64_t epoch_ = 0;
  std::uint64_t position_ = 0;  // rows of this epoch that have been learned
  double epoch_loss_ = 0;       // sum over them
  double epoch_weight_ = 0;
  std::vector<std::uint32_t> order_;
  double best_loss_ = std::numeric_limits<double>::infinity();
  std::uint64_t best_epoch_ = 0;
  std::vector<float> best_weights_;
  double largest_loss_ = 0;  // beyond which it has diverged
  bool kept_collapsed_ = false;
  double learning_seconds_ = 0;

  std::size_t at_a_time_;  // samples
  std::vector<float> scratch_;
  std::vector<Sample<float>> samples_;
};

}  // namespace ignd
