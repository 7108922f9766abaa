#include "learn/stream_statistics.hpp"

#include "ignd/checkpoint.hpp"

#include <algorithm>
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
