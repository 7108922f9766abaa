#include "learn/stream_statistics.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

namespace ignd {
namespace {

// The entries of the statistics by name, in one place for saving and loading.
template <class Statistics, class Count, class Number>
void for_each_entry(Statistics& of, Count count, Number number) {
  count("statistics.rows", of.rows);
  count("statistics.examples", of.examples);
  count("statistics.skipped", of.skipped);
  number("statistics.weight", of.weight);
  number("statistics.loss", of.loss);
  number("statistics.correct", of.correct);
  number("statistics.recent-weight", of.recent_weight);
  number("statistics.recent-loss", of.recent_loss);
  number("statistics.largest-error", of.largest_error);
}

}  // namespace

void save_statistics(const StreamStatistics& statistics, Checkpoint& checkpoint) {
  for_each_entry(
      statistics, [&](const char* name, std::uint64_t value) { checkpoint.set(name, value); },
      [&](const char* name, double value) { checkpoint.set(name, std::span<const double>(&value, 1)); });
}

StreamStatistics load_statistics(const Checkpoint& checkpoint) {
  StreamStatistics loaded;
  for_each_entry(
      loaded, [&](const char* name, std::uint64_t& value) { value = checkpoint.number(name); },
      [&](const char* name, double& value) { value = checkpoint.array<double>(name, 1)[0]; });
  return loaded;
}

Checkpoint named_state(const Checkpoint& old) {
  constexpr std::array numbers{"learner.class.negative", "learner.class.positive",   "learner.target.offset",
                               "learner.target.scale",   "statistics.weight",        "statistics.loss",
                               "statistics.correct",     "statistics.recent-weight", "statistics.recent-loss"};
  constexpr std::array counts{"learner.target.seen", "learner.target.has-scale", "statistics.rows",
                              "statistics.examples", "statistics.skipped"};
  const auto& packed_numbers = old.array<double>("learner.numbers", numbers.size());
  const auto& packed_counts = old.array<std::uint64_t>("learner.counts", counts.size());
  Checkpoint named;
  for (std::size_t k = 0; k < numbers.size(); ++k) {
    named.set(numbers[k], std::span<const double>(&packed_numbers[k], 1));
  }
  for (std::size_t k = 0; k < counts.size(); ++k) named.set(counts[k], packed_counts[k]);
  named.set("learner.only-label", std::span<const double>(old.array<double>("learner.only-label", 1)));
  // The first such files had no largest error.
  constexpr const char* error = "learner.largest-error";
  const double largest_error = old.has(error) ? old.array<double>(error, 1)[0] : 0;
  named.set("statistics.largest-error", std::span<const double>(&largest_error, 1));
  return named;
}

void count_example(StreamStatistics& statistics, double error, double loss, double weight, bool correct) {
  ++statistics.examples;
  if (weight == 0) return;
  statistics.largest_error = std::max(statistics.largest_error, std::abs(error));
  statistics.weight += weight;
  statistics.loss += weight * loss;
  statistics.recent_weight += weight;
  statistics.recent_loss += weight * loss;
  if (correct) statistics.correct += weight;
}

std::optional<double> StreamStatistics::average(double sum, double over) const {
  constexpr double smallest_square_root = 1e-150;  // of numbers whose squares keep all their digits
  const bool too_small = largest_error > 0 && (largest_error < smallest_square_root || over < smallest_square_root) &&
                         sum < std::numeric_limits<double>::min();
  if (over <= 0 || too_small || !std::isfinite(sum / over)) return std::nullopt;
  return sum / over;
}

}  // namespace ignd
