#include "cli/training.hpp"

#include "base/duration.hpp"
#include "base/stopped.hpp"
#include "base/text.hpp"
#include "cli/console.hpp"
#include "cli/describe.hpp"
#include "cli/result_tables.hpp"
#include "cli/save_model.hpp"
#include "cli/stop_signal.hpp"
#include "ignd/error.hpp"
#include "ignd/random.hpp"
#include "lab/step_cost.hpp"
#include "learn/model_outputs.hpp"
#include "learn/race.hpp"
#include "learn/run.hpp"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <utility>

#include <fmt/format.h>

namespace ignd::cli {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

std::string optimizer_name(const TrainOptions& options) {
  if (!options.optimizer.empty()) return options.optimizer;
  return options.spec.training.optimizer.rule + "+" + options.spec.training.optimizer.transform;
}

// The baseline with the lowest loss on the last part, where the model, which is the first, has a higher one. The loss
// is the one that the model learns.
std::optional<Evaluated> better_baseline(const std::vector<Evaluated>& judged) {
  const auto loss = [](const Evaluated& of) { return of.on.back().loss; };
  const auto best = std::ranges::min_element(judged, {}, loss);
  return loss(*best) < loss(judged[0]) ? std::optional(*best) : std::nullopt;
}

// One training run as the user sees it.
class Training {
 public:
  Training(const TrainingData& data, TrainOptions options, OutputFile& file)
      : data_(data),
        options_(std::move(options)),
        file_(file),
        talks_(!options_.json && !options_.quiet),
        task_(data.task()) {}

  int run(const std::optional<Checkpoint>& saved) {
    // Whether a batch is possible, the rows and the model say: before a race, and before anything is printed.
    if (options_.spec.training.batch) Run(task_, options_.spec.training);
    Checkpoint now;
    task_.save_reader(now);
    task_.target().save(now);
    file_.check_same_data(now);
    print_data();
    if (saved) {
      take_rate(*saved);
    } else {
      print_plan();
    }
    if (!saved && options_.rate == "auto" && !race_for_rate()) return interrupted_early();
    Run run(task_, options_.spec.training);
    if (saved) resume(run, *saved);
    learn(run);
    if (run.status() == RunStatus::running) return interrupted(run);
    return finish(run);
  }

 private:
  bool prints_events() const { return options_.json && !options_.quiet; }

  void print_data() const {
    data_.print_warnings();
    const Split& split = task_.split();
    if (prints_events()) {
      JsonLine line("data");
      line.set(data_.samples(), data_.size());
      data_.describe(line);
      line.set("train", std::uint64_t{split.train.size()})
          .set("validation", std::uint64_t{split.validation.size()})
          .set("test", std::uint64_t{split.test.size()})
          .set("target", task_.target().name)
          .set("task", task_.target().is_class() ? "classification" : "regression")
          .set("loss", task_.loss());
      if (!task_.target().choice.empty()) line.set("choice", task_.target().choice);
      line.print();
    }
    if (!talks_) return;
    print("{}: {} {}: {} to train on, {} to validate, {} to test\n", for_terminal(options_.spec.data.path),
          with_commas(data_.size()), data_.samples(), with_commas(split.train.size()),
          with_commas(split.validation.size()), with_commas(split.test.size()));
    print("target {}: {}\n", for_terminal(task_.target().name), describe(task_.target()));
    if (!task_.target().choice.empty()) print("  {}\n", task_.target().choice);
    for (const std::string& detail : data_.details()) print("  {}\n", detail);
    const std::string batch = options_.spec.training.batch ? "; batch " + describe(*options_.spec.training.batch) : "";
    print("model {}, {}; loss {}; {} + {}{}; schedule {}\n", options_.spec.training.model, data_.inputs(), task_.loss(),
          options_.spec.training.optimizer.rule, options_.spec.training.optimizer.transform, batch,
          options_.spec.training.schedule);
    std::fflush(stdout);
  }

  // What it is about to do, where that takes long.
  void print_plan() const {
    const auto shape = data_.measured_shape();
    if (!talks_ || !shape) return;
    const Split& split = task_.split();
    const StepCost cost =
        measured_cost(task_.model_spec(options_.spec.training.model), *shape, options_.spec.training.optimizer);
    const auto seconds = [&](std::uint64_t steps, std::uint64_t predictions) {
      return static_cast<double>(steps) * cost.step + static_cast<double>(predictions) * cost.prediction;
    };
    const std::uint64_t epochs = options_.spec.training.epochs;
    double total = seconds(epochs * split.train.size(), (epochs + 1) * split.validation.size() + split.test.size());
    std::string first;
    if (options_.rate == "auto") {
      const auto [samples, judged] = race_size();
      const auto rates = race_rates(options_.spec.training.optimizer).size();
      total += static_cast<double>(rates) * seconds(samples, judged);
      first = fmt::format("a race of {} rates over {} {} each, then ", rates, with_commas(samples), data_.samples());
    }
    constexpr double long_time = 60;
    if (total < long_time) return;
    print("this takes about {}: {}{} epoch{} of {} {}\n", duration_text(total), first, epochs, epochs == 1 ? "" : "s",
          with_commas(split.train.size()), data_.samples());
    std::fflush(stdout);
  }

