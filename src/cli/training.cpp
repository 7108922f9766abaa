#include "base/atomic_file.hpp"
#include "base/stopped.hpp"
#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/console.hpp"
#include "cli/describe.hpp"
#include "cli/experiments.hpp"
#include "cli/prediction_writer.hpp"
#include "cli/result_tables.hpp"
#include "cli/save_model.hpp"
#include "cli/stop_signal.hpp"
#include "cli/train.hpp"
#include "cli/training_data.hpp"
#include "ignd/checkpoint.hpp"
#include "ignd/error.hpp"
#include "lab/machine.hpp"
#include "learn/engine.hpp"
#include "learn/ensemble.hpp"
#include "learn/search.hpp"
#include "learn/step_log.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>
#include <utility>

#include <fmt/format.h>

namespace ignd::cli {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// As the user would name it.
std::string optimizer_name(const Optimizer& optimizer) {
  for (const std::string& name : optimizer_names()) {
    const Optimizer known = find_optimizer(name);
    if (known.rule == optimizer.rule && known.transform == optimizer.transform) return name;
  }
  return optimizer.rule + "+" + optimizer.transform;
}

// What a model or a baseline says of the last part of the data that it was measured on.
struct Judged {
  Evaluated scores;
  JudgedSamples last;
};

bool is_line(const std::string& baseline) { return baseline != "best constant"; }

// The predictions of rows whose targets are known, as comma-separated values.
class PredictionTable {
 public:
  explicit PredictionTable(const TrainingData& data)
      : format_(data.name_heading(), std::vector<std::string>{"part", "target"}, data.dataset().target().classes),
        text_(format_.header()) {}

  void add(const TrainingData& data, const std::string& part, std::span<const std::uint32_t> rows,
           std::span<const double> outputs) {
    const Dataset& dataset = data.dataset();
    const Target& target = dataset.target();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const double truth = dataset.target_in_units(rows[i]);
      PredictedSample sample;
      interpret(target, outputs.subspan(i * target.outputs(), target.outputs()), sample.prediction);
      sample.prediction.name = data.name_of(rows[i]);
      sample.kept = {part, target.is_class() ? target.classes[static_cast<std::size_t>(truth)] : format_number(truth)};
      format_.append(text_, sample);
    }
  }

  const std::string& text() const { return text_; }

 private:
  PredictionFormat format_;
  std::string text_;
};

// One training run as the user sees it.
class Training final : public EnsembleObserver {
 public:
  Training(const TrainingData& data, TrainOptions options, OutputFile& file)
      : data_(data),
        options_(std::move(options)),
        file_(file),
        talks_(!options_.json && !options_.quiet),
        dataset_(data.dataset()) {}

  int run(const std::optional<Checkpoint>& saved) {
    if (options_.spec.is_ensemble()) {
      plan_ = plan_ensemble(options_.spec, dataset_);
      plan_->keep_states = options_.save_every > 0;
      options_.spec.training = plan_->network;
    }
    if (saved) resuming([&] { check_saved_run(*saved, plan_ ? &*plan_ : nullptr); });
    // Before the search for a rate and before anything is printed: rows and model say whether a batch is possible.
    check_run(dataset_, options_.spec.training);
    if (plan_ && !options_.log_steps.empty()) {
      throw InvalidArgument("--log-steps cannot be given for an ensemble: it logs the steps of a single network");
    }
    if (!options_.log_steps.empty() && dataset_.target().outputs() > 1) {
      throw InvalidArgument("--log-steps cannot be given for more than two classes: their steps are those of batches");
    }
    Checkpoint now;
    dataset_.save_reader(now);
    dataset_.target().save(now);
    file_.check_same_data(now);
    print_data();
    if (!options_.budget.empty()) keep_budget(parse_duration(options_.budget));
    if (saved) {
      resuming([&] {
        if (!rate_of(options_.spec.method)) {
          options_.spec.training.rate = plan_ ? rate_of_saved_ensemble(*saved) : rate_of_saved(*saved);
        }
      });
    } else {
      print_plan();
      if (!rate_of(options_.spec.method) && !search_for_rate()) return interrupted_early();
    }
    saved_run_ = saved ? &*saved : nullptr;
    if (plan_) {
      plan_->network.rate = options_.spec.training.rate;
      train_ensemble(engine_for(Machine::own), dataset_, *plan_, *this, stop_.flag());
    } else {
      const RunSlot slot{.options = &options_.spec.training, .observer = this};
      train_group(engine_for(Machine::own), {&slot, 1}, dataset_, stop_.flag());
    }
    return code_ ? *code_ : interrupted_early();
  }

