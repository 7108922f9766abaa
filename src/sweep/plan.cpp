#include "sweep/plan.hpp"

#include "core/text.hpp"
#include "sweep/store.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

namespace ignd {
namespace {

// Far from the seeds 1, 2, ... that are reported.
constexpr std::uint64_t first_tuning_seed = 1'000'000'001;

std::vector<RunConfig> seeded_runs(const Experiment& experiment, const Method& method, double rate,
                                   std::uint64_t first_seed, std::uint64_t seeds) {
  std::vector<RunConfig> runs;
  for (std::uint64_t k = 0; k < seeds; ++k) {
    runs.push_back({experiment.task, method.settings, method.optimizer, rate, first_seed + k});
  }
  return runs;
}

// What a rate is judged by; none for a run that failed, or has no logarithm where those are what counts.
std::optional<double> judged(const Experiment& experiment, const RunResult& result) {
  const auto value = experiment.search.by_validation ? result.validation : result.score;
  if (result.status != RunStatus::finished || !value || !std::isfinite(*value)) return std::nullopt;
  if (!experiment.metric.log_scale) return value;
  return *value > 0 ? std::optional(std::log10(*value)) : std::nullopt;
}

RateResult judge_rate(const Experiment& experiment, const Method& method, double rate, const Store& store) {
  RateResult judgement;
  judgement.rate = rate;
  double sum = 0;
  for (const RunConfig& config : search_runs(experiment, method, rate)) {
    ++judgement.planned;
    const auto run = store.find(config);
    if (!run) continue;
    ++judgement.done;
    const bool finished = run->result.status == RunStatus::finished;
    if (finished && run->result.score) judgement.scores.push_back(*run->result.score);
    const auto value = judged(experiment, run->result);
    if (value) {
      sum += *value;
    } else {
      ++judgement.failed;
    }
  }
  if (judgement.done == judgement.planned && judgement.failed == 0) {
    const double mean = sum / static_cast<double>(judgement.done);
    judgement.mean = experiment.metric.log_scale ? std::pow(10, mean) : mean;
  }
  return judgement;
}

bool is_complete(const std::vector<RateResult>& search) {
  return std::all_of(search.begin(), search.end(), [](const RateResult& rate) { return rate.done == rate.planned; });
}

// The best mean; of equal ones, the smallest rate. None where no rate had all its runs finished.
const RateResult* best_rate(const Experiment& experiment, const std::vector<RateResult>& search) {
  const RateResult* best = nullptr;
  for (const RateResult& rate : search) {
    if (!rate.mean) continue;
    const bool better =
        best == nullptr || (experiment.metric.higher_is_better ? *rate.mean > *best->mean : *rate.mean < *best->mean);
    if (better) best = &rate;
  }
  return best;
}

void choose_rate(const Experiment& experiment, const Method& method, const Store& store, MethodResults& results) {
  if (method.rate) {
    results.rate = method.rate;
    return;
  }
  for (const double rate : experiment.search.rates) {
    results.search.push_back(judge_rate(experiment, method, rate, store));
  }
  if (!is_complete(results.search)) return;
  const RateResult* best = best_rate(experiment, results.search);
  if (best == nullptr) return;
  results.rate = best->rate;
  results.at_edge = results.search.size() > 1 && (best == &results.search.front() || best == &results.search.back());
}

MethodResults collect_method(const Experiment& experiment, const Method& method, const Store& store) {
  MethodResults results;
  results.name = method.name;
  results.rule = method.optimizer.rule;
  results.transform = method.optimizer.transform;
  results.planned = experiment.seeds;
  results.paper_mean = method.paper_mean;
  results.paper_std = method.paper_std;
  choose_rate(experiment, method, store, results);
  if (!results.rate) {
    if (is_complete(results.search)) results.planned = 0;  // there is no rate to make them with
    return results;
  }
  for (const RunConfig& config : reported_runs(experiment, method, *results.rate)) {
    auto run = store.find(config);
    if (!run) continue;
    results.runs.push_back({config.seed, std::move(run->result), run->seconds});
  }
  return results;
}

void add_warnings(const Experiment& experiment, ExperimentResults& results) {
  if (results.versions.size() > 1) {
    results.warnings.push_back(
        fmt::format("the runs were made with several versions of the program: {}", join(results.versions, ", ")));
  }
  if (results.hosts.size() > 1) {
    results.warnings.push_back(
        fmt::format("the runs were made on several kinds of machines, whose last digits may differ: {}",
                    join(results.hosts, "; ")));
  }
  for (const PanelResults& panel : results.panels) {
    for (const MethodResults& method : panel.methods) {
      if (method.at_edge) {
        results.warnings.push_back(fmt::format("{}: the rate {} of {} is at the edge of those tried, {} to {}",
                                               panel.title, format_number(*method.rate), method.name,
                                               format_number(experiment.search.rates.front()),
                                               format_number(experiment.search.rates.back())));
      } else if (!method.rate && is_complete(method.search)) {
        results.warnings.push_back(
            fmt::format("{}: {} failed at every rate tried; none is chosen", panel.title, method.name));
      }
    }
  }
}

struct Plan {
  std::vector<RunConfig> runs;  // each once
  std::uint64_t unknown = 0;    // so many more, at rates that are not chosen yet
};

Plan make_plan(const Experiment& experiment, const Store* store) {
  Plan plan;
  std::set<std::string> known;
  const auto add = [&](std::vector<RunConfig> more) {
    for (RunConfig& config : more) {
      if (known.insert(config.text()).second) plan.runs.push_back(std::move(config));
    }
  };
  for (const Panel& panel : experiment.panels) {
    for (const Method& method : panel.methods) {
      if (!method.rate) {
        for (const double rate : experiment.search.rates) add(search_runs(experiment, method, rate));
      }
      MethodResults results;
      results.rate = method.rate;
      if (store != nullptr) choose_rate(experiment, method, *store, results);
      if (results.rate) {
        add(reported_runs(experiment, method, *results.rate));
      } else if (!experiment.search.by_validation && (store == nullptr || !is_complete(results.search))) {
        plan.unknown += experiment.seeds;
      }
    }
  }
  return plan;
}

}  // namespace

std::vector<RunConfig> search_runs(const Experiment& experiment, const Method& method, double rate) {
  if (method.rate) return {};
  return experiment.search.by_validation
             ? seeded_runs(experiment, method, rate, 1, experiment.seeds)
             : seeded_runs(experiment, method, rate, first_tuning_seed, experiment.search.tuning_seeds);
}

std::vector<RunConfig> reported_runs(const Experiment& experiment, const Method& method, double rate) {
  return seeded_runs(experiment, method, rate, 1, experiment.seeds);
}

std::vector<RunConfig> runs_so_far(const Experiment& experiment, const Store& store) {
  return make_plan(experiment, &store).runs;
}

std::uint64_t count_runs(const Experiment& experiment, const Store* store) {
  const Plan plan = make_plan(experiment, store);
  return plan.runs.size() + plan.unknown;
}

ExperimentResults collect_results(const Experiment& experiment, const Store& store) {
  ExperimentResults results;
  results.name = experiment.name;
  results.title = experiment.title;
  results.question = experiment.question;
  results.description = experiment.description;
  results.paper = experiment.paper;
  results.preview = experiment.preview;
  results.figures = experiment.figures;
  results.x_label = experiment.x_label;
  results.metric = experiment.metric;
  results.extra_columns = experiment.columns;
  results.comparisons = experiment.comparisons;
  std::set<std::string> versions;
  std::set<std::string> hosts;
  for (const Panel& panel : experiment.panels) {
    PanelResults collected{panel.name, panel.title, panel.note, {}};
    for (const Method& method : panel.methods) {
      collected.methods.push_back(collect_method(experiment, method, store));
    }
    results.panels.push_back(std::move(collected));
  }
  const Plan plan = make_plan(experiment, &store);
  results.planned = plan.runs.size() + plan.unknown;
  for (const RunConfig& config : plan.runs) {
    const auto run = store.find(config);
    if (!run) continue;
    ++results.done;
    results.run_seconds += run->seconds;
    versions.insert(run->version);
    hosts.insert(run->host);
  }
  results.versions.assign(versions.begin(), versions.end());
  results.hosts.assign(hosts.begin(), hosts.end());
  add_warnings(experiment, results);
  return results;
}

}  // namespace ignd
