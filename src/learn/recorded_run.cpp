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

// A run with its curves, which can be interrupted and resumed.
class RecordedRun {
 public:
  RecordedRun(const Dataset& dataset, const TrainingOptions& training, const RecordOptions& options,
              const RunControl& control)
      : dataset_(dataset),
        options_(options),
        control_(control),
        run_(dataset, training),
        some_test_(dataset.split().test),
        points_(options.points * training.epochs) {
    check_score(dataset, options.score);
    keep_some(some_test_, dataset.split().validation.size(), training.seed, "test samples of the curve");
    std::error_code ignored;
    if (!control.unfinished().empty() && std::filesystem::exists(control.unfinished(), ignored)) restore();
  }

  RunResult record() {
    if (result_.x.empty()) record_point({});
    while (run_.status() == RunStatus::running) {
      const std::uint64_t next = run_.to_learn() * result_.x.size() / points_;
      const auto epoch = run_.learn_epoch(
          control_.stop(), [&] { note_progress(); }, next);
      if (!epoch && control_.stop()) stop();  // the point of an epoch that is over is recorded first
      if (has_failed()) return failed();
      if (run_.learned() >= next) record_point(epoch ? std::optional(epoch->validation) : std::nullopt);
    }
    return finish();
  }

 private:
  bool has_failed() const { return run_.status() == RunStatus::diverged || run_.status() == RunStatus::collapsed; }

  Scores scores_of(const Model<float>& model, std::span<const std::uint32_t> rows) {
    auto scores = evaluate_unless(control_.stop(), dataset_, model, rows);
    if (!scores) stop();
    return *scores;
  }

  // NaN where the scores have none: a figure leaves such a point out.
  double point_of(const Scores& scores) const {
    return score_of(dataset_, scores, options_.score).value_or(std::numeric_limits<double>::quiet_NaN());
  }

  void record_point(const std::optional<Scores>& measured) {
    const Split& split = dataset_.split();
    const auto model = run_.last();
    const Scores validation = measured ? *measured : scores_of(*model, split.validation);
    const bool over = run_.status() != RunStatus::running;
    const double test =
        options_.on_validation ? point_of(validation) : point_of(scores_of(*model, over ? split.test : some_test_));
    result_.x.push_back(static_cast<double>(run_.learned()) / static_cast<double>(split.train.size()));
    result_.y.push_back(test);
    if (!options_.on_validation) result_.validation_y.push_back(point_of(validation));
  }

  void note_progress() {
    control_.set_share(static_cast<double>(run_.learned()) / static_cast<double>(run_.to_learn()));
    constexpr std::chrono::minutes pause(3);
    if (Clock::now() - saved_ >= pause) save();
  }

  void save() {
    saved_ = Clock::now();
    if (control_.unfinished().empty()) return;
    const double seconds = seconds_before_ + run_.learning_seconds();
    Checkpoint checkpoint;
    run_.save(checkpoint);
    checkpoint.set("curve.points", std::uint64_t{result_.x.size()});
    checkpoint.set("curve.x", std::span<const double>(result_.x));
    checkpoint.set("curve.test", std::span<const double>(result_.y));
    checkpoint.set("curve.validation", std::span<const double>(result_.validation_y));
    checkpoint.set("curve.seconds", std::span<const double>(&seconds, 1));
    checkpoint.write(control_.unfinished());
  }

  void restore() {
    const Checkpoint checkpoint = Checkpoint::read(control_.unfinished());
    if (!checkpoint.has("curve.test") || !checkpoint.has("curve.seconds")) {
      throw FileError(fmt::format("{} is of a run that ignd 0.1 began; remove the file to begin it anew",
                                  quoted_path(control_.unfinished())));
    }
    run_.restore(checkpoint);
    const std::size_t points = checkpoint.number("curve.points");
    result_.x = checkpoint.array<double>("curve.x", points);
    result_.y = checkpoint.array<double>("curve.test", points);
    result_.validation_y = checkpoint.array<double>("curve.validation", options_.on_validation ? 0 : points);
    seconds_before_ = checkpoint.array<double>("curve.seconds", 1)[0];
    control_.set_share(static_cast<double>(run_.learned()) / static_cast<double>(run_.to_learn()));
  }

  [[noreturn]] void stop() {
    save();
    throw Stopped();
  }

  RunResult failed() {
    result_.status = run_.status();
    result_.failed_at = run_.learned();
    return std::move(result_);
  }

  RunResult finish() {
    if (has_failed()) return failed();
    const std::size_t whole = run_.epoch() * options_.points;
    if (result_.x.size() <= whole) record_point({});  // it was stopped while it recorded the last point
    const Split& split = dataset_.split();
    const auto kept = run_.kept();
    const Scores validation = scores_of(*kept, split.validation);
    const Scores test = options_.on_validation ? validation : scores_of(*kept, split.test);
    result_.validation = score_of(dataset_, validation, options_.score);
    if (!result_.validation) {
      result_.status = RunStatus::diverged;
      result_.failed_at = run_.learned();
      return std::move(result_);
    }
    result_.score = score_of(dataset_, test, options_.score);
    result_.extras = further_scores(test);
    result_.extras.emplace_back("validation", *result_.validation);
    if (options_.timed) {
      const double seconds = seconds_before_ + run_.learning_seconds();
      result_.extras.emplace_back(seconds_column, seconds / static_cast<double>(run_.epoch()));
    }
    return std::move(result_);
  }

  const Dataset& dataset_;
  const RecordOptions& options_;
  const RunControl& control_;
  Run run_;
  std::vector<std::uint32_t> some_test_;  // test samples of all points but the last
  std::uint64_t points_;
  RunResult result_;
  double seconds_before_ = 0;  // of learning, before it was resumed
  Clock::time_point saved_ = Clock::now();
};

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

RunResult record_run(const Dataset& dataset, const TrainingOptions& training, const RecordOptions& options,
                     const RunControl& control) {
  return RecordedRun(dataset, training, options, control).record();
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
