#pragma once

#include "ignd/random.hpp"
#include "lab/experiment.hpp"

#include <cmath>
#include <string>
#include <utility>
#include <vector>

// Results like those of real experiments, for tests of the report. None of the numbers has been measured.
namespace ignd::testing {

inline RunResult scored_run(double score) {
  RunResult run;
  run.score = score;
  return run;
}

inline RunResult failed_run(std::uint64_t at) {
  RunResult run;
  run.status = RunStatus::diverged;
  run.failed_at = at;
  return run;
}

inline MethodResults method_with(std::string name, const std::vector<RunResult>& runs) {
  MethodResults method;
  method.name = std::move(name);
  method.planned = runs.size();
  method.rate = 0.1;
  for (const RunResult& run : runs) method.runs.push_back({method.runs.size() + 1, run, 0.5});
  return method;
}

// A curve that falls from 1 to 10^-depth, with a few runs that stop early.
inline RunResult control_run(RandomStream& stream, double depth, std::size_t length, double noise) {
  RunResult run;
  double wobble = 0.3 * stream.normal();
  for (std::size_t k = 0; k < length; ++k) {
    wobble = 0.9 * wobble + noise * stream.normal();
    const double progress = static_cast<double>(k) / static_cast<double>(length);
    run.x.push_back(static_cast<double>(k));
    run.y.push_back(std::pow(10.0, 0.5 - depth * progress + wobble));
  }
  run.score = run.y.back();
  run.extras = {{"stable", 1}, {"iterations", static_cast<double>(length)}};
  return run;
}

inline std::vector<RateResult> made_up_search(double best, std::size_t rates) {
  std::vector<RateResult> search;
  for (std::size_t k = 0; k < rates; ++k) {
    const double rate = std::pow(10.0, static_cast<double>(k) - static_cast<double>(rates) + 1);
    const bool wild = rate > 30 * best;
    const double distance = std::log10(rate / best);
    search.push_back({rate, 3, 3, wild ? 2U : 0U, {}});
    if (!wild) search.back().mean = 0.21 + 0.03 * distance * distance;
  }
  return search;
}

// Four panels, a logarithmic axis, searched rates, failures, curves of several lengths.
inline ExperimentResults control_experiment() {
  ExperimentResults experiment;
  experiment.name = "lqr";
  experiment.title = "Linear-quadratic control";
  experiment.question = "Does Q-learning with the Gauss-Newton step find the optimal controller in fewer iterations?";
  experiment.description =
      "Policy iteration on two linear systems.\nEach policy is evaluated by Q-learning.\n\n"
      "The error is the distance between the learned feedback matrix and the optimal one.";
  experiment.paper = "figure 3";
  experiment.x_label = "policy improvements";
  experiment.metric = {"policy error", false, true};
  experiment.extra_columns = {"stable", "iterations"};
  experiment.comparisons = {{"IGNDQ", "QL"}};
  const std::pair<const char*, const char*> names[] = {{"uav-deterministic", "UAV, deterministic"},
                                                       {"uav-stochastic", "UAV, stochastic"},
                                                       {"bdt-deterministic", "BDT, deterministic"},
                                                       {"bdt-stochastic", "BDT, stochastic"}};
  for (std::size_t p = 0; p < 4; ++p) {
    const bool noisy = p % 2 == 1;
    PanelResults panel;
    panel.name = names[p].first;
    panel.title = names[p].second;
    for (const bool ours : {false, true}) {
      RandomStream stream(p, ours ? "ours" : "theirs");
      std::vector<RunResult> runs;
      for (std::size_t seed = 0; seed < 20; ++seed) {
        const std::size_t length = ours && !noisy ? 45 + stream.below(10) : 120;
        runs.push_back(control_run(stream, noisy ? (ours ? 2.2 : 1.1) : (ours ? 14.5 : 5), length, noisy ? 0.1 : 0.15));
      }
      if (!ours && p >= 2) {
        for (const std::size_t seed : {4U, 11U}) {
          runs[seed].status = RunStatus::diverged;
          runs[seed].failed_at = 60;
          runs[seed].score = {};
          runs[seed].x.resize(60);
          runs[seed].y.resize(60);
        }
      }
      MethodResults method = method_with(ours ? "IGNDQ" : "QL", runs);
      method.rate = ours ? 1 : 1e-4;
      method.search = made_up_search(*method.rate, 8);
      if (ours) method.edges = {"rate 1, of 0.001 to 1"};
      method.paper_mean = ours ? 5e-15 : 2e-5;
      panel.methods.push_back(std::move(method));
    }
    experiment.panels.push_back(std::move(panel));
  }
  experiment.panels[1].note = "With noise the error levels off: a constant rate cannot average it away.";
  experiment.planned = experiment.done = 352;  // 4 panels, 2 methods, 20 seeds and 8 rates three times
  experiment.run_seconds = 812.4;
  experiment.wall_seconds = 415.2;
  experiment.command = "ignd reproduce lqr";
  experiment.versions = {"0.1.0 (abc1234)", "0.1.0 (def5678)"};
  experiment.hosts = {"Some Processor 3000, AVX2"};
  experiment.warnings = {"The runs were made with 2 versions of the program."};
  return experiment;
}

// A return that rises from 0 to `level`; a run that fails has 0 to its end.
inline RunResult lake_run(RandomStream& stream, double level, double speed, bool fails) {
  RunResult run;
  for (std::size_t k = 0; k <= 100; ++k) {
    const double progress = static_cast<double>(k) / 100;
    const double value = level * (1 - std::exp(-speed * progress)) + 0.06 * stream.normal();
    run.x.push_back(200.0 * static_cast<double>(k));
    run.y.push_back(fails && k > 30 ? 0 : std::min(1.0, std::max(0.0, value)));
  }
  run.score = run.y.back();
  if (fails) {
    run.status = RunStatus::diverged;
    run.failed_at = 6100;
  }
  return run;
}

// Two panels, a linear axis, given rates, the paper's values.
inline ExperimentResults lake_experiment() {
  ExperimentResults experiment;
  experiment.name = "frozen-lake";
  experiment.title = "FrozenLake with scaled features";
  experiment.question = "Does one learning rate serve features of any scale?";
  experiment.paper = "figure 1";
  experiment.x_label = "episodes";
  experiment.metric = {"episode return", true, false};
  experiment.comparisons = {{"IGNDQ, rate 1", "QL, rate 1"}, {"IGNDQ, rate 1", "QL, rate 1e-8"}};
  for (const bool scaled : {false, true}) {
    PanelResults panel;
    panel.name = scaled ? "scaled" : "original";
    panel.title = scaled ? "Scaled features" : "Original features";
    const std::pair<const char*, std::pair<double, double>> lines[] = {{"QL, rate 1", {scaled ? 0.02 : 0.72, 6}},
                                                                       {"IGNDQ, rate 1", {0.74, 7}},
                                                                       {"QL, rate 1e-8", {scaled ? 0.45 : 0.0, 2}}};
    for (const auto& [name, shape] : lines) {
      RandomStream stream(scaled ? 1 : 0, name);
      std::vector<RunResult> runs;
      for (std::size_t seed = 0; seed < 20; ++seed) {
        const bool fails = scaled && shape.first < 0.1 && seed < 13;
        runs.push_back(lake_run(stream, shape.first, shape.second, fails));
      }
      MethodResults method = method_with(name, runs);
      method.rate = std::string(name).ends_with("e-8") ? 1e-8 : 1;
      if (shape.first > 0.1) method.paper_mean = 0.73;
      if (shape.first > 0.1) method.paper_std = 0.01;
      panel.methods.push_back(std::move(method));
    }
    experiment.panels.push_back(std::move(panel));
  }
  experiment.planned = experiment.done = 120;
  experiment.run_seconds = 61;
  experiment.wall_seconds = 31.5;
  experiment.command = "ignd reproduce frozen-lake";
  experiment.versions = {"0.1.0 (abc1234)"};
  experiment.hosts = {"Some Processor 3000, AVX2"};
  return experiment;
}

// The same, broken off: some seeds are there, and a search that is not through.
inline ExperimentResults half_finished_preview() {
  ExperimentResults experiment = lake_experiment();
  experiment.name = "frozen-lake-quick";
  experiment.title = "FrozenLake, in short";
  experiment.preview = true;
  for (PanelResults& panel : experiment.panels) panel.methods[1].runs.resize(7);
  MethodResults& open = experiment.panels[1].methods[2];
  open.runs.clear();
  open.rate = {};
  open.search = {{1e-9, 3, 3, 0, 0.2}, {1e-8, 3, 1, 0, {}}, {1e-7, 3, 0, 0, {}}};
  experiment.planned = 129;
  experiment.done = 78;
  return experiment;
}

// Texts that mean something to HTML, SVG, LaTeX, Markdown, CSV, gnuplot or a shell.
inline const std::string& hostile_text() {
  static const std::string text =
      "</title><script>alert('x')</script> \"q\" \\n {_a^b} $x$ 100% #1 & a|b `touch pwned` @m ~é , ]]> \xff\n<b "
      "id=\"i\">";
  return text;
}

inline ExperimentResults hostile_experiment() {
  ExperimentResults experiment = lake_experiment();
  const std::string& text = hostile_text();
  experiment.name = "../" + text;
  experiment.title = experiment.question = experiment.paper = experiment.x_label = text;
  experiment.description = text + "\n\n" + text;
  experiment.metric.label = text;
  experiment.command = text;
  experiment.versions = experiment.hosts = experiment.warnings = {text};
  experiment.extra_columns = {text};
  for (PanelResults& panel : experiment.panels) {
    panel.name = panel.title = panel.note = text;
    for (std::size_t k = 0; k < panel.methods.size(); ++k) panel.methods[k].name = std::to_string(k) + text;
  }
  experiment.comparisons = {{"1" + text, "0" + text}};
  return experiment;
}

}  // namespace ignd::testing
