#include "base/text.hpp"
#include "cli/console.hpp"
#include "cli/describe.hpp"
#include "cli/prediction_writer.hpp"
#include "cli/result_tables.hpp"
#include "cli/save_model.hpp"
#include "cli/use_model.hpp"
#include "ignd/checkpoint.hpp"
#include "ignd/error.hpp"
#include "learn/metrics.hpp"
#include "learn/stream_model.hpp"

#include <cmath>
#include <memory>
#include <span>
#include <vector>

#include <fmt/format.h>

namespace ignd::cli {
namespace {

// Gives every example and its prediction to `use`. Faults are reported as faults of the file.
template <class Use>
void for_each_prediction(const DataFile& data, ExampleReader& reader, const StreamLearner& learner, Use use) {
  ExampleBlock block;
  std::vector<StreamPrediction> predictions;
  std::uint64_t row = 0;
  try {
    while (reader.next(block)) {
      learner.predict(block, predictions);
      for (std::size_t i = 0; i < block.size(); ++i) {
        predictions[i].row = ++row;
        if (!use(block, i, predictions[i])) return;
      }
    }
  } catch (const BadSample& fault) {
    throw FileError(fmt::format("{}, {}", data.name(), fault.what()));
  }
  if (row == 0) throw FileError(fmt::format("{} has no examples", data.name()));
}

// Scores the rows as they come. Those of classes are kept, since the area under the curve needs their order.
class RowScorer {
 public:
  explicit RowScorer(const StreamModel& model) : model_(model), classes_(model.learner().classes()) {}

  void add(double label, double weight, const StreamPrediction& made) {
    if (!model_.learner().classifies()) {
      sums_.add(label, made.prediction, weight);
      ++rows_;
      return;
    }
    const auto name = [&](double l) { return model_.label_name(l); };
    y_.push_back(classes_.number_of(label, model_.input().text_target ? LabelName(name) : LabelName()));
    logit_.push_back(made.output);
    weight_.push_back(weight);
    ++rows_;
  }

  std::uint64_t rows() const { return rows_; }

  // The negative and the positive one; "?" for one that has not been seen.
  std::vector<std::string> classes() const {
    const auto name = [&](double label) { return std::isnan(label) ? "?" : model_.label_name(label); };
    return {name(classes_.negative()), name(classes_.positive())};
  }

  Scores scores() const {
    Scores scores;
    if (model_.learner().classifies()) {
      scores.classification = classification_metrics(y_, logit_, weight_);
    } else {
      scores.regression = sums_.metrics();
    }
    return scores;
  }