  void begin(RunView& run) override {
    if (saved_run_ != nullptr) resume(run, *saved_run_);
    if (!options_.log_steps.empty()) log_.emplace(run.to_learn());
    first_sample_ = run.learned();
    progress_.emplace("training", run.to_learn(), "samples", !talks_);
    start_ = Clock::now();
  }

  StepObserver* step_observer() override { return log_ ? &*log_ : nullptr; }

  void progress(const RunView& run) override { progress_->update(run.learned()); }

  void look(RunView& run, const std::optional<EpochReport>& epoch) override {
    if (!epoch) return;
    if (!plan_) {
      progress_->clear();
      print_epoch(*epoch);
    }
    const bool due = options_.save_every > 0 && run.epoch() % options_.save_every == 0;
    if (due && run.status() == RunStatus::running) save(run, &OutputFile::save_partial);
  }

  void member_ended(const RunView& /*ensemble*/, const MemberReport& report) override {
    progress_->clear();
    print_member(report);
  }

  void end(RunView& run) override {
    progress_.reset();
    learned_ = run.learned() - first_sample_;
    seconds_ = seconds_since(start_);
    write_log();
    code_ = run.status() == RunStatus::running ? interrupted(run) : finish(run);
  }

 private:
  bool prints_events() const { return options_.json && !options_.quiet; }

  void print_data() const {
    data_.print_warnings();
    const Split& split = dataset_.split();
    if (prints_events()) {
      JsonLine line("data");
      line.set(data_.samples(), data_.size());
      data_.describe(line);
      line.set("train", std::uint64_t{split.train.size()})
          .set("validation", std::uint64_t{split.validation.size()})
          .set("test", std::uint64_t{split.test.size()})
          .set("target", dataset_.target().name)
          .set("task", dataset_.target().is_class() ? "classification" : "regression")
          .set("loss", dataset_.loss());
      if (!dataset_.target().choice.empty()) line.set("choice", dataset_.target().choice);
      line.print();
    }
    if (!talks_) return;
    print("{}: {} {}: {} to train on, {} to validate, {} to test\n", for_terminal(options_.spec.data.path),
          with_commas(data_.size()), data_.samples(), with_commas(split.train.size()),
          with_commas(split.validation.size()), with_commas(split.test.size()));
    print("target {}: {}\n", for_terminal(dataset_.target().name), describe(dataset_.target()));
    if (!dataset_.target().choice.empty()) print("  {}\n", dataset_.target().choice);
    for (const std::string& detail : data_.details()) print("  {}\n", detail);
    const std::string batch = options_.spec.training.batch ? "; batch " + describe(*options_.spec.training.batch) : "";
    const std::string several = plan_ ? fmt::format("{} networks ", plan_->members) : "model ";
    print("{}{}, {}; loss {}; {} + {}{}; schedule {}\n", several, options_.spec.training.model, data_.inputs(),
          dataset_.loss(), options_.spec.training.optimizer.rule, options_.spec.training.optimizer.transform, batch,
          options_.spec.training.schedule);
    std::fflush(stdout);
  }

