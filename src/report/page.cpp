#include "report/page.hpp"

#include "base/text.hpp"
#include "report/format.hpp"
#include "report/result_table.hpp"
#include "report/statistics.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace ignd {
namespace {

constexpr std::string_view style = R"(
:root { color-scheme: light; }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem 1rem 4rem; max-width: 70rem; background: #fff; color: #1b1b1b;
  font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
  overflow-wrap: anywhere; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 .5rem; }
h2 { font-size: 1.4rem; line-height: 1.25; margin: 0 0 .5rem; }
h3 { font-size: 1.05rem; margin: 2rem 0 .5rem; }
h4 { font-size: 1rem; margin: 1.2rem 0 .3rem; }
p { margin: .5rem 0; max-width: 46rem; }
a { color: #00558b; }
section { border-top: 1px solid #ccc; margin-top: 2.5rem; padding-top: 1.5rem; }
nav li { margin: .3rem 0; }
.question { font-size: 1.1rem; font-style: italic; }
.note, figcaption { color: #444; font-size: .9rem; }
.tag { display: inline-block; border: 1px solid currentColor; border-radius: .3rem; padding: 0 .45rem; font-size: .8rem;
  font-weight: 600; white-space: nowrap; vertical-align: middle; }
.tag.warn { color: #8a3c00; }
.tag.plain { color: #444; }
.box { border-left: .3rem solid #b25000; background: #fdf3e7; padding: .5rem .9rem; margin: 1rem 0; }
.box p:first-child { margin-top: 0; }
.box p:last-child, .box ul:last-child { margin-bottom: 0; }
ul { padding-left: 1.3rem; margin: .4rem 0; }
.panels { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 25rem), 1fr)); gap: 1.5rem; margin: 1rem 0; }
.panels figure { margin: 0; max-width: 38rem; min-width: 0; }
.panels h4 { margin-top: 0; }
svg.panel { display: block; width: 100%; height: auto; }
.key { list-style: none; padding: 0; margin: .3rem 0 0; display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; font-size: .9rem; }
.key svg { width: 2.6rem; height: .8rem; vertical-align: -.1rem; margin-right: .4rem; }
.key .failed { color: #8a3c00; font-weight: 600; }
.scroll { overflow-x: auto; margin: .3rem 0; }
table { border-collapse: collapse; font-size: .92rem; overflow-wrap: normal; }
caption { text-align: left; font-weight: 600; padding: .3rem 0; }
th, td { padding: .3rem .8rem; text-align: right; border-bottom: 1px solid #ddd; font-variant-numeric: tabular-nums; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; padding-left: 0; white-space: normal; min-width: 7rem; max-width: 20rem;
  overflow-wrap: anywhere; }
thead th { white-space: normal; vertical-align: bottom; border-bottom: 2px solid #555; font-weight: 600; }
tr.chosen td { font-weight: 700; }
details { margin: .8rem 0; }
summary { cursor: pointer; font-weight: 600; }
.grids { display: flex; flex-wrap: wrap; gap: 1rem 2.5rem; }
.grids > div { min-width: 0; max-width: 100%; }
dl { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: .25rem 1rem; margin: .5rem 0; font-size: .92rem; }
dt { font-weight: 600; }
dd { margin: 0; }
code { font: .9em ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; background: #f3f3f3; padding: .1rem .3rem; }
@media (max-width: 34rem) { dl { grid-template-columns: minmax(0, 1fr); gap: 0; } dd { margin-bottom: .4rem; }
  table { font-size: .85rem; } th, td { padding: .3rem .4rem; } }
@media print {
  @page { margin: 15mm; }
  body { padding: 0; max-width: none; font-size: 10pt; color: #000; }
  a { color: inherit; text-decoration: none; }
  h2, h3, h4, caption, summary { break-after: avoid; }
  figure, table, .box { break-inside: avoid; }
  .panels { grid-template-columns: 1fr 1fr; }
  .scroll { overflow: visible; }
  table { font-size: 8.5pt; }
  th, td { padding: .15rem .4rem; }
  details::details-content { display: block; content-visibility: visible; }
}
)";

std::string paragraph(std::string_view text, std::string_view css_class = "") {
  return fmt::format("<p{}>{}</p>\n", css_class.empty() ? "" : fmt::format(" class=\"{}\"", css_class),
                     html_text(text));
}

std::string bullet_list(const std::vector<std::string>& items) {
  std::string html = "<ul>\n";
  for (const std::string& item : items) html += "<li>" + html_text(item) + "</li>\n";
  return html + "</ul>\n";
}

std::string box(std::string_view heading, const std::vector<std::string>& items) {
  if (items.empty()) return "";
  return fmt::format("<div class=\"box\">\n<p><strong>{}</strong></p>\n{}</div>\n", html_text(heading),
                     bullet_list(items));
}

// Paragraphs are separated by empty lines.
std::string paragraphs(std::string_view text) {
  std::string html;
  std::string current;
  const auto flush = [&] {
    if (!current.empty()) html += paragraph(current);
    current.clear();
  };
  while (!text.empty()) {
    const std::size_t newline = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, newline);
    text.remove_prefix(std::min(newline + 1, text.size()));
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) {
      flush();
    } else {
      current += current.empty() ? "" : " ";
      current += line;
    }
  }
  flush();
  return html;
}

std::string table_row(const std::vector<std::string>& cells, std::string_view tag, std::string_view css_class = "") {
  std::string html = css_class.empty() ? "<tr>" : fmt::format("<tr class=\"{}\">", css_class);
  for (const std::string& cell : cells) html += fmt::format("<{0}>{1}</{0}>", tag, cell);
  return html + "</tr>\n";
}

std::vector<std::string> escaped(const std::vector<std::string>& cells) {
  std::vector<std::string> out;
  out.reserve(cells.size());
  for (const std::string& cell : cells) out.push_back(html_text(cell));
  return out;
}

std::string table_start(std::string_view caption, const std::vector<std::string>& header) {
  return fmt::format("<div class=\"scroll\"><table>\n{}<thead>{}</thead>\n<tbody>\n",
                     caption.empty() ? "" : fmt::format("<caption>{}</caption>\n", html_text(caption)),
                     table_row(escaped(header), "th"));
}

constexpr std::string_view table_end = "</tbody>\n</table></div>\n";

std::string html_table(const ResultTable& table, const std::vector<std::string>& header) {
  std::string html = table_start(table.title, header);
  for (const ResultRow& row : table.rows) {
    auto cells = escaped(row.cells);
    if (row.best) cells[score_column] = "<strong>" + cells[score_column] + "</strong>";
    html += table_row(cells, "td");
  }
  html += table_end;
  for (const std::string& note : table.notes) html += paragraph(note, "note");
  return html;
}

std::string key_sample(const LineStyle& line) {
  return fmt::format(
      "<svg viewBox=\"0 0 42 12\" aria-hidden=\"true\"><rect width=\"42\" height=\"12\" fill=\"{0}\" opacity=\"0.18\"/>"
      "<line x1=\"0\" x2=\"42\" y1=\"6\" y2=\"6\" stroke=\"{0}\" stroke-width=\"2\"{1}/></svg>",
      line.colour, line.dashes.empty() ? "" : fmt::format(" stroke-dasharray=\"{}\"", line.dashes));
}

std::string key(const FigurePanel& panel) {
  std::string html = "<ul class=\"key\">\n";
  for (const FigureLine& line : panel.lines) {
    html += fmt::format(
        "<li>{}{}{}</li>\n", key_sample(line_style(line.style)), html_text(line.name),
        line.remark.empty() ? "" : fmt::format(" <span class=\"failed\">({})</span>", html_text(line.remark)));
  }
  return html + "</ul>\n";
}

std::string figure_html(const DrawnFigure& drawn) {
  std::string html = "<h3>" + html_text(drawn.figure.heading) + "</h3>\n";
  if (!drawn.fault.empty()) html += box("The figure could not be drawn, or not into all files", {drawn.fault});
  std::string panels;
  for (std::size_t k = 0; k < drawn.drawings.size(); ++k) {
    if (drawn.drawings[k].empty()) continue;
    const FigurePanel& panel = drawn.figure.panels[k];
    panels += fmt::format("<figure>\n<h4>{}</h4>\n{}\n{}", html_text(panel.title), drawn.drawings[k], key(panel));
    if (!panel.remarks.empty()) panels += "<figcaption>" + html_text(join(panel.remarks, " ")) + "</figcaption>\n";
    panels += "</figure>\n";
  }
  if (panels.empty()) return html + (drawn.fault.empty() ? paragraph("There is nothing to draw yet.", "note") : "");
  return html + "<div class=\"panels\">\n" + panels + "</div>\n" + paragraph(drawn.figure.caption, "note");
}

std::string matrix_html(const std::string& name, const Rows& rows) {
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
  return fmt::format("<details>\n<summary>Matrices: {}</summary>\n{}</details>\n", html_text(title_of(panel)), html);
}

std::string results_tables(const ExperimentResults& experiment) {
  std::string html = "<h3>Results</h3>\n";
  html += paragraph(fmt::format("{}, {}. Mean ± standard deviation over the seeds{}.", experiment.metric.label,
                                experiment.metric.higher_is_better ? "higher is better" : "lower is better",
                                experiment.metric.log_scale
                                    ? "; the geometric mean with the factor of one standard deviation of the logarithms"
                                    : ""),
                    "note");
  for (const PanelResults& panel : experiment.panels) {
    html += html_table(result_table(experiment, panel), result_header(experiment));
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
    const std::string setting = rate.setting.empty() ? "" : ", " + html_text(rate.setting);
    std::vector<std::string> cells{rate_text(rate.rate) + setting + (chosen ? " (chosen)" : ""), number_text(rate.mean),
                                   fmt::format("{} of {}", rate.done, rate.planned), std::to_string(rate.failed)};
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
                        html_text(title_of(panel)), tables);
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
      html += table_row(
          {html_text(title_of(panel) + ": " + method.name), planned == 0 ? "" : fmt::format("{} of {}", done, planned),
           fmt::format("{} of {}", method.runs.size(), method.planned)},
          "td");
    }
  }
  return html + std::string(table_end) + "</div>\n";
}

std::string item(std::string_view name, const std::string& html) {
  return html.empty() ? "" : fmt::format("<dt>{}</dt><dd>{}</dd>\n", name, html);
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
  html += item("runs", fmt::format("{} of {}, those of the searches included", experiment.done, experiment.planned));
  html += item("time", fmt::format("{} on the clock, {} summed over all runs", duration_text(experiment.wall_seconds),
                                   duration_text(experiment.run_seconds)));
  html += item("seeds", seeds_text(std::move(seeds)));
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
                                 html_text(title_of(experiment)), tags(experiment));
  if (!experiment.question.empty()) html += paragraph(experiment.question, "question");
  if (!experiment.paper.empty()) html += paragraph("In the paper: " + experiment.paper + ".", "note");
  html += paragraphs(experiment.description);
  if (experiment.preview) {
    html +=
        box("A preview", {"Made with fewer or shorter runs: it shows what the report will look like, and its numbers "
                          "are not to be compared with the paper's."});
  }
  html += missing_runs(experiment) + box("Warnings", experiment.warnings);
  for (const DrawnFigure& figure : section.figures) html += figure_html(figure);
  html += results_tables(experiment) + comparisons(experiment) + failures(experiment);
  html += searches(experiment) + provenance(section);
  return html + "<p><a href=\"#_contents\">Contents</a></p>\n</section>\n";
}

// "" where nothing has a place in the paper.
std::string paper_html(const PaperTable& paper) {
  if (paper.table.rows.empty() && paper.missing.empty()) return "";
  std::string html = "<section id=\"_paper\">\n<h2>What the paper has, and what is measured of it</h2>\n";
  if (!paper.table.rows.empty()) html += html_table(paper.table, paper.header);
  return html + box("Not there yet", paper.missing) + "</section>\n";
}

}  // namespace

std::string report_page(const std::vector<ReportSection>& sections, const PaperTable& paper) {
  std::string html = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>ignd: experiments</title>\n"
      "<style>{}</style>\n</head>\n<body>\n<h1>Experiments with Incremental Gauss-Newton Descent</h1>\n",
      style);
  html += "<nav id=\"_contents\" aria-label=\"Contents\">\n";
  if (sections.empty()) html += paragraph("There are no results yet.");
  const std::string overview = paper_html(paper);
  if (!overview.empty()) html += "<p><a href=\"#_paper\">What the paper has, and what is measured of it</a></p>\n";
  html += sections.empty() ? "" : "<ol>\n";
  for (const ReportSection& section : sections) {
    html += fmt::format("<li><a href=\"#{}\">{}</a>{}</li>\n", section.anchor, html_text(title_of(*section.results)),
                        tags(*section.results));
  }
  html += sections.empty() ? "</nav>\n" : "</ol>\n</nav>\n";
  html += overview;
  for (const ReportSection& section : sections) html += section_html(section);
  return html + "</body>\n</html>\n";
}

}  // namespace ignd
