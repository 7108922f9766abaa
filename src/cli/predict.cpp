#include "base/atomic_file.hpp"
#include "base/text.hpp"
#include "cli/console.hpp"
#include "cli/describe.hpp"
#include "cli/save_model.hpp"
#include "cli/use_model.hpp"
#include "ignd/checkpoint.hpp"
#include "learn/stream_model.hpp"

#include <cstdio>
#include <optional>
#include <string>

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

}  // namespace

int predict(const UseOptions& options) {
  const bool to_file = !options.output.empty();
  if (to_file) refuse_same_file(options.output, options.model, "the model");
  refuse_model(options.spec.data.path);
  const Checkpoint checkpoint = Checkpoint::read(options.model);
  if (is_stream_model(checkpoint)) return predict_stream(options, checkpoint);
  const auto model = TrainedModel::load(options.model, checkpoint);
  NewData data = new_data(options, *model);
  if (to_file) check_can_save(options.output, options.spec.data);
  std::optional<Progress> progress;
  data.progress = [&](std::size_t done, std::size_t total) {
    if (!progress) progress.emplace("predicting", total, model->samples(), false);
    progress->update(done);
  };

  const PredictionColumns columns(model->target());
  std::string out = model->reads_table(options.spec.data) ? "row" : "file";
  for (const std::string& column : options.keep) out += "," + csv_bytes(column);
  out += columns.header() + "\n";
  const auto write = [&](const PredictedSample& sample) {
    constexpr std::size_t enough = std::size_t{1} << 16;
    progress.reset();
    out += csv_bytes(sample.prediction.name);
    for (const std::string& field : sample.kept) out += "," + csv_bytes(field);
    if (sample.usable) {
      columns.append(out, sample.prediction);
    } else {
      columns.append_nothing(out);
    }
    out += '\n';
    if (to_file || out.size() < enough) return true;
    print_data(out);
    out.clear();
    return std::ferror(stdout) == 0;
  };
  const PredictionReport report = model->predict(data, write);
  if (std::ferror(stdout) != 0) return 0;  // main.cpp turns this into a failure
  if (to_file) {
    write_file_atomically(options.output, out);
  } else {
    print_data(out);
  }
  warn(report);
  return 0;
}

}  // namespace ignd::cli
