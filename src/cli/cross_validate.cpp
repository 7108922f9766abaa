#include "base/stopped.hpp"
#include "base/text.hpp"
#include "cli/console.hpp"
#include "cli/describe.hpp"
#include "cli/result_tables.hpp"
#include "cli/stop_signal.hpp"
#include "cli/train.hpp"
#include "cli/training_data.hpp"
#include "data/table.hpp"
#include "learn/cross_validation.hpp"
#include "learn/error_bars.hpp"
#include "learn/table_dataset.hpp"

#include <algorithm>
#include <cstdio>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace ignd::cli {
namespace {

// Against the baseline with the lowest mean loss on all rows, each of which is in one fold.
Verdict verdict_of(const CrossValidation& made, std::uint64_t seed) {
  const auto whole = [](const CrossValidation::Predictor& of) {
    double loss = 0, weight = 0;
    for (std::size_t i = 0; i < of.judged.size(); ++i) {
      loss += of.judged.loss_weight[i] * of.judged.loss[i];
      weight += of.judged.loss_weight[i];
    }
    const bool finite = std::ranges::all_of(of.scores, [](const Scores& scores) { return scores.is_measured(); });
    return Scores{.loss = finite ? loss / weight : std::numeric_limits<double>::infinity(),
                  .regression = {},
                  .classification = {}};
  };
  const auto best = std::ranges::min_element(made.predictors.begin() + 1, made.predictors.end(), {},
                                             [&](const auto& predictor) { return whole(predictor).loss; });
  return compare_losses(whole(made.predictors[0]), made.predictors[0].judged, whole(*best), best->judged, best->name,
                        seed);
}

void print_json(const TrainOptions& options, const CrossValidation& made, const Verdict& verdict,
                const std::string& said, std::uint64_t left_out) {
  for (std::size_t k = 0; k < made.folds.size(); ++k) {
    const CrossValidation::Fold& fold = made.folds[k];
    JsonLine line("fold");
    line.set("fold", std::uint64_t{k + 1}).set("train", fold.train).set("validation", fold.validation);
    line.set("test", fold.rows).set("status", to_string(fold.status)).set("rate", fold.rate);
    line.set("epochs", fold.epochs).set("kept_epoch", fold.kept_epoch);
    set_metrics(line, "metrics.test", made.predictors[0].scores[k]);
    if (!options.quiet) line.print();
  }
  JsonLine line("result");
  line.set("folds", std::uint64_t{made.folds.size()}).set("model", options.spec.training.model);
  if (left_out > 0) line.set("left_out", left_out);
  for (const CrossValidation::Predictor& predictor : made.predictors) set_fold_scores(line, predictor);
  set_verdict(line, verdict, said);
  line.print();
}

void print_table_of(const TrainingData& data, const TrainOptions& options) {
  const Target& target = data.dataset().target();
  print("{}: {} rows in {} folds\n", for_terminal(options.spec.data.path), with_commas(data.size()), options.folds);
  print("target {}: {}\n", for_terminal(target.name), ignd::describe(target));
  if (!target.choice.empty()) print("  {}\n", target.choice);
  for (const std::string& detail : data.details()) print("  {}\n", detail);
  std::fflush(stdout);
}

void print_folds(const CrossValidation& made) {
  for (std::size_t k = 0; k < made.folds.size(); ++k) {
    const CrossValidation::Fold& fold = made.folds[k];
    print("fold {:2}  {} rows to train on, {} to validate, {} to test; rate {}, {} after {} epochs\n", k + 1,
          with_commas(fold.train), with_commas(fold.validation), with_commas(fold.rows), fold.rate,
          to_string(fold.status), fold.epochs);
  }
  print("\n");
}

}  // namespace

int cross_validate_on(const TrainOptions& options) {
  const StopSignal stop;
  const auto data = read_training_data(options, DataKind::table);
  data->print_warnings();
  const Table& table = dynamic_cast<const TableDataset&>(data->dataset()).table();
  if (!options.json && !options.quiet) print_table_of(*data, options);
  std::optional<Progress> progress;
  const CrossValidation made = cross_validate(
      engine_for(Machine::own), table, options.spec, stop.flag(), [&](std::uint64_t learned, std::uint64_t to_learn) {
        if (!progress) progress.emplace("training", to_learn, "samples", options.json || options.quiet);
        progress->update(std::min(learned, to_learn));
      });
  progress.reset();
  const Verdict verdict = verdict_of(made, options.spec.training.seed);
  const std::string rows = fmt::format("{} rows of all folds", with_commas(made.predictors[0].judged.size()));
  const bool could_be_line = verdict.baseline != "best constant" && options.spec.training.model != "linear";
  const std::string said = verdict_text(verdict, rows, could_be_line);
  if (options.json) {
    print_json(options, made, verdict, said, data->left_out());
    return 0;
  }
  if (!options.quiet) print_folds(made);
  print_fold_scores(made.predictors);
  print("\n{}\n", said);
  if (!options.quiet) print("\nno model is saved; train without --folds for one\n");
  return 0;
}

}  // namespace ignd::cli
