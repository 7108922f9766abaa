#include "cli/train.hpp"

#include "cli/json_line.hpp"
#include "cli/progress.hpp"
#include "cli/report.hpp"
#include "cli/stop_signal.hpp"
#include "cli/train_stream.hpp"
#include "core/text.hpp"
#include "ignd/checkpoint.hpp"
#include "ignd/error.hpp"
#include "train/baselines.hpp"
#include "train/race.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <thread>

#include <fmt/format.h>

namespace ignd::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t race_samples = 20'000;

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// Where the model goes if nobody says: beside nothing else of that name.
std::string free_path(const std::string& data) {
  const std::string stem = data == "-" ? "model" : fs::path(data).stem().string();
  std::string path = stem + ".ignd";
  for (int i = 2; fs::exists(path); ++i) path = fmt::format("{}-{}.ignd", stem, i);
  return path;
}

Optimizer chosen_optimizer(const TrainOptions& options) {
  if (options.rule.empty() && options.transform.empty()) return find_optimizer(options.optimizer);
  Optimizer pair{.rule = "gauss-newton", .transform = "plain"};
  if (!options.rule.empty()) pair.rule = options.rule;
  if (!options.transform.empty()) pair.transform = options.transform;
  return pair;
}

std::string describe(const ColumnCode& code) {
  using Form = ColumnCode::Form;
  const std::string missing = code.missing > 0 ? fmt::format(", {} missing", with_commas(code.missing)) : "";
  switch (code.form) {
    case Form::dropped:
      return "dropped: the same in every training row";
    case Form::scaled:
      return fmt::format("number, mean {:.4g}, deviation {:.4g}{}", code.mean, code.deviation, missing);
    case Form::one_hot:
      return fmt::format("text, {} values{}", code.levels.size(), missing);
    case Form::hashed:
      return fmt::format("text, {} values hashed to {} features{}", with_commas(code.distinct), Encoder::hash_features,
                         missing);
  }
  return "";
}

StreamTraining stream_options(const TrainOptions& options) {
  StreamTraining stream;
  stream.data = options.data.empty() ? "-" : options.data;
  stream.format = options.format;
  stream.target = options.task.target;
  stream.weight = options.task.weight;
  stream.delimiter = options.format == "tsv" && options.delimiter.empty() ? "tab" : options.delimiter;
  stream.header = options.header;
  stream.loss = options.task.loss;
  stream.rule = options.rule;
  stream.transform = options.transform;
  if (!options.optimizer.empty()) {
    const Optimizer named = find_optimizer(options.optimizer);
    stream.rule = named.rule;
    stream.transform = named.transform;
  }
  stream.rate = options.rate;
  stream.schedule = options.run.schedule;
  stream.l2 = options.run.l2;
  stream.bits = options.bits;
  stream.threads = options.threads;
  stream.skip_bad_rows = options.bad_rows == "skip";
  stream.predictions = options.predictions;
  stream.save = options.save.empty() ? free_path(stream.data) : options.save;
  stream.resume = options.resume;
  stream.json = options.json;
  stream.quiet = options.quiet;
  return stream;
}

// One training run as the user sees it.
class Training {
 public:
  explicit Training(TrainOptions options) : options_(std::move(options)) {
    options_.run.optimizer = chosen_optimizer(options_);
    options_.run.seed = options_.task.seed;
    if (options_.save.empty()) options_.save = free_path(options_.data);
  }

  int run() {
    const Table table = Table::read_csv(options_.data, table_options());
    const TableTask task(table, options_.task);
    print_data(task);
    std::optional<Checkpoint> saved;
    if (!options_.resume.empty()) saved = Checkpoint::read(options_.resume);
    if (!choose_rate(task, saved)) return interrupted_early();
    TableRun run(task, options_.run);
    if (saved) run.restore(*saved);
    learn(run);
    if (stop_.flag() && run.status() == RunStatus::running) return interrupted(run);
    return finish(task, run);
  }

 private:
  TableOptions table_options() const {
    TableOptions table{.dialect = {}, .threads = std::max(1U, std::min(2U, std::thread::hardware_concurrency()))};
    if (!options_.delimiter.empty())
      table.dialect.delimiter = options_.delimiter == "tab" ? '\t' : options_.delimiter[0];
    if (options_.format == "tsv" && options_.delimiter.empty()) table.dialect.delimiter = '\t';
    if (!options_.header.empty()) table.dialect.header = options_.header == "yes";
    return table;
  }

  bool talks() const { return !options_.json && !options_.quiet; }

