#include "learn/stream_model.hpp"

#include "base/stopped.hpp"
#include "base/text.hpp"
#include "data/class_files.hpp"
#include "data/csv_examples.hpp"
#include "ignd/error.hpp"
#include "ignd/loss.hpp"
#include "learn/error_bars.hpp"
#include "learn/model_outputs.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <span>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

namespace ignd {
namespace {

void refuse_columns_of_others(const DataFile& data, const StreamInput& input) {
  if (input.has_columns() || (input.target.empty() && input.weight.empty())) return;
  throw InvalidArgument(fmt::format("{} has no columns: each of its lines begins with the label; leave out {}",
                                    data.name(), input.target.empty() ? "--weight" : "--target"));
}

// Scores rows as they come. Those of classes are kept, since the area under the curve needs their order; of numbers, as
// many as error bars are made from.
class RowScorer {
 public:
  // The reader knows the names of labels that the model has not seen.
  RowScorer(const StreamModel& model, const ExampleReader& reader)
      : learner_(model.learner()), classes_(learner_.classes()), name_([&model, &reader](double label) {
          const std::string known = model.label_name(label);
          return known == "?" ? reader.target_name(label) : known;
        }) {
    if (!model.input().text_target) name_ = {};
    if (learner_.learns_many_classes()) many_.emplace(learner_.seen_classes().size());
  }

  // Throws BadSample for a label that is none of the classes.
  void add(double label, double weight, const StreamPrediction& made) {
    const bool two_classes = learner_.classifies() && !many_;
    double y = label, predicted = two_classes ? made.output : made.prediction;
    if (many_) {
      const std::optional<std::size_t> number = learner_.seen_classes().find(label);
      if (!number) {
        throw BadSample(fmt::format("the label is {}, which is none of the {} classes", Classes::shown(label, name_),
                                    learner_.seen_classes().size()));
      }
      ordered_.clear();
      const auto& order = learner_.seen_classes().in_order();
      for (const std::size_t c : order) ordered_.push_back(made.logits[c]);
      truth_ = static_cast<double>(std::ranges::find(order, *number) - order.begin());
      many_->add(truth_, ordered_, weight);
      y = static_cast<double>(*number);
      predicted = static_cast<double>(most_probable(ordered_));
    } else if (two_classes) {
      y = truth_ = classes_.number_of(label, name_);
    } else {
      truth_ = label;
      sums_.add(label, made.prediction, weight);
    }
    const double loss = learner_.loss_of(y, made);
    ++rows_;
    loss_ += weight * loss;
    total_ += weight;
    if (!two_classes && rows_ > most_resampled_rows) {
      judged_ = {.left_out = rows_};
      return;
    }
    judged_.truth.push_back(truth_);
    judged_.predicted.push_back(predicted);
    judged_.weight.push_back(weight);
    judged_.loss.push_back(loss);
    judged_.loss_weight.push_back(weight);
  }

  std::uint64_t rows() const { return rows_; }

  // Throws InvalidArgument if no row had a weight above 0.
  Scores scores() const {
    Scores scores;
    if (many_) {
      scores.multiclass = many_->metrics();
    } else if (learner_.classifies()) {
      scores.classification = classification_metrics(judged_.truth, judged_.predicted, judged_.weight);
    } else {
      scores.regression = sums_.metrics();
    }
    scores.loss = loss_ / total_;
    return scores;
  }

  JudgedSamples judged() && {
    judged_.classes = many_ ? ordered_.size() : learner_.classifies() ? 2 : 0;
    return std::move(judged_);
  }

 private:
  const StreamLearner& learner_;
  Classes classes_;  // which learn the second class if it has not been seen before
  LabelName name_;
  std::uint64_t rows_ = 0;
  double loss_ = 0, total_ = 0;
  RegressionSums sums_;
  JudgedSamples judged_;
  double truth_ = 0;                    // of the row at hand, as `judged_` has it
  std::optional<MulticlassSums> many_;  // of any number of classes, in the order that users see
  std::vector<double> ordered_;
};

std::string at_line(std::uint64_t line, const std::string& fault) { return fmt::format("line {}: {}", line, fault); }

std::string first_fault(const ExampleReader& reader) {
  const auto& first = reader.first_skipped();
  return first ? at_line(first->line, first->fault) : "";
}

// Rows that could not be read have no weight.
bool is_readable(const ExampleBlock& block, std::size_t i) { return !std::isnan(block.weight[i]); }

// What the rows of a stream show of its features. Different names may have one index; that is nowhere kept apart.
class FeatureCounts {
 public:
  void add(std::span<const std::uint32_t> indices, std::span<const float> values) {
    for (std::size_t k = 0; k < indices.size(); ++k) {
      if (values[k] == 0) continue;
      HeavyFeature& feature = features_[indices[k]];
      ++feature.rows;
      feature.size += double{values[k]} * double{values[k]};  // turned into the root mean square at the end
    }
  }

