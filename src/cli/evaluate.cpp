#include "base/stopped.hpp"
#include "cli/console.hpp"
#include "cli/describe.hpp"
#include "cli/result_tables.hpp"
#include "cli/stop_signal.hpp"
#include "cli/use_model.hpp"
#include "ignd/checkpoint.hpp"
#include "ignd/error.hpp"

#include <optional>
#include <string>

#include <fmt/format.h>

namespace ignd::cli {
namespace {

void print_evaluation(const UseOptions& options, const TrainedModel& model, const Evaluation& made) {
  const AskedIntervals asked = asked_intervals(options, model);
  std::optional<IntervalCoverage> coverage;
  if (asked.intervals != nullptr) coverage = coverage_of(*asked.intervals, made.judged, asked.level);
  const std::vector<std::string> classes = model.classes();
  check_measured(made);
  constexpr std::uint64_t seed = 1;
  const ErrorBars bars = error_bars(made.judged, seed);
  if (!options.json) {
    print_table({fmt::format("{} {}", with_commas(made.samples), model.samples())}, {{"model", {made.scores}, {bars}}});
    print("{}", confusion_text(made.scores, classes));
    const std::string rows = fmt::format("{} {}", with_commas(made.samples), model.samples());
    if (coverage) print("\n{}\n", coverage_text(*coverage, rows));
    return;
  }
  JsonLine line("result");
  line.set(model.samples(), made.samples).set("loss", model.loss());
  if (made.bad_rows.count > 0) line.set("left_out", made.bad_rows.count);
  set_metrics(line, "metrics.test", made.scores);
  set_error_bars(line, "test", made.scores, bars);
  if (coverage) set_coverage(line, *coverage);
  set_confusion(line, made.scores, classes);
  line.print();
}

}  // namespace

int evaluate(const UseOptions& options) {
  refuse_model(options.spec.data.path);
  const auto model = TrainedModel::load(options.model, Checkpoint::read(options.model));
  asked_intervals(options, *model);
  NewData data = new_data(options, *model);
  // Decoding images takes long, and leaves a cache file half made.
  std::optional<StopSignal> stop;
  if (model->kind() == ModelKind::images) data.stop = &stop.emplace().flag();
  std::optional<Progress> progress;
  data.progress = [&](std::size_t done, std::size_t total) {
    if (!progress) progress.emplace("decoding", total, model->samples(), options.json);
    progress->update(done);
  };
  Evaluation made;
  try {
    made = model->evaluate(data);
  } catch (const Stopped&) {
    return interrupted_code;
  }
  progress.reset();
  for (const std::string& note : {made.note, left_out_text(made.bad_rows, made.rows)}) {
    if (!note.empty()) print_error("ignd: {}\n", note);
  }
  warn_of_skipped(made.skipped);
  print_evaluation(options, *model, made);
  return 0;
}

}  // namespace ignd::cli
