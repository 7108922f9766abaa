#include "learn/stream_model.hpp"

#include "base/text.hpp"
#include "data/class_files.hpp"
#include "data/table.hpp"
#include "ignd/error.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace ignd {
namespace {

const std::string& name_of(ExampleFormat format) { return format_info(format).name; }

ExampleFormat format_named(const std::string& name) {
  if (const FormatInfo* const info = find_format(name)) return info->format;
  throw FileError(fmt::format("it was learned from the format {}, which this program does not know", in_quotes(name)));
}

CellFormat format_in(const std::string& spec) {
  try {
    return CellFormat::parse(spec);
  } catch (const InvalidArgument& fault) {
    throw FileError(fmt::format("it has a column of a format that this program does not know: {}", fault.what()));
  }
}

// The format that the user says the data have. No value if it is to be guessed.
std::optional<ExampleFormat> asked_format(const DataFile& data) {
  if (data.format.empty()) return std::nullopt;
  return format_named(data.format);
}

void refuse_columns_of_others(const DataFile& data, const StreamInput& input) {
  if (input.has_columns() || (input.target.empty() && input.weight.empty())) return;
  throw InvalidArgument(fmt::format("{} has no columns: each of its lines begins with the label; leave out {}",
                                    data.name(), input.target.empty() ? "--weight" : "--target"));
}

// The columns are read as in the model, unless the user names another decimal mark.
void set_formats(CsvColumns& columns, const StreamInput& input, const DataFile& data) {
  columns.formats = input.formats;
  if (data.decimal.empty()) return;
  columns.decimal_comma = data.decimal == "comma";
  for (auto& [name, format] : *columns.formats) format.comma = *columns.decimal_comma;
}

}  // namespace

bool is_stream_model(const Checkpoint& checkpoint) {
  return checkpoint.has("kind") && checkpoint.text("kind") == stream_model_kind;
}

void StreamInput::save(Checkpoint& checkpoint) const {
  checkpoint.set("stream.format", name_of(format));
  checkpoint.set("stream.target", target);
  checkpoint.set("stream.weight", weight);
  checkpoint.set("stream.columns", std::uint64_t{features.size()});
  for (std::size_t c = 0; c < features.size(); ++c) checkpoint.set(fmt::format("stream.column.{}", c), features[c]);
  for (const auto& [name, column] : formats) checkpoint.set("stream.format." + name, column.spec());
  checkpoint.set("stream.text-target", std::uint64_t{text_target});
  checkpoint.set("stream.classes", std::uint64_t{classes.size()});
  std::size_t i = 0;
  for (const auto& [label, text] : classes) checkpoint.set(fmt::format("stream.class.{}", i++), text);
  checkpoint.set("stream.last-line", last_line);
  checkpoint.set("stream.predictions", std::uint64_t{predictions ? 1U : 0U});
  if (!predictions) return;
  checkpoint.set("stream.predictions.bytes", predictions->bytes);
  checkpoint.set("stream.predictions.end", predictions->end);
}

StreamInput StreamInput::load(const Checkpoint& checkpoint) {
  StreamInput input;
  input.format = format_named(checkpoint.text("stream.format"));
  input.target = checkpoint.text("stream.target");
  input.weight = checkpoint.text("stream.weight");
  const std::uint64_t columns = checkpoint.number("stream.columns");
  for (std::uint64_t c = 0; c < columns; ++c) {
    input.features.push_back(checkpoint.text(fmt::format("stream.column.{}", c)));
  }
  // Models of earlier versions have no formats.
  std::vector<std::string> names = input.features;
  names.push_back(input.target);
  for (const std::string& name : names) {
    const std::string entry = "stream.format." + name;
    if (checkpoint.has(entry)) input.formats[name] = format_in(checkpoint.text(entry));
  }
  input.text_target = checkpoint.number("stream.text-target") != 0;
  const std::uint64_t classes = checkpoint.number("stream.classes");
  if (classes > 2) throw FileError("it names more than two classes: it is damaged");
  for (std::uint64_t i = 0; i < classes; ++i) {
    const std::string& text = checkpoint.text(fmt::format("stream.class.{}", i));
    input.classes[static_cast<double>(text_code(text))] = text;
  }
  if (checkpoint.has("stream.last-line")) input.last_line = checkpoint.number("stream.last-line");
  input.knows_predictions = checkpoint.has("stream.predictions");
  if (!input.knows_predictions || checkpoint.number("stream.predictions") == 0) return input;
  input.predictions = {.bytes = checkpoint.number("stream.predictions.bytes"),
                       .end = checkpoint.text("stream.predictions.end")};
  constexpr std::uint64_t largest_file = std::uint64_t{1} << 62;
  if (input.predictions->bytes > largest_file || input.predictions->end.size() > input.predictions->bytes) {
    throw FileError("its predictions end before they begin: it is damaged");
  }
  return input;
}

void StreamInput::check_fits(const DataFile& data) const {
  const ExampleFormat given = asked_format(data).value_or(format);
  if (given != format) {
    throw InvalidArgument(fmt::format("the model was learned from the format {} and can use no other, but {} is {}",
                                      name_of(format), data.name(), name_of(given)));
  }
  if (has_columns() || (data.delimiter.empty() && data.header.empty() && data.decimal.empty())) return;
  throw InvalidArgument(
      fmt::format("{} has the format {}: --delimiter, --header and --decimal are for comma-separated values",
                  data.name(), name_of(format)));
}

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
      set_formats(*options.columns, input, data);
    } else if (!data.decimal.empty()) {
      options.columns->decimal_comma = data.decimal == "comma";
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

std::unique_ptr<ExampleReader> StreamModel::open_new(const DataFile& data, CsvColumns columns, BadRows bad_rows) const {
  input_.check_fits(data);
  refuse_model(data.path);
  refuse_tables_in(data.path);
  columns.features = input_.features;
  set_formats(columns, input_, data);
  ExampleReaderOptions options{.threads = useful_threads(), .bad_rows = bad_rows, .dialect = data.dialect()};
  if (input_.has_columns()) options.columns = std::move(columns);
  try {
    return std::make_unique<ExampleReader>(data.path, input_.format, options);
  } catch (const InvalidArgument& fault) {
    throw FileError(fmt::format("{} does not fit the model: {}", data.name(), fault.what()));
  }
}

void StreamModel::name_labels() {
  learner_.set_label_names([this](double label) { return label_name(label); });
}

std::string StreamModel::label_name(double label) const {
  if (!input_.text_target) return format_number(label);
  if (std::isnan(label)) return "?";
  const auto known = input_.classes.find(label);
  if (known != input_.classes.end()) return known->second;
  if (!next_label_.second.empty() && next_label_.first == label) return next_label_.second;
  return reader_ ? reader_->target_name(label) : "?";
}

void StreamModel::remember_classes() {
  if (!input_.text_target) return;
  for (const double label : learner_.class_labels()) remember_class(label);
}

void StreamModel::describe(Checkpoint& checkpoint) const {
  checkpoint.set("kind", std::string(stream_model_kind));
  input_.save(checkpoint);
}

void StreamModel::save(Checkpoint& checkpoint, std::uint64_t last_line, std::optional<WrittenPredictions> predictions) {
  input_.last_line = last_line;
  input_.predictions = std::move(predictions);
  remember_classes();
  describe(checkpoint);
  learner_.save(checkpoint);
}

}  // namespace ignd
