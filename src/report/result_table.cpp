#include "report/result_table.hpp"

#include "base/text.hpp"
#include "report/format.hpp"
#include "report/statistics.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace ignd {
namespace {

bool has_paper_column(const ExperimentResults& experiment) {
  if (experiment.preview) return false;
  return std::ranges::any_of(experiment.panels, [](const PanelResults& panel) {
    return std::ranges::any_of(panel.methods,
                               [](const MethodResults& method) { return method.paper_mean.has_value(); });
  });
}

std::string rate_cell(const MethodResults& method) {
  if (!takes_rate(method)) return "";
  if (!method.rate) return std::string(not_available);
  return rate_text(*method.rate) + (method.setting.empty() ? "" : ", " + method.setting) +
         (method.edges.empty() ? "" : " †");
}

std::string geometric_cell(const Spread& logarithms) {
  if (!logarithms.mean) return std::string(not_available);
  const auto in_short = [](double logarithm) {
    const double value = std::pow(10.0, logarithm);
    if (!std::isfinite(value)) return std::string(not_available);
    return without_zeros_in_exponent(fmt::format("{:.3g}", value));
  };
  if (!logarithms.deviation) return in_short(*logarithms.mean);
  return in_short(*logarithms.mean) + " ×÷ " + in_short(*logarithms.deviation);
}

std::string paper_cell(const MethodResults& method) {
  return method.paper_mean ? with_given_spread(*method.paper_mean, method.paper_std) : "";
}

std::string extra_cell(const MethodResults& method, const std::string& name) {
  std::vector<double> values;
  for (const SeedResult& run : method.runs) {
    const auto found = std::ranges::find(run.result.extras, name, [](const auto& extra) { return extra.first; });
    if (found != run.result.extras.end()) values.push_back(found->second);
  }
  const Spread spread = spread_of(values);
  const std::string text = with_spread(spread.mean, spread.deviation);
  return values.empty() || values.size() == method.runs.size() ? text
                                                               : fmt::format("{} ({} runs)", text, values.size());
}

std::string why_no_rate(const MethodResults& method) {
  const bool searched = std::ranges::all_of(method.search, [](const RateResult& r) { return r.done >= r.planned; });
  return !method.search.empty() && searched ? "no rate of the search finished, so none is chosen"
                                            : "the search for the rate is not finished";
}

void add_notes(ResultTable& table, const MethodResults& method, const ScoreSummary& scores) {
  if (!method.rate) table.notes.push_back(fmt::format("{}: {}.", method.name, why_no_rate(method)));
  if (scores.unscored > 0) {
    table.notes.push_back(
        fmt::format("{}: no mean, since {} of {} runs have no score.{}", method.name, scores.unscored, scores.done,
                    scores.scored.n == 0 ? ""
                                         : fmt::format(" The other {}: {}.", scores.scored.n,
                                                       with_spread(scores.scored.mean, scores.scored.deviation))));
  } else if (scores.failed > 0) {
    table.notes.push_back(fmt::format("{}: {} of {} runs failed and count with what failing is worth.", method.name,
                                      scores.failed, scores.done));
  }
}

ResultRow result_row(const ExperimentResults& experiment, const MethodResults& method, const ScoreSummary& scores,
                     bool with_paper) {
  ResultRow row;
  row.cells = {method.name, rate_cell(method), with_spread(scores.all.mean, scores.all.deviation)};
  if (experiment.metric.log_scale) row.cells.push_back(geometric_cell(scores.logarithms));
  if (with_paper) row.cells.push_back(paper_cell(method));
  row.cells.push_back(count_text(scores.done, method.planned));
  row.cells.push_back(scores.failed == 0 ? "0" : fmt::format("{} of {}", scores.failed, scores.done));
  for (const std::string& name : experiment.extra_columns) row.cells.push_back(extra_cell(method, name));
  return row;
}

void add_pair(ResultTable& table, const ComparedPair& pair) {
  const auto& [names, difference] = pair;
  const Spread& spread = difference.differences;
  const std::string text = with_spread(spread.mean, difference.standard_error);
  const std::string title = names.better + " − " + names.worse;
  std::string wins = part_text(difference.wins, difference.pairs);
  if (difference.ties > 0) wins += fmt::format(", {} equal", difference.ties);
  table.rows.push_back({{title, difference.complete() ? text : std::string(not_available), wins}, {}});
  if (difference.complete()) return;
  table.notes.push_back(fmt::format("{}: {} of {} pairs have no difference, since a score is missing{}.{}", title,
                                    difference.pairs - spread.n, difference.pairs,
                                    difference.logarithms ? " or has no logarithm" : "",
                                    spread.n == 0 ? "" : fmt::format(" The other {}: {}.", spread.n, text)));
}

std::string markdown_row(const std::vector<std::string>& cells) {
  std::string line = "|";
  for (const std::string& cell : cells) line += " " + cell + " |";
  return line + "\n";
}

std::vector<std::string> escaped(const std::vector<std::string>& cells, std::string (*escape)(std::string_view)) {
  std::vector<std::string> out;
  out.reserve(cells.size());
  for (const std::string& cell : cells) out.push_back(escape(cell));
  return out;
}

std::string markdown_table(const std::vector<std::string>& header, const ResultTable& table) {
  std::string text = markdown_row(escaped(header, markdown_text));
  text += "|---" + std::string(header.size() > 1 ? "" : "|");
  for (std::size_t k = 1; k < header.size(); ++k) text += "|--:";
  text += header.size() > 1 ? "|\n" : "\n";
  for (const ResultRow& row : table.rows) {
    auto cells = escaped(row.cells, markdown_text);
    for (const std::size_t k : row.bold) cells[k] = "**" + cells[k] + "**";
    text += markdown_row(cells);
  }
  for (const std::string& note : table.notes) text += "\n" + markdown_text(note) + "\n";
  return text;
}

std::string status_line(const ExperimentResults& experiment) {
  std::vector<std::string> remarks;
  if (experiment.preview)
    remarks.emplace_back("A preview, made with fewer runs or shorter ones: not to be compared with the paper.");
  if (experiment.done < experiment.planned) {
    remarks.push_back(fmt::format("Not finished: {} of {} runs are done.", experiment.done, experiment.planned));
  }
  return join(remarks, " ");
}

std::string csv_number(std::optional<double> value) { return value ? format_number(*value) : ""; }

}  // namespace

