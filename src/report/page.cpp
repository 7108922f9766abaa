#include "report/page.hpp"

#include "base/text.hpp"
#include "report/finding.hpp"
#include "report/format.hpp"
#include "report/formula.hpp"
#include "report/page_elements.hpp"
#include "report/result_table.hpp"
#include "report/statistics.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace ignd {
namespace {

std::string matrix_html(const std::string& name, const MatrixRows& rows) {
  std::string html = fmt::format("<p>{} =</p>\n<div class=\"scroll\"><table>\n", html_text(name));
  for (const auto& row : rows) {
    std::vector<std::string> cells;
    for (const double value : row) cells.push_back(fmt::format("{:.6g}", value));
    html += table_row(cells, "td");
  }
  return html + "</table></div>\n";
}

// What the first seed's runs have learned, and what they compare with.
std::string matrices(const PanelResults& panel) {
  std::string html;
  for (const MethodResults& method : panel.methods) {
    if (method.runs.empty() || method.runs.front().result.matrices.empty()) continue;
    html += fmt::format("<p><strong>{}</strong>, seed {}</p>\n", html_text(method.name), method.runs.front().seed);
    for (const auto& [name, rows] : method.runs.front().result.matrices) html += matrix_html(name, rows);
  }
  if (html.empty()) return "";
  return fmt::format("<details>\n<summary>Matrices: {}</summary>\n{}</details>\n", html_formulas(title_of(panel)),
                     html);
}

std::string results_tables(const ExperimentResults& experiment) {
  std::string html = "<h3>Results</h3>\n";
  html += paragraph(fmt::format("{}{}. Mean ± standard deviation over the seeds{}.", experiment.metric.label,
                                !experiment.metric.is_contest        ? ""
                                : experiment.metric.higher_is_better ? ", higher is better"
                                                                     : ", lower is better",
                                experiment.metric.log_scale
                                    ? "; the geometric mean with the factor of one standard deviation of the logarithms"
                                    : ""),
                    "note");
  const bool has_curves = std::ranges::find(experiment.figures, FigureKind::curves) != experiment.figures.end();
  for (const PanelResults& panel : experiment.panels) {
    html += html_table(result_table(experiment, panel), result_header(experiment));
    if (!has_curves) html += paragraph(score_finding(panel, experiment.metric), "finding");
    if (!panel.note.empty()) html += paragraphs(panel.note);
    html += box("Before you trust these runs", panel.advice) + matrices(panel);
  }
  return html;
}

std::string comparisons(const ExperimentResults& experiment) {
  std::string tables;
  for (const PanelResults& panel : experiment.panels) {
    const ResultTable table = comparison_table(experiment, panel);
    if (!table.rows.empty()) tables += html_table(table, comparison_header(experiment));
  }
  if (tables.empty()) return "";
  return "<h3>Paired comparisons</h3>\n" +
         paragraph(fmt::format("Over the seeds that both methods have run; {} differences favour the first. A win is a "
                               "better score on the same seed; a run without a score loses.",
                               experiment.metric.higher_is_better ? "positive" : "negative"),
                   "note") +
         tables;
}

std::string failures_of(const MethodResults& method) {
  constexpr std::size_t most = 10;
  std::vector<std::string> runs;
  std::size_t failed = 0;
  for (const SeedResult& run : method.runs) {
    if (run.result.status == RunStatus::finished) continue;
    if (++failed <= most) {
      runs.push_back(fmt::format("seed {} {} at {}", run.seed, to_string(run.result.status), run.result.failed_at));
    }
  }
  if (failed > most) runs.push_back(fmt::format("and {} more", failed - most));
  return join(runs, ", ");
}

std::string failures(const ExperimentResults& experiment) {
  std::vector<std::string> items;
  for (const PanelResults& panel : experiment.panels) {
    for (const MethodResults& method : panel.methods) {
      const ScoreSummary scores = summarize(method);
      if (scores.failed == 0) continue;
      items.push_back(fmt::format("{}, {}: {} of {} failed ({})", title_of(panel), method.name, scores.failed,
                                  scores.done, failures_of(method)));
    }
  }
  return items.empty() ? "" : "<h3>Failed runs</h3>\n" + bullet_list(items);
}

std::string search_table(const MethodResults& method) {
  const bool rungs = std::ranges::any_of(method.search, [](const RateResult& rate) { return rate.rung > 0; });
  std::vector<std::string> columns{"rate", "mean", "done", "failed"};
  if (rungs) columns.insert(columns.begin() + 1, "last rung");
  std::string html = "<div>" + table_start(method.name, columns);
  for (const RateResult& rate : method.search) {
    const bool chosen = is_chosen(method, rate);
    const std::string setting = rate.setting.empty() ? "" : ", " + html_formulas(rate.setting);
    std::vector<std::string> cells{rate_text(rate.rate) + setting + (chosen ? " (chosen)" : ""), number_text(rate.mean),
                                   part_text(rate.done, rate.planned), std::to_string(rate.failed)};
    if (rungs) cells.insert(cells.begin() + 1, std::to_string(rate.rung));
    html += table_row(cells, "td", chosen ? "chosen" : "");
  }
  return html + std::string(table_end) + "</div>\n";
}

std::string searches(const ExperimentResults& experiment) {
  std::string html;
  for (const PanelResults& panel : experiment.panels) {
    std::string tables;
    for (const MethodResults& method : panel.methods) {
      if (!method.search.empty()) tables += search_table(method);
    }
    if (tables.empty()) continue;
    html += fmt::format("<details>\n<summary>{}</summary>\n<div class=\"grids\">\n{}</div>\n</details>\n",
                        html_formulas(title_of(panel)), tables);
  }
  if (html.empty()) return "";
  return "<h3>Where the rates were chosen from</h3>\n" +
         paragraph(
             "The mean of what a rate is chosen by, which is never what is reported: the score on the validation "
             "samples, or on seeds of their own. A rate with a failed or missing run has no mean.",
             "note") +
         html;
}

std::string missing_runs(const ExperimentResults& experiment) {
  if (experiment.done >= experiment.planned) return "";
  std::string html = fmt::format("<div class=\"box\">\n<p><strong>Not finished: {} of {} runs are done.</strong></p>\n",
                                 experiment.done, experiment.planned);
  html += table_start("", {"method", "search", "seeds"});
  for (const PanelResults& panel : experiment.panels) {
    for (const MethodResults& method : panel.methods) {
      std::uint64_t planned = 0;
      std::uint64_t done = 0;
      for (const RateResult& rate : method.search) {
        planned += rate.planned;
        done += rate.done;
      }
      if (done >= planned && method.runs.size() >= method.planned) continue;
      html += table_row({html_formulas(title_of(panel) + ": " + method.name),
                         planned == 0 ? "" : part_text(done, planned), part_text(method.runs.size(), method.planned)},
                        "td");
    }
  }
  return html + std::string(table_end) + "</div>\n";
}

std::string item(std::string_view name, const std::string& html) {
  return html.empty() ? "" : fmt::format("<dt>{}</dt><dd>{}</dd>\n", name, html);
}

std::string constants_html(const ExperimentResults& experiment) {
  std::vector<std::string> lines = optimizer_constants(experiment);
  for (std::string& line : lines) line = html_formulas(line);
  return join(lines, "<br/>");
}

std::string provenance(const ReportSection& section) {
  const ExperimentResults& experiment = *section.results;
  std::vector<std::uint64_t> seeds;
  for (const PanelResults& panel : experiment.panels) {
    for (const MethodResults& method : panel.methods) {
      for (const SeedResult& run : method.runs) seeds.push_back(run.seed);
    }
  }
  std::vector<std::string> links;
  for (const std::string& file : section.files) {
    links.push_back(fmt::format("<a href=\"{0}\">{0}</a>", html_text(file)));
  }
  std::string html = "<h3>How it was obtained</h3>\n<dl>\n";
  if (!experiment.command.empty()) html += item("command", "<code>" + html_text(experiment.command) + "</code>");
  html += item("runs", part_text(experiment.done, experiment.planned) + ", those of the searches included");
  html += item("time", fmt::format("{} on the clock, {} summed over all runs", duration_text(experiment.wall_seconds),
                                   duration_text(experiment.run_seconds)));
  html += item("seeds", seeds_text(std::move(seeds)));
  html += item("constants", constants_html(experiment));
  html += item("version", html_text(join(experiment.versions, "; ")));
  html += item("processor", html_text(join(experiment.hosts, "; ")));
  html += item("files", join(links, ", "));
  return html + "</dl>\n";
}

std::string tags(const ExperimentResults& experiment) {
  std::uint64_t failed = 0;
  for (const PanelResults& panel : experiment.panels) {
    for (const MethodResults& method : panel.methods) failed += summarize(method).failed;
  }
  std::string html;
  if (experiment.preview) html += " <span class=\"tag warn\">preview</span>";
  if (experiment.done < experiment.planned) {
    html += fmt::format(" <span class=\"tag warn\">{} of {} runs</span>", experiment.done, experiment.planned);
  }
  if (failed > 0) html += fmt::format(" <span class=\"tag warn\">{} failed</span>", failed);
  return html;
}

std::string section_html(const ReportSection& section) {
  const ExperimentResults& experiment = *section.results;
  std::string html = fmt::format("<section id=\"{}\">\n<h2>{}{}</h2>\n", section.anchor,
                                 html_formulas(title_of(experiment)), tags(experiment));
  if (!experiment.question.empty()) html += paragraph(experiment.question, "question");
  if (!experiment.paper.empty()) html += paragraph("In the paper: " + experiment.paper + ".", "note");
  html += paragraphs(experiment.description);
  if (experiment.preview) {
    html +=
        box("A preview", {"Made with fewer or shorter runs: it shows what the report will look like, and its numbers "
                          "are not to be compared with the paper's."});
  }
  html += missing_runs(experiment) + box("Warnings", experiment.warnings);
  for (const DrawnFigure& figure : section.figures) html += figure_html(figure, section.anchor);
  html += results_tables(experiment) + comparisons(experiment) + failures(experiment);
  html += searches(experiment) + provenance(section);
  return html + "<p><a href=\"#_contents\">Contents</a></p>\n</section>\n";
}

constexpr const char* paper_heading = "The paper's numbers and ours";

// "" where nothing of the report has a number of the paper.
std::string paper_html(const std::vector<ReportSection>& sections, const PaperTable& paper) {
  if (paper.table.rows.empty() && paper.missing.empty()) return "";
  std::string html = fmt::format("<section id=\"_paper\">\n<h2>{}</h2>\n", html_text(paper_heading));
  html += paragraph(
      "Mean ± standard deviation over the seeds. Bold: a paired test over the seeds tells the method apart from all "
      "others of the study.",
      "note");
  if (!paper.table.rows.empty()) html += html_table(paper.table, paper.header, Rows::in_groups);
  std::vector<std::string> constants;
  for (const ReportSection& section : sections) {
    if (!has_paper_numbers(*section.results)) continue;
    for (std::string& line : optimizer_constants(*section.results)) {
      if (std::ranges::find(constants, line) == constants.end()) constants.push_back(std::move(line));
    }
  }
  if (!constants.empty()) html += "<h3>Constants</h3>\n" + bullet_list(constants);
  return html + box("Not there yet", paper.missing) + "</section>\n";
}

}  // namespace

std::string report_page(const std::vector<ReportSection>& sections, const PaperTable& paper) {
  std::string html = page_start("ignd: experiments", "Experiments with Incremental Gauss-Newton Descent");
  html += "<nav id=\"_contents\" aria-label=\"Contents\">\n";
  if (sections.empty()) html += paragraph("There are no results yet.");
  const std::string overview = paper_html(sections, paper);
  if (!overview.empty()) html += fmt::format("<p><a href=\"#_paper\">{}</a></p>\n", html_text(paper_heading));
  html += sections.empty() ? "" : "<ol>\n";
  for (const ReportSection& section : sections) {
    html += fmt::format("<li><a href=\"#{}\">{}</a>{}</li>\n", section.anchor,
                        html_formulas(title_of(*section.results)), tags(*section.results));
  }
  html += sections.empty() ? "</nav>\n" : "</ol>\n</nav>\n";
  html += overview;
  for (const ReportSection& section : sections) html += section_html(section);
  return html + page_end();
}

}  // namespace ignd
