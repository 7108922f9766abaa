#include "sweep/study_budget.hpp"

#include "core/text.hpp"
#include "ignd/error.hpp"
#include "sweep/prepared_tables.hpp"
#include "train/table_baselines.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <functional>
#include <thread>

#include <fmt/format.h>

namespace ignd {
namespace {

double seconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Every so many of the rows, so that they lie as far apart in memory as all do.
std::vector<std::uint32_t> thinned(const std::vector<std::uint32_t>& rows, std::size_t step) {
  std::vector<std::uint32_t> some;
  for (std::size_t k = 0; k < rows.size(); k += step) some.push_back(rows[k]);
  return some;
}

double epoch_seconds(const TableTask& part, RunOptions options) {
  const std::atomic<bool> never = false;
  options.epochs = 1;
  options.rate = 1e-9;  // at which nothing diverges
  TableRun run(part, options);
  return seconds_of([&] { run.learn_epoch(never, [] {}); });
}

double baseline_seconds(const TableTask& part) {
  return seconds_of([&] {
    for (const Predictor& baseline : fit_baselines(part)) judge(part, part.split().validation, baseline.output);
  });
}

std::size_t count_rates(const RateRange& rates) {
  if (!rates.list.empty()) return rates.list.size();
  const double steps = std::log10(rates.to / rates.from) * static_cast<double>(rates.per_decade);
  constexpr double rounding = 1e-3;
  return 1 + static_cast<std::size_t>(std::max(0.0, std::ceil(steps - rounding)));
}

std::string in_words(double seconds) {
  if (seconds < 90) return fmt::format("{:.0f} s", std::ceil(seconds));
  if (seconds < 5400) return fmt::format("{:.0f} min", seconds / 60);
  return fmt::format("{:.1f} h", seconds / 3600);
}

std::string budget_note(const OptimizerStudy& asked, const OptimizerStudy& made, double estimate, double budget) {
  std::vector<std::string> left_out;
  const std::size_t rates = count_rates(made.rates);
  if (rates < count_rates(asked.rates)) {
    left_out.push_back(fmt::format("{} of {} rates ({} per decade instead of {})", count_rates(asked.rates) - rates,
                                   count_rates(asked.rates), made.rates.per_decade, asked.rates.per_decade));
  }
  if (made.seeds < asked.seeds) {
    left_out.push_back(fmt::format("{} of {} seeds", asked.seeds - made.seeds, asked.seeds));
  }
  std::string note;
  if (!left_out.empty()) {
    note = fmt::format("To fit the budget of {}, {} were left out.", in_words(budget), join(left_out, " and "));
  }
  if (estimate > budget) {
    note += fmt::format(
        "{}Even so it may take {}, more than the budget of {}: fewer optimizers, rates or epochs take less.",
        note.empty() ? "" : " ", in_words(estimate), in_words(budget));
  }
  return note;
}

}  // namespace

double parse_duration(std::string_view text) {
  const std::string_view units = "smh";
  const std::size_t unit = text.empty() ? std::string_view::npos : units.find(text.back());
  double value = -1;
  if (unit != std::string_view::npos) {
    try {
      value = parse_number(text.substr(0, text.size() - 1), "the budget");
    } catch (const InvalidArgument&) {  // said below, with what would be right
      value = -1;
    }
  }
  if (!(value > 0) || !std::isfinite(value)) {
    throw InvalidArgument(fmt::format("the budget is {}, but must be a time such as 90s, 10m or 2h", in_quotes(text)));
  }
  return value * std::pow(60, static_cast<double>(unit));
}

StudyCosts measure_costs(const OptimizerStudy& study, const TableTask& table) {
  constexpr std::size_t most_rows = 5000;
  const Split& split = table.split();
  const std::size_t step = 1 + split.train.size() / most_rows;
  const TableTask part = table.with_split({.train = thinned(split.train, step),
                                           .validation = thinned(split.validation, step),
                                           .test = thinned(split.test, step)});
  const double scale = static_cast<double>(split.train.size()) / static_cast<double>(part.split().train.size());
  StudyCosts costs;
  for (const std::string& name : study.optimizers) {
    RunOptions options = study.table.run;
    options.optimizer = find_optimizer(name);
    // The first time, everything is cold.
    const double epoch = std::min(epoch_seconds(part, options), epoch_seconds(part, options));
    costs.run.push_back(epoch * scale * static_cast<double>(options.epochs));
  }
  costs.baselines = baseline_seconds(part) * scale;
  // Prepared for a run, and not for this alone.
  costs.preparing = seconds_of([&] { prepared_table(study.table, std::min<std::uint64_t>(study.seeds, 2)); });
  return costs;
}

double estimated_seconds(const OptimizerStudy& study, const StudyCosts& costs, unsigned jobs) {
  double one_of_each = 0;
  for (const double run : costs.run) one_of_each += run;
  const double work = one_of_each * static_cast<double>(count_rates(study.rates)) + costs.baselines;
  const unsigned at_a_time = std::min(jobs, std::max(1U, std::thread::hardware_concurrency()));
  return static_cast<double>(study.seeds) * (work / at_a_time + costs.preparing);
}

OptimizerStudy within_budget(OptimizerStudy study, const StudyCosts& costs, unsigned jobs, double seconds) {
  const OptimizerStudy asked = study;
  const auto too_long = [&] { return estimated_seconds(study, costs, jobs) > seconds; };
  while (too_long() && study.rates.list.empty() && study.rates.per_decade > 1) --study.rates.per_decade;
  while (too_long() && study.seeds > fewest_seeds) --study.seeds;
  study.note = budget_note(asked, study, estimated_seconds(study, costs, jobs), seconds);
  return study;
}

}  // namespace ignd
