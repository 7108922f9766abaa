#include "report/paper_table.hpp"

#include "report/number_text.hpp"
#include "report/statistics.hpp"
#include "report/titles.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace ignd {
namespace {

constexpr const char* not_yet = "not yet";

bool is_in_paper(const PanelResults& panel) {
  return std::ranges::any_of(panel.methods, [](const MethodResults& method) { return method.paper_mean.has_value(); });
}

// In the order in which they first appear.
std::vector<std::string> methods_of(const std::vector<ExperimentResults>& experiments) {
  std::vector<std::string> names;
  for (const ExperimentResults& experiment : experiments) {
    for (const PanelResults& panel : experiment.panels) {
      for (const MethodResults& method : panel.methods) {
        if (method.paper_mean && std::ranges::find(names, method.name) == names.end()) names.push_back(method.name);
      }
    }
  }
  return names;
}

// A preview is not to be compared with the paper, and half of the seeds say so.
std::string measured_cell(const ExperimentResults& experiment, const MethodResults& method) {
  const ScoreSummary scores = summarize(method);
  if (experiment.preview || scores.done == 0) return not_yet;
  const std::string text = with_spread(scores.all.mean, scores.all.deviation);
  return scores.done == method.planned ? text : fmt::format("{} ({} of {} seeds)", text, scores.done, method.planned);
}

std::string seeds_of(const ExperimentResults& experiment, const PanelResults& panel) {
  std::uint64_t seeds = 0;
  for (const MethodResults& method : panel.methods) seeds = std::max(seeds, method.planned);
  return experiment.preview || experiment.done == 0 ? "here" : fmt::format("here, {} seeds", seeds);
}

void add_rows(ResultTable& table, const std::vector<std::string>& names, const ExperimentResults& experiment,
              const PanelResults& panel) {
  ResultRow theirs{.cells = {fmt::format("{}, {}", title_of(panel), experiment.metric.label), "paper"}};
  ResultRow ours{.cells = {experiment.paper, seeds_of(experiment, panel)}};
  for (const std::string& name : names) {
    const auto method = std::ranges::find(panel.methods, name, &MethodResults::name);
    const bool there = method != panel.methods.end() && method->paper_mean;
    theirs.cells.push_back(there ? with_given_spread(*method->paper_mean, method->paper_std) : "");
    ours.cells.push_back(there ? measured_cell(experiment, *method) : "");
  }
  table.rows.push_back(std::move(theirs));
  table.rows.push_back(std::move(ours));
}

std::string what_is_missing(const ExperimentResults& experiment) {
  const std::string state = experiment.preview ? "there is a preview only"
                            : experiment.done == 0
                                ? "not measured yet"
                                : fmt::format("{} of {} runs are there", experiment.done, experiment.planned);
  return fmt::format("{} ({}): {}; ignd reproduce {}", title_of(experiment), experiment.paper, state, experiment.name);
}

}  // namespace

PaperTable paper_table(const std::vector<ExperimentResults>& experiments) {
  PaperTable paper;
  const std::vector<std::string> names = methods_of(experiments);
  paper.header = {"", ""};
  paper.header.insert(paper.header.end(), names.begin(), names.end());
  for (const ExperimentResults& experiment : experiments) {
    for (const PanelResults& panel : experiment.panels) {
      if (is_in_paper(panel)) add_rows(paper.table, names, experiment, panel);
    }
    if (experiment.preview || experiment.done < experiment.planned)
      paper.missing.push_back(what_is_missing(experiment));
  }
  return paper;
}

}  // namespace ignd
