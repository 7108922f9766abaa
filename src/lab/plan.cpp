#include "lab/plan.hpp"

#include "base/text.hpp"
#include "lab/store.hpp"
#include "learn/search.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <span>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

namespace ignd {
namespace {

// Far from the seeds 1, 2, ... that are reported.
constexpr std::uint64_t first_tuning_seed = 1'000'000'001;

// The given one, and those with the seeds after its own.
std::vector<RunConfig> seeded_runs(RunConfig config, std::uint64_t seeds) {
  std::vector<RunConfig> runs;
  for (; runs.size() < seeds; ++config.seed) runs.push_back(config);
  return runs;
}

// What a rate is judged by; none for a run that failed, or has no logarithm where those are what counts.
std::optional<double> judged(const Experiment& experiment, const RunResult& result) {
  const auto value = experiment.search.by_validation ? result.validation : result.score;
  if (result.status != RunStatus::finished || !value || !std::isfinite(*value)) return std::nullopt;
  if (!experiment.metric.log_scale) return value;
  return *value > 0 ? std::optional(std::log10(*value)) : std::nullopt;
}

// What is searched for: a rate, and a variant where the method has several.
struct Candidate {
  const Method* variant;
  double rate;
};

bool is_searched(const Method& method) { return !method.rate || !method.variants.empty(); }

std::vector<Candidate> candidates_of(const Experiment& experiment, const Method& method) {
  const auto variants = method.variants.empty() ? std::span(&method, 1) : std::span(method.variants);
  const auto& rates = experiment.search.rates;
  std::vector<Candidate> candidates;
  for (const Method& variant : variants) {
    if (method.rate) {
      candidates.push_back({&variant, *method.rate});
    } else {
      for (const double rate : rates) candidates.push_back({&variant, rate});
    }
  }
  return candidates;
}

void judge(const Experiment& experiment, const std::vector<RunConfig>& runs, const Store& store,
           RateResult& judgement) {
  judgement.planned = judgement.done = judgement.failed = 0;
  judgement.scores.clear();
  judgement.mean.reset();
  double sum = 0;
  for (const RunConfig& config : runs) {
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
}

bool is_complete(const std::vector<RateResult>& search) {
  return std::all_of(search.begin(), search.end(), [](const RateResult& rate) { return rate.done == rate.planned; });
}

// The search of a method's rate, as far as it has come: a plain one is one rung.
struct SearchSoFar {
  std::vector<RateResult> rates;  // of the candidates; each as the last rung that it reached judges it
  std::vector<RunConfig> runs;    // that can be named
  std::uint64_t to_come = 0;      // further runs, in later rungs and then at the chosen rate
  std::optional<Candidate> chosen;
};

bool reports_what_it_searches(const Experiment& experiment) {
  return experiment.search.by_validation && experiment.search.keep.empty();
}

// Without a store, nothing has been run.
SearchSoFar search_so_far(const Experiment& experiment, const Method& method, const Store* store) {
  SearchSoFar search;
  const auto& keep = experiment.search.keep;
  const std::vector<Candidate> all = candidates_of(experiment, method);
  for (const Candidate& candidate : all) {
    search.rates.push_back({.rate = candidate.rate, .mean = {}, .setting = candidate.variant->setting});
  }
  const auto try_rung = [&](std::size_t rung,
                            std::span<const std::size_t> candidates) -> std::optional<std::vector<Trial>> {
    std::vector<Trial> trials;
    for (const std::size_t k : candidates) {
      auto runs = search_runs(experiment, *all[k].variant, all[k].rate, rung);
      RateResult& found = search.rates[k];
      if (store != nullptr) judge(experiment, runs, *store, found);
      found.rung = keep.empty() ? 0 : rung + 1;
      search.runs.insert(search.runs.end(), runs.begin(), runs.end());
      if (found.mean) {
        trials.push_back({.score = experiment.metric.higher_is_better ? -*found.mean : *found.mean});
      } else {
        trials.emplace_back();
      }
    }
    if (store == nullptr || !is_complete(search.rates)) return std::nullopt;
    return trials;
  };
  const SearchResult found = successive_halving(all.size(), keep, try_rung);
  for (std::size_t rung = found.rungs + 1; rung < keep.size(); ++rung) {
    search.to_come += std::min<std::uint64_t>(keep[rung - 1], found.candidates.size()) * experiment.search.tuning_seeds;
  }
  if (found.chosen()) search.chosen = all[*found.chosen()];
  if (!found.complete && !reports_what_it_searches(experiment)) search.to_come += experiment.seeds;
  return search;
}

// That a whole text is, if it is one.
std::optional<double> number_in(const std::string& text) {
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && rest == end ? std::optional(number) : std::nullopt;
}

// "NAME CHOSEN, of FIRST to LAST" where the chosen one of several is the smallest or the largest; else "".
std::string edge_of(std::string_view name, double chosen, const std::set<double>& tried) {
  if (tried.size() < 2 || (chosen != *tried.begin() && chosen != *tried.rbegin())) return "";
  return fmt::format("{} {}, of {} to {}", name, format_number(chosen), format_number(*tried.begin()),
                     format_number(*tried.rbegin()));
}

// Choices at the edge of the tried range: a better value may lie beyond it. Of a list of two values each is at an edge,
// and says nothing.
std::vector<std::string> edges_of(const Experiment& experiment, const Method& method, const Candidate& chosen) {
  std::vector<std::string> edges;
  const auto& rates = experiment.search.rates;
  if (!method.rate) edges.push_back(edge_of("rate", chosen.rate, {rates.begin(), rates.end()}));
  for (const auto& [key, value] : chosen.variant->varied) {
    std::set<double> tried;
    for (const Method& variant : method.variants) {
      if (const auto number = number_in(variant.varied.at(key))) tried.insert(*number);
    }
    const auto number = number_in(value);
    if (number && tried.size() > 2) edges.push_back(edge_of(key, *number, tried));
  }
  std::erase(edges, "");
  return edges;
}

// The variant that is reported, its rate with it; none where nothing is chosen.
const Method* choose(const Experiment& experiment, const Method& method, const Store& store, MethodResults& results) {
  if (!is_searched(method)) {
    results.rate = method.rate;
    return &method;
  }
  SearchSoFar search = search_so_far(experiment, method, &store);
  results.search = std::move(search.rates);
  if (!search.chosen) return nullptr;
  results.rate = search.chosen->rate;
  results.setting = search.chosen->variant->setting;
  results.edges = edges_of(experiment, method, *search.chosen);
  return search.chosen->variant;
}

MethodResults collect_method(const Experiment& experiment, const Method& method, const Store& store) {
  MethodResults results;
  results.name = method.name;
  results.rule = method.optimizer.rule;
  results.transform = method.optimizer.transform;
  results.planned = experiment.seeds;
  results.paper_mean = method.paper_mean;
  results.paper_std = method.paper_std;
  const Method* chosen = choose(experiment, method, store, results);
  if (chosen == nullptr) {
    if (is_complete(results.search)) results.planned = 0;  // there is no rate to make them with
    return results;
  }
  for (const RunConfig& config : reported_runs(experiment, *chosen, *results.rate)) {
    auto run = store.find(config);
    if (!run) continue;
    results.runs.push_back({config.seed, std::move(run->result), run->seconds});
  }
  return results;
}

void add_warnings(ExperimentResults& results) {
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
      for (const std::string& edge : method.edges) {
        results.warnings.push_back(
            fmt::format("{}: {} is at the edge of what was tried: {}", panel.title, method.name, edge));
      }
      if (!method.rate && is_complete(method.search)) {
        results.warnings.push_back(
            fmt::format("{}: {} failed at every rate tried; none is chosen", panel.title, method.name));
      }
    }
  }
}

struct Plan {
  std::vector<RunConfig> runs;  // each once
  std::uint64_t unknown = 0;    // further runs, at rates that are not known yet
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
      if (!is_searched(method)) {
        add(reported_runs(experiment, method, *method.rate));
        continue;
      }
      SearchSoFar search = search_so_far(experiment, method, store);
      add(std::move(search.runs));
      plan.unknown += search.to_come;
      if (search.chosen) add(reported_runs(experiment, *search.chosen->variant, search.chosen->rate));
    }
  }
  return plan;
}

}  // namespace

