#include "train/table_task.hpp"

#include "core/importance.hpp"
#include "core/text.hpp"
#include "ignd/error.hpp"

#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include <fmt/format.h>

namespace ignd {
namespace {

std::optional<std::size_t> find_optional(const Table& table, const std::optional<std::string>& name) {
  return name ? std::optional(table.find(*name)) : std::nullopt;
}

void check_weights(const Table& table, std::size_t column) {
  const std::string& name = table.columns()[column].name;
  if (table.columns()[column].kind == ColumnKind::text) {
    throw InvalidArgument(fmt::format("the weight column {} holds texts", in_quotes(name)));
  }
  for (std::size_t row = 0; row < table.size(); ++row) {
    const double weight = table[row][column];
    if (weight >= 0 && weight <= largest_weight) continue;
    throw InvalidArgument(fmt::format("row {}: the weight {} is {}, but must be between 0 and {}", row + 1,
                                      in_quotes(name), weight, largest_weight));
  }
}

Split split_rows(const Table& table, const TaskOptions& options) {
  const auto fractions = SplitFractions{options.validation, options.test};
  if (options.split_by && options.split_time) throw InvalidArgument("split by groups or by time, not by both");
  if (options.split_by) {
    const std::size_t column = table.find(*options.split_by);
    std::vector<std::uint64_t> keys(table.size());
    for (std::size_t row = 0; row < table.size(); ++row) keys[row] = std::bit_cast<std::uint64_t>(table[row][column]);
    return split_by_group(keys, fractions, options.seed);
  }
  if (options.split_time) {
    const std::size_t column = table.find(*options.split_time);
    if (table.columns()[column].kind == ColumnKind::text) {
      throw InvalidArgument(fmt::format("the time column {} holds texts; numbers are needed, such as seconds or years",
                                        in_quotes(*options.split_time)));
    }
    std::vector<double> times(table.size());
    for (std::size_t row = 0; row < table.size(); ++row) times[row] = table[row][column];
    return split_by_time(times, fractions);
  }
  return split_randomly(table.size(), fractions, options.seed);
}

double deviation_of(std::span<const double> values) {
  double mean = 0;
  for (const double value : values) mean += value / static_cast<double>(values.size());
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / static_cast<double>(values.size()));
}

}  // namespace

TableTask::TableTask(const Table& table, const TaskOptions& options)
    : table_(table),
      target_column_(table.find(options.target)),
      weight_column_(find_optional(table, options.weight)),
      split_(split_rows(table, options)) {
  if (weight_column_) check_weights(table, *weight_column_);
  target_ = fit_target(table, target_column_, split_.train, options.loss);
  loss_ = !options.loss.empty() ? options.loss : target_.is_class() ? "logistic" : "squared";
  std::vector<std::size_t> columns;
  const auto group = find_optional(table, options.split_by);
  for (std::size_t c = 0; c < table.columns().size(); ++c) {
    // A group says nothing about rows of other groups; the time, like any number, may.
    if (c != target_column_ && c != weight_column_ && c != group) columns.push_back(c);
  }
  encoder_ = Encoder::fit(table, columns, split_.train);
  if (encoder_.features() == 0) {
    throw InvalidArgument(fmt::format("there is no column besides the target {} that differs from row to row",
                                      in_quotes(options.target)));
  }
  at_ = encoder_.match(table);
  if (!options.balanced) return;
  if (!target_.is_class()) throw InvalidArgument("balanced class weights need a target of two classes");
  std::array<double, 2> count{};
  for (const std::uint32_t row : split_.train) count[target_in_units(row) > 0 ? 1 : 0] += 1;
  for (std::size_t k = 0; k < 2; ++k) {
    if (count[k] == 0) throw InvalidArgument("the training rows have one class only");
    class_weight_[k] = (count[0] + count[1]) / (2 * count[k]);
  }
}

TableTask::TableTask(const Table& table, Encoder encoder, Target target, std::string loss)
    : table_(table),
      encoder_(std::move(encoder)),
      at_(encoder_.match(table)),
      target_(std::move(target)),
      target_column_(table.find(target_.name)),
      loss_(std::move(loss)) {
  split_.test.resize(table.size());
  std::iota(split_.test.begin(), split_.test.end(), 0U);
  check_target(table, target_column_, target_);
}

TableTask TableTask::with_split(Split split) const {
  TableTask other = *this;
  other.split_ = std::move(split);
  return other;
}

Sample<float> TableTask::sample(std::uint32_t row, std::span<float> x) const {
  const std::span<const double> values = table_[row];
  encoder_.encode(values, at_, x);
  const double y = target_.learned(values[target_column_]);
  double weight = row_weight(row);
  if (target_.is_class()) weight *= class_weight_[y > 0 ? 1 : 0];
  return {.x = {x}, .y = y, .weight = weight};
}

double TableTask::target_in_units(std::uint32_t row) const {
  const double value = table_[row][target_column_];
  return target_.is_class() ? target_.learned(value) : value;
}

double TableTask::row_weight(std::uint32_t row) const { return weight_column_ ? table_[row][*weight_column_] : 1; }

Quality judge(const TableTask& task, std::span<const std::uint32_t> rows, const OutputOf& output) {
  const auto loss = make_loss(task.loss());
  const Target& target = task.target();
  std::vector<float> x(task.encoder().features());
  std::vector<double> truth;
  std::vector<double> predicted;
  std::vector<double> weights;
  double sum = 0;
  double total = 0;
  for (const std::uint32_t row : rows) {
    const Sample<float> sample = task.sample(row, x);
    const double f = output(x);
    if (!std::isfinite(f))
      return {.loss = std::numeric_limits<double>::infinity(), .regression = {}, .classification = {}};
    const double weight = task.row_weight(row);
    sum += weight * loss->at(sample.y, f).value;
    total += weight;
    truth.push_back(task.target_in_units(row));
    predicted.push_back(target.is_class() ? f : target.in_units(task.loss().starts_with("poisson") ? std::exp(f) : f));
    weights.push_back(weight);
  }
  Quality quality;
  quality.loss = sum / total;
  quality.deviation = deviation_of(predicted);
  if (target.is_class()) {
    quality.classification = classification_metrics(truth, predicted, weights);
  } else {
    quality.regression = regression_metrics(truth, predicted, weights);
  }
  return quality;
}

}  // namespace ignd
