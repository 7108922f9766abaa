#include "learn/stream_input.hpp"

#include "base/text.hpp"
#include "ignd/checkpoint.hpp"
#include "ignd/error.hpp"
#include "learn/target.hpp"

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

}  // namespace

std::optional<ExampleFormat> asked_format(const DataFile& data) {
  if (data.format.empty()) return std::nullopt;
  return format_named(data.format);
}

CellFormat StreamInput::format_of(const std::string& column) const {
  const auto found = formats.find(column);
  return found != formats.end() ? found->second : CellFormat();
}

void StreamInput::set_formats(CsvColumns& columns, const DataFile& data) const {
  columns.formats = formats;
  if (!data.decimal_comma) return;
  columns.decimal_comma = data.decimal_comma;
  for (auto& [name, column] : *columns.formats) column.comma = *data.decimal_comma;
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
  if (classes > most_classes) throw FileError(fmt::format("it names {} classes: it is damaged", classes));
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
  if (has_columns() || (data.delimiter.empty() && !data.header && !data.decimal_comma)) return;
  throw InvalidArgument(
      fmt::format("{} has the format {}: --delimiter, --header and --decimal are for comma-separated values",
                  data.name(), name_of(format)));
}

}  // namespace ignd
