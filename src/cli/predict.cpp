#include "base/atomic_file.hpp"
#include "base/pinned.hpp"
#include "base/text.hpp"
#include "cli/console.hpp"
#include "cli/describe.hpp"
#include "cli/prediction_writer.hpp"
#include "cli/save_model.hpp"
#include "cli/use_model.hpp"
#include "ignd/checkpoint.hpp"

#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

namespace ignd::cli {
namespace {

void warn(const PredictionReport& report) {
  if (report.bad_rows > 0) {
    print_error("ignd: {} of {} rows {} no prediction; {}{}\n", with_commas(report.bad_rows),
                with_commas(report.samples), report.bad_rows == 1 ? "has" : "have",
                report.bad_rows == 1 ? "" : "the first is ", report.first_fault);
  }
  if (report.unknown_texts > 0) {
    print_error("ignd: {} values were texts that training did not have; they match none of the known ones\n",
                with_commas(report.unknown_texts));
  }
  warn_of_skipped(report.skipped);
}

// Where predictions go: to the standard output as they are made, or to a file, whole or not at all.
class Output : Pinned {
 public:
  explicit Output(const std::string& path) : path_(path) {
    if (path.empty()) return;
    const std::filesystem::path folder = path_.has_parent_path() ? path_.parent_path() : ".";
    file_.emplace(folder, path_);
  }

  std::string& text() { return text_; }  // to append to

  // False if nobody reads the standard output any more.
  bool write_if_long() {
    constexpr std::size_t enough = std::size_t{1} << 16;
    if (text_.size() >= enough) write();
    return !failed();
  }

  // What there is so far, to whoever is waiting for it.
  void flush() {
    if (file_) return;
    write();
    std::fflush(stdout);
  }

  void finish() {
    write();
    if (file_) file_->commit(path_.filename());
  }

  static bool failed() { return std::ferror(stdout) != 0; }

 private:
  void write() {
    if (file_) {
      file_->append(text_);
    } else {
      print_data(text_);
    }
    text_.clear();
  }

  std::filesystem::path path_;
  std::optional<FileWriter> file_;
  std::string text_;
};

}  // namespace

int predict(const UseOptions& options) {
  if (!options.output.empty()) refuse_same_file(options.output, options.model, "the model");
  refuse_model(options.spec.data.path);
  const auto model = TrainedModel::load(options.model, Checkpoint::read(options.model));
  const AskedIntervals asked = asked_intervals(options, *model);
  NewData data = new_data(options, *model);
  if (!options.output.empty()) check_can_save(options.output, options.spec.data);
  std::optional<Progress> progress;
  data.progress = [&](std::size_t done, std::size_t total) {
    if (!progress) progress.emplace("predicting", total, model->samples(), false);
    progress->update(done);
  };

  Output output(options.output);
  const PredictionFormat format(model->reads_table(options.spec.data) ? "row" : "file", options.keep, model->classes(),
                                asked);
  data.before_wait = [&] { output.flush(); };
  bool any = false;
  const PredictionReport report = model->predict(data, [&](const PredictedSample& sample) {
    progress.reset();
    if (!std::exchange(any, true)) output.text() += format.header();
    format.append(output.text(), sample);
    return output.write_if_long();
  });
  if (Output::failed()) return 0;  // main.cpp turns this into a failure
  if (!any) output.text() += format.header();
  output.finish();
  warn(report);
  return 0;
}

}  // namespace ignd::cli