  void take_rate(const Checkpoint& saved) {
    const double rate = saved.array<double>("run.rate", 1)[0];
    if (!std::isfinite(rate) || !(rate > 0)) {
      throw FileError(fmt::format("cannot go on with {}: its learning rate is {}", quoted_path(options_.resume), rate));
    }
    if (options_.rate != "auto" && options_.spec.training.rate != rate) {
      throw FileError(fmt::format("cannot go on with {}: its learning rate is {}, not {}", quoted_path(options_.resume),
                                  rate, options_.spec.training.rate));
    }
    options_.spec.training.rate = rate;
  }

  TrainingData::RaceSize race_size() const {
    TrainingData::RaceSize size = data_.race_size();
    size.judged = std::min(size.judged, task_.split().validation.size());
    return size;
  }

  // With as many samples to judge by as that.
  std::unique_ptr<Dataset> race_task(std::size_t judged) const {
    Split split = task_.split();
    if (judged < split.validation.size()) {
      RandomStream(options_.spec.training.seed, "judges of the race").shuffle(split.validation);
      split.validation.resize(judged);
    }
    return task_.with_split(std::move(split));
  }

  // False if it was interrupted.
  bool race_for_rate() {
    const TrainingData::RaceSize size = race_size();
    const auto part = race_task(size.judged);
    std::optional<Progress> progress;
    const Race result =
        race(*part, options_.spec.training, size.samples, stop_.flag(), [&](std::uint64_t done, std::uint64_t total) {
          if (!progress) progress.emplace("trying rates", total, "samples", !talks_);
          progress->update(done);
        });
    progress.reset();
    if (stop_.flag()) return false;
    if (!result.best) throw Error("training diverged with every rate of the race; choose one with --lr");
    options_.spec.training.rate = *result.best;
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
    print("rate {}: the smallest near the lowest validation loss after {} samples each on {} {}:", *result.best,
          with_commas(result.samples), with_commas(result.rows), data_.samples());
    for (const RacedRate& raced : result.rates) {
      print(" {} {}", raced.rate, std::isfinite(raced.loss) ? in_short(raced.loss) : "diverged");
    }
    print("\n");
  }

  void resume(Run& run, const Checkpoint& saved) const {
    try {
      run.restore(saved);
    } catch (const FileError& fault) {
      throw FileError(fmt::format("cannot go on with {}: {}", quoted_path(options_.resume), fault.what()));
    }
    if (run.status() == RunStatus::running) {
      if (talks_) print("going on after {} samples\n", with_commas(run.learned()));
      return;
    }
    print_error("ignd: nothing is left to learn: the run in {} has {}\n", quoted_path(options_.resume),
                to_string(run.status()));
  }

  void learn(Run& run) {
    Progress progress("training", run.to_learn(), "samples", !talks_);
    const Clock::time_point start = Clock::now();
    const std::uint64_t first_step = run.learned();
    while (run.status() == RunStatus::running && !stop_.flag()) {
      const auto report = run.learn_epoch(stop_.flag(), [&] { progress.update(run.learned()); });
      if (!report) continue;
      progress.clear();
      print_epoch(*report);
      const bool due = options_.save_every > 0 && run.epoch() % options_.save_every == 0;
      if (due && run.status() == RunStatus::running) save(run, &OutputFile::save_partial);
    }
    learned_ = run.learned() - first_step;
    seconds_ = seconds_since(start);
  }

