#include "ignd/stream.hpp"

#include "base/text.hpp"
#include "data/class_files.hpp"
#include "data/csv_examples.hpp"
#include "learn/stream_model.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include <fmt/format.h>

namespace ignd {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

// The names of an example's cells, in order.
std::vector<std::string> names_of(const Example& example) {
  std::vector<std::string> names;
  names.reserve(example.size());
  for (const auto& [name, cell] : example) names.push_back(name);
  return names;
}

// What is wrong with names as those of columns.
std::vector<std::string> name_faults(std::vector<std::string> names, const StreamInput& input) {
  std::vector<std::string> faults;
  std::ranges::sort(names);
  for (std::size_t k = 0; k < names.size(); ++k) {
    const std::string& name = names[k];
    if (k > 0 && name == names[k - 1]) faults.push_back(fmt::format("the column {} is given twice", in_quotes(name)));
    if (name.empty()) faults.emplace_back("a column has no name");
    if (name.find('\n') != std::string::npos) {
      faults.push_back(fmt::format("the name of column {} takes several lines", in_quotes(name)));
    }
    if (name == input.target || (name == input.weight && !name.empty())) {
      faults.push_back(fmt::format("the column {} is the {}, not a feature", in_quotes(name),
                                   name == input.target ? "target" : "weight"));
    }
  }
  return faults;
}

std::vector<std::string> missing_columns(std::span<const std::string> names, std::span<const std::string> columns) {
  std::vector<std::string> faults;
  for (const std::string& column : columns) {
    if (std::ranges::find(names, column) != names.end()) continue;
    faults.push_back(fmt::format("the column {} is missing{}", in_quotes(column), suggestion(column, names)));
  }
  return faults;
}

}  // namespace

struct OnlineLearner::Content {
  Content(std::string target, std::string weight, StreamOptions options)
      : model(std::move(target), std::move(weight), std::move(options)) {}
  Content(const std::string& path, const Checkpoint& checkpoint, bool skip_bad_rows)
      : model(StreamModel::load(path, checkpoint, skip_bad_rows)) {
    find_columns();
  }

  void learn(const Example& example, const Cell& label, double weight);
  Prediction predict(const Example& example);
  std::uint64_t learn_file(const std::string& path, const std::function<bool()>& goes_on);
  void find_columns();

  StreamModel model;

 private:
  // A column that has been seen; `format` is that of its cells.
  struct Column {
    std::uint64_t hash = 0;
    CellFormat format;
  };

  void check_has_columns() const;
  void encode(const Example& example, double label, double weight);
  void append(const std::string& name, const Column& column, const Cell& cell);
  bool is_text_label(const Cell& label) const;
  double label_number(const Cell& label, bool text);

  std::vector<Column> columns_;  // of the model's features
  CellFormat target_format_;
  ExampleBlock block_;  // the example at hand
  std::vector<StreamPrediction> predictions_;
};

void OnlineLearner::Content::find_columns() {
  const StreamInput& input = model.input();
  columns_.clear();
  for (const std::string& name : input.features) columns_.push_back({column_hash(name), input.format_of(name)});
  target_format_ = input.format_of(input.target);
}

void OnlineLearner::Content::check_has_columns() const {
  if (model.has_settings() && !model.input().has_columns()) {
    throw InvalidArgument("the model was learned from lines without columns; give it files of the same format");
  }
  if (model.input().target.empty()) throw InvalidArgument("name the target to learn from cells by name");
}

void OnlineLearner::Content::append(const std::string& name, const Column& column, const Cell& cell) {
  if (cell.is_text()) {
    append_cell(column.hash, column.format, cell.text(), block_);
  } else if (!std::isfinite(cell.number())) {
    append_cell(column.hash, CellFormat(), "", block_);
  } else if (column.format.is_date()) {
    throw BadSample(
        fmt::format("the column {} holds dates; give {} as a text", in_quotes(name), format_number(cell.number())));
  } else {
    append_cell(column.hash, cell.number(), block_);
  }
}

// Features come in the order of the columns, as in a file: sums then have the same bits.
void OnlineLearner::Content::encode(const Example& example, double label, double weight) {
  block_.clear();
  const std::vector<std::string>& columns = model.input().features;
  const bool is_first = !model.has_settings();
  if (is_first) {
    const std::vector<std::string> faults = name_faults(names_of(example), model.input());
    if (!faults.empty()) throw BadSample(list_faults(faults));
    for (const auto& [name, cell] : example) append(name, {column_hash(name), {}}, cell);
  } else {
    bool in_order = example.size() == columns.size();
    for (std::size_t c = 0; in_order && c < columns.size(); ++c) in_order = example[c].first == columns[c];
    if (!in_order) {
      const std::vector<std::string> faults = missing_columns(names_of(example), columns);
      if (!faults.empty()) throw BadSample(list_faults(faults));
    }
    for (std::size_t c = 0; c < columns.size(); ++c) {
      const auto& [name, cell] = in_order
                                     ? example[c]
                                     : *std::ranges::find(
                                           example, columns[c], [](const auto& named) -> auto& { return named.first; });
      append(name, columns_[c], cell);
    }
  }
  block_.finish(label, weight, model.learner().rows_taken() + 1);
}

// The first label decides, as in a file.
bool OnlineLearner::Content::is_text_label(const Cell& label) const {
  if (model.has_settings()) return model.input().text_target;
  return label.is_text() && !target_format_.read(label.text());
}

