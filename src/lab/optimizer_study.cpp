#include "lab/optimizer_study.hpp"

#include "base/spec.hpp"
#include "base/text.hpp"
#include "ignd/error.hpp"
#include "ignd/vector_loss.hpp"
#include "learn/baselines.hpp"
#include "learn/model_outputs.hpp"
#include "learn/open_dataset.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <functional>
#include <future>
#include <set>
#include <thread>

#include <fmt/format.h>

namespace ignd {
namespace {

constexpr const char* description =
    "Every optimizer is trained at every rate and seed, as `ignd train` does it with the same options. A seed draws "
    "the split, the initial weights and the order of the rows, the same for all optimizers. The rate is the one with "
    "the best mean on the validation rows; the numbers are those of the test rows. The curves are those of the "
    "iterate after each epoch, on the test rows and on the validation rows.";

// For other losses than these, the mean is not the best constant.
const char* constant_name(const TableDataset& table) {
  const auto loss = make_vector_loss(table.loss());
  const bool best = loss->is_squared_error() || table.target().is_class() || loss->link() == Link::log;
  return best ? "best constant" : "the mean";
}

// "eps_c=0": of the part before, since no name has such a sign.
bool is_option(const std::string& part) {
  const std::size_t equals = part.find('=');
  return equals != std::string::npos && part.find(':') > equals;
}

std::vector<Comparison> all_pairs(const std::vector<std::string>& names) {
  std::vector<Comparison> pairs;
  for (std::size_t i = 0; i < names.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) pairs.push_back({names[i], names[k]});
  }
  return pairs;
}

Method baseline(const std::string& name, const char* model, RunSpec spec) {
  spec.model = model;
  Method method;
  method.name = name;
  method.optimizer = find_optimizer("sgd");  // not used
  method.rate = 0;
  method.settings = settings_of(spec);
  return method;
}

// The scores that suit the target.
std::vector<std::string> further_columns(const TableDataset& table) {
  if (table.target().is_multiclass()) return {"accuracy", "macro-f1"};
  if (table.target().is_class()) return {"accuracy", "auc"};
  if (make_vector_loss(table.loss())->is_squared_error()) return {"mae", "mape", "r2"};
  return {"rmse", "mae", "r2"};
}

}  // namespace

std::vector<std::string> parse_optimizers(std::string_view text) {
  std::vector<std::string> names;
  for (const std::string_view words : split(text, ',')) {
    const std::string part = tidy_spec(words);
    if (!names.empty() && is_option(part)) {
      names.back() += "," + part;
    } else {
      names.push_back(part);
    }
  }
  std::set<std::string> seen;
  for (const std::string& name : names) {
    find_optimizer(name);
    if (!seen.insert(name).second) {
      throw InvalidArgument(fmt::format("the optimizer {} is named twice", in_quotes(name)));
    }
  }
  return names;
}

Experiment make_experiment(const OptimizerStudy& study, const TableDataset& table, const std::string& name) {
  const std::string file = std::filesystem::path(study.spec.data.path).filename();
  const std::string& target = study.spec.dataset.target;
  Experiment made;
  made.name = name;
  made.title = fmt::format("Optimizers on {}", file);
  made.question = fmt::format("Which optimizer predicts {} best, and how sure is that?", in_quotes(target));
  made.description = description;
  made.task = "training";
  made.seeds = study.seeds;
  made.x_label = "epoch";
  made.metric = {.label = score_label(table, study.spec.record.score)};
  made.figures = {FigureKind::curves, FigureKind::rates};
  made.columns = further_columns(table);
  made.comparisons = all_pairs(study.optimizers);
  made.search = {.rates = study.rates.values(), .by_validation = true, .tuning_seeds = 0, .keep = {}};
  Panel panel{"table", fmt::format("{} of {}", target, file), study.note, {}};
  for (const std::string& optimizer : study.optimizers) {
    Method method;
    method.name = optimizer;
    method.optimizer = find_optimizer(optimizer);
    method.settings = settings_of(study.spec);
    panel.methods.push_back(std::move(method));
  }
  if (const auto linear = linear_baseline_name(table)) {
    panel.methods.push_back(baseline(*linear, best_linear_model, study.spec));
  }
  panel.methods.push_back(baseline(constant_name(table), best_constant_model, study.spec));
  made.panels.push_back(std::move(panel));
  return made;
}

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

double seconds_of(const std::function<void()>& work) {
  const auto start = Clock::now();
  work();
  return seconds_since(start);
}

// About `count` of the rows, as far apart in memory as all of them.
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

// Measured with this many runs at a time, so that they slow each other down as they will in the study.
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
    options.optimizer = find_optimizer(name);
    options.epochs = 1;
    options.rate = 1e-9;  // at which nothing diverges
    costs.run.push_back(
        run_seconds(measure_rows_together(part, options, at_a_time(jobs)), split, study.spec.training.epochs));
  }
  const TableDataset small = table.with_rows({.train = thinned(split.train, few), .validation = {}, .test = {}});
  costs.baselines = seconds_of([&] { fit_baselines(small); }) * static_cast<double>(split.train.size()) /
                    static_cast<double>(small.split().train.size());
  // The runs need it too: it stays cached.
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
