#include "learn/step_log.hpp"

#include "base/number.hpp"
#include "base/text.hpp"
#include "ignd/checkpoint.hpp"
#include "ignd/error.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace ignd {
namespace {

constexpr std::size_t numbers_of_a_row = 1 + StepLog::quantities.size() * StepLog::levels.size();

std::string values_entry(std::size_t quantity) { return fmt::format("steps.{}", StepLog::quantities[quantity]); }

}  // namespace

double quantile(std::vector<double>& values, double level) {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  std::ranges::sort(values);
  const double place = level * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return std::lerp(values[below], values[above], place - static_cast<double>(below));
}

StepLog::StepLog(std::uint64_t steps)
    : interval_(std::max<std::uint64_t>((steps + most_intervals - 1) / most_intervals, 1)) {}

void StepLog::step(const StepInfo& info, double length) {
  ++steps_;
  if (info.loss.d1 != 0) values_[0].push_back(info.coefficient / info.loss.d1);
  values_[1].push_back(info.sensitivity);
  values_[2].push_back(std::abs(info.h));
  values_[3].push_back(length);
  if (steps_ % interval_ == 0) finish();
}

void StepLog::finish() {
  if (values_[1].empty()) return;
  Row row{.steps = steps_, .at = {}};
  for (std::size_t q = 0; q < quantities.size(); ++q) {
    for (std::size_t k = 0; k < levels.size(); ++k) row.at[q][k] = quantile(values_[q], levels[k]);
    values_[q].clear();
  }
  rows_.push_back(row);
}

std::string StepLog::csv() const {
  std::string text = "steps";
  for (const char* quantity : quantities) {
    for (const double level : levels) text += fmt::format(",{}_{:.0f}", quantity, 100 * level);
  }
  text += '\n';
  for (const Row& row : rows_) {
    text += std::to_string(row.steps);
    for (const auto& quantity : row.at) {
      for (const double value : quantity) {
        text += ',';
        if (!std::isnan(value)) text += format_number(value);
      }
    }
    text += '\n';
  }
  return text;
}

std::vector<double> StepLog::numbers() const {
  std::vector<double> numbers;
  numbers.reserve(rows_.size() * numbers_of_a_row);
  for (const Row& row : rows_) {
    numbers.push_back(static_cast<double>(row.steps));
    for (const auto& quantity : row.at) numbers.insert(numbers.end(), quantity.begin(), quantity.end());
  }
  return numbers;
}

std::vector<StepLog::Row> StepLog::rows_of(std::span<const double> numbers) {
  std::vector<Row> rows(numbers.size() / numbers_of_a_row);
  for (Row& row : rows) {
    row.steps = static_cast<std::uint64_t>(numbers[0]);
    std::span<const double> rest = numbers.subspan(1);
    for (auto& quantity : row.at) {
      std::ranges::copy(rest.first(levels.size()), quantity.begin());
      rest = rest.subspan(levels.size());
    }
    numbers = rest;
  }
  return rows;
}

void StepLog::save(Checkpoint& checkpoint) const {
  const std::vector<double> rows = numbers();
  checkpoint.set("steps.taken", steps_);
  checkpoint.set("steps.rows", std::uint64_t{rows_.size()});
  checkpoint.set("steps.numbers", std::span<const double>(rows));
  for (std::size_t q = 0; q < quantities.size(); ++q) {
    checkpoint.set(values_entry(q) + ".count", std::uint64_t{values_[q].size()});
    checkpoint.set(values_entry(q), std::span<const double>(values_[q]));
  }
}

void StepLog::restore(const Checkpoint& checkpoint) {
  StepLog saved = *this;
  saved.steps_ = checkpoint.number("steps.taken");
  const std::size_t rows = checkpoint.number("steps.rows");
  if (rows > most_intervals) throw FileError("the saved run has a log of more steps than it can have");
  saved.rows_ = rows_of(checkpoint.array<double>("steps.numbers", rows * numbers_of_a_row));
  for (std::size_t q = 0; q < quantities.size(); ++q) {
    saved.values_[q] = checkpoint.array<double>(values_entry(q), checkpoint.number(values_entry(q) + ".count"));
  }
  *this = std::move(saved);
}

}  // namespace ignd
