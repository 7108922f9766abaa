#include "cli/train.hpp"

#include "cli/json_line.hpp"
#include "cli/output.hpp"
#include "cli/progress.hpp"
#include "cli/quality_table.hpp"
#include "cli/save_model.hpp"
#include "cli/stop_signal.hpp"
#include "cli/train_stream.hpp"
#include "core/text.hpp"
#include "ignd/checkpoint.hpp"
#include "ignd/error.hpp"
#include "train/race.hpp"
#include "train/table_baselines.hpp"
#include "train/table_model.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

namespace ignd::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* default_optimizer = "adam";
constexpr std::uint64_t race_samples = 20'000;

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

std::string default_path(const std::string& data) {
  fs::path name = data == "-" ? "model" : fs::path(data).filename();
  if (name.extension() == ".gz") name = name.stem();
  return free_path("", name.stem());
}

Optimizer chosen_optimizer(const TrainOptions& options) {
  if (!options.optimizer.empty()) return find_optimizer(options.optimizer);
  if (options.rule.empty() && options.transform.empty()) return find_optimizer(default_optimizer);
  Optimizer pair{.rule = "gauss-newton", .transform = "plain"};
  if (!options.rule.empty()) pair.rule = options.rule;
  if (!options.transform.empty()) pair.transform = options.transform;
  return pair;
}

std::string optimizer_name(const TrainOptions& options) {
  if (!options.optimizer.empty()) return options.optimizer;
  if (options.rule.empty() && options.transform.empty()) return default_optimizer;
  return options.run.optimizer.rule + "+" + options.run.optimizer.transform;
}

// Everything that can be known to be wrong before the data are read, which may take long.
TrainOptions checked(TrainOptions options) {
  if (options.data.path.empty()) throw InvalidArgument("name the file to train on");
  if (options.task.target.empty()) throw InvalidArgument("name the column to predict with --target");
  if (!options.schedule.empty()) options.run.schedule = options.schedule;
  options.run.seed = options.task.seed;
  options.run.optimizer = chosen_optimizer(options);
  make_step_rule(options.run.optimizer.rule);
  make_transform<float>(options.run.optimizer.transform);
  if (options.rate != "auto") options.run.rate = parse_number(options.rate, "the learning rate");
  if (!(options.run.rate >= 0) || !std::isfinite(options.run.rate)) {
    throw InvalidArgument(
        fmt::format("the learning rate is {}, but must be auto or a finite number of at least 0", options.rate));
  }
  run_schedule(options.run.schedule, options.run.rate, 1);
  model_spec(options.run.model, 1);
  if (!options.task.loss.empty()) make_loss(options.task.loss);
  if (!(options.run.l2 >= 0) || !std::isfinite(options.run.l2)) {
    throw InvalidArgument(fmt::format("l2 is {}, but must be a finite number of at least 0", options.run.l2));
  }
  options.data.dialect();
  if (options.save.empty()) options.save = options.resume.empty() ? default_path(options.data.path) : options.resume;
  check_can_save(options.save, options.data);
  return options;
}

// Options that say nothing of a stream or of a table are refused, rather than left unheard.
void refuse_options(const std::vector<std::string>& given, const std::vector<std::string>& refused,
                    const std::string& why) {
  std::vector<std::string> found;
  for (const std::string& option : refused) {
    if (std::ranges::find(given, option) != given.end()) found.push_back(option);
  }
  if (!found.empty()) throw InvalidArgument(join(found, ", ") + why);
}