  bool knows(std::span<const std::uint32_t> indices) const {
    return std::ranges::all_of(indices, [&](std::uint32_t index) {
      const auto found = features_.find(index);
      return found == features_.end() || !found->second.name.empty();
    });
  }
  void name(const std::map<std::uint32_t, std::string>& names) {
    for (const auto& [index, name] : names) {
      const auto found = features_.find(index);
      if (found != features_.end()) found->second.name = name;
    }
  }

  // `weights`: a power of two, and a bias.
  HeavyFeatures heaviest(std::span<const float> weights, double unit, std::uint64_t count) && {
    const auto mask = static_cast<std::uint32_t>(weights.size() - 2);
    std::unordered_map<std::uint32_t, std::uint64_t> users;  // of each weight
    for (const auto& [index, feature] : features_) ++users[index & mask];
    HeavyFeatures made;
    made.features = features_.size();
    for (auto& [index, feature] : features_) {
      feature.weight = unit * double{weights[index & mask]};
      feature.size = std::sqrt(feature.size / static_cast<double>(feature.rows));
      feature.sharing = users[index & mask] - 1;
      made.colliding += feature.sharing > 0 ? 1 : 0;
      if (feature.name.empty()) feature.name = std::to_string(index);
      made.heaviest.push_back(std::move(feature));
    }
    std::ranges::sort(made.heaviest, {}, &HeavyFeature::name);
    std::ranges::stable_sort(made.heaviest, std::ranges::greater{}, &HeavyFeature::effect);
    made.heaviest.resize(std::min<std::size_t>(made.heaviest.size(), count));
    return made;
  }

