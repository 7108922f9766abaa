#include "base/spec.hpp"
#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/console.hpp"
#include "cli/describe.hpp"
#include "cli/prediction_writer.hpp"
#include "cli/save_model.hpp"
#include "cli/stop_signal.hpp"
#include "cli/train.hpp"
#include "data/example_reader.hpp"
#include "ignd/checkpoint.hpp"
#include "ignd/error.hpp"
#include "learn/run.hpp"
#include "learn/stream_model.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include <fmt/format.h>

namespace ignd::cli {
namespace {

constexpr std::uint64_t block_of_any_size = UINT64_MAX / 2;

using Clock = std::chrono::steady_clock;

StreamOptions learner_options(const TrainOptions& options) {
  const RunSpec& spec = options.spec;
  StreamOptions learner{.bits = options.bits,
                        .loss = tidy_spec(spec.dataset.loss),
                        .optimizer = optimizer_of(spec.method, StreamOptions().optimizer),
                        .l2 = spec.training.l2,
                        .skip_bad_rows = spec.dataset.skip_bad_rows};
  const auto rate = rate_of(spec.method);
  const bool scheduled = options.given.has("schedule") && !spec.training.schedule.empty();
  if (rate || scheduled) {
    learner.schedule =
        Schedule::for_run(scheduled ? spec.training.schedule : "constant", rate.value_or(0.1), std::nullopt);
  }
  return learner;
}

// The keys of a stream's run, as far as it keeps them.
RunSpec spec_of(const StreamOptions& learner, const std::string& target, const std::string& weight) {
  RunSpec spec;
  spec.dataset.target = target;
  spec.dataset.weight = weight;
  spec.dataset.loss = learner.loss;
  spec.method = {.rule = learner.optimizer.rule, .transform = learner.optimizer.transform};
  spec.training.schedule = learner.schedule ? learner.schedule->spec() : left_open;
  spec.training.l2 = learner.l2;
  return spec;
}

// An option that is given again must be what it was: a run does not change half-way. Unlike runs on tables, which
// compare everything, a stream compares what the user gave: the rest is in the file.
void check_same_options(const TrainOptions& options, const StreamOptions& before, const StreamInput& input) {
  const StreamOptions asked = learner_options(options);
  const DatasetOptions& data = options.spec.dataset;
  GivenKeys given = options.given;
  if (given.has("optimizer")) given.names.insert({"rule", "transform"});
  if (given.has("lr")) given.names.insert("schedule");
  if (given.has("quantile")) given.names.insert("loss");
  std::vector<std::string> faults = differences(determining_keys(spec_of(before, input.target, input.weight)),
                                                determining_keys(spec_of(asked, data.target, data.weight.value_or(""))),
                                                [&](const RunKey& key) { return given.has(key.name); });
  if (given.has("bits") && before.bits != asked.bits) {
    faults.push_back(fmt::format("its bits is '{}', not '{}'", before.bits, asked.bits));
  }
  if (faults.empty()) return;
  throw FileError(fmt::format("cannot resume {}: {}", quoted_path(options.resume), list_faults(faults)));
}

std::string skipped_text(std::uint64_t rows) {
  return fmt::format("{} bad row{} skipped", with_commas(rows), rows == 1 ? "" : "s");
}

// One pass over a stream as the user sees it.
class StreamPass {
 public:
  explicit StreamPass(TrainOptions options)
      : options_(std::move(options)),
        file_({options_.save, options_.resume}, options_.spec.data),
        model_(make_model()) {
    if (!options_.resume.empty()) {
      before_ = model_.input();
      rows_before_ = learner_.statistics().rows;
      check_same_options(options_, learner_.options(), *before_);
      before_->check_fits(options_.spec.data);
    }
    if (!options_.predictions.empty()) check_predictions_file(options_, file_.path());
    refuse_model(options_.spec.data.path);
  }

  int run() {
    try {
      open();
    } catch (const Error&) {
      if (!stop_.flag()) throw;
    }
    const Clock::time_point start = Clock::now();
    const std::string fault = stop_.flag() ? "" : learn();
    seconds_ = std::chrono::duration<double>(Clock::now() - start).count();
    if (!fault.empty()) return end_with(fault);
    return stop_.flag() ? end_interrupted() : end();
  }

 private:
  StreamModel make_model() const {
    const DatasetOptions& data = options_.spec.dataset;
    if (options_.resume.empty()) return {data.target, data.weight.value_or(""), learner_options(options_)};
    return StreamModel::load(options_.resume, Checkpoint::read(options_.resume), data.skip_bad_rows);
  }

  bool talks() const { return !options_.json && !options_.quiet; }