  // What it is about to do, where that takes long.
  void print_plan() const {
    const auto shape = data_.measured_shape();
    if (!talks_ || !shape) return;
    const Split& split = dataset_.split();
    const StepCost cost =
        measured_cost(dataset_.model_spec(options_.spec.training.model), *shape, options_.spec.training.optimizer);
    const auto seconds = [&](std::uint64_t steps, std::uint64_t predictions) {
      return static_cast<double>(steps) * cost.step + static_cast<double>(predictions) * cost.prediction;
    };
    const std::uint64_t epochs = options_.spec.training.epochs;
    double total = seconds(epochs * split.train.size(), (epochs + 1) * split.validation.size() + split.test.size());
    std::string first;
    if (!rate_of(options_.spec.method)) {
      const auto [samples, judged] = search_budget();
      const auto rates = usual_rates(options_.spec.training.optimizer).size();
      total += static_cast<double>(rates) * seconds(samples, judged);
      first = fmt::format("a search over {} rates, {} {} each, then ", rates, with_commas(samples), data_.samples());
    }
    constexpr double long_time = 60;
    if (total < long_time) return;
    print("this takes about {}: {}{} epoch{} of {} {}\n", duration_text(total), first, epochs, epochs == 1 ? "" : "s",
          with_commas(split.train.size()), data_.samples());
    std::fflush(stdout);
  }

  // Seconds of a step and of a prediction, from a short run that is thrown away.
  StepCost measured_step() const {
    constexpr std::uint64_t samples = 4000;
    TrainingOptions options = options_.spec.training;
    options.epochs = std::max<std::uint64_t>(options.epochs, 1);
    options.is_trial = true;
    Run trial(dataset_, options);
    const auto nothing = [] {};
    trial.learn_epoch(stop_.flag(), nothing, samples);
    const double step = trial.learning_seconds() / static_cast<double>(std::max<std::uint64_t>(trial.learned(), 1));
    std::vector<std::uint32_t> rows = dataset_.split().train;
    rows.resize(std::min<std::size_t>(rows.size(), samples));
    const auto start = Clock::now();
    run_outputs(trial, rows);
    return {.step = step, .prediction = seconds_since(start) / static_cast<double>(rows.size())};
  }

  void run_outputs(const RunView& run, std::span<const std::uint32_t> rows) const {
    if (!run.outputs(rows, stop_.flag())) throw Stopped();
  }

  // Trains for as many epochs as fit into the time, of those that there would be. The number is printed, so that the
  // run can be made again anywhere.
  void keep_budget(double seconds) {
    const StepCost cost = measured_step();
    const std::size_t train = dataset_.split().train.size(), validation = dataset_.split().validation.size();
    double epoch = static_cast<double>(train) * cost.step + static_cast<double>(validation) * cost.prediction;
    double before = 0;
    if (plan_) {
      // Each network learns from all folds but one; a linear model for each fold takes a small part of that.
      constexpr double with_linear = 1.1;
      const auto members = static_cast<double>(plan_->members);
      const double together = std::min(members, static_cast<double>(jobs_or_cores(0)));
      const auto rows = static_cast<double>(train + validation);
      epoch =
          with_linear * members / together * rows * (cost.step * (members - 1) / members + cost.prediction / members);
    } else if (!rate_of(options_.spec.method)) {
      const auto [samples, judged] = search_budget();
      before = static_cast<double>(usual_rates(options_.spec.training.optimizer).size()) *
               (static_cast<double>(samples) * cost.step + static_cast<double>(judged) * cost.prediction);
    }
    const std::uint64_t planned = options_.spec.training.epochs;
    const double fitting = std::floor((seconds - before) / epoch);
    if (fitting < 1 && planned > 0) {
      throw Error(fmt::format("the budget of {} is too short for a single epoch, which takes about {}{}",
                              duration_text(seconds), duration_text(epoch),
                              before > 0 ? ", after a search for the rate of " + duration_text(before) : ""));
    }
    const auto epochs = static_cast<std::uint64_t>(std::min(fitting, static_cast<double>(planned)));
    options_.spec.epochs = options_.spec.training.epochs = epochs;
    if (plan_) {
      plan_ = plan_ensemble(options_.spec, dataset_);
      plan_->keep_states = options_.save_every > 0;
      options_.spec.training = plan_->network;
    }
    const std::string repeat =
        fmt::format("{}--epochs {}", plan_ ? fmt::format("--ensemble {} ", plan_->members) : "", epochs);
    if (prints_events()) {
      JsonLine("budget")
          .set("seconds", seconds)
          .set("epochs", epochs)
          .set("planned", planned)
          .set("seconds_of_an_epoch", epoch)
          .set("repeat", repeat)
          .print();
    }
    if (!talks_) return;
    print("budget {}: {} of {} epochs, of about {} each; {} in place of --budget makes the same run\n",
          duration_text(seconds), epochs, planned, duration_text(epoch), repeat);
    std::fflush(stdout);
  }

