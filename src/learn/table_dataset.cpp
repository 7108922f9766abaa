#include "learn/table_dataset.hpp"

#include "base/spec.hpp"
#include "base/text.hpp"
#include "core/importance.hpp"
#include "ignd/aligned.hpp"
#include "ignd/checkpoint.hpp"
#include "ignd/error.hpp"
#include "ignd/random.hpp"
#include "learn/table_model.hpp"
#include "models/model_specs.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include <fmt/format.h>
#include <xxhash.h>

namespace ignd {
namespace {

std::optional<std::size_t> find_optional(const Table& table, const std::optional<std::string>& name) {
  return name ? std::optional(table.find(*name)) : std::nullopt;
}

// Equal values have equal keys, which their bits alone would not give.
std::uint64_t group_key(double value) {
  if (std::isnan(value)) value = std::numeric_limits<double>::quiet_NaN();
  return std::bit_cast<std::uint64_t>(value == 0 ? 0.0 : value);
}

void check_columns(const Table& table, const DatasetOptions& options) {
  for (const auto& other : {options.weight, options.split_by, options.split_time}) {
    if (other == options.target) throw InvalidArgument(fmt::format("{} is the target", in_quotes(*other)));
  }
  for (const auto* names : {&options.features, &options.drop}) {
    for (const std::string& name : *names) {
      table.find(name);
      if (name == options.target) throw InvalidArgument(fmt::format("{} is the target", in_quotes(name)));
    }
  }
  for (const auto& other : {options.weight, options.split_by}) {
    if (!other || std::ranges::count(options.features, *other) == 0) continue;
    throw InvalidArgument(fmt::format("{} is no input: it holds the {}", in_quotes(*other),
                                      other == options.weight ? "weights" : "groups of the split"));
  }
  if (options.split_by && options.split_time) throw InvalidArgument("split by groups or by time, not by both");
  if (!options.split_time) return;
  if (table.columns()[table.find(*options.split_time)].kind == ColumnKind::text) {
    throw InvalidArgument(
        fmt::format("the time column {} holds texts; dates or numbers are needed, such as seconds or years",
                    in_quotes(*options.split_time)));
  }
}

void check_weight_column(const Table& table, std::optional<std::size_t> column) {
  if (!column || table.columns()[*column].kind == ColumnKind::number) return;
  throw InvalidArgument(fmt::format("the weight column {} holds texts", in_quotes(table.columns()[*column].name)));
}

std::string default_loss(const Target& target) {
  if (target.is_multiclass()) return softmax_loss;
  return target.is_class() ? "logistic" : "squared";
}

}  // namespace

TableDataset::TableDataset(const Table& table, const DatasetOptions& options, const KnownInputs* known)
    : Dataset(options),
      table_(table),
      target_column_(table.find(options.target)),
      weight_column_(find_optional(table, options.weight)),
      rows_(table.size()) {
  std::iota(rows_.begin(), rows_.end(), 0U);
  check_columns(table, options);
  check_weight_column(table, weight_column_);
  const auto time_column = find_optional(table, options.split_time);
  keep_good_rows([&](std::uint32_t row) {
    if (time_column && std::isnan(table[row][*time_column])) {
      return fmt::format("the time {} is not a number, so the rows have no order", in_quotes(*options.split_time));
    }
    const std::string fault = common_fault(row);
    if (!fault.empty()) return fault;
    return known != nullptr ? unknown_target(table, target_column_, row, known->target)
                            : missing_target(table, target_column_, row);
  });
  const auto target_from = [&](std::span<const std::uint32_t> rows) {
    return known != nullptr ? known->target
                            : fit_target(table, target_column_, rows_, rows, options.loss, options.positive);
  };
  const Target all = target_from(rows_);
  loss_ = known != nullptr ? known->loss : !options.loss.empty() ? tidy_spec(options.loss) : default_loss(all);
  if (const auto loss = all.is_multiclass() ? nullptr : make_loss(loss_)) {
    keep_good_rows([&](std::uint32_t row) -> std::string {
      try {
        loss->check_target(all.learned(table[row][target_column_]));
        return "";
      } catch (const BadSample& fault) {
        return fault.what();
      }
    });
  }
  split_ = split_rows(all);
  target_ = target_from(split_.train);
  target_deviation_ = target_.deviation;
  if (!options.scale_target && !target_.is_class()) target_.mean = 0, target_.deviation = 1;
  multiply_target();
  if (known != nullptr) {
    encoder_ = known->encoder;
    at_ = encoder_.match(table);
  } else {
    fit_encoder();
  }
  draw_factors();
  if (options.balanced) balance_classes();
  check_samples();
  limit_parts();
  pack();
}

TableDataset::TableDataset(const Table& table, Encoder encoder, Target target, std::string loss,
                           const std::optional<std::string>& weight, bool skip_bad_rows)
    : Dataset({.target = target.name, .skip_bad_rows = skip_bad_rows}),
      table_(table),
      encoder_(std::move(encoder)),
      at_(encoder_.match(table)),
      target_column_(table.find(target.name)),
      weight_column_(find_optional(table, weight)),
      rows_(table.size()) {
  target_ = std::move(target);
  loss_ = std::move(loss);
  std::iota(rows_.begin(), rows_.end(), 0U);
  check_weight_column(table, weight_column_);
  keep_good_rows([&](std::uint32_t row) {
    const std::string fault = common_fault(row);
    return !fault.empty() ? fault : unknown_target(table, target_column_, row, target_);
  });
  target_deviation_ = target_.deviation;
  split_.test = rows_;
  check_samples();
}

// Those of reading, and the weight.
std::string TableDataset::common_fault(std::uint32_t row) const {
  if (table_.is_bad(row)) return row == table_.bad_rows().front() ? table_.first_fault() : "it could not be read";
  if (!weight_column_) return "";
  const double weight = table_[row][*weight_column_];
  if (weight >= 0 && weight <= largest_weight) return "";
  return fmt::format("the weight {} is {}, but must be between 0 and {}",
                     in_quotes(table_.columns()[*weight_column_].name), weight, largest_weight);
}

void TableDataset::keep_good_rows(const FaultOf& fault_of) {
  std::vector<std::uint32_t> good;
  for (const std::uint32_t row : rows_) {
    const std::string fault = fault_of(row);
    if (fault.empty()) {
      good.push_back(row);
      continue;
    }
    if (bad_rows_.first.empty()) bad_rows_.first = fmt::format("row {}: {}", row + 1, fault);
    ++bad_rows_.count;
  }
  if (bad_rows_.count > 0 && !options_.skip_bad_rows) {
    throw BadSample(fmt::format("{}; --bad-rows skip leaves out such rows ({} of {})", bad_rows_.first, bad_rows_.count,
                                table_.size()));
  }
  if (good.empty()) throw BadSample(fmt::format("no row can be used; {}", bad_rows_.first));
  rows_ = std::move(good);
}

Split TableDataset::split_rows(const Target& target) const {
  const SplitFractions fractions{options_.validation, options_.test};
  const auto keys_of = [&](std::size_t column) {
    std::vector<std::uint64_t> keys;
    for (const std::uint32_t row : rows_) keys.push_back(group_key(table_[row][column]));
    return keys;
  };
  Split split;
  if (options_.last_validation > 0) {
    const auto first = table_.size() - std::min<std::size_t>(options_.last_validation, table_.size());
    const auto training = static_cast<std::size_t>(std::ranges::lower_bound(rows_, first) - rows_.begin());
    if (training == 0) throw InvalidArgument("there are no training rows before the validation rows");
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      (i < training ? split.train : split.validation).push_back(static_cast<std::uint32_t>(i));
    }
  } else if (options_.folds > 0) {
    const FoldsBy by = options_.split_by                          ? FoldsBy::groups
                       : target.is_class() && options_.stratified ? FoldsBy::classes
                                                                  : FoldsBy::rows;
    std::vector<std::uint64_t> keys(rows_.size());
    if (by != FoldsBy::rows) keys = keys_of(options_.split_by ? table_.find(*options_.split_by) : target_column_);
    split = split_into_folds(keys, by, options_.validation, {options_.folds, options_.fold}, options_.seed);
  } else if (options_.split_by) {
    split = split_by_group(keys_of(table_.find(*options_.split_by)), fractions, options_.seed);
  } else if (options_.split_time) {
    const std::size_t column = table_.find(*options_.split_time);
    std::vector<double> times;
    for (const std::uint32_t row : rows_) times.push_back(table_[row][column]);
    split = split_by_time(times, fractions);
  } else if (target.is_class() && options_.stratified) {
    split = split_by_class(keys_of(target_column_), fractions, options_.seed);
  } else {
    split = split_randomly(rows_.size(), fractions, options_.seed);
  }
  for (auto* part : {&split.train, &split.validation, &split.test}) {
    for (std::uint32_t& row : *part) row = rows_[row];
  }
  return split;
}