  void open() {
    reader_ = &model_.open(options_.spec.data, {.threads = options_.threads, .interruption = stop_.descriptor()});
    if (talks() && !reader_->header_note().empty()) print("{}\n", reader_->header_note());
    if (!before_) print_formats();
    Checkpoint now;
    model_.save_reader(now);
    file_.check_same_data(now);
    StreamEvents events{.report = [this](const StreamStatistics& so_far) { print_progress(so_far); }, .prediction = {}};
    if (!options_.predictions.empty()) {
      predictions_ = open_predictions(options_.predictions, options_.resume, before_, rows_before_);
      events.prediction = [this](const StreamPrediction& made) { write(made); };
    }
    events.decision = [this](const std::string& decision) {
      if (talks()) print("{}\n", decision);
    };
    learner_.set_events(std::move(events));
  }

  void print_formats() const {
    const auto& formats = model_.input().formats;
    if (formats.empty() || options_.quiet) return;
    if (talks()) cli::print_formats(formats);
    if (!options_.json) return;
    JsonLine line("data");
    set_formats(line, formats);
    line.print();
  }

  // Returns the fault that ended learning, or "". What was learned before it can be saved.
  std::string learn() {
    try {
      learn_blocks();
      if (!stop_.flag()) learner_.finish();
      if (predictions_) predictions_->flush();
      return "";
    } catch (const BadRow& fault) {
      return finish_after(fmt::format("{}, {}", options_.spec.data.name(), fault.what()));
    } catch (const LearningEnded& fault) {
      return finish_after(fmt::format("{}, {}", options_.spec.data.name(), fault.what()));
    } catch (const Error& fault) {
      return finish_after(fault.what());
    }
  }

  // An interruption may have cut a line in two: then ignore what was read, good or bad.
  bool read(ExampleBlock& block) {
    try {
      return reader_->next(block) && !stop_.flag();
    } catch (const Error&) {
      if (stop_.flag()) return false;
      throw;
    }
  }

  void learn_blocks() {
    ExampleBlock block;
    while (read(block)) {
      for (std::size_t at = 0; at < block.size();) {
        const std::size_t next = std::min<std::uint64_t>(block.size(), at + rows_until_save());
        learner_.learn(block, at, next);
        at = next;
        last_line_ = block.line[at - 1];
        if (is_save_due()) save_midway();
      }
      if (predictions_) predictions_->flush();
    }
    if (stop_.flag() || last_line_ > 0) return;
    const std::uint64_t skipped = reader_->skipped_rows();
    throw FileError(fmt::format("{} has no examples{}", options_.spec.data.name(),
                                skipped > 0 ? "; " + skipped_text(skipped) : ""));
  }

  std::uint64_t rows_until_save() const {
    const std::uint64_t every = options_.save_every;
    return every > 0 ? every - learner_.rows_taken() % every : block_of_any_size;
  }

  // If all examples so far have weight 0, nothing has been learned that is worth a file.
  bool is_save_due() const {
    const bool idle = learner_.statistics().examples > 0 && !learner_.has_learned();
    return options_.save_every > 0 && learner_.rows_taken() % options_.save_every == 0 && !idle;
  }

  // A model that cannot be saved does not end learning; the exit code tells.
  void save_midway() {
    const Saved saved = file_.save_partial(checkpoint(last_line_));
    is_saved_midway_ = true;
    if (saved.fault.empty()) return;
    save_failed_ = true;
    options_.save_every = 0;
    print_error("ignd: {}\n", saved.fault);
  }

  // Learns the examples that are held back, too. A second fault would only hide the first.
  std::string finish_after(std::string fault) {
    try {
      learner_.finish();
      if (predictions_) predictions_->flush();
    } catch (const Error&) {
    }
    return fault;
  }

  int end() {
    if (learner_.statistics().examples == 0) {
      throw FileError(fmt::format("{} has no labels to learn from; nothing is saved", options_.spec.data.name()));
    }
    if (!learner_.has_learned()) {
      throw FileError(fmt::format("every example of {} weighs 0: there is nothing to learn from{}",
                                  options_.spec.data.name(), is_saved_midway_ ? "" : "; nothing is saved"));
    }
    save();
    print_result();
    if (!saved_.fault.empty()) print_error("ignd: {}\n", saved_.fault);
    const auto label = learner_.only_label();
    if (label && saved_.fault.empty()) {
      print_error("ignd: every label is {}: there is nothing to tell apart; the model is saved in {}\n",
                  model_.input().text_target ? in_quotes(model_.label_name(*label)) : format_number(*label),
                  quoted_path(saved_.path));
    }
    return label || save_failed_ || !saved_.fault.empty() ? failure : 0;
  }

  int end_with(const std::string& fault) {
    if (!learner_.has_learned()) throw FileError(fault);
    save();
    print_error("ignd: {}; {}\n", fault,
                !saved_.fault.empty()
                    ? saved_.fault
                    : fmt::format("the model of the {} examples before it is saved in {}",
                                  with_commas(learner_.statistics().examples), quoted_path(saved_.path)));
    return failure;
  }

