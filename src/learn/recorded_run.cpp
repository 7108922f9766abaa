#include "learn/recorded_run.hpp"

#include "base/stopped.hpp"
#include "base/text.hpp"
#include "ignd/checkpoint.hpp"
#include "ignd/error.hpp"
#include "ignd/vector_loss.hpp"

#include <chrono>
#include <cmath>
#include <filesystem>
#include <limits>
#include <utility>

#include <fmt/format.h>

namespace ignd {
namespace {

using Clock = std::chrono::steady_clock;

bool has_failed(const RunView& run) {
  return run.status() == RunStatus::diverged || run.status() == RunStatus::collapsed;
}

ScoreKind resolved(const Dataset& dataset, ScoreKind kind) {
  if (kind != ScoreKind::automatic) return kind;
  return make_vector_loss(dataset.loss())->is_squared_error() ? ScoreKind::rmse : ScoreKind::loss;
}

std::optional<double> accuracy_of(const Scores& scores) {
  if (scores.classification) return scores.classification->accuracy;
  if (scores.multiclass) return scores.multiclass->accuracy;
  return std::nullopt;
}

void check_score(const Dataset& dataset, ScoreKind kind) {
  const bool of_classes = kind == ScoreKind::accuracy;
  const bool of_numbers = kind == ScoreKind::rmse || kind == ScoreKind::mae || kind == ScoreKind::mape;
  if ((of_classes && !dataset.target().is_class()) || (of_numbers && dataset.target().is_class())) {
    throw InvalidArgument(fmt::format("the score {} cannot be given for a target of {}",
                                      score_names()[static_cast<std::size_t>(kind)],
                                      of_classes ? "numbers" : "classes"));
  }
}

}  // namespace

const std::vector<std::string>& score_names() {
  static const std::vector<std::string> names{"auto", "loss", "rmse", "mae", "mape", "accuracy"};
  return names;
}

std::optional<double> score_of(const Dataset& dataset, const Scores& scores, ScoreKind kind) {
  std::optional<double> score;
  switch (resolved(dataset, kind)) {
    case ScoreKind::automatic:
    case ScoreKind::loss:
      score = scores.loss;
      break;
    case ScoreKind::rmse:
      if (scores.regression) score = scores.regression->rmse;
      break;
    case ScoreKind::mae:
      if (scores.regression) score = scores.regression->mae;
      break;
    case ScoreKind::mape:
      if (scores.regression) score = scores.regression->mape;
      break;
    case ScoreKind::accuracy:
      score = accuracy_of(scores);
      break;
  }
  return score && std::isfinite(*score) ? score : std::nullopt;
}

std::string score_label(const Dataset& dataset, ScoreKind kind) {
  switch (resolved(dataset, kind)) {
    case ScoreKind::rmse:
      return "RMSE";
    case ScoreKind::mae:
      return "MAE";
    case ScoreKind::mape:
      return "MAPE";
    case ScoreKind::accuracy:
      return "accuracy";
    case ScoreKind::automatic:
    case ScoreKind::loss:
      break;
  }
  return dataset.target().is_class() ? "log loss" : dataset.loss().substr(0, dataset.loss().find(':')) + " loss";
}

std::vector<std::pair<std::string, double>> further_scores(const Scores& scores) {
  std::vector<std::pair<std::string, double>> numbers;
  const auto add = [&](const char* name, std::optional<double> value) {
    if (value && std::isfinite(*value)) numbers.emplace_back(name, *value);
  };
  if (const auto& measured = scores.regression) {
    add("rmse", measured->rmse);
    add("mae", measured->mae);
    add("mape", measured->mape);
    add("r2", measured->r2);
  }
  if (const auto& measured = scores.classification) {
    add("accuracy", measured->accuracy);
    add("log-loss", measured->log_loss);
    add("auc", measured->auc);
  }
  if (const auto& measured = scores.multiclass) {
    add("accuracy", measured->accuracy);
    add("log-loss", measured->log_loss);
    add("macro-f1", measured->macro_f1);
  }
  return numbers;
}

std::map<std::string, double> named_scores(const Scores& scores) {
  std::map<std::string, double> named{{"loss", scores.loss}};
  for (const auto& [name, value] : further_scores(scores)) named[name] = value;
  return named;
}

CurveRecorder::CurveRecorder(const Dataset& dataset, const TrainingOptions& training, const RecordOptions& options,
                             const RunControl& control, Ended ended)
    : dataset_(dataset),
      options_(options),
      control_(control),
      ended_(std::move(ended)),
      some_test_(dataset.split().test),
      points_(options.points * training.epochs),
      saved_(Clock::now()) {
  check_score(dataset, options.score);
  if (options.steps) log_.emplace(training.epochs * dataset.split().train.size());
  keep_some(some_test_, dataset.split().validation.size(), training.seed, "test samples of the curve");
}

void CurveRecorder::begin(RunView& run) {
  std::error_code ignored;
  if (!control_.unfinished().empty() && std::filesystem::exists(control_.unfinished(), ignored)) restore(run);
}

std::uint64_t CurveRecorder::next_look(const RunView& run) { return run.to_learn() * result_.x.size() / points_; }

void CurveRecorder::look(RunView& run, const std::optional<EpochReport>& epoch) {
  if (has_failed(run) || run.learned() < next_look(run)) return;
  record_point(run, epoch ? std::optional(epoch->validation) : std::nullopt);
}

void CurveRecorder::progress(const RunView& run) {
  note_share(run);
  constexpr std::chrono::minutes pause(3);
  if (Clock::now() - saved_ >= pause) save(run);
}

void CurveRecorder::end(RunView& run) {
  if (run.status() == RunStatus::running || !finish(run)) {
    save(run);  // it was stopped
    return;
  }
  if (log_) {
    log_->finish();
    result_.steps = log_->numbers();
  }
  ended_(std::move(result_));
}

void CurveRecorder::note_share(const RunView& run) const {
  control_.set_share(static_cast<double>(run.learned()) / static_cast<double>(run.to_learn()));
}

// NaN where the scores have no such number: a figure leaves the point out.
double CurveRecorder::point_of(const Scores& scores) const {
  return score_of(dataset_, scores, options_.score).value_or(std::numeric_limits<double>::quiet_NaN());
}

// False if it was stopped.
bool CurveRecorder::record_point(const RunView& run, std::optional<Scores> validation) {
  const Split& split = dataset_.split();
  const auto measure = [&](const std::vector<std::uint32_t>& rows) {
    return run.measure(RunView::Iterate::last, rows, control_.stop());
  };
  if (!validation) validation = measure(split.validation);
  if (!validation) return false;
  const bool over = run.status() != RunStatus::running;
  const auto test = options_.on_validation ? validation : measure(over ? split.test : some_test_);
  if (!test) return false;
  result_.x.push_back(static_cast<double>(run.learned()) / static_cast<double>(split.train.size()));
  result_.y.push_back(point_of(*test));
  if (!options_.on_validation) result_.validation_y.push_back(point_of(*validation));
  return true;
}

// Measures what is reported of a run that has ended. False if it was stopped meanwhile.
bool CurveRecorder::finish(const RunView& run) {
  const auto fail = [&] {
    result_.status = has_failed(run) ? run.status() : RunStatus::diverged;
    result_.failed_at = run.learned();
    return true;
  };
  if (has_failed(run)) return fail();
  const std::size_t whole = run.epoch() * options_.points;
  // The last point is missing where the run was stopped while that was measured.
  if (result_.x.size() <= whole && !record_point(run, {})) return false;
  const auto measure = [&](const std::vector<std::uint32_t>& rows) {
    return run.measure(RunView::Iterate::kept, rows, control_.stop());
  };
  const auto validation = measure(dataset_.split().validation);
  if (!validation) return false;
  const auto test = options_.on_validation ? validation : measure(dataset_.split().test);
  if (!test) return false;
  result_.validation = score_of(dataset_, *validation, options_.score);
  if (!result_.validation) return fail();
  result_.score = score_of(dataset_, *test, options_.score);
  result_.extras = further_scores(*test);
  result_.extras.emplace_back("validation", *result_.validation);
  if (options_.timed) {
    const double seconds = seconds_before_ + run.learning_seconds();
    result_.extras.emplace_back(seconds_column, seconds / static_cast<double>(run.epoch()));
  }
  return true;
}

void CurveRecorder::save(const RunView& run) {
  saved_ = Clock::now();
  if (control_.unfinished().empty()) return;
  const double seconds = seconds_before_ + run.learning_seconds();
  Checkpoint checkpoint;
  run.save(checkpoint);
  checkpoint.set("curve.points", std::uint64_t{result_.x.size()});
  checkpoint.set("curve.x", std::span<const double>(result_.x));
  checkpoint.set("curve.test", std::span<const double>(result_.y));
  checkpoint.set("curve.validation", std::span<const double>(result_.validation_y));
  checkpoint.set("curve.seconds", std::span<const double>(&seconds, 1));
  if (log_) log_->save(checkpoint);
  checkpoint.write(control_.unfinished());
}

void CurveRecorder::restore(RunView& run) {
  const Checkpoint checkpoint = Checkpoint::read(control_.unfinished());
  if (!checkpoint.has("curve.test") || !checkpoint.has("curve.seconds")) {
    throw FileError(fmt::format("{} is of a run that ignd 0.1 began; remove the file to begin it anew",
                                quoted_path(control_.unfinished())));
  }
  run.restore(checkpoint);
  if (log_) log_->restore(checkpoint);
  const std::size_t points = checkpoint.number("curve.points");
  result_.x = checkpoint.array<double>("curve.x", points);
  result_.y = checkpoint.array<double>("curve.test", points);
  result_.validation_y = checkpoint.array<double>("curve.validation", options_.on_validation ? 0 : points);
  seconds_before_ = checkpoint.array<double>("curve.seconds", 1)[0];
  note_share(run);
}

RunResult record_run(const Dataset& dataset, const TrainingOptions& training, const RecordOptions& options,
                     const RunControl& control) {
  std::optional<RunResult> made;
  CurveRecorder recorder(dataset, training, options, control, [&](RunResult result) { made = std::move(result); });
  const RunSlot slot{&training, &recorder};
  train_group(engine_for(Machine::shared), {&slot, 1}, dataset, control.stop());
  if (!made) throw Stopped();
  return std::move(*made);
}

RunResult record_predictor(const Dataset& dataset, const OutputsOf& outputs, const RecordOptions& options) {
  check_score(dataset, options.score);
  const Scores validation = evaluate(dataset, dataset.split().validation, outputs);
  const Scores test = options.on_validation ? validation : evaluate(dataset, dataset.split().test, outputs);
  RunResult result;
  result.validation = score_of(dataset, validation, options.score);
  result.score = score_of(dataset, test, options.score);
  result.extras = further_scores(test);
  return result;
}

}  // namespace ignd