std::vector<std::string> TableDataset::classes_without(std::span<const std::uint32_t> part) const {
  std::vector<bool> seen(target_.classes.size());
  if (target_.is_class()) {
    for (const std::uint32_t row : part) seen[static_cast<std::size_t>(target_in_units(row))] = true;
  }
  std::vector<std::string> missing;
  for (std::size_t k = 0; k < seen.size(); ++k) {
    if (!seen[k]) missing.push_back(target_.classes[k]);
  }
  return missing;
}

// A group says nothing about rows of other groups; the time, like any number, may.
bool TableDataset::is_input(std::size_t column) const {
  if (column == target_column_ || column == weight_column_) return false;
  const std::string& name = table_.columns()[column].name;
  if (options_.split_by == name || std::ranges::count(options_.drop, name) > 0) return false;
  return options_.features.empty() || std::ranges::count(options_.features, name) > 0;
}

std::vector<std::string> TableDataset::left_out_columns() const {
  std::vector<std::string> names;
  for (const Column& column : table_.columns()) {
    const bool dropped = std::ranges::count(options_.drop, column.name) > 0;
    const bool chosen = options_.features.empty() || std::ranges::count(options_.features, column.name) > 0;
    const bool has_use = std::ranges::count(options_.columns(), column.name) > 0;
    if (dropped || (!chosen && !has_use)) names.push_back(column.name);
  }
  return names;
}

