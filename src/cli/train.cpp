#include "cli/train.hpp"

#include "base/communicator.hpp"
#include "base/stopped.hpp"
#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/console.hpp"
#include "cli/save_model.hpp"
#include "cli/stop_signal.hpp"
#include "cli/training_data.hpp"
#include "cli/training_report.hpp"
#include "data/class_files.hpp"
#include "ignd/checkpoint.hpp"
#include "ignd/error.hpp"
#include "learn/ensemble.hpp"
#include "learn/file_dataset.hpp"
#include "learn/open_dataset.hpp"
#include "learn/rank_engine.hpp"
#include "learn/table_model.hpp"

#include <csignal>
#include <exception>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace ignd::cli {
namespace {

TrainOptions checked_for_stream(TrainOptions options) {
  const char* why = "cannot be given with --stream: it learns from every example once, in their order";
  options.given.refuse({"positive"}, "cannot be given with --stream: of two labels the larger one is positive");
  refuse_foreign_keys(options.given, RunKey::stream, why);
  options.given.refuse({"log-steps"}, "cannot be given with --stream: it logs runs of a known length");
  options.given.refuse({"report"},
                       "cannot be given with --stream: it reports on test rows, which a stream has none of");
  options.given.refuse({"folds"}, "cannot be given with --stream: it is measured as it learns");
  options.given.refuse({"budget"}, "cannot be given with --stream: it learns from every example once");
  options.given.check_alternatives();
  RunSpec& spec = options.spec;
  if (!spec.model.empty() && spec.model != "linear") {
    throw InvalidArgument(
        fmt::format("--model {} cannot be given with --stream: it learns a linear model", printable(spec.model)));
  }
  refuse_tables_in(spec.data.path);
  if (holds_files(spec.data.path)) {
    throw InvalidArgument(
        fmt::format("--stream cannot be given for files in folders, but {} holds some", spec.data.name()));
  }
  if (spec.data.path.empty()) spec.data.path = "-";
  spec.data.dialect();
  return options;
}

Checkpoint saved_run(const std::string& path, DataKind kind) {
  const bool table = kind == DataKind::table, images = kind == DataKind::images;
  const std::string_view wanted = table ? table_model_kind : images ? image_model_kind : text_model_kind;
  Checkpoint saved = Checkpoint::read(path);
  const std::string found = saved.has("kind") ? saved.text("kind") : "";
  if ((saved.has("run.epoch") || is_of_ensemble(saved)) && found == wanted) return saved;
  throw FileError(fmt::format("{} holds no training run on {}{}", quoted_path(path),
                              table    ? "a table"
                              : images ? "images"
                                       : "texts",
                              found.empty() ? "" : fmt::format("; it is of the kind {}", in_quotes(found))));
}

void refuse_ranks(const Communicator& ranks, const char* why) {
  if (ranks.size() == 1) return;
  throw InvalidArgument(fmt::format(
      "{}, but {} ranks were started; ensembles of networks for tables and sweeps use them all", why, ranks.size()));
}

void check_log_file(const std::string& path, const DataFile& data, const std::string& model) {
  check_can_save(path, data);
  refuse_same_file(path, model, "the model");
}

// The part of the ranks other than 0 in the training of an ensemble.
int serve_train(const TrainOptions& options, DataKind kind, Communicator& ranks) {
  const StopSignal stop;
  std::unique_ptr<TrainingData> data;
  try {
    data = read_training_data(options, kind);
  } catch (const std::exception& fault) {
    refuse_training(ranks, fault.what());
    return failure;
  }
  EnsemblePlan plan = plan_ensemble(options.spec, data->dataset());
  plan.keep_states = options.save_every > 0;
  serve_ensemble(ranks, ranks.cores(), data->dataset(), plan, stop.flag());
  return 0;
}

int cross_validate(TrainOptions options, DataKind kind) {
  const GivenKeys& given = options.given;
  if (kind != DataKind::table) throw InvalidArgument("--folds can only be given for tables");
  given.refuse({"save", "save-every", "resume", "log-steps", "predictions"},
               "cannot be given with --folds: it trains a model for each fold, and keeps none");
  given.refuse({"budget"}, "cannot be given with --folds; choose the --epochs");
  given.refuse({"start-from"}, "cannot be given with --folds: its model may have learned from the rows of a fold");
  given.refuse({"test"}, "cannot be given with --folds: each fold is the test set of one model");
  given.refuse({"split-time"}, "cannot be given with --folds: the past of a fold may be among its test rows");
  options.spec.dataset.folds = options.folds;
  return cross_validate_on(options);
}

}  // namespace

int train(TrainOptions given, Communicator& ranks) {
  // A reader that stops early (`| head`) must not end training.
  std::signal(SIGPIPE, SIG_IGN);
  works_without_reader = true;
  if (given.stream) {
    refuse_ranks(ranks, "--stream learns in one process");
    return train_stream(checked_for_stream(std::move(given)));
  }
  given.given.refuse({"bits", "threads"}, "can only be given with --stream");
  const DataKind kind = kind_of_data(given.spec);
  given.spec = complete_spec(std::move(given.spec), given.given, kind);
  if (given.folds > 0) refuse_ranks(ranks, "--folds trains in one process");
  if (!given.budget.empty()) refuse_ranks(ranks, "--budget measures one process");
  if (given.folds > 0) return cross_validate(std::move(given), kind);
  const TrainOptions& options = given;
  if (!options.spec.is_ensemble()) refuse_ranks(ranks, "a single network is trained by one process");
  if (options.spec.data.path == "-") refuse_ranks(ranks, "the standard input belongs to one process");
  if (ranks.rank() > 0) return serve_train(options, kind, ranks);
  std::optional<RankEngine> over_ranks;  // from here on the other ranks wait for it
  if (ranks.size() > 1) over_ranks.emplace(ranks, ranks.cores());
  if (options.spec.batch.size > 0) {
    options.given.refuse({"log-steps"}, "cannot be given with --batch: it logs steps of single samples");
  }
  if (!options.budget.empty()) {
    options.given.refuse({"epochs"}, "cannot be given with --budget, which chooses the epochs");
    options.given.refuse({"resume"}, "cannot be given with --budget: a run is resumed with the epochs it began with");
    parse_duration(options.budget);
  }
  if (!options.resume.empty()) {
    options.given.refuse({"log-steps"}, "cannot be given with --resume: the steps before are not in the saved run");
  }
  OutputFile file({options.save, options.resume}, options.spec.data);
  if (!options.log_steps.empty()) check_log_file(options.log_steps, options.spec.data, file.path());
  if (options.report) check_report(model_page_path(file.path()), options.spec.data);
  if (!options.predictions.empty()) {
    check_log_file(options.predictions, options.spec.data, file.path());
    if (!options.log_steps.empty()) refuse_same_file(options.predictions, options.log_steps, "the log of the steps");
  }
  std::optional<Checkpoint> saved;
  if (!options.resume.empty()) saved = saved_run(options.resume, kind);
  try {
    return train_on(*read_training_data(options, kind), options, file, saved, over_ranks ? &*over_ranks : nullptr);
  } catch (const Stopped&) {
    print_error("ignd: interrupted before there was anything to save\n");
    return interrupted_code;
  }
}

}  // namespace ignd::cli
