#include "report/paper_table.hpp"

#include "base/text.hpp"
#include "ignd/error.hpp"
#include "ignd/loss.hpp"
#include "ignd/step_rule.hpp"
#include "ignd/transform.hpp"
#include "report/format.hpp"
#include "report/statistics.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

namespace ignd {
namespace {

constexpr const char* nothing_here = "–";

struct PaperColumn {
  const ExperimentResults* experiment;
  const PanelResults* panel;
  bool is_in_report;
};

bool is_in_paper(const PanelResults& panel) {
  return std::ranges::any_of(panel.methods, [](const MethodResults& method) { return method.paper_mean.has_value(); });
}

std::vector<PaperColumn> columns_of(const std::vector<ExperimentResults>& experiments,
                                    const std::vector<ExperimentResults>& others) {
  std::vector<PaperColumn> columns;
  for (const auto* list : {&experiments, &others}) {
    for (const ExperimentResults& experiment : *list) {
      for (const PanelResults& panel : experiment.panels) {
        if (is_in_paper(panel)) columns.push_back({&experiment, &panel, list == &experiments});
      }
    }
  }
  // "table 2 and figure 2 c" comes after "table 2 and figure 2 a-b".
  std::ranges::stable_sort(columns, {}, [](const PaperColumn& column) { return column.experiment->paper; });
  return columns;
}

// A preview must not be compared with the paper.
bool is_measured(const PaperColumn& column) {
  return column.is_in_report && !column.experiment->preview &&
         std::ranges::any_of(column.panel->methods, [](const MethodResults& method) { return !method.runs.empty(); });
}

// In the order in which they first appear.
std::vector<std::string> methods_of(const std::vector<PaperColumn>& columns) {
  std::vector<std::string> names;
  for (const PaperColumn& column : columns) {
    for (const MethodResults& method : column.panel->methods) {
      if (method.paper_mean && std::ranges::find(names, method.name) == names.end()) names.push_back(method.name);
    }
  }
  return names;
}

// Unfinished results say how many seeds they have.
std::string measured_cell(const PaperColumn& column, const MethodResults& method) {
  const ScoreSummary scores = summarize(method);
  if (!is_measured(column) || scores.done == 0) return nothing_here;
  const std::string text = with_spread(scores.all.mean, scores.all.deviation);
  return scores.done == method.planned ? text
                                       : fmt::format("{} ({} seeds)", text, count_text(scores.done, method.planned));
}

void add_rows(ResultTable& table, const std::string& name, const std::vector<PaperColumn>& columns) {
  ResultRow theirs{.cells = {name, "paper"}};
  ResultRow ours{.cells = {"", "here"}};
  for (const PaperColumn& column : columns) {
    const auto& methods = column.panel->methods;
    const auto method = std::ranges::find(methods, name, &MethodResults::name);
    const bool there = method != methods.end() && method->paper_mean;
    theirs.cells.push_back(there ? with_given_spread(*method->paper_mean, method->paper_std) : "");
    ours.cells.push_back(there ? measured_cell(column, *method) : "");
    const bool measured = ours.cells.back() != nothing_here && there;
    if (measured && clear_winner(*column.panel, column.experiment->metric) == &*method) {
      ours.bold.push_back(ours.cells.size() - 1);
    }
  }
  table.rows.push_back(std::move(theirs));
  table.rows.push_back(std::move(ours));
}

std::string what_is_missing(const ExperimentResults& experiment) {
  const std::string state = experiment.preview
                                ? "there is a preview only"
                                : fmt::format("{} of {} runs are there", experiment.done, experiment.planned);
  return fmt::format("{} ({}): {}; ignd reproduce {}", title_of(experiment), experiment.paper, state, experiment.name);
}

void add_footnotes(ResultTable& table, const std::vector<PaperColumn>& columns) {
  std::vector<std::string> seeds, absent;
  for (const PaperColumn& column : columns) {
    std::uint64_t planned = 0;
    for (const MethodResults& method : column.panel->methods) planned = std::max(planned, method.planned);
    if (is_measured(column)) seeds.push_back(fmt::format("{} {}", title_of(*column.panel), planned));
    if (!column.is_in_report) absent.push_back(title_of(*column.panel));
  }
  if (!seeds.empty()) table.notes.push_back(fmt::format("Seeds here: {}.", join(seeds, ", ")));
  if (!absent.empty()) table.notes.push_back(fmt::format("Not part of this report: {}.", join(absent, ", ")));
}

}  // namespace

bool has_paper_numbers(const ExperimentResults& experiment) {
  return std::ranges::any_of(experiment.panels, is_in_paper);
}

PaperTable paper_table(const std::vector<ExperimentResults>& experiments,
                       const std::vector<ExperimentResults>& others) {
  PaperTable paper;
  const std::vector<PaperColumn> columns = columns_of(experiments, others);
  if (std::ranges::none_of(columns, is_measured)) return paper;
  for (const ExperimentResults& experiment : experiments) {
    const bool unfinished = experiment.preview || experiment.done < experiment.planned;
    if (unfinished && has_paper_numbers(experiment)) paper.missing.push_back(what_is_missing(experiment));
  }
  paper.header = {"optimizer", ""};
  for (const PaperColumn& column : columns) {
    paper.header.push_back(fmt::format("{}, {}", title_of(*column.panel), column.experiment->metric.label));
  }
  for (const std::string& name : methods_of(columns)) add_rows(paper.table, name, columns);
  add_footnotes(paper.table, columns);
  return paper;
}

namespace {

// What eps_c is where it is left to the loss, for the losses of the paper.
std::string curvature_floors() {
  std::vector<std::string> parts;
  for (const std::string loss : {"squared", "logistic"}) {
    parts.push_back(fmt::format("{} {}", loss, rate_text(make_loss(loss)->curvature_floor())));
  }
  return join(parts, ", ");
}

// As the paper writes them.
std::string constant_name(const std::string& key) {
  static const std::map<std::string, std::string> names{{"eps_lm", "eps_LM"}, {"beta1", "beta_1"}, {"beta2", "beta_2"}};
  const auto found = names.find(key);
  return found == names.end() ? key : found->second;
}

// "adam with beta_1 = 0.9, beta_2 = 0.999, eps = 1e-8" of a spec; "" if it has no constants.
std::string constants_text(const std::string& spec) {
  const std::size_t colon = spec.find(':');
  if (colon == std::string::npos) return "";
  std::vector<std::string> constants;
  for (std::string_view rest = std::string_view(spec).substr(colon + 1); !rest.empty();) {
    const std::string_view one = rest.substr(0, std::min(rest.find(','), rest.size()));
    rest.remove_prefix(std::min(one.size() + 1, rest.size()));
    const std::size_t equals = std::min(one.find('='), one.size());
    const std::string key(one.substr(0, equals));
    std::string value(one.substr(std::min(equals + 1, one.size())));
    value = value == "auto" ? fmt::format("the loss's own ({})", curvature_floors()) : without_zeros_in_exponent(value);
    constants.push_back(fmt::format("{} = {}", constant_name(key), value));
  }
  return fmt::format("{} with {}", spec.substr(0, colon), join(constants, ", "));
}

// The full spec with all its defaults; "" for one that cannot be read.
template <class Make>
std::string described(const Make& make, const std::string& spec) {
  try {
    return constants_text(make(spec)->spec());
  } catch (const InvalidArgument&) {
    return "";
  }
}

}  // namespace

std::vector<std::string> optimizer_constants(const ExperimentResults& experiment) {
  std::vector<std::string> order;
  std::map<std::string, std::vector<std::string>> methods;
  const auto add = [&](const std::string& text, const std::string& method) {
    if (text.empty()) return;
    auto& names = methods[text];
    if (names.empty()) order.push_back(text);
    if (std::ranges::find(names, method) == names.end()) names.push_back(method);
  };
  for (const PanelResults& panel : experiment.panels) {
    for (const MethodResults& method : panel.methods) {
      if (!takes_rate(method)) continue;  // a baseline is not trained
      add(described([](const std::string& spec) { return make_step_rule(spec); }, method.rule), method.name);
      add(described([](const std::string& spec) { return make_transform<double>(spec); }, method.transform),
          method.name);
    }
  }
  std::vector<std::string> lines;
  lines.reserve(order.size());
  for (const std::string& text : order) lines.push_back(fmt::format("{}: {}", join(methods[text], ", "), text));
  return lines;
}

}  // namespace ignd