 private:
  const StreamModel& model_;
  Classes classes_;
  std::uint64_t rows_ = 0;
  RegressionSums sums_;
  std::vector<double> y_, logit_, weight_;
};

std::string describe_target(const StreamModel& model) {
  const Classes& classes = model.learner().classes();
  if (!model.learner().classifies()) return "number";
  if (!classes.complete()) return "class, of which one has been seen";
  const std::string positive = model.label_name(classes.positive());
  return fmt::format("class {} or {}; probabilities are of {}", model.label_name(classes.negative()), positive,
                     positive);
}

}  // namespace

int predict_stream(const UseOptions& options, const Checkpoint& checkpoint) {
  StreamModel model = StreamModel::load(options.model, checkpoint);
  model.learner().finish();  // a run that was interrupted early may hold examples back
  if (!options.output.empty()) check_can_save(options.output, options.spec.data);
  if (!options.keep.empty() && !model.input().has_columns()) {
    throw InvalidArgument("--keep is for comma-separated values: examples of other formats have no columns");
  }
  const auto reader = model.open_new(options.spec.data, {.keep = options.keep},
                                     options.spec.dataset.skip_bad_rows ? BadRows::mark : BadRows::stop);
  PredictionWriter writer(options.output);
  writer.set_kept(options.keep);
  const bool classifies = model.learner().classifies();
  std::uint64_t rows = 0, first_bad = 0;
  std::size_t kept = 0;  // fields of the block so far
  for_each_prediction(options.spec.data, *reader, model.learner(),
                      [&](const ExampleBlock& block, std::size_t i, const StreamPrediction& made) {
                        rows = made.row;
                        if (i == 0) kept = 0;
                        if (std::isnan(block.weight[i])) {
                          if (first_bad == 0) first_bad = block.line[i];
                          writer.add_nothing(made.row, classifies);
                          return !writer.failed();
                        }
                        const auto fields = std::span(block.kept).subspan(kept, options.keep.size());
                        kept += fields.size();
                        if (classifies) {
                          writer.add(made.row, model.label_name(made.prediction), made.probability, fields);
                        } else {
                          writer.add(made.row, made.prediction, fields);
                        }
                        return !writer.failed();
                      });
  writer.flush();
  if (const std::uint64_t bad = reader->skipped_rows(); bad > 0) {
    print_error("ignd: {} of {} rows {} no prediction; {}line {} cannot be read\n", with_commas(bad), with_commas(rows),
                bad == 1 ? "has" : "have", bad == 1 ? "" : "the first is that ", first_bad);
  }
  return 0;
}

int evaluate_stream(const UseOptions& options, const Checkpoint& checkpoint) {
  StreamModel model = StreamModel::load(options.model, checkpoint);
  model.learner().finish();  // a run that was interrupted early may hold examples back
  if (options.spec.dataset.weight && !model.input().has_columns()) {
    throw InvalidArgument("--weight is for comma-separated values: examples of other formats carry their own");
  }
  const CsvColumns columns{
      .target = model.input().target, .weight = options.spec.dataset.weight, .text_target = model.input().text_target};
  const auto reader =
      model.open_new(options.spec.data, columns, options.spec.dataset.skip_bad_rows ? BadRows::skip : BadRows::stop);
  RowScorer scorer(model);
  std::uint64_t left_out = 0;
  for_each_prediction(options.spec.data, *reader, model.learner(),
                      [&](const ExampleBlock& block, std::size_t i, const StreamPrediction& made) {
                        if (std::isnan(block.target[i])) return true;
                        try {
                          scorer.add(block.target[i], block.weight[i], made);
                        } catch (const BadSample& fault) {
                          if (!options.spec.dataset.skip_bad_rows) throw BadRow(block.line[i], fault.what());
                          ++left_out;
                        }
                        return true;
                      });
  left_out += reader->skipped_rows();
  if (left_out > 0) print_error("ignd: {} rows are left out\n", with_commas(left_out));
  if (scorer.rows() == 0) throw FileError(fmt::format("{} has no labels to compare with", options.spec.data.name()));
  const Scores scores = scorer.scores();
  if (options.json) {
    JsonLine line("result");
    line.set("rows", scorer.rows()).set("loss", model.learner().loss());
    if (left_out > 0) line.set("left_out", left_out);
    set_metrics(line, "metrics.test", scores);
    set_confusion(line, scores, scorer.classes());
    line.print();
  } else {
    print_table({fmt::format("{} rows", with_commas(scorer.rows()))}, {{"model", {scores}}});
    print("{}", confusion_text(scores, scorer.classes()));
  }
  return 0;
}

int inspect_stream(const UseOptions& options, const Checkpoint& checkpoint) {
  StreamModel model = StreamModel::load(options.model, checkpoint);
  model.learner().finish();  // a run that was interrupted early may hold examples back
  const StreamLearner& learner = model.learner();
  const StreamStatistics& total = learner.statistics();
  const std::uint64_t weights = (std::uint64_t{1} << learner.options().bits) + 1;  // and the bias
  if (options.json) {
    JsonLine line("model");
    line.set("kind", stream_model_kind)
        .set("bits", std::uint64_t{learner.options().bits})
        .set("weights", weights)
        .set("weights_not_zero", std::uint64_t{learner.weights_not_zero()})
        .set("loss", learner.loss())
        .set("decision", learner.decision())
        .set("rows", total.rows)
        .set("examples", total.examples)
        .set("average_loss", total.average_loss());
    if (model.input().last_line > 0) line.set("last_line", model.input().last_line);
    if (model.input().has_columns()) line.set("target", model.input().target);
    set_formats(line, model.input().formats);
    line.print();
    return 0;
  }
  print("{}: {} bits, {} of {} weights are not zero\n", stream_model_kind, learner.options().bits,
        with_commas(learner.weights_not_zero()), with_commas(weights));
  print("{}\n", learner.decision());
  print("{} examples, average progressive loss {}\n", with_commas(total.examples), in_short(total.average_loss(), 6));
  if (const std::uint64_t line = model.input().last_line; line > 0) {
    print("saved after line {} of its data; --resume takes the lines after it\n", with_commas(line));
  }
  print("target{}{}: {}\n", model.input().target.empty() ? "" : " ", for_terminal(model.input().target),
        describe_target(model));
  print_formats(model.input().formats);
  return 0;
}

}  // namespace ignd::cli
