#include "train/target.hpp"

#include "core/text.hpp"
#include "ignd/checkpoint.hpp"
#include "ignd/error.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

namespace ignd {
namespace {

// A value as it stands in the file; "?" if it is a text whose name the table has not kept.
std::string value_name(const Column& column, double value) {
  if (column.kind == ColumnKind::number) return format_number(value);
  const auto label = column.labels.find(static_cast<std::uint64_t>(value));
  return label != column.labels.end() ? label->second : "?";
}

void check_values(const Table& table, std::size_t column) {
  for (std::size_t row = 0; row < table.size(); ++row) {
    const double value = table[row][column];
    if (std::isfinite(value)) continue;
    throw BadSample(fmt::format("row {}: the target {} is {}", row + 1, in_quotes(table.columns()[column].name),
                                std::isnan(value) ? "missing or not a number" : "infinite"));
  }
}

// The different values, in the order they come, up to three.
class DistinctValues {
 public:
  void add(double value) {
    if (values_.size() < 3 && std::ranges::find(values_, value) == values_.end()) values_.push_back(value);
  }
  std::size_t size() const { return values_.size(); }
  double operator[](std::size_t i) const { return values_[i]; }

 private:
  std::vector<double> values_;
};

// Names the first text among what should be numbers.
[[noreturn]] void refuse_texts(const Table& table, std::size_t column, std::string_view why) {
  const Column& about = table.columns()[column];
  for (std::size_t row = 0; row < table.size(); ++row) {
    const auto label = about.labels.find(static_cast<std::uint64_t>(table[row][column]));
    double number = 0;
    if (label == about.labels.end() || is_number(label->second, number)) continue;
    throw BadSample(fmt::format("row {}: the target {} is {}, which is not a number{}", row + 1, in_quotes(about.name),
                                in_quotes(label->second), why));
  }
  throw BadSample(fmt::format("the target {} holds texts{}", in_quotes(about.name), why));
}

void set_classes(Target& target, const Column& about, const DistinctValues& values) {
  const std::string names[] = {value_name(about, values[0]), value_name(about, values[1])};
  const bool in_order = target.text ? names[0] < names[1] : values[0] < values[1];
  const std::size_t positive = in_order ? 1 : 0;
  target.classes = {names[1 - positive], names[positive]};
  target.positive = values[positive];
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
  target.mean = mean;
  target.deviation = std::sqrt(squares / count);
  if (!std::isfinite(mean) || !std::isnormal(target.deviation)) {
    throw BadSample(
        fmt::format("the target {} has values too large or too close together to be scaled", in_quotes(target.name)));
  }
}

}  // namespace

double Target::learned(double value) const {
  if (is_class()) return value == positive ? 1 : 0;
  return (value - mean) / deviation;
}

double Target::output_for(double learned_number) const {
  if (!logarithm) return learned_number;
  return std::log(std::max(learned_number, std::numeric_limits<double>::min()));
}

Target fit_target(const Table& table, std::size_t column, std::span<const std::uint32_t> training_rows,
                  const std::string& loss) {
  const Column& about = table.columns()[column];
  check_values(table, column);
  DistinctValues values, in_training;
  for (std::size_t row = 0; row < table.size(); ++row) values.add(table[row][column]);
  for (const std::uint32_t row : training_rows) in_training.add(table[row][column]);
  if (in_training.size() < 2) {
    throw BadSample(fmt::format("the target {} is {} in every {}row: there is nothing to learn", in_quotes(about.name),
                                in_quotes(value_name(about, in_training[0])), values.size() < 2 ? "" : "training "));
  }
  const bool wants_classes = loss.starts_with("logistic");
  const bool wants_numbers = !loss.empty() && !wants_classes;
  Target target{.name = about.name, .classes = {}, .text = about.kind == ColumnKind::text};
  if (target.text && wants_numbers) refuse_texts(table, column, fmt::format("; the loss {} needs them", loss));
  if (target.text && values.size() > 2) refuse_texts(table, column, ", and there are more than two different texts");
  if (wants_classes && values.size() > 2) {
    throw InvalidArgument(fmt::format("the logistic loss needs a target of two values; {} has more: {}, {}, {}",
                                      in_quotes(about.name), value_name(about, values[0]), value_name(about, values[1]),
                                      value_name(about, values[2])));
  }
  if (values.size() == 2 && !wants_numbers) {
    set_classes(target, about, values);
    return target;
  }
  target.logarithm = loss.starts_with("poisson");
  if (!target.logarithm) fit_scale(target, table, column, training_rows);
  return target;
}

void check_target(const Table& table, std::size_t column, const Target& target) {
  const Column& about = table.columns()[column];
  const bool text = about.kind == ColumnKind::text;
  check_values(table, column);
  if (!target.is_class()) {
    if (text) refuse_texts(table, column, "");
    return;
  }
  for (std::size_t row = 0; row < table.size(); ++row) {
    const std::string name = value_name(about, table[row][column]);
    // A text and a number are different values, even if they look the same.
    if (text == target.text && std::ranges::find(target.classes, name) != target.classes.end()) continue;
    throw BadSample(fmt::format("row {}: the target {} is the {} {}; the model knows the {} {} and {}", row + 1,
                                in_quotes(about.name), text ? "text" : "number", in_quotes(name),
                                target.text ? "texts" : "numbers", in_quotes(target.classes[0]),
                                in_quotes(target.classes[1])));
  }
}

void Target::save(Checkpoint& checkpoint) const {
  const char* kind = logarithm ? "count" : "number";
  if (is_class()) kind = text ? "texts" : "values";
  checkpoint.set("target.name", name);
  checkpoint.set("target.kind", std::string(kind));
  for (std::size_t i = 0; i < classes.size(); ++i) checkpoint.set(fmt::format("target.class.{}", i), classes[i]);
  const double scale[] = {mean, deviation, positive};
  checkpoint.set("target.scale", std::span<const double>(scale));
}

Target Target::load(const Checkpoint& checkpoint) {
  const std::string& kind = checkpoint.text("target.kind");
  const bool classes = kind == "texts" || kind == "values";
  if (!classes && kind != "number" && kind != "count") {
    throw FileError(fmt::format("the model has a target of unknown kind {}", in_quotes(kind)));
  }
  Target target;
  target.name = checkpoint.text("target.name");
  target.text = kind == "texts";
  target.logarithm = kind == "count";
  if (classes) target.classes = {checkpoint.text("target.class.0"), checkpoint.text("target.class.1")};
  const auto& scale = checkpoint.array<double>("target.scale", 3);
  target.mean = scale[0];
  target.deviation = scale[1];
  target.positive = scale[2];
  return target;
}

}  // namespace ignd
