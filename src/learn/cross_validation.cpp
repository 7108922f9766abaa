#include "learn/cross_validation.hpp"

#include "base/stopped.hpp"
#include "ignd/error.hpp"
#include "learn/baselines.hpp"
#include "learn/ensemble.hpp"
#include "learn/search.hpp"
#include "learn/table_dataset.hpp"

#include <algorithm>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace ignd {
namespace {

// What all runs share: the sum of their progress, told to one thread at a time.
class Shared {
 public:
  Shared(std::size_t folds, const FoldProgress& progress, const std::atomic<bool>& stop)
      : learned_(folds), to_learn_(folds), progress_(progress), stop_(stop) {}

  const std::atomic<bool>& stop() const { return stop_; }

  void note(std::size_t fold, const RunView& run) {
    if (!progress_) return;
    const std::lock_guard lock(mutex_);
    learned_[fold] = run.learned();
    to_learn_[fold] = run.to_learn();
    std::uint64_t learned = 0, to_learn = 0;
    for (const std::uint64_t count : learned_) learned += count;
    for (const std::uint64_t count : to_learn_) to_learn += count;
    // Folds that have not begun are about as long.
    const auto begun =
        static_cast<std::uint64_t>(std::ranges::count_if(to_learn_, [](auto count) { return count > 0; }));
    progress_(learned, to_learn * to_learn_.size() / begun);
  }

 private:
  std::mutex mutex_;
  std::vector<std::uint64_t> learned_, to_learn_;
  const FoldProgress& progress_;
  const std::atomic<bool>& stop_;
};

// The run of a fold: its data, how it is trained, and what becomes of it.
class FoldRun final : public EnsembleObserver {
 public:
  FoldRun(const Table& table, RunSpec spec, std::size_t number, Shared& shared)
      : number_(number), shared_(shared), spec_(std::move(spec)), data_(make_data(table, spec_, number)) {
    if (spec_.is_ensemble()) plan_ = plan_ensemble(spec_, data_);
    if (plan_) spec_.training = plan_->network;
    check_run(data_, spec_.training);
    fold_.rows = data_.split().test.size();
    fold_.train = data_.split().train.size();
    fold_.validation = data_.split().validation.size();
  }

  void choose_rate(const Engine& engine) {
    if (!rate_of(spec_.method)) {
      const RateSearch found = search_rate(engine, data_, spec_.training, data_.search_budget(), shared_.stop());
      if (shared_.stop()) throw Stopped();
      if (!found.best) throw Error(failure("training diverged at every rate tried; choose one with --lr"));
      spec_.training.rate = *found.best;
    }
    if (plan_) plan_->network.rate = spec_.training.rate;
    fold_.rate = spec_.training.rate;
  }

  bool is_ensemble() const { return plan_.has_value(); }
  RunSlot slot() { return {.options = &spec_.training, .observer = this, .dataset = &data_}; }
  void train_ensemble(const Engine& engine) { ignd::train_ensemble(engine, data_, *plan_, *this, shared_.stop()); }

  void progress(const RunView& run) override { shared_.note(number_, run); }
  void end(RunView& run) override {
    fold_.epochs = run.epoch();
    fold_.kept_epoch = run.kept_epoch();
    fold_.status = run.status();
    if (run.status() != RunStatus::running) outputs_ = run.outputs(data_.split().test, shared_.stop());
  }

  // Adds what was found to the whole, fold after fold.
  void report(CrossValidation& whole) const {
    if (shared_.stop() || !outputs_) throw Stopped();
    if (fold_.kept_epoch == 0 && spec_.training.epochs > 0) {
      throw Error(failure("training diverged in its first epoch; choose a smaller --lr"));
    }
    whole.folds.push_back(fold_);
    const auto& rows = data_.split().test;
    std::size_t next = 0;
    const auto add = [&](const std::string& name, const auto& outputs) {
      if (whole.predictors.size() == next) whole.predictors.push_back({name, {}});
      CrossValidation::Predictor& predictor = whole.predictors[next++];
      JudgedSamples judged;
      predictor.scores.push_back(evaluate(data_, rows, outputs, &judged));
      append(predictor.judged, std::move(judged));
    };
    add("model", std::span<const double>(*outputs_));
    for (const ignd::Predictor& baseline : fit_baselines(data_)) add(baseline.name, baseline.outputs);
  }

 private:
  static TableDataset make_data(const Table& table, const RunSpec& spec, std::size_t number) {
    DatasetOptions options = spec.dataset;
    options.fold = number;
    return {table, options};
  }

  std::string failure(const char* what) const { return fmt::format("in fold {}, {}", number_ + 1, what); }

  static void append(JudgedSamples& all, JudgedSamples more) {
    all.classes = more.classes;
    for (auto part : {&JudgedSamples::truth, &JudgedSamples::predicted, &JudgedSamples::weight, &JudgedSamples::loss,
                      &JudgedSamples::loss_weight}) {
      (all.*part).insert((all.*part).end(), (more.*part).begin(), (more.*part).end());
    }
    all.group.insert(all.group.end(), more.group.begin(), more.group.end());
  }

  std::size_t number_;
  Shared& shared_;
  RunSpec spec_;
  TableDataset data_;
  std::optional<EnsemblePlan> plan_;
  CrossValidation::Fold fold_;
  std::optional<std::vector<double>> outputs_;
};

}  // namespace

CrossValidation cross_validate(const Engine& engine, const Table& table, const RunSpec& spec,
                               const std::atomic<bool>& stop, const FoldProgress& progress) {
  const std::size_t count = spec.dataset.folds;
  Shared shared(count, progress, stop);
  std::vector<std::unique_ptr<FoldRun>> runs;
  for (std::size_t k = 0; k < count; ++k) runs.push_back(std::make_unique<FoldRun>(table, spec, k, shared));
  for (const auto& run : runs) run->choose_rate(engine);
  if (runs[0]->is_ensemble()) {
    for (const auto& run : runs) {
      if (!stop) run->train_ensemble(engine);
    }
  } else {
    std::vector<RunSlot> slots;
    for (const auto& run : runs) slots.push_back(run->slot());
    train_group(engine, slots, *slots[0].dataset, stop);
  }
  CrossValidation whole;
  for (const auto& run : runs) run->report(whole);
  return whole;
}

}  // namespace ignd
