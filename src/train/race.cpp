#include "train/race.hpp"

#include "ignd/random.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ignd {
namespace {

// The predictions of a collapsed run do not differ: all its units are dead.
constexpr double collapsed = 1e-6;

// A short race favours large rates. The smallest that is as near as this to the lowest loss is better over a whole run.
constexpr double near = 1.05;

RacedRate try_rate(const TableTask& task, RunOptions options, double rate, const std::atomic<bool>& stop) {
  options.rate = rate;
  RacedRate result{.rate = rate, .loss = std::numeric_limits<double>::infinity()};
  TableRun run(task, options);
  std::optional<EpochReport> last;
  while (run.status() == RunStatus::running && !stop) {
    if (auto report = run.learn_epoch(stop, [] {})) last = report;
  }
  if (run.status() != RunStatus::finished || !last) return result;
  result.loss = last->validation.loss;
  // Compared in the units of the target, as the quality is; for classes in logits.
  result.finished = std::isfinite(result.loss) && last->validation.deviation > collapsed * task.target().deviation;
  return result;
}

}  // namespace

std::vector<double> race_rates(const Optimizer& optimizer) {
  if (optimizer.transform == "plain") {
    if (optimizer.rule == "gradient") return {1e-4, 3e-4, 1e-3, 3e-3, 1e-2};
    return {0.01, 0.03, 0.1, 0.3};
  }
  return {3e-4, 1e-3, 3e-3, 1e-2};
}

Race race(const TableTask& task, const RunOptions& options, std::uint64_t samples, const std::atomic<bool>& stop) {
  Split split = task.split();
  std::vector<std::uint32_t>& rows = split.train;
  Stream(options.seed, "race").shuffle(rows);
  if (split.validation.empty()) {
    const std::size_t held_back = std::max<std::size_t>(1, rows.size() / 10);
    split.validation.assign(rows.end() - static_cast<std::ptrdiff_t>(held_back), rows.end());
    rows.resize(std::max<std::size_t>(1, rows.size() - held_back));
  }
  if (rows.size() > samples) rows.resize(samples);
  RunOptions short_run = options;
  short_run.keep_last = true;
  short_run.epochs = std::clamp<std::uint64_t>(samples / rows.size(), 1, std::max<std::uint64_t>(options.epochs, 1));
  Race result{.rates = {}, .rows = rows.size(), .samples = short_run.epochs * rows.size(), .best = {}};
  const TableTask part = task.with_split(std::move(split));
  double lowest = std::numeric_limits<double>::infinity();
  for (const double rate : race_rates(options.optimizer)) {
    result.rates.push_back(try_rate(part, short_run, rate, stop));
    if (result.rates.back().finished) lowest = std::min(lowest, result.rates.back().loss);
  }
  if (stop) return result;
  const auto good = std::ranges::find_if(
      result.rates, [&](const RacedRate& raced) { return raced.finished && raced.loss <= near * lowest; });
  if (good != result.rates.end()) result.best = good->rate;
  return result;
}

}  // namespace ignd
