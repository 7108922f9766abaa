#include "cli/train.hpp"

#include "base/spec.hpp"
#include "base/stopped.hpp"
#include "base/text.hpp"
#include "cli/console.hpp"
#include "cli/save_model.hpp"
#include "cli/stop_signal.hpp"
#include "cli/training_data.hpp"
#include "data/class_files.hpp"
#include "data/network_file.hpp"
#include "ignd/checkpoint.hpp"
#include "ignd/error.hpp"
#include "ignd/optimizer.hpp"
#include "learn/open_dataset.hpp"

#include <algorithm>
#include <csignal>
#include <utility>

#include <fmt/format.h>

namespace ignd::cli {
namespace {

void check_batch(const TrainOptions& options) {
  if (!is_given(options, "--batch")) {
    refuse_options(options, {"--batch-mode", "--lambda", "--adaptive-lambda", "--memory"},
                   " can only be given with --batch");
    return;
  }
  const BatchOptions& batch = options.spec.batch;
  if (batch.size == 0) throw InvalidArgument("--batch is 0, but a batch needs one sample at least");
  if (batch.mode == BatchMode::average) {
    refuse_options(options, {"--lambda", "--adaptive-lambda"}, " can only be given with --batch-mode exact");
  }
}

DataKind checked_kind(const RunSpec& spec) {
  if (spec.data.path.empty()) throw InvalidArgument("name the file to train on");
  if (!spec.text.empty() && holds_files(spec.data.path)) {
    throw InvalidArgument(fmt::format("--text names a column of a table, but {} holds files", spec.data.name()));
  }
  return kind_of_data(spec);
}

// Options that mean nothing for such data are refused, rather than left unheard.
void refuse_foreign_options(const TrainOptions& options, RunKey::Use use, const std::string& why) {
  std::vector<std::string> foreign;
  for (const RunKey& key : run_keys()) {
    const std::string name = "--" + key.name;
    if ((key.uses & use) != 0) continue;
    if (use != RunKey::stream && key.uses == RunKey::images)
      refuse_options(options, {name}, " can only be given for images");
    if (use != RunKey::stream && key.uses == RunKey::texts)
      refuse_options(options, {name}, " can only be given for texts");
    foreign.push_back(name);
  }
  refuse_options(options, foreign, why);
}

// Everything that can be known to be wrong before the data are read, which may take long.
TrainOptions checked(TrainOptions options, DataKind kind) {
  RunSpec& spec = options.spec;
  if (spec.model.ends_with(".toml")) spec.model = read_network_file(spec.model);
  spec.complete(kind);
  training_kind(kind).check(options);
  spec.training.seed = spec.dataset.seed = options.seed;
  check_batch(options);
  spec.training.optimizer = optimizer_of(options, spec.batch);
  if (const auto rate = rate_of(options)) spec.training.rate = *rate;
  run_schedule(spec.training.schedule, spec.training.rate, 1);
  return options;
}

TrainOptions checked_for_stream(TrainOptions options) {
  const std::string why = " cannot be given with --stream: it learns from every example once, in their order";
  refuse_options(options, {"--positive"}, " cannot be given with --stream: of two labels the larger one is positive");
  refuse_foreign_options(options, RunKey::stream, why);
  refuse_options(options, {"--seed"}, why);
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
  if (!options.optimizer.empty()) {
    const Optimizer named = find_optimizer(options.optimizer);
    options.rule = named.rule;
    options.transform = named.transform;
  }
  return options;
}

Checkpoint saved_run(const std::string& path, const TrainingKind& kind) {
  Checkpoint saved = Checkpoint::read(path);
  const std::string found = saved.has("kind") ? saved.text("kind") : "";
  if (saved.has("run.rate") && found == kind.model_kind) return saved;
  throw FileError(fmt::format("{} holds no training run on {}{}", quoted_path(path), kind.name,
                              found.empty() ? "" : fmt::format("; it is of the kind {}", in_quotes(found))));
}

}  // namespace

bool is_given(const TrainOptions& options, const std::string& name) {
  return std::ranges::find(options.given, name) != options.given.end();
}

void refuse_options(const TrainOptions& options, const std::vector<std::string>& refused, const std::string& why) {
  std::vector<std::string> found;
  for (const std::string& option : refused) {
    if (is_given(options, option)) found.push_back(option);
  }
  if (!found.empty()) throw InvalidArgument(join(found, ", ") + why);
}

int train(TrainOptions given) {
  // A reader that stops early (`| head`) must not end training.
  std::signal(SIGPIPE, SIG_IGN);
  works_without_reader = true;
  if (given.stream) return train_stream(checked_for_stream(std::move(given)));
  refuse_options(given, {"--bits", "--predictions", "--threads"}, " can only be given with --stream");
  const DataKind data_kind = checked_kind(given.spec);
  const TrainingKind& kind = training_kind(data_kind);
  refuse_foreign_options(given, kind.use, fmt::format(" cannot be given for {}", kind.samples));
  const TrainOptions options = checked(std::move(given), data_kind);
  OutputFile file({options.save, options.resume}, options.spec.data);
  std::optional<Checkpoint> saved;
  if (!options.resume.empty()) saved = saved_run(options.resume, kind);
  try {
    return train_on(*read_training_data(options, data_kind), options, file, saved);
  } catch (const Stopped&) {
    print_error("ignd: interrupted before there was anything to save\n");
    return interrupted_code;
  }
}

}  // namespace ignd::cli