 private:
  std::unordered_map<std::uint32_t, HeavyFeature> features_;
};

std::string describe_target(const StreamModel& model) {
  const StreamLearner& learner = model.learner();
  if (!learner.classifies()) return "number";
  if (model.classes().size() < 2 || (!learner.learns_many_classes() && !learner.classes().complete())) {
    return "class, of which one has been seen";
  }
  return describe(Target{.name = model.target_name(), .classes = model.classes()});
}

}  // namespace

StreamModel::StreamModel(std::string target, std::string weight, StreamOptions options) : learner_(std::move(options)) {
  input_.target = std::move(target);
  input_.weight = std::move(weight);
}

StreamModel::StreamModel(const Checkpoint& checkpoint, bool skip_bad_rows)
    : input_(StreamInput::load(checkpoint)), learner_(StreamLearner::restore(checkpoint, skip_bad_rows)) {
  has_settings_ = learner_.has_begun() || !input_.features.empty();
  if (input_.text_target) name_labels();
}

StreamModel StreamModel::load(const std::string& path, const Checkpoint& checkpoint, bool skip_bad_rows) {
  try {
    return StreamModel(checkpoint, skip_bad_rows);
  } catch (const FileError& fault) {
    throw FileError(fmt::format("{} cannot be used: {}", quoted_path(path), fault.what()));
  }
}

std::unique_ptr<TrainedModel> StreamModel::load_finished(const Checkpoint& checkpoint) {
  auto model = std::make_unique<StreamModel>(checkpoint);
  try {
    model->learner_.finish();
  } catch (const BadRow& fault) {
    throw FileError(fmt::format("it holds back an example that cannot be learned: {}", fault.what()));
  } catch (const LearningEnded& fault) {
    throw FileError(fmt::format("it holds back an example that cannot be learned: {}", fault.what()));
  }
  model->remember_classes();
  return model;
}

ExampleReader& StreamModel::open(const DataFile& data, const Reading& reading) {
  refuse_model(data.path);
  StreamInput input = input_;
  ExampleReaderOptions options{.threads = reading.threads > 0 ? reading.threads : useful_threads(),
                               .bad_rows = learner_.options().skip_bad_rows ? BadRows::skip : BadRows::stop,
                               .dialect = data.dialect(),
                               .interruption = reading.interruption};
  if (!input.target.empty()) {
    options.columns = CsvColumns{.target = input.target};
    if (!input.weight.empty()) options.columns->weight = input.weight;
    if (has_settings_) {
      options.columns->features = input.features;
      options.columns->text_target = input.text_target;
      input.set_formats(*options.columns, data);
    } else {
      options.columns->decimal_comma = data.decimal_comma;
    }
  }
  auto reader = std::make_unique<ExampleReader>(data.path, has_settings_ ? input.format : asked_format(data), options);
  input.format = reader->format();
  input.check_fits(data);
  refuse_columns_of_others(data, input);
  if (!has_settings_) {
    input.features = reader->features();
    input.formats = reader->formats();
  }
  input.text_target = reader->has_text_target();
  if (input.text_target) name_labels();
  close();
  input.classes = input_.classes;
  input_ = std::move(input);
  reader_ = std::move(reader);
  has_settings_ = true;
  return *reader_;
}

void StreamModel::close() {
  remember_classes();
  reader_.reset();
}

void StreamModel::set_columns(std::vector<std::string> features, bool text_target) {
  if (text_target) name_labels();
  input_.format = ExampleFormat::csv;
  input_.features = std::move(features);
  input_.text_target = text_target;
  has_settings_ = true;
}

void StreamModel::name_labels() {
  learner_.set_label_names([this](double label) { return label_name(label); });
}

std::string StreamModel::label_name(double label) const {
  if (std::isnan(label)) return "?";
  if (!input_.text_target) return format_number(label);
  const auto known = input_.classes.find(label);
  if (known != input_.classes.end()) return known->second;
  if (!next_label_.second.empty() && next_label_.first == label) return next_label_.second;
  return reader_ ? reader_->target_name(label) : "?";
}

void StreamModel::remember_classes() {
  if (!input_.text_target) return;
  for (const double label : learner_.class_labels()) remember_class(label);
}

std::vector<std::string> StreamModel::classes() const {
  if (!learner_.classifies()) return {};
  if (learner_.learns_many_classes()) {
    std::vector<std::string> names;
    for (const double label : learner_.class_labels()) names.push_back(label_name(label));
    return names;
  }
  return {label_name(learner_.classes().negative()), label_name(learner_.classes().positive())};
}

void StreamModel::set_progress(std::uint64_t last_line, std::optional<WrittenPredictions> predictions) {
  input_.last_line = last_line;
  input_.predictions = std::move(predictions);
  remember_classes();
}

void StreamModel::save_reader(Checkpoint& checkpoint) const {
  checkpoint.set("kind", std::string(stream_model_kind));
  input_.save(checkpoint);
}

void StreamModel::save(Checkpoint& checkpoint) const {
  save_reader(checkpoint);
  learner_.save(checkpoint);
}

void StreamModel::check_has_settings() const {
  if (!has_settings_) throw InvalidArgument("nothing has been learned that says how to read a file; learn first");
}

// `columns` says which columns besides the features are needed.
std::unique_ptr<ExampleReader> StreamModel::open_new(const NewData& data, CsvColumns columns) const {
  check_has_settings();
  input_.check_fits(data.file);
  refuse_model(data.file.path);
  refuse_tables_in(data.file.path);
  columns.features = input_.features;
  input_.set_formats(columns, data.file);
  ExampleReaderOptions options{.threads = useful_threads(),
                               .bad_rows = data.skip_bad_rows ? BadRows::mark : BadRows::stop,
                               .dialect = data.file.dialect()};
  if (input_.has_columns()) options.columns = std::move(columns);
  return blaming(data.file, [&] { return std::make_unique<ExampleReader>(data.file.path, input_.format, options); });
}

// Gives every example and its prediction to `use`, until that returns false. What is wrong is wrong with the file.
template <class Use>
void StreamModel::for_each_prediction(const NewData& data, ExampleReader& reader, const Use& use) const {
  ExampleBlock block;
  std::vector<StreamPrediction> predictions;
  const auto read = [&] {
    if (data.before_wait) data.before_wait();
    return reader.next(block);
  };
  std::uint64_t row = 0;
  blaming(data.file, [&] {
    while (read()) {
      learner_.predict(block, predictions);
      for (std::size_t i = 0; i < block.size(); ++i) {
        predictions[i].row = ++row;
        if (!use(block, i, predictions[i])) return;
      }
    }
  });
  if (row == 0) throw FileError(fmt::format("{} has no examples", data.file.name()));
}

void StreamModel::interpret(const StreamPrediction& made, Prediction& prediction) const {
  if (!learner_.classifies()) {
    prediction.value = made.prediction;
    return;
  }
  if (learner_.learns_many_classes()) {
    interpret_many(made, prediction);
    return;
  }
  prediction.value = made.prediction == learner_.classes().positive() ? 1 : 0;
  prediction.label = label_name(made.prediction);
  prediction.probabilities.assign({1 - made.probability, made.probability});
}

void StreamModel::interpret_many(const StreamPrediction& made, Prediction& prediction) const {
  const auto& order = learner_.seen_classes().in_order();
  prediction.probabilities.clear();
  if (made.logits.empty()) {
    prediction.label = "?";
    return;
  }
  // A class that has turned up since has no logit.
  for (const std::size_t c : order) {
    if (c < made.logits.size()) prediction.probabilities.push_back(made.logits[c]);
  }
  prediction.value = static_cast<double>(most_probable(prediction.probabilities));
  softmax_probabilities(prediction.probabilities, prediction.probabilities);
  prediction.label = label_name(made.prediction);
}

PredictionReport StreamModel::predict(const NewData& data, const OnPrediction& use) const {
  if (!data.keep.empty() && !input_.has_columns()) {
    throw InvalidArgument("--keep is for comma-separated values: examples of other formats have no columns");
  }
  const auto reader = open_new(data, {.keep = data.keep});
  PredictionReport report;
  PredictedSample sample;
  std::size_t kept = 0;  // fields of the block so far
  for_each_prediction(data, *reader, [&](const ExampleBlock& block, std::size_t i, const StreamPrediction& made) {
    report.samples = made.row;
    if (i == 0) kept = 0;
    sample.prediction.name = std::to_string(made.row);
    sample.usable = is_readable(block, i);
    if (sample.usable) {
      const auto fields = std::span(block.kept).subspan(kept, data.keep.size());
      kept += fields.size();
      sample.kept.assign(fields.begin(), fields.end());
      interpret(made, sample.prediction);
    } else {
      sample.kept.assign(data.keep.size(), "");
    }
    return use(sample);
  });
  report.bad_rows = reader->skipped_rows();
  report.first_fault = first_fault(*reader);
  return report;
}

Prediction StreamModel::predict_row(const std::map<std::string, std::string>& row) const {
  if (!input_.has_columns()) {
    throw InvalidArgument("the model was learned from lines without columns: it predicts files, not rows");
  }
  check_row(row);
  ExampleBlock block;
  for (const std::string& name : input_.features)
    append_cell(column_hash(name), input_.format_of(name), row.at(name), block);
  block.finish(std::numeric_limits<double>::quiet_NaN(), 1, 1);
  std::vector<StreamPrediction> made;
  try {
    learner_.predict(block, made);
  } catch (const BadRow& fault) {
    throw BadSample(fault.fault());
  }
  Prediction prediction;
  interpret(made[0], prediction);
  return prediction;
}

Evaluation StreamModel::evaluate(const NewData& data) const {
  if (data.weight && !input_.has_columns()) {
    throw InvalidArgument("--weight is for comma-separated values: examples of other formats carry their own");
  }
  const auto reader =
      open_new(data, {.target = input_.target, .weight = data.weight, .text_target = input_.text_target});
  RowScorer scorer(*this, *reader);
  Evaluation made;
  const auto leave_out = [&](const std::string& fault) {
    if (made.bad_rows.count++ == 0) made.bad_rows.first = fault;
  };
  for_each_prediction(data, *reader, [&](const ExampleBlock& block, std::size_t i, const StreamPrediction& prediction) {
    ++made.rows;
    if (!is_readable(block, i)) {
      leave_out(first_fault(*reader));
      return true;
    }
    if (std::isnan(block.target[i])) return true;
    try {
      scorer.add(block.target[i], block.weight[i], prediction);
    } catch (const BadSample& fault) {
      if (!data.skip_bad_rows) throw BadRow(block.line[i], fault.what());
      leave_out(at_line(block.line[i], fault.what()));
    }
    return true;
  });
  made.samples = scorer.rows();
  if (made.samples == 0) {
    throw FileError(fmt::format("{} has no labels to compare with{}", data.file.name(),
                                made.bad_rows.count > 0 ? "; the first bad row is " + made.bad_rows.first : ""));
  }
  made.scores = blaming(data.file, [&] { return scorer.scores(); });
  made.judged = std::move(scorer).judged();
  return made;
}

Explanation StreamModel::explain(const NewData& data, const ExplainOptions& options) const {
  if (learner_.learns_many_classes()) {
    throw InvalidArgument(
        fmt::format("the model tells {} classes apart: only streams of numbers and of two classes are "
                    "explained",
                    learner_.seen_classes().size()));
  }
  const bool named = input_.has_columns();
  CsvColumns columns;
  if (named) columns.keep = input_.features;
  const auto reader = open_new(data, std::move(columns));
  FeatureCounts counts;
  Explanation made;
  std::size_t kept = 0;  // fields of the block so far
  ExampleBlock block;
  blaming(data.file, [&] {
    while (made.rows < options.rows && reader->next(block)) {
      kept = 0;
      for (std::size_t i = 0; i < block.size() && made.rows < options.rows; ++i) {
        if (data.stop != nullptr && *data.stop) throw Stopped();
        if (!is_readable(block, i)) continue;
        ++made.rows;
        counts.add(block.indices(i), block.values(i));
        if (!named) continue;
        const auto fields = std::span(block.kept).subspan(kept, input_.features.size());
        kept += fields.size();
        if (counts.knows(block.indices(i))) continue;
        for (std::size_t c = 0; c < fields.size(); ++c) {
          counts.name(cell_features(input_.features[c], input_.format_of(input_.features[c]), fields[c]));
        }
      }
      if (data.progress) data.progress(made.rows, options.rows);
    }
  });
  if (made.rows == 0) throw FileError(fmt::format("{} has no examples", data.file.name()));
  made.all_rows = made.rows;
  made.bad_rows = {.count = reader->skipped_rows(), .first = first_fault(*reader)};
  made.features = std::move(counts).heaviest(learner_.linear_weights(), learner_.output_unit(), options.heaviest);
  made.features->has_names = named;
  const bool logarithm = !loss().empty() && make_loss(loss())->link() == Link::log;
  made.features->unit = learner_.classifies() ? "log-odds" : logarithm ? "log of the mean" : "prediction";
  return made;
}

ModelDescription StreamModel::describe(const Checkpoint& /*file*/) const {
  const StreamStatistics& total = learner_.statistics();
  const std::uint64_t bits = learner_.options().bits;
  const std::uint64_t weights = learner_.weights();
  const std::uint64_t used = learner_.weights_not_zero();
  ModelDescription about;
  about.facts = {{"bits", bits},
                 {"weights", weights},
                 {"weights_not_zero", used},
                 {"loss", loss()},
                 {"decision", learner_.decision()},
                 {"rows", total.rows},
                 {"examples", total.examples},
                 {"average_loss", total.average_loss()}};
  about.lines = {fmt::format("{}: {} bits, {} of {} weights are not zero", stream_model_kind, bits, with_commas(used),
                             with_commas(weights)),
                 learner_.decision(),
                 fmt::format("{} examples, average progressive loss {}", with_commas(total.examples),
                             in_short(total.average_loss(), 6))};
  if (const std::uint64_t line = input_.last_line; line > 0) {
    about.facts.emplace_back("last_line", line);
    about.lines.push_back(
        fmt::format("saved after line {} of its data; --resume takes the lines after it", with_commas(line)));
  }
  if (input_.has_columns()) about.facts.emplace_back("target", input_.target);
  about.target = describe_target(*this);
  about.formats = input_.formats;
  return about;
}

}  // namespace ignd