double OnlineLearner::Content::label_number(const Cell& label, bool text) {
  const std::string target = in_quotes(model.input().target);
  if (label.is_text() && is_missing(label.text())) throw BadSample(fmt::format("the target {} is missing", target));
  if (text) {
    if (!label.is_text()) {
      throw BadSample(
          fmt::format("the target {} holds texts, but is the number {}", target, format_number(label.number())));
    }
    const std::string name(trim(label.text()));
    const auto code = static_cast<double>(text_code(name));
    model.set_next_label(code, name);
    return code;
  }
  const double number = label.is_text() ? target_format_.read(label.text()).value_or(nan) : label.number();
  if (!std::isfinite(number)) {
    throw BadSample(fmt::format("the target {} is {}, which is not a finite number", target,
                                in_quotes(label.is_text() ? label.text() : format_number(number))));
  }
  return number;
}

// Everything that can be wrong with the example is found before anything changes.
void OnlineLearner::Content::learn(const Example& example, const Cell& label, double weight) {
  check_has_columns();
  const bool text = is_text_label(label);
  const double y = label_number(label, text);
  encode(example, y, weight);
  model.learner().check(y, weight);
  if (!model.has_settings()) {
    model.set_columns(names_of(example), text);
    find_columns();
  }
  model.learner().learn(block_);
  if (text) model.remember_class(y);
}

Prediction OnlineLearner::Content::predict(const Example& example) {
  check_has_columns();
  encode(example, nan, 1);
  try {
    model.learner().predict(block_, predictions_);
  } catch (const BadRow& fault) {
    throw BadSample(fault.fault());
  }
  Prediction prediction;
  model.interpret(predictions_[0], prediction);
  return prediction;
}

std::uint64_t OnlineLearner::Content::learn_file(const std::string& path, const std::function<bool()>& goes_on) {
  DataFile data;
  data.path = path;
  refuse_tables_in(path);
  ExampleReader& reader = model.open(data, {});
  find_columns();
  const std::uint64_t skipped_before = model.learner().statistics().skipped;
  const std::uint64_t rows_before = model.learner().rows_taken();
  bool ended = false;
  try {
    ExampleBlock block;
    while (!ended && reader.next(block)) {
      model.learner().learn(block);
      ended = goes_on && !goes_on();
    }
    model.learner().finish();
  } catch (const BadRow& fault) {
    model.close();
    throw FileError(fmt::format("{}, {}", data.name(), fault.what()));
  } catch (const LearningEnded& fault) {
    model.close();
    throw LearningEnded(fmt::format("{}, {}", data.name(), fault.what()));
  } catch (const Error&) {
    model.close();
    throw;
  }
  const std::uint64_t unreadable = reader.skipped_rows();
  model.close();
  if (!ended && model.learner().rows_taken() == rows_before)
    throw FileError(fmt::format("{} has no examples", data.name()));
  return unreadable + model.learner().statistics().skipped - skipped_before;
}

OnlineLearner::OnlineLearner(std::string target, StreamOptions options, std::string weight)
    : content_(std::make_unique<Content>(std::move(target), std::move(weight), std::move(options))) {}
OnlineLearner::OnlineLearner(std::unique_ptr<Content> content) : content_(std::move(content)) {}
OnlineLearner::~OnlineLearner() = default;
OnlineLearner::OnlineLearner(OnlineLearner&&) noexcept = default;
OnlineLearner& OnlineLearner::operator=(OnlineLearner&&) noexcept = default;

OnlineLearner OnlineLearner::load(const std::string& path, bool skip_bad_rows) {
  const Checkpoint checkpoint = Checkpoint::read(path);
  const std::string kind = checkpoint.has("kind") ? checkpoint.text("kind") : "";
  if (kind != stream_model_kind) {
    throw FileError(fmt::format("{} holds no stream model{}", quoted_path(path),
                                kind.empty() ? "" : fmt::format("; it is of the kind {}", in_quotes(kind))));
  }
  return OnlineLearner(std::make_unique<Content>(path, checkpoint, skip_bad_rows));
}

void OnlineLearner::save(const std::string& path) const {
  Checkpoint checkpoint;
  content_->model.set_progress(0);
  content_->model.save(checkpoint);
  checkpoint.write(path);
}

void OnlineLearner::learn(const Example& example, const Cell& label, double weight) {
  content_->learn(example, label, weight);
}

std::uint64_t OnlineLearner::learn_file(const std::string& path, const std::function<bool()>& goes_on) {
  return content_->learn_file(path, goes_on);
}

void OnlineLearner::finish() { content_->model.learner().finish(); }

Prediction OnlineLearner::predict(const Example& example) const { return content_->predict(example); }

std::vector<Prediction> OnlineLearner::predict_file(const std::string& path) const {
  content_->model.check_has_settings();
  return ignd::predict_file(content_->model, path);
}

const StreamStatistics& OnlineLearner::statistics() const { return content_->model.learner().statistics(); }
std::string OnlineLearner::loss() const { return content_->model.learner().loss(); }
std::string OnlineLearner::decision() const { return content_->model.learner().decision(); }
const std::string& OnlineLearner::target() const { return content_->model.input().target; }
const std::vector<std::string>& OnlineLearner::columns() const { return content_->model.input().features; }

std::vector<std::string> OnlineLearner::classes() const {
  const StreamModel& model = content_->model;
  std::vector<std::string> names;
  if (!model.learner().classifies()) return names;
  for (const double label : model.learner().class_labels()) names.push_back(model.label_name(label));
  return names;
}

}  // namespace ignd