  SearchBudget search_budget() const {
    SearchBudget budget = dataset_.search_budget();
    budget.judged = std::min(budget.judged, dataset_.split().validation.size());
    return budget;
  }

  // False if it was interrupted.
  bool search_for_rate() {
    std::optional<Progress> progress;
    const RateSearch result = search_rate(engine_for(Machine::own), dataset_, options_.spec.training, search_budget(),
                                          stop_.flag(), [&](std::uint64_t done, std::uint64_t total) {
                                            if (!progress) progress.emplace("trying rates", total, "samples", !talks_);
                                            progress->update(done);
                                          });
    progress.reset();
    if (stop_.flag()) return false;
    if (!result.best) throw Error("training diverged at every rate tried; choose one with --lr");
    options_.spec.training.rate = *result.best;
    print_search(result);
    return true;
  }

  void print_search(const RateSearch& result) const {
    if (prints_events()) {
      std::vector<double> rates, losses;
      for (const TriedRate& tried : result.rates) {
        rates.push_back(tried.rate);
        losses.push_back(tried.loss);
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
    for (const TriedRate& tried : result.rates) {
      print(" {} {}", tried.rate, std::isfinite(tried.loss) ? in_short(tried.loss) : "diverged");
    }
    print("\n");
  }

  void resuming(const std::function<void()>& use_file) const {
    try {
      use_file();
    } catch (const FileError& fault) {
      throw FileError(fmt::format("cannot resume {}: {}", quoted_path(options_.resume), fault.what()));
    }
  }

  void resume(RunView& run, const Checkpoint& saved) const {
    resuming([&] { run.restore(saved); });
    if (run.status() == RunStatus::running) {
      if (talks_) print("resuming after {} samples\n", with_commas(run.learned()));
      return;
    }
    print_error("ignd: nothing is left to learn: the run in {} has {}\n", quoted_path(options_.resume),
                to_string(run.status()));
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

  void print_member(const MemberReport& report) const {
    if (prints_events()) {
      JsonLine("member")
          .set("member", std::uint64_t{report.number})
          .set("model", report.linear ? "linear" : options_.spec.training.model)
          .set("status", to_string(report.status))
          .set("epochs", report.epochs)
          .set("kept_epoch", report.kept_epoch)
          .set("loss", report.loss)
          .print();
    }
    if (!talks_ || report.linear) return;
    print("network {:2} {} after {} epochs; validation loss {:.4g} in epoch {}\n", report.number,
          to_string(report.status), report.epochs, report.loss, report.kept_epoch);
    std::fflush(stdout);
  }

  // A failure does not end training; the exit code reports it.
  void save(const RunView& run, Saved (OutputFile::*how)(const Checkpoint&)) {
    Checkpoint checkpoint;
    run.save(checkpoint);
    if (intervals_) intervals_->save(checkpoint);
    saved_ = (file_.*how)(checkpoint);
    if (saved_.fault.empty()) return;
    save_failed_ = true;
    print_error("ignd: {}\n", saved_.fault);
  }

  // Also of a run that was interrupted or failed: then it may tell why.
  void write_log() {
    if (!log_) return;
    log_->finish();
    write_file(options_.log_steps, log_->csv());
  }

  void write_file(const std::string& path, const std::string& text) {
    try {
      write_file_atomically(path, text);
    } catch (const FileError& fault) {
      file_failed_ = true;
      print_error("ignd: {}\n", fault.what());
    }
  }

  static int interrupted_early() {
    print_error("ignd: interrupted before there was anything to save\n");
    return interrupted_code;
  }

  int interrupted(const RunView& run) {
    save(run, &OutputFile::save_partial);
    if (saved_.path.empty()) return interrupted_code;
    print_error("ignd: interrupted after {} of {} {}; saved {}; to resume, run the same command with --resume {}\n",
                with_commas(run.learned()), with_commas(run.to_learn()), data_.samples(), quoted_path(saved_.path),
                for_terminal(shell_word(saved_.path)));
    return interrupted_code;
  }

  int finish(const RunView& run) {
    const bool diverged = run.status() == RunStatus::diverged;
    if (diverged && run.kept_epoch() == 0) {
      throw Error("training diverged in its first epoch, and nothing was saved; choose a smaller --lr");
    }
    intervals_ = intervals_of(run, dataset_, seed(), stop_.flag());
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
    return diverged || save_failed_ || file_failed_ ? failure : 0;
  }

  void print_result(const RunView& run) {
    const std::vector<Predictor> baselines = data_.baselines();
    std::vector<std::string> parts;
    PredictionTable predictions(data_);
    std::vector<Judged> judged{{{"model", {}}, {}}};
    for (const Predictor& baseline : baselines) judged.push_back({{baseline.name, {}}, {}});
    const auto measure = [&](const char* name, std::span<const std::uint32_t> rows) {
      if (rows.empty()) return;
      parts.emplace_back(name);
      for (Judged& one : judged) one.last = {};
      const auto outputs = run.outputs(rows, stop_.flag());
      if (!outputs) throw Stopped();
      judged[0].scores.on.push_back(evaluate(dataset_, rows, *outputs, &judged[0].last));
      if (!options_.predictions.empty()) predictions.add(data_, name, rows, *outputs);
      for (std::size_t i = 0; i < baselines.size(); ++i) {
        const OutputsOf outputs_of = [&](const Input<float>& x, std::span<double> out) {
          if (stop_.flag()) throw Stopped();
          baselines[i].outputs(x, out);
        };
        judged[i + 1].scores.on.push_back(evaluate(dataset_, rows, outputs_of, &judged[i + 1].last));
      }
    };
    measure("validation", dataset_.split().validation);
    measure("test", dataset_.split().test);
    if (!options_.predictions.empty()) write_file(options_.predictions, predictions.text());
    std::optional<Verdict> verdict;
    if (!parts.empty()) {
      judged[0].scores.bars.resize(parts.size());
      if (judged[0].last.size() > 0) judged[0].scores.bars.back() = error_bars(judged[0].last, seed());
      verdict = judge(judged);
    }
    std::vector<Evaluated> scores;
    for (const Judged& one : judged) scores.push_back(one.scores);
    const std::string said = verdict ? verdict_on(*verdict, last_rows(parts, judged[0].last)) : "";
    if (options_.json) {
      JsonLine line = json_result(run, parts, scores);
      if (verdict) set_verdict(line, *verdict, said);
      if (const auto coverage = measured_coverage(judged[0].last)) set_coverage(line, *coverage);
      line.print();
      return;
    }
    if (talks_) {
      print("{} after {} epochs, {} samples in {:.3g} s ({:.3g} samples/s); kept: epoch {}\n\n",
            to_string(run.status()), run.epoch(), with_commas(learned_), seconds_,
            static_cast<double>(learned_) / seconds_, run.kept_epoch());
    }
    print_table(parts, scores);
    if (!parts.empty()) print("{}", confusion_text(scores[0].on.back(), dataset_.target().classes));
    const auto coverage = measured_coverage(judged[0].last);
    if (coverage) print("\n{}\n", coverage_text(*coverage, last_rows(parts, judged[0].last)));
    if (!said.empty()) print("\n{}\n", said);
    if (!saved_.path.empty()) print("\n{} {}\n", saved_.verb(), for_terminal(saved_.path));
  }

  // Of the intervals that most users will ask for; none where there are none, or too few residuals for that level.
  std::optional<IntervalCoverage> measured_coverage(const JudgedSamples& samples) const {
    constexpr double level = 0.9;
    if (!intervals_ || !intervals_->allows(level) || samples.size() == 0) return std::nullopt;
    return coverage_of(*intervals_, samples, level);
  }

  std::string last_rows(const std::vector<std::string>& parts, const JudgedSamples& last) const {
    return fmt::format("{} {} {}", with_commas(last.size()), parts.back(), data_.samples());
  }

  std::uint64_t seed() const { return options_.spec.training.seed; }

  // How the model, which comes first, stands against the baseline with the lowest loss.
  std::optional<Verdict> judge(const std::vector<Judged>& judged) const {
    if (judged.size() < 2) return std::nullopt;
    const auto loss = [](const Judged& of) { return of.scores.on.back().loss; };
    const Judged& best = *std::ranges::min_element(judged.begin() + 1, judged.end(), {}, loss);
    return compare_losses(judged[0].scores.on.back(), judged[0].last, best.scores.on.back(), best.last,
                          best.scores.name, seed());
  }

  std::string verdict_on(const Verdict& verdict, const std::string& where) const {
    const bool could_be_line = is_line(verdict.baseline) && options_.spec.training.model != "linear";
    return verdict_text(verdict, where, could_be_line);
  }

  JsonLine json_result(const RunView& run, const std::vector<std::string>& parts,
                       const std::vector<Evaluated>& judged) const {
    JsonLine line("result");
    line.set("status", to_string(run.status()))
        .set("model", options_.spec.training.model)
        .set("loss", dataset_.loss())
        .set("optimizer", optimizer_name(options_.spec.training.optimizer))
        .set("rate", options_.spec.training.rate)
        .set("epochs", run.epoch())
        .set("kept_epoch", run.kept_epoch())
        .set("left_out", data_.left_out())
        .set("seconds", seconds_)
        .set("samples_per_second", static_cast<double>(learned_) / seconds_);
    for (std::size_t part = 0; part < parts.size(); ++part) {
      set_metrics(line, "metrics." + parts[part], judged[0].on[part]);
      for (std::size_t i = 1; i < judged.size(); ++i) {
        set_metrics(line, "baselines." + baseline_key(judged[i].name) + "." + parts[part], judged[i].on[part]);
      }
    }
    if (!parts.empty()) {
      set_confusion(line, judged[0].on.back(), dataset_.target().classes);
      if (const auto& bars = judged[0].bars.back()) set_error_bars(line, parts.back(), judged[0].on.back(), *bars);
    }
    if (!saved_.path.empty()) line.set("saved", saved_.path).set("replaced", saved_.replaced);
    return line;
  }

  const TrainingData& data_;
  TrainOptions options_;
  OutputFile& file_;
  bool talks_;
  const Dataset& dataset_;
  StopSignal stop_;
  std::optional<EnsemblePlan> plan_;       // none: a single network
  const Checkpoint* saved_run_ = nullptr;  // to be resumed
  std::optional<StepLog> log_;
  bool file_failed_ = false;  // one that was asked for besides the model
  std::optional<Progress> progress_;
  Clock::time_point start_;
  std::uint64_t first_sample_ = 0;  // of this command
  std::uint64_t learned_ = 0;       // samples, by this command
  double seconds_ = 0;
  std::optional<int> code_;  // of the program, once the run has ended
  std::optional<PredictionIntervals> intervals_;
  Saved saved_;
  bool save_failed_ = false;  // at the place that was asked for
};

}  // namespace

int train_on(const TrainingData& data, TrainOptions options, OutputFile& file, const std::optional<Checkpoint>& saved) {
  return Training(data, std::move(options), file).run(saved);
}

}  // namespace ignd::cli