std::vector<std::string> result_header(const ExperimentResults& experiment) {
  std::vector<std::string> header{"method", "rate", experiment.metric.label};
  if (experiment.metric.log_scale) header.emplace_back("geometric mean");
  if (has_paper_column(experiment)) header.emplace_back("paper");
  header.insert(header.end(), {"seeds", "failed"});
  header.insert(header.end(), experiment.extra_columns.begin(), experiment.extra_columns.end());
  return header;
}

ResultTable result_table(const ExperimentResults& experiment, const PanelResults& panel) {
  ResultTable table;
  table.title = title_of(panel);
  const bool with_paper = has_paper_column(experiment);
  const MethodResults* winner = clear_winner(panel, experiment.metric);
  for (const MethodResults& method : panel.methods) {
    const ScoreSummary scores = summarize(method);
    table.rows.push_back(result_row(experiment, method, scores, with_paper));
    if (&method == winner) table.rows.back().bold = {score_column};
    add_notes(table, method, scores);
  }
  for (const MethodResults& method : panel.methods) {
    for (const std::string& edge : method.edges) {
      table.notes.push_back(fmt::format("† {}: {}; a better one may lie beyond.", method.name, edge));
    }
  }
  return table;
}

std::vector<std::string> comparison_header(const ExperimentResults& experiment) {
  return {"pair", experiment.metric.log_scale ? "difference of log10 ± standard error" : "difference ± standard error",
          "wins"};
}