void TableDataset::fit_encoder() {
  std::vector<std::size_t> columns;
  for (std::size_t c = 0; c < table_.columns().size(); ++c) {
    if (is_input(c)) columns.push_back(c);
  }
  EncoderOptions encoding{.use_ids = options_.use_ids, .scaling = options_.scaling};
  if (options_.pieces) encoding.pieces = *options_.pieces;
  if (options_.levels) encoding.levels = *options_.levels;
  encoder_ = Encoder::fit(table_, columns, split_.train, encoding);
  if (encoder_.features() == 0) {
    const auto is_id = [](const ColumnCode& code) { return code.reason == ColumnCode::DropReason::ids; };
    const bool ids = std::ranges::any_of(encoder_.columns(), is_id);
    throw InvalidArgument(fmt::format("there is no column besides the target {} that differs from row to row{}",
                                      in_quotes(target_.name),
                                      ids ? ", except for ids and long texts; --use-ids learns from them as they are, "
                                            "and --text COLUMN from the words of one"
                                          : ""));
  }
  at_ = encoder_.match(table_);
}

void TableDataset::multiply_target() {
  if (options_.target_factor == 1) return;
  if (target_.is_class() || target_.logarithm) {
    throw InvalidArgument(fmt::format("the target {} is not learned as a number, so it can have no target-factor",
                                      in_quotes(target_.name)));
  }
  target_.deviation /= options_.target_factor;
}

void TableDataset::draw_factors() {
  if (options_.factors == InputFactors::one) return;
  RandomStream stream(0, "input scales");
  for (std::size_t k = 0; k < encoder_.features(); ++k) {
    factors_.push_back(
        options_.factors == InputFactors::hundred ? 100 : static_cast<float>(std::pow(10, stream.uniform(-2, 2))));
  }
}

void TableDataset::balance_classes() {
  if (!target_.is_class()) throw InvalidArgument("balanced class weights need a target of classes");
  std::vector<double> sums(target_.classes.size());
  for (const std::uint32_t row : split_.train) sums[static_cast<std::size_t>(target_in_units(row))] += row_weight(row);
  const double total = std::accumulate(sums.begin(), sums.end(), 0.0);
  for (std::size_t k = 0; k < sums.size(); ++k) {
    if (sums[k] == 0) {
      throw InvalidArgument(
          fmt::format("balanced class weights need training rows of every class, with a weight above "
                      "0; there are none of {}",
                      in_quotes(target_.classes[k])));
    }
    class_weight_.push_back(total / (static_cast<double>(sums.size()) * sums[k]));
  }
}

