#pragma once

#include "base/pinned.hpp"
#include "learn/engine.hpp"
#include "learn/run_result.hpp"
#include "learn/step_log.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ignd {

// What runs are compared by.
enum class ScoreKind {
  automatic,  // what the loss measures: the root mean squared error in the target's units, or the mean of another loss
  loss,       // its mean, as it is learned
  rmse,
  mae,
  mape,
  accuracy
};

const std::vector<std::string>& score_names();  // in the order of the kinds; the first is "auto"

// None where the scores have no such finite number.
std::optional<double> score_of(const Dataset& dataset, const Scores& scores, ScoreKind kind);

// For tables and figures: "RMSE", "log loss", "huber loss".
std::string score_label(const Dataset& dataset, ScoreKind kind);

// Everything else that is known of scores, by name: "mae", "auc", ...
std::vector<std::pair<std::string, double>> further_scores(const Scores& scores);
std::map<std::string, double> named_scores(const Scores& scores);  // with "loss"

struct RecordOptions {
  ScoreKind score = ScoreKind::automatic;
  std::uint64_t points = 1;    // of the curves, for each epoch
  bool on_validation = false;  // the score is that of the validation samples, and no test sample is looked at
  bool timed = false;          // the column `seconds`, which no two runs have alike
  bool steps = false;          // what the steps were like
};

// Records the learning curves of a run on the test and validation samples, before the first step and at points of each
// epoch. A test set may be as large as the training set: until the end, the curve sees no more of it than there are
// validation samples.
//
// The result is that of the kept iterate. Divergence and collapse are judged on the validation samples only. If the
// control names a file, the run is saved there every few minutes and when it is stopped, and resumed from it.
class CurveRecorder final : public RunObserver, Pinned {
 public:
  // Called with the result of a run that ended; not of one that was stopped.
  using Ended = std::function<void(RunResult result)>;

  // All of them must outlive it. Throws InvalidArgument for a score that the target does not have.
  CurveRecorder(const Dataset& dataset, const TrainingOptions& training, const RecordOptions& options,
                const RunControl& control, Ended ended);

  void begin(RunView& run) override;  // throws FileError where the file is of another run
  StepObserver* step_observer() override { return log_ ? &*log_ : nullptr; }
  std::uint64_t next_look(const RunView& run) override;
  void look(RunView& run, const std::optional<EpochReport>& epoch) override;
  void progress(const RunView& run) override;
  void end(RunView& run) override;

 private:
  void note_share(const RunView& run) const;
  double point_of(const Scores& scores) const;
  bool record_point(const RunView& run, std::optional<Scores> validation);
  bool finish(const RunView& run);
  void save(const RunView& run);
  void restore(RunView& run);

  const Dataset& dataset_;
  const RecordOptions& options_;
  const RunControl& control_;
  Ended ended_;
  std::vector<std::uint32_t> some_test_;  // test samples of all points but the last
  std::uint64_t points_;
  RunResult result_;
  std::optional<StepLog> log_;
  double seconds_before_ = 0;  // of learning, before it was resumed
  std::chrono::steady_clock::time_point saved_;
};

// A single run on the CPU, recorded. Throws Stopped.
RunResult record_run(const Dataset& dataset, const TrainingOptions& training, const RecordOptions& options,
                     const RunControl& control);

// The same measures of a model that was not trained in steps.
RunResult record_predictor(const Dataset& dataset, const OutputsOf& outputs, const RecordOptions& options);

}  // namespace ignd