  void print_data(const TableTask& task) const {
    const Split& split = task.split();
    const Target& target = task.target();
    if (options_.json) {
      JsonLine("data")
          .set("rows", std::uint64_t{task.table().size()})
          .set("features", std::uint64_t{task.encoder().features()})
          .set("train", std::uint64_t{split.train.size()})
          .set("validation", std::uint64_t{split.validation.size()})
          .set("test", std::uint64_t{split.test.size()})
          .set("target", target.name)
          .set("loss", task.loss())
          .print();
    }
    if (!talks()) return;
    fmt::print("{}: {} rows: {} to train on, {} to validate, {} to test\n", options_.data,
               with_commas(task.table().size()), with_commas(split.train.size()), with_commas(split.validation.size()),
               with_commas(split.test.size()));
    if (target.is_class()) {
      fmt::print("target {}: class {} or {}; probabilities are of {}\n", target.name, target.classes[0],
                 target.classes[1], target.classes[1]);
    } else {
      fmt::print("target {}: number, mean {:.4g}, deviation {:.4g}\n", target.name, target.mean, target.deviation);
    }
    constexpr std::size_t most_shown = 30;
    const auto& columns = task.encoder().columns();
    for (std::size_t c = 0; c < std::min(columns.size(), most_shown); ++c) {
      fmt::print("  {:<20} {}\n", columns[c].name, describe(columns[c]));
    }
    if (columns.size() > most_shown) fmt::print("  and {} more columns\n", columns.size() - most_shown);
    fmt::print("model {}, {} features; loss {}; {} + {}; schedule {}\n", options_.run.model, task.encoder().features(),
               task.loss(), options_.run.optimizer.rule, options_.run.optimizer.transform, options_.run.schedule);
  }

  // False if it was interrupted.
  bool choose_rate(const TableTask& task, const std::optional<Checkpoint>& saved) {
    if (saved) {
      options_.run.rate = saved->array<double>("run.rate", 1)[0];
      return true;
    }
    if (options_.rate != "auto") {
      options_.run.rate = parse_number(options_.rate, "the learning rate");
      return true;
    }
    const Race result = race(task, options_.run, race_samples, stop_.flag());
    if (stop_.flag()) return false;
    if (!result.best) throw Error("no learning rate of the race gave a model; choose one with --lr, or another model");
    options_.run.rate = *result.best;
    if (options_.json) {
      JsonLine line("rate");
      line.set("rate", *result.best).set("samples", result.samples);
      for (const RacedRate& raced : result.rates) line.set("losses." + format_number(raced.rate), raced.loss);
      line.print();
    }
    if (!talks()) return true;
    fmt::print("rate {}: the smallest within 5 % of the lowest validation loss after {} samples each on {} rows:",
               *result.best, with_commas(result.samples), with_commas(result.rows));
    for (const RacedRate& raced : result.rates) {
      fmt::print(" {} {}", raced.rate, raced.finished ? fmt::format("{:.4g}", raced.loss) : "failed");
    }
    fmt::print("\n");
    return true;
  }

  void learn(TableRun& run) {
    Progress progress("training", run.total_steps(), !talks());
    start_ = Clock::now();
    first_step_ = run.steps();
    while (run.status() == RunStatus::running && !stop_.flag()) {
      const auto report = run.learn_epoch(stop_.flag(), [&] { progress.update(run.steps()); });
      if (!report) continue;
      progress.clear();
      print_epoch(*report);
      const bool due = options_.save_every > 0 && run.epoch() % options_.save_every == 0;
      if (due && run.status() == RunStatus::running) save(run);
    }
    seconds_ = seconds_since(start_);
  }

  void print_epoch(const EpochReport& report) const {
    if (options_.json) {
      JsonLine line("epoch");
      line.set("epoch", report.epoch).set("training_loss", report.training_loss);
      set_metrics(line, "validation", report.validation);
      line.set("best", report.best).print();
    }
    if (!talks()) return;
    fmt::print("epoch {:3}  training loss {:.4g}", report.epoch, report.training_loss);
    if (report.validation.regression || report.validation.classification) {
      fmt::print("  validation loss {:.4g}{}", report.validation.loss, report.best ? " *" : "");
    }
    fmt::print("\n");
  }

  void save(const TableRun& run) {
    Checkpoint checkpoint;
    run.save(checkpoint);
    checkpoint.set("run.rate", std::span<const double>(&options_.run.rate, 1));
    try {
      checkpoint.write(options_.save);
    } catch (const FileError& fault) {
      // What was learned is worth another try elsewhere.
      const fs::path refuge = fs::temp_directory_path() / fs::path(options_.save).filename();
      fmt::print(stderr, "ignd: {}; trying {}\n", fault.what(), quoted_path(refuge));
      checkpoint.write(refuge);
      options_.save = refuge;
    }
  }