ResultTable comparison_table(const ExperimentResults& experiment, const PanelResults& panel) {
  ResultTable table;
  table.title = title_of(panel);
  for (const ComparedPair& pair : compare_pairs(experiment, panel)) add_pair(table, pair);
  return table;
}

std::string markdown_tables(const ExperimentResults& experiment) {
  std::string text = "# " + markdown_text(title_of(experiment)) + "\n\n";
  const std::string status = status_line(experiment);
  if (!status.empty()) text += status + "\n\n";
  for (const PanelResults& panel : experiment.panels) {
    text += "## " + markdown_text(title_of(panel)) + "\n\n";
    text += markdown_table(result_header(experiment), result_table(experiment, panel)) + "\n";
    const ResultTable pairs = comparison_table(experiment, panel);
    if (!pairs.rows.empty()) text += markdown_table(comparison_header(experiment), pairs) + "\n";
  }
  return text;
}

std::string latex_table(const ExperimentResults& experiment) {
  const auto header = result_header(experiment);
  const std::string status = status_line(experiment);
  std::string text = "% " + clean_text(title_of(experiment)) + "; needs \\usepackage{booktabs}\n";
  if (!status.empty()) text += "% " + status + "\n";
  text += fmt::format("\\begin{{tabular}}{{@{{}}l{}@{{}}}}\n\\toprule\n", std::string(header.size() - 1, 'r'));
  text += join(escaped(header, latex_text), " & ") + " \\\\\n";
  std::vector<std::string> notes;
  for (const PanelResults& panel : experiment.panels) {
    const ResultTable table = result_table(experiment, panel);
    text += fmt::format("\\midrule\n\\multicolumn{{{}}}{{@{{}}l}}{{\\textit{{{}}}}} \\\\\n", header.size(),
                        latex_text(table.title));
    for (const ResultRow& row : table.rows) {
      auto cells = escaped(row.cells, latex_text);
      for (const std::size_t k : row.bold) cells[k] = "\\textbf{" + cells[k] + "}";
      text += join(cells, " & ") + " \\\\\n";
    }
    for (const std::string& note : table.notes) notes.push_back(clean_text(table.title + ": " + note));
  }
  text += "\\bottomrule\n\\end{tabular}\n";
  for (const std::string& note : notes) text += "% " + note + "\n";
  return text;
}

std::string curves_csv(const ExperimentResults& experiment, CurvePart part) {
  const bool log_scale = experiment.metric.log_scale;
  std::string text = "panel,method,x,mean,std,n,ended";
  text += log_scale ? ",geometric_mean,log10_std\n" : "\n";
  for (const PanelResults& panel : experiment.panels) {
    for (const MethodResults& method : panel.methods) {
      const std::string start = csv_field(panel.name) + "," + csv_field(method.name);
      for (const CurvePoint& point : mean_curve(method, part)) {
        text += fmt::format("{},{},{},{},{},{}", start, format_number(point.x), csv_number(point.values.mean),
                            csv_number(point.values.deviation), point.values.n, point.ended);
        if (log_scale) {
          const auto& logs = point.logarithms;
          text += fmt::format(",{},{}", logs.mean ? format_number(std::pow(10.0, *logs.mean)) : "",
                              csv_number(logs.deviation));
        }
        text += "\n";
      }
    }
  }
  return text;
}

std::string rates_csv(const ExperimentResults& experiment) {
  std::string text = "panel,method,setting,rate,mean,std,n,failed,chosen\n";
  for (const PanelResults& panel : experiment.panels) {
    for (const MethodResults& method : panel.methods) {
      for (const RateResult& rate : method.search) {
        const Spread scores = spread_of(rate.scores);
        text += fmt::format("{},{},{},{},{},{},{},{},{}\n", csv_field(panel.name), csv_field(method.name),
                            csv_field(rate.setting), format_number(rate.rate), csv_number(scores.mean),
                            csv_number(scores.deviation), scores.n, rate.failed, is_chosen(method, rate) ? 1 : 0);
      }
    }
  }
  return text;
}

}  // namespace ignd
