#include "cli/train_stream.hpp"

#include "cli/json_line.hpp"
#include "cli/report.hpp"
#include "cli/stop_signal.hpp"
#include "core/text.hpp"
#include "data/example_reader.hpp"
#include "ignd/checkpoint.hpp"
#include "ignd/error.hpp"
#include "train/stream_learner.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <thread>

#include <fmt/format.h>

namespace ignd::cli {
namespace {

using Clock = std::chrono::steady_clock;

// Predictions, written as they are made.
class PredictionFile {
 public:
  explicit PredictionFile(const std::string& path) : path_(path), file_(std::fopen(path.c_str(), "w")) {
    if (file_ == nullptr) throw FileError(fmt::format("cannot write {}: {}", quoted_path(path), std::strerror(errno)));
  }
  ~PredictionFile() {
    if (file_ != nullptr) std::fclose(file_);
  }
  PredictionFile(const PredictionFile&) = delete;
  PredictionFile& operator=(const PredictionFile&) = delete;
  PredictionFile(PredictionFile&&) = delete;
  PredictionFile& operator=(PredictionFile&&) = delete;

  void add(const std::string& line) { std::fwrite(line.data(), 1, line.size(), file_); }

  void flush() {
    if (std::fflush(file_) == 0 && std::ferror(file_) == 0) return;
    throw FileError(fmt::format("cannot write {}: {}", quoted_path(path_), std::strerror(errno)));
  }

 private:
  std::string path_;
  std::FILE* file_;
};

std::optional<ExampleFormat> format_named(const std::string& name) {
  if (name.empty()) return std::nullopt;
  if (name == "svmlight") return ExampleFormat::svmlight;
  return name == "vw" ? ExampleFormat::vw : ExampleFormat::csv;
}

StreamOptions learner_options(const StreamTraining& options) {
  StreamOptions learner{
      .bits = options.bits, .loss = options.loss, .l2 = options.l2, .skip_bad_rows = options.skip_bad_rows};
  if (!options.rule.empty()) learner.optimizer.rule = options.rule;
  if (!options.transform.empty()) learner.optimizer.transform = options.transform;
  const bool rate_given = !options.rate.empty() && options.rate != "auto";
  if (rate_given || !options.schedule.empty()) {
    const std::string rate = rate_given ? options.rate : "0.1";
    const std::size_t colon = options.schedule.find(':');
    const std::string name = options.schedule.empty() ? "constant" : options.schedule.substr(0, colon);
    const std::string rest = colon == std::string::npos ? "" : "," + options.schedule.substr(colon + 1);
    learner.schedule = Schedule::parse(fmt::format("{}:rate={}{}", name, rate, rest));
  }
  return learner;
}

ExampleReaderOptions reader_options(const StreamTraining& options) {
  ExampleReaderOptions reader;
  reader.threads =
      options.threads > 0 ? options.threads : std::min(2U, std::max(1U, std::thread::hardware_concurrency()));
  reader.bad_rows = options.skip_bad_rows ? BadRows::skip : BadRows::stop;
  if (!options.target.empty()) reader.columns = CsvColumns{options.target, options.weight};
  if (!options.delimiter.empty()) reader.dialect.delimiter = options.delimiter == "tab" ? '\t' : options.delimiter[0];
  if (!options.header.empty()) reader.dialect.header = options.header == "yes";
  return reader;
}

// One pass over a stream as the user sees it.
class StreamPass {
 public:
  explicit StreamPass(const StreamTraining& options)
      : options_(options),
        learner_(make_learner(options)),
        reader_(options.data, format_named(options.format), reader_options(options)) {
    if (!options.predictions.empty()) predictions_ = std::make_unique<PredictionFile>(options.predictions);
    learner_.set_events({.report = [this](const StreamStatistics& so_far) { print_progress(so_far); },
                         .prediction = predictions_ ? [this](const StreamPrediction& made) { write(made); }
                                                    : std::function<void(const StreamPrediction&)>()});
  }

