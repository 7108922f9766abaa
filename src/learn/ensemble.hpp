#pragma once

#include "learn/engine.hpp"
#include "learn/run_spec.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ignd {

class Communicator;
struct GivenKeys;

// Several networks that are trained as a group and predict together: the default for tables.
//
// The training and validation rows are cut into as many folds as there are networks. Each network learns from all folds
// but one, which tells it when to stop. So every row is learned from by most networks, and every row has a prediction
// of a network that has not seen it. A linear model is trained in the same way, and those predictions say what share it
// gets (a lot where a straight line is as good, next to nothing elsewhere) and how sure of classes the blend may be.
// The result is one model (ignd/ensemble.hpp).
struct EnsemblePlan {
  std::size_t members = 0;
  TrainingOptions network, linear;
  bool keep_states = false;  // so that observers can save it at the end of any epoch, and not only where it is stopped
};

// Decides whether a table is learned by an ensemble, and of how many networks: as many as the spec says; eight where no
// key was given that says how a single network is trained; otherwise one. Fills in what an ensemble has other defaults
// for. Throws InvalidArgument for keys that cannot be combined.
void choose_ensemble(RunSpec& spec, const GivenKeys& given, DataKind kind);

// How the networks of a completed spec are trained on a dataset: batches and epochs depend on the number of rows.
EnsemblePlan plan_ensemble(const RunSpec& spec, const Dataset& dataset);

// The seed of a network of an ensemble; the first one has that of the ensemble.
std::uint64_t seed_of_member(std::uint64_t seed, std::size_t k);

// Throws FileError unless the saved run can be resumed with this plan (null: as a single network).
void check_saved_run(const Checkpoint& saved, const EnsemblePlan* plan);
bool is_of_ensemble(const Checkpoint& saved);
double rate_of_saved_ensemble(const Checkpoint& saved);  // as rate_of_saved

// The rows of each fold of the training and validation rows, `count` at most: by class where there are classes. Empty
// where rows cannot be exchanged, because they were split by groups or by time, or are too few.
std::vector<std::vector<std::uint32_t>> fold_rows(const Dataset& dataset, std::size_t count, std::uint64_t seed);

// The share of the second of two models in a blend with the lowest loss: output = (1 - share) first + share second, for
// each row and output. The loss must be convex in the outputs.
double best_share(const Dataset& dataset, std::span<const std::uint32_t> rows, std::span<const double> first,
                  std::span<const double> second);

// One of the runs of an ensemble, once it has ended.
struct MemberReport {
  std::size_t number = 0;  // from 1
  bool linear = false;
  RunStatus status = RunStatus::running;
  std::uint64_t epochs = 0, kept_epoch = 0;
  double loss = 0;                      // on the rows that it was stopped by
  std::vector<EpochReport> curve = {};  // of its epochs, since it was begun or resumed
};

// Looks at an ensemble as at a single run: begin, progress, look (at the end of an epoch of any member) and end get a
// view of the whole.
class EnsembleObserver : public RunObserver {
 public:
  virtual void member_ended(const RunView& /*ensemble*/, const MemberReport& /*report*/) {}
};

// Trains it; an ensemble is a pure function of the plan and the dataset, whatever the engine, stopped and resumed or
// not. The view that observers get measures rows that were learned from by the members that have not seen them, keeps
// the blend, and saves and restores all runs.
void train_ensemble(const Engine& engine, const Dataset& dataset, const EnsemblePlan& plan, EnsembleObserver& observer,
                    const std::atomic<bool>& stop);

// The part of the ranks other than 0, whose engine trains it over ranks (learn/rank_engine.hpp): the same dataset and,
// but for the rate, the same plan.
void serve_ensemble(Communicator& ranks, unsigned jobs, const Dataset& dataset, const EnsemblePlan& plan,
                    const std::atomic<bool>& stop);

}  // namespace ignd