  void print_epoch(const EpochReport& report) const {
    const Scores& validation = report.validation;
    const bool measured = validation.is_measured();
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
  void save(const Run& run, Saved (OutputFile::*how)(const Checkpoint&)) {
    Checkpoint checkpoint;
    run.save(checkpoint);
    checkpoint.set("run.rate", std::span<const double>(&options_.spec.training.rate, 1));
    saved_ = (file_.*how)(checkpoint);
    if (saved_.fault.empty()) return;
    save_failed_ = true;
    print_error("ignd: {}\n", saved_.fault);
  }

  static int interrupted_early() {
    print_error("ignd: interrupted before there was anything to save\n");
    return interrupted_code;
  }

  int interrupted(const Run& run) {
    save(run, &OutputFile::save_partial);
    if (saved_.path.empty()) return interrupted_code;
    print_error("ignd: interrupted after {} of {} {}; saved {}; go on with the same command and --resume {}\n",
                with_commas(run.learned()), with_commas(run.to_learn()), data_.samples(), quoted_path(saved_.path),
                for_terminal(shell_word(saved_.path)));
    return interrupted_code;
  }

  int finish(const Run& run) {
    const bool diverged = run.status() == RunStatus::diverged;
    if (diverged && run.kept_epoch() == 0) {
      throw Error("training diverged in its first epoch, and nothing was saved; choose a smaller --lr");
    }
    const bool learned_nothing = learned_ == 0 && !options_.resume.empty();
    if (!learned_nothing || file_.path() != options_.resume) save(run, &OutputFile::save);
    try {
      print_result(run);
    } catch (const Stopped&) {
      print_error("ignd: interrupted before the model was measured; it is in {}\n", quoted_path(file_.path()));
      return interrupted_code;
    }
    if (diverged) {
      print_error("ignd: training diverged after {} epochs; the model is that of epoch {}; choose a smaller --lr\n",
                  run.epoch(), run.kept_epoch());
    }
    return diverged || save_failed_ ? 1 : 0;
  }

  void print_result(const Run& run) const {
    const auto model = run.kept();
    ModelOutputs outputs_of(*model);
    std::vector<Predictor> predictors = data_.baselines();
    predictors.insert(predictors.begin(),
                      {"model", [&](const Input<float>& x, std::span<double> outputs) { outputs_of(x, outputs); }});
    std::vector<std::string> parts;
    std::vector<Evaluated> judged;
    judged.reserve(predictors.size());
    for (const Predictor& predictor : predictors) judged.push_back({predictor.name, {}});
    const auto measure = [&](const char* name, std::span<const std::uint32_t> rows) {
      if (rows.empty()) return;
      parts.emplace_back(name);
      for (std::size_t i = 0; i < judged.size(); ++i) {
        judged[i].on.push_back(evaluate(task_, rows, [&](const Input<float>& x, std::span<double> outputs) {
          if (stop_.flag()) throw Stopped();
          predictors[i].outputs(x, outputs);
        }));
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
    if (!parts.empty()) {
      print("{}", confusion_text(judged[0].on.back(), task_.target().classes));
      if (const auto better = better_baseline(judged)) {
        print("\n{} is better than the model on the {} {}: mean loss {} against {}\n", better->name, parts.back(),
              data_.samples(), in_short(better->on.back().loss), in_short(judged[0].on.back().loss));
      }
    }
    if (!saved_.path.empty()) print("\n{} {}\n", saved_.verb(), for_terminal(saved_.path));
  }

  void print_json_result(const Run& run, const std::vector<std::string>& parts,
                         const std::vector<Evaluated>& judged) const {
    JsonLine line("result");
    line.set("status", to_string(run.status()))
        .set("model", options_.spec.training.model)
        .set("loss", task_.loss())
        .set("optimizer", optimizer_name(options_))
        .set("rate", options_.spec.training.rate)
        .set("epochs", run.epoch())
        .set("kept_epoch", run.kept_epoch())
        .set("left_out", data_.left_out())
        .set("seconds", seconds_)
        .set("samples_per_second", static_cast<double>(learned_) / seconds_);
    for (std::size_t part = 0; part < parts.size(); ++part) {
      set_metrics(line, "metrics." + parts[part], judged[0].on[part]);
      for (std::size_t i = 1; i < judged.size(); ++i) {
        std::string key = judged[i].name;
        std::ranges::replace(key, ' ', '_');
        std::ranges::transform(key, key.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
        set_metrics(line, "baselines." + key + "." + parts[part], judged[i].on[part]);
      }
    }
    if (!parts.empty()) {
      set_confusion(line, judged[0].on.back(), task_.target().classes);
      const auto better = better_baseline(judged);
      if (judged.size() > 1) line.set("baseline_is_better", better.has_value());
      if (better) line.set("better_baseline", better->name);
    }
    if (!saved_.path.empty()) line.set("saved", saved_.path).set("replaced", saved_.replaced);
    line.print();
  }

  const TrainingData& data_;
  TrainOptions options_;
  OutputFile& file_;
  bool talks_;
  const Dataset& task_;
  StopSignal stop_;
  std::uint64_t learned_ = 0;  // samples, since the run began or was resumed
  double seconds_ = 0;
  Saved saved_;
  bool save_failed_ = false;  // at the place that was asked for
};

}  // namespace

int train_on(const TrainingData& data, TrainOptions options, OutputFile& file, const std::optional<Checkpoint>& saved) {
  return Training(data, std::move(options), file).run(saved);
}

}  // namespace ignd::cli
