#include "cli/train.hpp"

#include "base/spec.hpp"
#include "base/text.hpp"
#include "cli/output.hpp"
#include "cli/save_model.hpp"
#include "cli/stop_signal.hpp"
#include "cli/train_stream.hpp"
#include "cli/training.hpp"
#include "cli/training_data.hpp"
#include "data/class_files.hpp"
#include "data/image_set.hpp"
#include "data/network_file.hpp"
#include "ignd/checkpoint.hpp"
#include "ignd/error.hpp"
#include "ignd/optimizer.hpp"
#include "ignd/step_rule.hpp"
#include "ignd/transform.hpp"
#include "learn/run.hpp"

#include <algorithm>
#include <cmath>
#include <csignal>
#include <utility>

#include <fmt/format.h>

namespace ignd::cli {
namespace {

constexpr const char* default_optimizer = "adam";

Optimizer chosen_optimizer(const TrainOptions& options) {
  if (!options.optimizer.empty()) return find_optimizer(options.optimizer);
  Optimizer pair{.rule = "gauss-newton", .transform = "plain"};
  if (!options.rule.empty()) pair.rule = options.rule;
  if (!options.transform.empty()) pair.transform = options.transform;
  return pair;
}

std::optional<BatchOptions> chosen_batch(const TrainOptions& options) {
  if (!is_given(options, "--batch")) {
    refuse_options(options, {"--batch-mode", "--lambda", "--adaptive-lambda", "--memory"},
                   " can only be given with --batch");
    return std::nullopt;
  }
  if (options.batch == 0) throw InvalidArgument("--batch is 0, but a batch needs one sample at least");
  if (!(options.lambda >= 0) || !std::isfinite(options.lambda)) {
    throw InvalidArgument(fmt::format("--lambda is {}, but must be a finite number of at least 0", options.lambda));
  }
  const BatchMode mode = find_batch_mode(options.batch_mode);
  if (mode == BatchMode::average) {
    refuse_options(options, {"--lambda", "--adaptive-lambda"}, " can only be given with --batch-mode exact");
  }
  return BatchOptions{.size = options.batch,
                      .mode = mode,
                      .lambda = options.lambda,
                      .adaptive = options.adaptive_lambda,
                      .memory = options.memory * 1'000'000};
}

const DataKind& kind_of(const TrainOptions& options) {
  const std::string& path = options.data.path;
  if (path.empty()) throw InvalidArgument("name the file to train on");
  if (!holds_files(path)) return options.text ? text_data : table_data;
  if (options.text) {
    throw InvalidArgument(fmt::format("--text names a column of a table, but {} holds files", options.data.name()));
  }
  return kind_of_files(path) == SampleKind::images ? image_data : text_data;
}

// Everything that can be known to be wrong before the data are read, which may take long.
TrainOptions checked(TrainOptions options, const DataKind& kind) {
  if (options.run.model.ends_with(".toml")) options.run.model = read_network_file(options.run.model);
  for (std::string* spec :
       {&options.optimizer, &options.rule, &options.transform, &options.schedule, &options.task.loss}) {
    *spec = tidy_spec(*spec);
  }
  kind.complete(options);
  if (!options.schedule.empty()) options.run.schedule = options.schedule;
  options.run.seed = options.task.seed;
  if (options.optimizer.empty() && options.rule.empty() && options.transform.empty()) {
    options.optimizer = find_batch_mode(options.batch_mode) == BatchMode::exact ? "ignd" : default_optimizer;
  }
  options.run.batch = chosen_batch(options);
  options.run.optimizer = chosen_optimizer(options);
  make_step_rule(options.run.optimizer.rule);
  make_transform<float>(options.run.optimizer.transform);
  if (options.rate != "auto") options.run.rate = parse_number(options.rate, "the learning rate");
  if (options.rate != "auto" && (!(options.run.rate > 0) || !std::isfinite(options.run.rate))) {
    throw InvalidArgument(
        fmt::format("the learning rate is {}, but must be auto or a finite number above 0", options.rate));
  }
  run_schedule(options.run.schedule, options.run.rate, 1);
  if (!(options.run.l2 >= 0) || !std::isfinite(options.run.l2)) {
    throw InvalidArgument(fmt::format("l2 is {}, but must be a finite number of at least 0", options.run.l2));
  }
  return options;
}

StreamTraining stream_options(const TrainOptions& options) {
  refuse_options(options,
                 {"--validation", "--test", "--split-by", "--split-time", "--class-weight", "--epochs", "--patience",
                  "--last", "--seed", "--text", "--size", "--length", "--batch", "--batch-mode", "--lambda",
                  "--adaptive-lambda", "--memory", "--use-ids"},
                 " cannot be given with --stream: it learns from every example once, in their order");
  refuse_options(options, {"--positive"}, " cannot be given with --stream: of two labels the larger one is positive");
  if (options.run.model != "linear" && is_given(options, "--model")) {
    throw InvalidArgument(fmt::format("--model {} cannot be given with --stream: it learns a linear model",
                                      printable(options.run.model)));
  }
  refuse_tables_in(options.data.path);
  if (holds_files(options.data.path)) {
    throw InvalidArgument(
        fmt::format("--stream cannot be given for files in folders, but {} holds some", options.data.name()));
  }
  StreamTraining stream;
  stream.data = options.data;
  if (stream.data.path.empty()) stream.data.path = "-";
  stream.data.dialect();
  stream.given = options.given;
  stream.target = options.task.target;
  stream.weight = options.task.weight.value_or("");
  stream.loss = options.task.loss;
  stream.rule = options.rule;
  stream.transform = options.transform;
  if (!options.optimizer.empty()) {
    const Optimizer named = find_optimizer(options.optimizer);
    stream.rule = named.rule;
    stream.transform = named.transform;
  }
  stream.rate = options.rate;
  stream.schedule = options.schedule;
  stream.l2 = options.run.l2;
  stream.bits = options.bits;
  stream.threads = options.threads;
  stream.skip_bad_rows = options.bad_rows == "skip";
  stream.predictions = options.predictions;
  stream.save = options.save;
  stream.save_every = options.save_every;
  stream.resume = options.resume;
  stream.json = options.json;
  stream.quiet = options.quiet;
  return stream;
}

Checkpoint saved_run(const std::string& path, const DataKind& kind) {
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
  if (given.stream) return train_stream(stream_options(given));
  refuse_options(given, {"--bits", "--predictions", "--threads"}, " can only be given with --stream");
  given.task.skip_bad_rows = given.bad_rows == "skip";
  const DataKind& kind = kind_of(given);
  const TrainOptions options = checked(std::move(given), kind);
  ModelFile file({options.save, options.resume}, options.data);
  std::optional<Checkpoint> saved;
  if (!options.resume.empty()) saved = saved_run(options.resume, kind);
  try {
    return train_on(*kind.read(options), options, file, saved);
  } catch (const BadSample& fault) {
    throw FileError(fmt::format("{}, {}", options.data.name(), fault.what()));
  } catch (const ReadingStopped&) {
    print_error("ignd: interrupted before there was anything to save\n");
    return interrupted_code;
  }
}

}  // namespace ignd::cli