// Whatever training would stumble over is found before it starts.
void TableDataset::check_samples() const {
  const auto loss = target_.is_multiclass() ? nullptr : make_loss(loss_);
  for (const auto* part : {&split_.train, &split_.validation, &split_.test}) {
    double sum = 0;
    for (const std::uint32_t row : *part) {
      const double y = target_.learned(table_[row][target_column_]);
      const double weight = sample_weight(row, y);
      sum += weight;
      try {
        if (loss) loss->check_target(y);
      } catch (const BadSample& fault) {
        throw BadSample(fmt::format("row {}: {}", row + 1, fault.what()));
      }
      if (weight <= largest_weight) continue;
      throw BadSample(fmt::format("row {}: its weight in its class is {}, but must not exceed {}", row + 1, weight,
                                  largest_weight));
    }
    if (!part->empty() && sum == 0) {
      throw BadSample(fmt::format("the weights of all {} rows are 0", part == &split_.train        ? "training"
                                                                      : part == &split_.validation ? "validation"
                                                                                                   : "test"));
    }
  }
}

TableDataset TableDataset::with_rows(Split split) const {
  TableDataset other = *this;
  other.split_ = std::move(split);
  return other;
}

std::unique_ptr<Dataset> TableDataset::with_split(Split split) const {
  return std::make_unique<TableDataset>(with_rows(std::move(split)));
}

std::string TableDataset::model_spec(const std::string& text) const {
  return ignd::model_spec(text, encoder_.features(), target_.outputs());
}

std::uint64_t TableDataset::fingerprint() const {
  std::uint64_t hash = table_.size();
  for (const Column& column : table_.columns()) {
    hash = XXH3_64bits_withSeed(column.name.data(), column.name.size(), hash);
  }
  for (std::size_t row = 0; row < table_.size(); ++row) {
    hash = XXH3_64bits_withSeed(table_[row].data(), table_[row].size_bytes(), hash);
  }
  return hash;
}

void TableDataset::save_reader(Checkpoint& checkpoint) const {
  checkpoint.set("kind", std::string(table_model_kind));
  encoder_.save(checkpoint);
}

Sample<float> TableDataset::encoded(std::uint32_t row, std::span<float> x) const {
  const std::span<const double> values = table_[row];
  encoder_.encode(values, at_, x);
  for (std::size_t k = 0; k < factors_.size(); ++k) x[k] *= factors_[k];
  const double y = target_.learned(values[target_column_]);
  return {.x = {x}, .y = y, .weight = sample_weight(row, y)};
}

Sample<float> TableDataset::sample(std::uint32_t row, std::span<float> scratch) const {
  if (!packed_) return encoded(row, scratch.first(encoder_.features()));
  packed_->prefetch(row);  // runs collect a number of samples before they learn from the first
  return (*packed_)[row];
}

void TableDataset::pack() {
  constexpr std::size_t most_bytes = std::size_t{1} << 30;
  const std::size_t features = encoder_.features();
  if (table_.size() > most_bytes / (features * sizeof(float) + 2 * sizeof(double) + alignment)) return;
  Samples<float> packed(features);
  packed.reserve(table_.size());
  std::vector<float> x(features);
  std::uint32_t next = 0;
  const auto add_nothing_until = [&](std::uint32_t row) {  // rows that cannot be used keep their place
    std::ranges::fill(x, 0.0F);
    for (; next < row; ++next) packed.add(x, 0, 0);
  };
  for (const std::uint32_t row : rows_) {
    add_nothing_until(row);
    const Sample<float> made = encoded(row, x);
    packed.add(x, made.y, made.weight);
    ++next;
  }
  packed_ = std::make_shared<const Samples<float>>(std::move(packed));
}

std::vector<std::uint64_t> TableDataset::groups_of(std::span<const std::uint32_t> rows) const {
  if (!options_.split_by) return {};
  const std::size_t column = table_.find(*options_.split_by);
  std::vector<std::uint64_t> groups;
  for (const std::uint32_t row : rows) groups.push_back(group_key(table_[row][column]));
  return groups;
}

std::size_t TableDataset::bytes() const {
  constexpr std::size_t of_a_row = 2 * sizeof(double) + 2 * sizeof(std::uint32_t);
  return table_.size() * (of_a_row + (packed_ ? encoder_.features() * sizeof(float) : 0));
}

double TableDataset::target_in_units(std::uint32_t row) const {
  const double value = table_[row][target_column_];
  return target_.is_class() ? target_.learned(value) : value;
}

double TableDataset::row_weight(std::uint32_t row) const { return weight_column_ ? table_[row][*weight_column_] : 1; }

double TableDataset::sample_weight(std::uint32_t row, double y) const {
  return row_weight(row) * (class_weight_.empty() ? 1 : class_weight_[static_cast<std::size_t>(y)]);
}

}  // namespace ignd