StreamTraining stream_options(const TrainOptions& options) {
  refuse_options(options.given,
                 {"--validation", "--test", "--split-by", "--split-time", "--class-weight", "--epochs", "--patience",
                  "--last", "--seed", "--save-every"},
                 " cannot be given with --stream: it learns from every example once, in their order");
  if (options.run.model != "linear" && std::ranges::find(options.given, "--model") != options.given.end()) {
    throw InvalidArgument(fmt::format("--model {} cannot be given with --stream: it learns a linear model",
                                      printable(options.run.model)));
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
  if (stream.save.empty()) stream.save = options.resume.empty() ? default_path(stream.data.path) : options.resume;
  check_can_save(stream.save, stream.data);
  stream.resume = options.resume;
  stream.json = options.json;
  stream.quiet = options.quiet;
  return stream;
}

Checkpoint saved_run(const std::string& path) {
  Checkpoint saved = Checkpoint::read(path);
  if (!saved.has("run.rate")) throw FileError(fmt::format("{} holds no training run on a table", quoted_path(path)));
  return saved;
}

// One training run as the user sees it.
class Training {
 public:
  Training(TrainOptions options, const Table& table)
      : options_(std::move(options)), talks_(!options_.json && !options_.quiet), task_(table, options_.task) {}

  int run(const std::optional<Checkpoint>& saved) {
    print_data();
    if (saved) {
      take_rate(*saved);
    } else if (options_.rate == "auto" && !race_for_rate()) {
      print_error("ignd: interrupted before there was anything to save\n");
      return interrupted_code;
    }
    TrainingRun run(task_, options_.run);
    if (saved) resume(run, *saved);
    learn(run);
    if (run.status() == TrainingStatus::running) return interrupted(run);
    return finish(run);
  }

 private:
  bool prints_events() const { return options_.json && !options_.quiet; }

  // A column of numbers with a stray word among them would be learned as texts, each a thing of its own.
  void warn_of_stray_texts() const {
    for (const Column& column : task_.table().columns()) {
      double value = 0;
      const auto is_text = [&](const auto& label) { return !is_number(label.second, value); };
      const auto texts = static_cast<std::size_t>(std::ranges::count_if(column.labels, is_text));
      if (texts == 0 || 10 * texts > column.labels.size()) continue;
      const std::string& stray = std::ranges::find_if(column.labels, is_text)->second;
      print_error("ignd: warning: column {} is taken for texts because of {}; most of its values are numbers\n",
                  in_quotes(column.name), in_quotes(stray));
    }
  }

  void print_data() const {
    warn_of_stray_texts();
    const Split& split = task_.split();
    if (prints_events()) {
      JsonLine("data")
          .set("rows", std::uint64_t{task_.table().size()})
          .set("features", std::uint64_t{task_.encoder().features()})
          .set("train", std::uint64_t{split.train.size()})
          .set("validation", std::uint64_t{split.validation.size()})
          .set("test", std::uint64_t{split.test.size()})
          .set("target", task_.target().name)
          .set("loss", task_.loss())
          .print();
    }
    if (!talks_) return;
    print("{}: {} rows: {} to train on, {} to validate, {} to test\n", options_.data.path,
          with_commas(task_.table().size()), with_commas(split.train.size()), with_commas(split.validation.size()),
          with_commas(split.test.size()));
    print("target {}: {}\n", task_.target().name, describe(task_.target()));
    constexpr std::size_t most_shown = 30;
    const auto& columns = task_.encoder().columns();
    for (std::size_t c = 0; c < std::min(columns.size(), most_shown); ++c) {
      print("  {:<20} {}\n", columns[c].name, describe(columns[c]));
    }
    if (columns.size() > most_shown) print("  and {} more columns\n", columns.size() - most_shown);
    print("model {}, {} features; loss {}; {} + {}; schedule {}\n", options_.run.model, task_.encoder().features(),
          task_.loss(), options_.run.optimizer.rule, options_.run.optimizer.transform, options_.run.schedule);
  }

  void take_rate(const Checkpoint& saved) {
    const double rate = saved.array<double>("run.rate", 1)[0];
    if (options_.rate != "auto" && options_.run.rate != rate) {
      throw FileError(fmt::format("cannot go on with {}: its learning rate is {}, not {}", quoted_path(options_.resume),
                                  rate, options_.run.rate));
    }
    options_.run.rate = rate;
  }

  // False if it was interrupted.
  bool race_for_rate() {
    const Race result = race(task_, options_.run, race_samples, stop_.flag());
    if (stop_.flag()) return false;
    if (!result.best) throw Error("training diverged with every rate of the race; choose one with --lr");
    options_.run.rate = *result.best;
    print_race(result);
    return true;
  }

  void print_race(const Race& result) const {
    if (prints_events()) {
      std::vector<double> rates, losses;
      for (const RacedRate& raced : result.rates) {
        rates.push_back(raced.rate);
        losses.push_back(raced.loss);
      }
      JsonLine("rate")
          .set("rate", *result.best)
          .set("samples", result.samples)
          .set("rates", rates)
          .set("losses", losses)
          .print();
    }
    if (!talks_) return;
    print("rate {}: the smallest near the lowest validation loss after {} samples each on {} rows:", *result.best,
          with_commas(result.samples), with_commas(result.rows));
    for (const RacedRate& raced : result.rates) {
      print(" {} {}", raced.rate, std::isfinite(raced.loss) ? in_short(raced.loss) : "diverged");
    }
    print("\n");
  }

  void resume(TrainingRun& run, const Checkpoint& saved) const {
    try {
      run.restore(saved);
    } catch (const FileError& fault) {
      throw FileError(fmt::format("cannot go on with {}: {}", quoted_path(options_.resume), fault.what()));
    }
    if (run.status() == TrainingStatus::running) {
      if (talks_) print("going on after {} steps\n", with_commas(run.steps()));
      return;
    }
    print_error("ignd: nothing is left to learn: the run in {} has {}\n", quoted_path(options_.resume),
                to_string(run.status()));
  }

  void learn(TrainingRun& run) {
    Progress progress("training", run.total_steps(), "samples", !talks_);
    const Clock::time_point start = Clock::now();
    const std::uint64_t first_step = run.steps();
    while (run.status() == TrainingStatus::running && !stop_.flag()) {
      const auto report = run.learn_epoch(stop_.flag(), [&] { progress.update(run.steps()); });
      if (!report) continue;
      progress.clear();
      print_epoch(*report);
      const bool due = options_.save_every > 0 && run.epoch() % options_.save_every == 0;
      if (due && run.status() == TrainingStatus::running) save(run);
    }
    learned_ = run.steps() - first_step;
    seconds_ = seconds_since(start);
  }

  void print_epoch(const EpochReport& report) const {
    const Quality& validation = report.validation;
    const bool measured = validation.regression || validation.classification;
    if (prints_events()) {
      JsonLine line("epoch");
      line.set("epoch", report.epoch).set("training_loss", report.training_loss);
      if (measured) line.set("validation_loss", validation.loss);
      set_metrics(line, "validation", validation);
      line.set("best", report.best).print();
    }
    if (!talks_) return;
    print("epoch {:3}  training loss {:.4g}", report.epoch, report.training_loss);
    if (measured) print("  validation loss {:.4g}{}", validation.loss, report.best ? " *" : "");
    print("\n");
    std::fflush(stdout);
  }

  // Whatever happens, training goes on; the exit code tells.
  void save(const TrainingRun& run) {
    Checkpoint checkpoint;
    run.save(checkpoint);
    checkpoint.set("run.rate", std::span<const double>(&options_.run.rate, 1));
    const Saved saved = save_somewhere(checkpoint, options_.save);
    is_saved_ = !saved.path.empty();
    if (saved.fault.empty()) return;
    save_failed_ = true;
    print_error("ignd: {}\n", saved.fault);
    if (is_saved_) options_.save = saved.path;
  }

  int interrupted(const TrainingRun& run) {
    save(run);
    if (!is_saved_) return interrupted_code;
    print_error("ignd: interrupted after {} of {} steps; saved {}; go on with the same command and --resume {}\n",
                with_commas(run.steps()), with_commas(run.total_steps()), quoted_path(options_.save), options_.save);
    return interrupted_code;
  }

  int finish(const TrainingRun& run) {
    const bool diverged = run.status() == TrainingStatus::diverged;
    if (diverged && run.kept_epoch() == 0) {
      throw Error("training diverged in its first epoch, and nothing was saved; choose a smaller --lr");
    }
    const bool learned_nothing = learned_ == 0 && !options_.resume.empty();
    if (!learned_nothing) save(run);
    print_result(run);
    if (diverged) {
      print_error("ignd: training diverged after {} epochs; the model is that of epoch {}; choose a smaller --lr\n",
                  run.epoch(), run.kept_epoch());
    }
    return diverged || save_failed_ ? 1 : 0;
  }

  void print_result(const TrainingRun& run) const {
    const auto model = run.kept();
    Trace<float> trace(*model);
    std::vector<Predictor> predictors = fit_baselines(task_);
    predictors.insert(predictors.begin(), {"model", [&](const Input<float>& x) { return model->predict(x, trace); }});
    std::vector<std::string> parts;
    std::vector<Judged> judged;
    judged.reserve(predictors.size());
    for (const Predictor& predictor : predictors) judged.push_back({predictor.name, {}});
    const auto measure = [&](const char* name, std::span<const std::uint32_t> rows) {
      if (rows.empty()) return;
      parts.emplace_back(name);
      for (std::size_t i = 0; i < judged.size(); ++i) {
        judged[i].on.push_back(judge(task_, rows, predictors[i].output));
      }
    };
    measure("validation", task_.split().validation);
    measure("test", task_.split().test);
    if (options_.json) {
      print_json_result(run, parts, judged);
      return;
    }
    if (talks_) {
      print("{} after {} epochs, {} samples in {:.3g} s ({:.3g} samples/s); kept: epoch {}\n\n",
            to_string(run.status()), run.epoch(), with_commas(learned_), seconds_,
            static_cast<double>(learned_) / seconds_, run.kept_epoch());
    }
    print_table(parts, judged);
    if (is_saved_) print("\nsaved {}\n", options_.save);
  }

  void print_json_result(const TrainingRun& run, const std::vector<std::string>& parts,
                         const std::vector<Judged>& judged) const {
    JsonLine line("result");
    line.set("status", to_string(run.status()))
        .set("model", options_.run.model)
        .set("loss", task_.loss())
        .set("optimizer", optimizer_name(options_))
        .set("rate", options_.run.rate)
        .set("epochs", run.epoch())
        .set("kept_epoch", run.kept_epoch())
        .set("seconds", seconds_)
        .set("samples_per_second", static_cast<double>(learned_) / seconds_);
    for (std::size_t part = 0; part < parts.size(); ++part) {
      set_metrics(line, "metrics." + parts[part], judged[0].on[part]);
      for (std::size_t i = 1; i < judged.size(); ++i) {
        std::string key = judged[i].name;
        std::ranges::replace(key, ' ', '_');
        set_metrics(line, "baselines." + key + "." + parts[part], judged[i].on[part]);
      }
    }
    if (is_saved_) line.set("saved", options_.save);
    line.print();
  }

  TrainOptions options_;
  bool talks_;
  TableTask task_;
  StopSignal stop_;
  std::uint64_t learned_ = 0;  // samples, since the run began or was resumed
  double seconds_ = 0;
  bool is_saved_ = false;
  bool save_failed_ = false;  // at the place that was asked for
};

}  // namespace

int train(TrainOptions given) {
  if (given.stream) return train_stream(stream_options(given));
  refuse_options(given.given, {"--bits", "--bad-rows", "--predictions", "--threads"},
                 " can only be given with --stream");
  const TrainOptions options = checked(std::move(given));
  std::optional<Checkpoint> saved;
  if (!options.resume.empty()) saved = saved_run(options.resume);
  const Table table = options.data.read();
  try {
    return Training(options, table).run(saved);
  } catch (const BadSample& fault) {
    throw FileError(fmt::format("{}, {}", options.data.name(), fault.what()));
  }
}

}  // namespace ignd::cli