  int run() {
    const Clock::time_point start = Clock::now();
    std::string fault;
    try {
      learn();
    } catch (const Error& caught) {  // whatever was learned before is saved
      fault = caught.what();
    }
    seconds_ = std::chrono::duration<double>(Clock::now() - start).count();
    if (learner_.statistics().examples > 0 || fault.empty()) save();
    if (fault.empty()) print_result();
    if (!fault.empty()) {
      fmt::print(stderr, "ignd: {}; the model of the {} examples before it is saved in {}\n", fault,
                 with_commas(learner_.statistics().examples), quoted_path(options_.save));
      return 1;
    }
    if (!stop_.flag()) return 0;
    fmt::print(stderr,
               "ignd: interrupted after {} examples; saved {}; go on with --resume and the rest of the stream\n",
               with_commas(learner_.statistics().examples), quoted_path(options_.save));
    return 130;
  }

 private:
  static StreamLearner make_learner(const StreamTraining& options) {
    if (options.resume.empty()) return StreamLearner(learner_options(options));
    return StreamLearner::restore(Checkpoint::read(options.resume), options.skip_bad_rows);
  }

  bool talks() const { return !options_.json && !options_.quiet; }

  void learn() {
    ExampleBlock block;
    while (!stop_.flag() && reader_.next(block)) {
      learner_.learn(block);
      if (predictions_) predictions_->flush();
    }
    if (!stop_.flag()) learner_.finish();
    if (predictions_) predictions_->flush();
    if (learner_.statistics().rows == 0) throw FileError(fmt::format("{} has no examples", in_quotes(options_.data)));
  }

  void print_decision() {
    if (decided_ || learner_.decision().empty()) return;
    decided_ = true;
    if (!talks()) return;
    fmt::print("{}\n{:>12} {:>12} {:>12}\n", learner_.decision(), "examples", "since last", "average");
  }

  void print_progress(const StreamStatistics& so_far) {
    print_decision();
    if (options_.json) {
      JsonLine("progress")
          .set("examples", so_far.examples)
          .set("loss_since_last", so_far.average_recent_loss())
          .set("average_loss", so_far.average_loss())
          .print();
    }
    if (!talks()) return;
    fmt::print("{:>12} {:>12.6f} {:>12.6f}\n", with_commas(so_far.examples), so_far.average_recent_loss(),
               so_far.average_loss());
    std::fflush(stdout);
  }

  void write(const StreamPrediction& made) {
    if (learner_.classifies()) {
      predictions_->add(
          fmt::format("{},{},{:.6g}\n", made.row, reader_.target_name(made.prediction), made.probability));
    } else {
      predictions_->add(fmt::format("{},{:.6g}\n", made.row, made.prediction));
    }
  }

  void save() {
    Checkpoint checkpoint;
    checkpoint.set("kind", std::string("stream model"));
    learner_.save(checkpoint);
    checkpoint.write(options_.save);
  }

  void print_result() const {
    const StreamStatistics& total = learner_.statistics();
    const double rate = static_cast<double>(total.rows) / seconds_;
    const std::uint64_t skipped = total.skipped + reader_.skipped_rows();
    if (options_.json) {
      JsonLine line("result");
      line.set("examples", total.examples).set("skipped", skipped).set("decision", learner_.decision());
      if (learner_.classifies()) {
        line.set("metrics.progressive.log_loss", total.average_loss());
        line.set("metrics.progressive.accuracy", total.accuracy());
      } else {
        line.set("metrics.progressive.mse", total.average_loss());
      }
      line.set("seconds", seconds_).set("samples_per_second", rate).set("saved", options_.save).print();
      return;
    }
    fmt::print("{} examples, average loss {:.6f}", with_commas(total.examples), total.average_loss());
    if (learner_.classifies()) fmt::print(", accuracy {:.4f}", total.accuracy());
    if (skipped > 0) fmt::print("; {} bad rows skipped", with_commas(skipped));
    fmt::print("; {:.3g} s, {:.3g} examples/s\nsaved {}\n", seconds_, rate, options_.save);
  }

  StreamTraining options_;
  StopSignal stop_;
  StreamLearner learner_;
  ExampleReader reader_;
  std::unique_ptr<PredictionFile> predictions_;
  bool decided_ = false;
  double seconds_ = 0;
};

}  // namespace

int train_stream(const StreamTraining& options) { return StreamPass(options).run(); }

}  // namespace ignd::cli
