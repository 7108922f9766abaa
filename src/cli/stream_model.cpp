#include "cli/stream_model.hpp"

#include "base/text.hpp"
#include "cli/console.hpp"
#include "ignd/error.hpp"

#include <algorithm>
#include <thread>

#include <fmt/format.h>

namespace ignd::cli {
namespace {

const char* name_of(ExampleFormat format) {
  switch (format) {
    case ExampleFormat::svmlight:
      return "svmlight";
    case ExampleFormat::vw:
      return "vw";
    case ExampleFormat::csv:
      return "csv";
  }
  return "";
}

ExampleFormat format_named(const std::string& name) {
  for (const auto format : {ExampleFormat::svmlight, ExampleFormat::vw, ExampleFormat::csv}) {
    if (name == name_of(format)) return format;
  }
  throw FileError(fmt::format("it was learned from the format {}, which this program does not know", in_quotes(name)));
}

CellFormat format_in(const std::string& spec) {
  try {
    return CellFormat::parse(spec);
  } catch (const InvalidArgument& fault) {
    throw FileError(fmt::format("it has a column of a format that this program does not know: {}", fault.what()));
  }
}

template <class Use>
auto blaming(const std::string& path, Use use) -> decltype(use()) {
  try {
    return use();
  } catch (const FileError& fault) {
    throw FileError(fmt::format("{} cannot be used: {}", quoted_path(path), fault.what()));
  }
}

}  // namespace

bool is_stream_model(const Checkpoint& checkpoint) {
  return checkpoint.has("kind") && checkpoint.text("kind") == stream_model_kind;
}

std::string StreamInput::label_name(double label) const {
  if (!text_target) return format_number(label);
  const auto found = classes.find(label);
  return found != classes.end() ? found->second : "?";
}

void StreamInput::print_formats() const {
  for (const auto& [name, column] : formats) print("  {:<20} {}\n", printable(name), column.describe());
}

void StreamInput::describe_formats(JsonLine& line) const {
  if (formats.empty()) return;
  std::vector<std::string> names;
  std::vector<std::string> descriptions;
  for (const auto& [name, column] : formats) {
    names.push_back(name);
    descriptions.push_back(column.describe());
  }
  line.set("recognised.columns", names).set("recognised.formats", descriptions);
}

void StreamInput::save(Checkpoint& checkpoint) const {
  checkpoint.set("stream.format", std::string(name_of(format)));
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

std::optional<ExampleFormat> asked_format(const DataFile& data) {
  if (data.format.empty()) return std::nullopt;
  return format_named(data.format == "tsv" ? "csv" : data.format);
}

void check_fits(const DataFile& data, const StreamInput& input) {
  const ExampleFormat format = asked_format(data).value_or(input.format);
  if (format != input.format) {
    throw InvalidArgument(fmt::format("the model was learned from the format {} and can use no other, but {} is {}",
                                      name_of(input.format), data.name(), name_of(format)));
  }
  if (input.has_columns() || (data.delimiter.empty() && data.header.empty() && data.decimal.empty())) return;
  throw InvalidArgument(
      fmt::format("{} has the format {}: --delimiter, --header and --decimal are for comma-separated values",
                  data.name(), name_of(input.format)));
}

void set_formats(CsvColumns& columns, const StreamInput& input, const DataFile& data) {
  columns.formats = input.formats;
  if (data.decimal.empty()) return;
  columns.decimal_comma = data.decimal == "comma";
  for (auto& [name, format] : *columns.formats) format.comma = *columns.decimal_comma;
}

unsigned useful_threads() {
  constexpr unsigned most = 2;
  return std::clamp(std::thread::hardware_concurrency(), 1U, most);
}

StreamLearner load_learner(const std::string& path, const Checkpoint& checkpoint, bool skip_bad_rows) {
  return blaming(path, [&] { return StreamLearner::restore(checkpoint, skip_bad_rows); });
}

StreamInput load_input(const std::string& path, const Checkpoint& checkpoint) {
  return blaming(path, [&] { return StreamInput::load(checkpoint); });
}

}  // namespace ignd::cli
