#include "learn/race.hpp"

#include "ignd/error.hpp"
#include "ignd/random.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace ignd {
namespace {

// A short race favours large rates. The smallest that is as near as this to the lowest loss is better over a whole run.
constexpr double close_to_best = 1.05;

RacedRate try_rate(const Dataset& task, TrainingOptions options, double rate, const std::atomic<bool>& stop,
                   const std::function<void(std::uint64_t)>& progress) {
  options.rate = rate;
  RacedRate result{.rate = rate, .loss = std::numeric_limits<double>::infinity()};
  Run run(task, options);
  std::optional<EpochReport> last;
  while (run.status() == RunStatus::running && !stop) {
    if (auto report = run.learn_epoch(stop, [&] { progress(run.learned()); })) last = report;
  }
  result.collapsed = run.status() == RunStatus::collapsed;
  if (last && (run.status() == RunStatus::finished || result.collapsed)) result.loss = last->validation.loss;
  return result;
}

// The smallest of the rates near the lowest loss; among those that collapsed only if all did.
std::optional<double> choose(const std::vector<RacedRate>& rates) {
  for (const bool collapsed : {false, true}) {
    double lowest = std::numeric_limits<double>::infinity();
    for (const RacedRate& raced : rates) {
      if (raced.collapsed == collapsed) lowest = std::min(lowest, raced.loss);
    }
    if (!std::isfinite(lowest)) continue;
    for (const RacedRate& raced : rates) {
      if (raced.collapsed == collapsed && raced.loss <= close_to_best * lowest) return raced.rate;
    }
  }
  return std::nullopt;
}

}  // namespace

std::vector<double> race_rates(const Optimizer& optimizer) {
  if (optimizer.has_plain_transform()) {
    if (optimizer.has_gradient_rule()) return {1e-4, 3e-4, 1e-3, 3e-3, 1e-2};
    return {0.01, 0.03, 0.1, 0.3};
  }
  return {3e-4, 1e-3, 3e-3, 1e-2};
}

Race race(const Dataset& task, const TrainingOptions& options, std::uint64_t samples, const std::atomic<bool>& stop,
          const RaceProgress& progress) {
  Split split = task.split();
  std::vector<std::uint32_t>& rows = split.train;
  std::erase_if(rows, [&](std::uint32_t row) { return task.row_weight(row) == 0; });  // nothing is learned from them
  RandomStream(options.seed, "race").shuffle(rows);
  if (split.validation.empty()) {
    const std::size_t held_back = std::max<std::size_t>(1, rows.size() / 10);
    split.validation.assign(rows.end() - static_cast<std::ptrdiff_t>(held_back), rows.end());
    rows.resize(std::max<std::size_t>(1, rows.size() - held_back));
  }
  samples = std::max<std::uint64_t>(samples, options.batch ? options.batch->size : 1);
  rows.resize(std::min<std::size_t>(samples, rows.size()));
  TrainingOptions short_run = options;
  short_run.keep_last = true;
  short_run.is_trial = true;
  short_run.epochs = std::clamp<std::uint64_t>(samples / rows.size(), 1, std::max<std::uint64_t>(options.epochs, 1));
  Race result{.rates = {}, .rows = rows.size(), .samples = short_run.epochs * rows.size(), .best = {}};
  const auto part = task.with_split(std::move(split));
  const auto rates = race_rates(options.optimizer);
  for (std::size_t i = 0; i < rates.size() && !stop; ++i) {
    const auto note = [&](std::uint64_t steps) {
      if (progress) progress(i * result.samples + steps, rates.size() * result.samples);
    };
    result.rates.push_back(try_rate(*part, short_run, rates[i], stop, note));
  }
  if (!stop) result.best = choose(result.rates);
  return result;
}

}  // namespace ignd