std::vector<RunConfig> search_runs(const Experiment& experiment, const Method& method, double rate, std::size_t rung) {
  if (reports_what_it_searches(experiment)) return reported_runs(experiment, method, rate);
  const Settings& settings = experiment.search.keep.empty() ? method.settings : method.rungs.at(rung);
  return seeded_runs({experiment.task, settings, method.optimizer, rate, first_tuning_seed},
                     experiment.search.tuning_seeds);
}

std::vector<RunConfig> reported_runs(const Experiment& experiment, const Method& method, double rate) {
  return seeded_runs({experiment.task, method.settings, method.optimizer, rate, 1}, experiment.seeds);
}

std::vector<RunConfig> runs_so_far(const Experiment& experiment, const Store& store) {
  return make_plan(experiment, &store).runs;
}

std::uint64_t count_runs(const Experiment& experiment, const Store* store) {
  const Plan plan = make_plan(experiment, store);
  return plan.runs.size() + plan.unknown;
}

std::vector<std::string> advice_on(const Experiment& experiment, const Panel& panel) {
  const Task& task = find_task(experiment.task);
  std::set<std::map<std::string, std::string>> asked;
  std::vector<std::string> all;
  for (const Method& method : panel.methods) {
    if (!asked.insert(method.settings.values()).second) continue;
    for (std::string& sentence : task.advice(method.settings)) {
      if (std::ranges::find(all, sentence) == all.end()) all.push_back(std::move(sentence));
    }
  }
  return all;
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
  add_warnings(results);
  return results;
}

}  // namespace ignd
