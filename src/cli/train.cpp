#include "cli/train.hpp"

#include "base/stopped.hpp"
#include "base/text.hpp"
#include "cli/console.hpp"
#include "cli/save_model.hpp"
#include "cli/stop_signal.hpp"
#include "cli/training_data.hpp"
#include "data/class_files.hpp"
#include "ignd/checkpoint.hpp"
#include "ignd/error.hpp"
#include "learn/ensemble.hpp"
#include "learn/file_dataset.hpp"
#include "learn/open_dataset.hpp"
#include "learn/table_model.hpp"

#include <csignal>
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
  options.given.refuse({"folds"}, "cannot be given with --stream: it is measured as it learns");
  options.given.refuse({"budget"}, "cannot be given with --stream: it learns from every example once");
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

void check_log_file(const std::string& path, const DataFile& data, const std::string& model) {
  check_can_save(path, data);
  refuse_same_file(path, model, "the model");
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

int train(TrainOptions given) {
  // A reader that stops early (`| head`) must not end training.
  std::signal(SIGPIPE, SIG_IGN);
  works_without_reader = true;
  if (given.stream) return train_stream(checked_for_stream(std::move(given)));
  given.given.refuse({"bits", "threads"}, "can only be given with --stream");
  const DataKind kind = kind_of_data(given.spec);
  given.spec = complete_spec(std::move(given.spec), given.given, kind);
  if (given.folds > 0) return cross_validate(std::move(given), kind);
  const TrainOptions& options = given;
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
  if (!options.predictions.empty()) {
    check_log_file(options.predictions, options.spec.data, file.path());
    if (!options.log_steps.empty()) refuse_same_file(options.predictions, options.log_steps, "the log of the steps");
  }
  std::optional<Checkpoint> saved;
  if (!options.resume.empty()) saved = saved_run(options.resume, kind);
  try {
    return train_on(*read_training_data(options, kind), options, file, saved);
  } catch (const Stopped&) {
    print_error("ignd: interrupted before there was anything to save\n");
    return interrupted_code;
  }
}

}  // namespace ignd::cli
