#include "train/target.hpp"

#include "core/text.hpp"
#include "ignd/checkpoint.hpp"
#include "ignd/error.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

namespace ignd {
namespace {

std::string value_name(const Column& column, double value) {
  if (column.kind == ColumnKind::number) return format_number(value);
  const auto label = column.labels.find(static_cast<std::uint64_t>(value));
  return label != column.labels.end() ? label->second : "?";
}

[[noreturn]] void refuse_value(std::size_t row, const Column& column, double value) {
  throw InvalidArgument(fmt::format("row {}: the target {} is {}", row + 1, in_quotes(column.name),
                                    std::isnan(value) ? "missing or not a number" : "infinite"));
}

// Every row must have a target. Returns the different values, up to three.
std::vector<double> distinct_values(const Table& table, std::size_t column) {
  std::vector<double> values;
  for (std::size_t row = 0; row < table.size(); ++row) {
    const double value = table[row][column];
    if (!std::isfinite(value)) refuse_value(row, table.columns()[column], value);
    if (values.size() < 3 && std::ranges::find(values, value) == values.end()) values.push_back(value);
  }
  return values;
}

// The first text among what should be numbers.
[[noreturn]] void refuse_text(const Table& table, std::size_t column) {
  const Column& about = table.columns()[column];
  for (std::size_t row = 0; row < table.size(); ++row) {
    const std::string text = value_name(about, table[row][column]);
    double number = 0;
    if (is_number(text, number)) continue;
    throw InvalidArgument(
        fmt::format("row {}: the target {} is {}, which is not a number, and there are more than two different texts",
                    row + 1, in_quotes(about.name), in_quotes(text)));
  }
  throw InvalidArgument(fmt::format("the target {} is not a number", in_quotes(about.name)));
}

void fit_scale(Target& target, const Table& table, std::size_t column, std::span<const std::uint32_t> rows) {
  double mean = 0;
  double squares = 0;
  double count = 0;
  for (const std::uint32_t row : rows) {
    const double y = table[row][column];
    const double from_old = y - mean;
    mean += from_old / ++count;
    squares += from_old * (y - mean);
  }
  const double deviation = count > 0 ? std::sqrt(squares / count) : 0;
  if (!std::isfinite(mean) || !std::isfinite(deviation)) {
    throw InvalidArgument(fmt::format("the target {} has values too large to be averaged", in_quotes(target.name)));
  }
  target.mean = mean;
  target.deviation = deviation > 0 ? deviation : 1;
}

}  // namespace

double Target::learned(double value) const {
  if (is_class()) return value == positive ? 1 : 0;
  return (value - mean) / deviation;
}

Target fit_target(const Table& table, std::size_t column, std::span<const std::uint32_t> training_rows,
                  const std::string& loss) {
  const Column& about = table.columns()[column];
  Target target{.name = about.name, .classes = {}, .text = about.kind == ColumnKind::text};
  const std::vector<double> values = distinct_values(table, column);
  const bool wants_classes = loss.starts_with("logistic");
  const bool wants_numbers = !loss.empty() && !wants_classes;
  if (values.size() < 2) {
    throw InvalidArgument(fmt::format("the target {} has the same value in every row, {}: there is nothing to learn",
                                      in_quotes(about.name), in_quotes(value_name(about, values[0]))));
  }
  if (target.text && (values.size() > 2 || wants_numbers)) refuse_text(table, column);
  if (wants_classes && values.size() > 2) {
    throw InvalidArgument(fmt::format("the logistic loss needs a target of two values; {} has more: {}, {}, {}",
                                      in_quotes(about.name), value_name(about, values[0]), value_name(about, values[1]),
                                      value_name(about, values[2])));
  }
  if (values.size() == 2 && !wants_numbers) {
    for (const double value : values) target.classes.push_back(value_name(about, value));
    const bool swapped = target.text ? target.classes[1] < target.classes[0] : values[1] < values[0];
    if (swapped) std::swap(target.classes[0], target.classes[1]);
    target.positive = swapped ? values[0] : values[1];
    return target;
  }
  if (!loss.starts_with("poisson")) fit_scale(target, table, column, training_rows);
  return target;
}

void check_target(const Table& table, std::size_t column, const Target& target) {
  const Column& about = table.columns()[column];
  if (!target.is_class() && about.kind == ColumnKind::text) refuse_text(table, column);
  for (std::size_t row = 0; row < table.size(); ++row) {
    const double value = table[row][column];
    if (!std::isfinite(value)) refuse_value(row, about, value);
    if (!target.is_class()) continue;
    const std::string name = value_name(about, value);
    if (std::ranges::find(target.classes, name) != target.classes.end()) continue;
    throw InvalidArgument(fmt::format("row {}: the target {} is {}; the model knows {} and {}", row + 1,
                                      in_quotes(about.name), in_quotes(name), in_quotes(target.classes[0]),
                                      in_quotes(target.classes[1])));
  }
}

void Target::save(Checkpoint& checkpoint) const {
  checkpoint.set("target.name", name);
  checkpoint.set("target.kind", std::string(!is_class() ? "number" : text ? "texts" : "values"));
  for (std::size_t i = 0; i < classes.size(); ++i) checkpoint.set(fmt::format("target.class.{}", i), classes[i]);
  const double scale[] = {mean, deviation, positive};
  checkpoint.set("target.scale", std::span<const double>(scale));
}

Target Target::load(const Checkpoint& checkpoint) {
  Target target;
  target.name = checkpoint.text("target.name");
  const std::string& kind = checkpoint.text("target.kind");
  target.text = kind == "texts";
  if (kind != "number") target.classes = {checkpoint.text("target.class.0"), checkpoint.text("target.class.1")};
  const auto& scale = checkpoint.array<double>("target.scale", 3);
  target.mean = scale[0];
  target.deviation = scale[1];
  target.positive = scale[2];
  return target;
}

}  // namespace ignd