  static int interrupted_early() {
    fmt::print(stderr, "ignd: interrupted before there was anything to save\n");
    return 130;
  }

  int interrupted(const TableRun& run) {
    save(run);
    fmt::print(stderr,
               "ignd: interrupted after {} of {} steps; saved {}; go on with the same command and --resume {}\n",
               with_commas(run.steps()), with_commas(run.total_steps()), quoted_path(options_.save), options_.save);
    return 130;
  }

  std::vector<Judged> judge_all(const TableTask& task, const TableModel& model,
                                const std::vector<std::span<const std::uint32_t>>& parts) const {
    Trace<float> trace(*model.model);
    std::vector<std::pair<std::string, OutputOf>> predictors;
    predictors.emplace_back("model", [&](std::span<const float> x) { return model.model->predict({x}, trace); });
    const auto rows = [&](const RowVisitor& visit) {
      std::vector<float> x(task.encoder().features());
      for (const std::uint32_t row : task.split().train) {
        const Sample<float> sample = task.sample(row, x);
        visit(x, sample.y, task.row_weight(row));
      }
    };
    const bool classes = task.target().is_class();
    const double constant = classes ? best_constant_for_logistic(rows) : best_constant_for_squared(rows);
    predictors.emplace_back("best constant", [=](std::span<const float>) { return constant; });
    const std::size_t features = task.encoder().features();
    if (const auto linear = classes ? logistic_regression(rows, features) : least_squares(rows, features)) {
      predictors.emplace_back(classes ? "logistic regression" : "least squares", *linear);
    }
    std::vector<Judged> judged;
    for (const auto& [who, output] : predictors) {
      judged.push_back({who, {}});
      for (const auto& part : parts) judged.back().on.push_back(judge(task, part, output));
    }
    return judged;
  }

  int finish(const TableTask& task, TableRun& run) {
    save(run);
    const TableModel model = run.kept();
    std::vector<std::string> names;
    std::vector<std::span<const std::uint32_t>> parts;
    const Split& split = task.split();
    if (!split.validation.empty()) names.emplace_back("validation"), parts.emplace_back(split.validation);
    if (!split.test.empty()) names.emplace_back("test"), parts.emplace_back(split.test);
    const std::vector<Judged> judged = judge_all(task, model, parts);
    const double rate_of_learning = static_cast<double>(run.steps() - first_step_) / seconds_;
    if (options_.json) {
      JsonLine line("result");
      line.set("status", to_string(run.status()))
          .set("model", options_.run.model)
          .set("loss", task.loss())
          .set("optimizer", options_.run.optimizer.rule + "+" + options_.run.optimizer.transform)
          .set("rate", options_.run.rate)
          .set("epochs", run.epoch())
          .set("seconds", seconds_)
          .set("samples_per_second", rate_of_learning);
      for (std::size_t i = 0; i < parts.size(); ++i) {
        set_metrics(line, "metrics." + names[i], judged[0].on[i]);
        for (std::size_t k = 1; k < judged.size(); ++k) {
          std::string who = judged[k].who;
          std::ranges::replace(who, ' ', '_');
          set_metrics(line, "baselines." + who + "." + names[i], judged[k].on[i]);
        }
      }
      line.set("saved", options_.save).print();
    } else {
      if (!options_.quiet) {
        fmt::print("{} after {} epochs, {} samples in {:.3g} s ({:.3g} samples/s); kept: the {} iterate\n",
                   to_string(run.status()), run.epoch(), with_commas(run.steps() - first_step_), seconds_,
                   rate_of_learning, options_.run.keep_last || split.validation.empty() ? "last" : "best");
      }
      print_table(names, judged);
      fmt::print("\nsaved {}\n", options_.save);
    }
    if (run.status() != RunStatus::diverged) return 0;
    fmt::print(stderr, "ignd: the run diverged: a number was no longer finite or the loss exploded; lower --lr\n");
    return 1;
  }

  TrainOptions options_;
  StopSignal stop_;
  Clock::time_point start_;
  double seconds_ = 0;
  std::uint64_t first_step_ = 0;
};

}  // namespace

int train(TrainOptions options) {
  if (options.stream) return train_stream(stream_options(options));
  if (options.data.empty()) throw InvalidArgument("name the file to train on");
  if (options.task.target.empty()) throw InvalidArgument("name the column to predict with --target");
  return Training(std::move(options)).run();
}

}  // namespace ignd::cli
