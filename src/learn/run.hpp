#pragma once

#include "ignd/trainer.hpp"
#include "learn/dataset.hpp"
#include "learn/learner.hpp"
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

// How a model is trained.
struct TrainingOptions {
  std::string model = "mlp:32,64,32";
  Optimizer optimizer = find_optimizer("adam");
  double rate = 1e-3;
  std::string schedule = "cosine";  // as run_schedule takes it
  std::uint64_t epochs = 20;
  std::uint64_t patience = 10;  // epochs without a better validation loss before it stops
  bool keep_last = false;       // the last iterate instead of the best
  double l2 = 0;
  std::optional<BatchOptions> batch = {};  // none: one sample at a time
  std::uint64_t seed = 1;
  // One of several runs that are compared. What a user should hear of a run of their own is then a failure like any
  // other: a model that collapsed, a rate that l2 does not allow, a lambda that leaves a system singular.
  bool is_trial = false;
};

// "constant", "cosine" or "robbins-monro", with options as Schedule::parse takes them, completed by the rate and, for
// cosine, the length of the run. A stream has no length: there, cosine needs the option "steps". Throws
// InvalidArgument.
Schedule run_schedule(const std::string& text, double rate, std::optional<std::uint64_t> steps);

struct EpochReport {
  std::uint64_t epoch = 0;
  double training_loss = 0;  // mean over the epoch, each row predicted before it was learned from
  Scores validation;
  bool best = false;
};

// Measures a model on some rows. None if `stop` is set meanwhile: a prediction may take long.
std::optional<Scores> evaluate_unless(const std::atomic<bool>& stop, const Dataset& dataset, const Model<float>& model,
                                      std::span<const std::uint32_t> rows);

// Trains a model on a dataset, epoch by epoch. A run is a pure function of the two: stopped, saved and restored at any
// moment, it ends with the same bits.
class Run {
 public:
  // The dataset must outlive the run. Throws InvalidArgument.
  Run(const Dataset& dataset, TrainingOptions options);

  RunStatus status() const { return status_; }
  const TrainingOptions& options() const { return options_; }
  std::uint64_t epoch() const { return epoch_; }  // epochs completed
  // Samples that have been learned, and will have been at the end.
  std::uint64_t learned() const { return epoch_ * dataset_.split().train.size() + position_; }
  std::uint64_t to_learn() const { return options_.epochs * dataset_.split().train.size(); }

  double learning_seconds() const { return learning_seconds_; }  // by this object, without evaluation

  // Learns to the end of an epoch and reports on it, or until `stop` is set or so many samples (or a few more, with
  // batches) have been learned in all, and then reports nothing. Now and then `progress` is called.
  std::optional<EpochReport> learn_epoch(const std::atomic<bool>& stop, const std::function<void()>& progress,
                                         std::uint64_t most = std::numeric_limits<std::uint64_t>::max());

  // The iterate as it is.
  std::unique_ptr<Model<float>> last() const { return learner_->snapshot(); }

  // The iterate that is kept: the best so far, or that of the last epoch; of epoch 0, untrained, until one is complete.
  std::unique_ptr<Model<float>> kept() const;
  std::uint64_t kept_epoch() const { return best_epoch_; }

  // The kept model, and everything needed to resume from here. Restoring throws FileError, and changes nothing, if the
  // run had other options or other data.
  void save(Checkpoint& checkpoint) const;
  void restore(const Checkpoint& checkpoint);

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