  int end_interrupted() {
    if (!learner_.has_begun()) {
      print_error("ignd: interrupted before there was anything to save\n");
      return interrupted_code;
    }
    save(last_line_);
    if (saved_.path.empty()) {
      print_error("ignd: interrupted; {}\n", saved_.fault);
      return interrupted_code;
    }
    print_error("ignd: interrupted after line {} of {}; saved {}; resume with --resume {} and the lines after it\n",
                with_commas(last_line_), options_.spec.data.name(), quoted_path(saved_.path),
                for_terminal(shell_word(saved_.path)));
    return interrupted_code;
  }

  void print_decision() {
    if (decided_ || learner_.decision().empty()) return;
    decided_ = true;
    if (!talks()) return;
    print("{}\n{:>12} {:>12} {:>12}\n", learner_.decision(), "examples", "since last", "average");
  }

  void print_progress(const StreamStatistics& so_far) {
    print_decision();
    if (options_.json && !options_.quiet) {
      JsonLine("progress")
          .set("examples", so_far.examples)
          .set("loss_since_last", so_far.average_recent_loss())
          .set("average_loss", so_far.average_loss())
          .print();
    }
    if (!talks()) return;
    print("{:>12} {:>12} {:>12}\n", with_commas(so_far.examples), in_short(so_far.average_recent_loss(), 6),
          in_short(so_far.average_loss(), 6));
    std::fflush(stdout);
  }

  // The classes to come are not known. Of more than two, the probability is that of the predicted one.
  void write(const StreamPrediction& made) {
    const bool many = learner_.learns_many_classes();
    if (!format_)
      format_.emplace("row", std::span<const std::string>(), many ? std::vector<std::string>(2) : model_.classes());
    sample_.prediction.name = std::to_string(made.row);
    model_.interpret(made, sample_.prediction);
    sample_.usable = !many || !made.logits.empty();
    if (many) sample_.prediction.probabilities.assign({1 - made.probability, made.probability});
    predictions_->add(*format_, sample_);
  }

  // `line` is the last one that was learned from, or 0 at the end of the data. The predictions go to the disk first: if
  // the program is killed, the file has at least what the model says.
  Checkpoint checkpoint(std::uint64_t line) {
    std::optional<WrittenPredictions> written;
    if (predictions_) {
      try {
        predictions_->sync();
      } catch (const FileError&) {  // flush() has reported it, and no run will append to this file
      }
      written = predictions_->written();
    }
    Checkpoint made;
    model_.set_progress(line, written);
    model_.save(made);
    return made;
  }

  void save(std::uint64_t line = 0) { saved_ = file_.save(checkpoint(line)); }

  void print_result() const {
    const StreamStatistics& total = learner_.statistics();
    const double rate = static_cast<double>(total.rows - rows_before_) / seconds_;
    const std::uint64_t skipped = total.skipped + reader_->skipped_rows();
    if (options_.json) {
      JsonLine line("result");
      line.set("examples", total.examples).set("skipped", skipped).set("decision", learner_.decision());
      line.set("loss", learner_.loss()).set("metrics.progressive.loss", total.average_loss());
      if (learner_.classifies()) {
        line.set("metrics.progressive.log_loss", total.average_loss());
        line.set("metrics.progressive.accuracy", total.accuracy());
      } else if (learner_.squares_errors()) {
        line.set("metrics.progressive.mse", total.average_loss());
      }
      line.set("seconds", seconds_).set("samples_per_second", rate);
      if (!saved_.path.empty()) line.set("saved", saved_.path).set("replaced", saved_.replaced);
      line.print();
      return;
    }
    print("{} examples, average loss {}", with_commas(total.examples), in_short(total.average_loss(), 6));
    if (learner_.classifies()) print(", accuracy {:.4f}", total.accuracy().value_or(0));
    if (skipped > 0) print("; {}", skipped_text(skipped));
    print("; {:.3g} s, {:.3g} examples/s\n", seconds_, rate);
    if (!saved_.path.empty()) print("{} {}\n", saved_.verb(), for_terminal(saved_.path));
  }

  TrainOptions options_;
  StopSignal stop_;
  OutputFile file_;
  StreamModel model_;
  StreamLearner& learner_ = model_.learner();
  std::optional<StreamInput> before_;  // of the run that is resumed
  std::uint64_t rows_before_ = 0;
  ExampleReader* reader_ = nullptr;  // the model's
  std::unique_ptr<PredictionLog> predictions_;
  std::optional<PredictionFormat> format_;  // known at the first of them
  PredictedSample sample_;                  // that is written
  std::uint64_t last_line_ = 0;
  Saved saved_;
  bool is_saved_midway_ = false;
  bool save_failed_ = false;  // midway
  bool decided_ = false;
  double seconds_ = 0;
};

}  // namespace

int train_stream(const TrainOptions& options) { return StreamPass(options).run(); }

}  // namespace ignd::cli
