#include "lab/study_budget.hpp"

#include "base/duration.hpp"
#include "base/text.hpp"
#include "learn/baselines.hpp"
#include "learn/model_outputs.hpp"
#include "learn/open_dataset.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <functional>
#include <future>
#include <thread>

#include <fmt/format.h>

namespace ignd {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

double seconds_of(const std::function<void()>& work) {
  const auto start = Clock::now();
  work();
  return seconds_since(start);
}

// About so many of the rows, which lie as far apart in memory as all do.
std::vector<std::uint32_t> thinned(const std::vector<std::uint32_t>& rows, std::size_t count) {
  const std::size_t step = 1 + rows.size() / count;
  std::vector<std::uint32_t> some;
  for (std::size_t k = 0; k < rows.size(); k += step) some.push_back(rows[k]);
  return some;
}

// Seconds for a row, to learn from it and to predict it.
struct RowCosts {
  double learning = 0, predicting = 0;
};

RowCosts measure_rows(const TableDataset& part, const TrainingOptions& options) {
  constexpr double long_enough = 0.2;
  Run run(part, options);
  std::atomic<bool> enough = false;
  const auto start = Clock::now();
  run.learn_epoch(enough, [&] { enough = seconds_since(start) > long_enough; });
  const double learning = seconds_since(start) / static_cast<double>(std::max<std::uint64_t>(run.learned(), 1));
  const auto model = run.kept();
  ModelOutputs outputs_of(*model);
  const OutputsOf output = [&](const Input<float>& x, std::span<double> outputs) { outputs_of(x, outputs); };
  const double predicting = seconds_of([&] { evaluate(part, part.split().test, output); });
  return {learning, predicting / static_cast<double>(part.split().test.size())};
}

// As fast as they are while so many runs, and whatever else the machine does, are in each other's way.
RowCosts measure_rows_together(const TableDataset& part, const TrainingOptions& options, unsigned runs) {
  std::vector<std::future<RowCosts>> measured;
  for (unsigned k = 0; k < runs; ++k) {
    measured.push_back(std::async(std::launch::async, [&] { return measure_rows(part, options); }));
  }
  RowCosts mean;
  for (auto& one : measured) {
    const RowCosts costs = one.get();
    mean.learning += costs.learning / runs;
    mean.predicting += costs.predicting / runs;
  }
  return mean;
}

double run_seconds(const RowCosts& costs, const Split& split, std::uint64_t epochs) {
  const auto passes = static_cast<double>(epochs);
  const auto rows = [](const std::vector<std::uint32_t>& part) { return static_cast<double>(part.size()); };
  // Before the first epoch (the validation rows), after each, and at the end.
  const double predicted = (passes + 2) * rows(split.validation) + (passes + 1) * rows(split.test);
  return passes * rows(split.train) * costs.learning + predicted * costs.predicting;
}

unsigned at_a_time(unsigned jobs) { return std::min(jobs, std::max(1U, std::thread::hardware_concurrency())); }

std::size_t count_rates(const RateRange& rates) { return rates.values().size(); }

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
    note = fmt::format("To fit the budget of {}, {} were left out.", duration_text(budget), join(left_out, " and "));
  }
  if (estimate > budget) {
    note += fmt::format(
        "{}Even so it may take {}, more than the budget of {}: fewer optimizers, rates or epochs take less.",
        note.empty() ? "" : " ", duration_text(estimate), duration_text(budget));
  }
  return note;
}

}  // namespace

StudyCosts measure_costs(const OptimizerStudy& study, const TableDataset& table, unsigned jobs) {
  constexpr std::size_t some = 100'000;
  constexpr std::size_t few = 2000;
  const Split& split = table.split();
  const TableDataset part = table.with_rows({.train = thinned(split.train, some),
                                             .validation = thinned(split.validation, 1),
                                             .test = thinned(split.test, few)});
  StudyCosts costs;
  for (const std::string& name : study.optimizers) {
    TrainingOptions options = study.spec.training;
    options.optimizer = optimizer_named(name);
    options.epochs = 1;
    options.rate = 1e-9;  // at which nothing diverges
    costs.run.push_back(
        run_seconds(measure_rows_together(part, options, at_a_time(jobs)), split, study.spec.training.epochs));
  }
  const TableDataset small = table.with_rows({.train = thinned(split.train, few), .validation = {}, .test = {}});
  costs.baselines = seconds_of([&] { fit_baselines(small); }) * static_cast<double>(split.train.size()) /
                    static_cast<double>(small.split().train.size());
  // Prepared for a run, and not for this alone.
  RunSpec another = study.spec;
  another.dataset.seed = std::min<std::uint64_t>(study.seeds, 2);
  costs.preparing = seconds_of([&] { open_dataset(another); });
  return costs;
}

double estimated_seconds(const OptimizerStudy& study, const StudyCosts& costs, unsigned jobs) {
  double one_of_each = 0;
  for (const double run : costs.run) one_of_each += run;
  const double work = one_of_each * static_cast<double>(count_rates(study.rates)) + costs.baselines;
  return static_cast<double>(study.seeds) * (work / at_a_time(jobs) + costs.preparing);
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
