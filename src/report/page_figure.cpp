#include "report/page_figure.hpp"

#include "base/text.hpp"
#include "report/drawing.hpp"
#include "report/format.hpp"
#include "report/formula.hpp"
#include "report/gnuplot.hpp"
#include "report/page_elements.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace ignd {
namespace {

// A mark of the key, as gnuplot draws it.
std::string mark_html(const LineStyle& style) {
  static constexpr auto polygon = [](std::string_view points, const std::string& colour) {
    return fmt::format("<polygon points=\"{}\" fill=\"{}\"/>", points, colour);
  };
  switch (style.mark) {
    case Mark::nothing:
      return "";
    case Mark::circle:
      return fmt::format("<circle cx=\"21\" cy=\"6\" r=\"4\" fill=\"{}\"/>", style.colour);
    case Mark::square:
      return polygon("17.5,2.5 24.5,2.5 24.5,9.5 17.5,9.5", style.colour);
    case Mark::triangle:
      return polygon("21,1 25.5,9.5 16.5,9.5", style.colour);
    case Mark::wedge:
      return polygon("21,11 25.5,2.5 16.5,2.5", style.colour);
    case Mark::diamond:
      return polygon("21,1 26,6 21,11 16,6", style.colour);
    case Mark::pentagon:
      return polygon("21,1 26,4.7 24,10.5 18,10.5 16,4.7", style.colour);
  }
  return "";
}

std::string key_sample(const FigureLine& line) {
  const LineStyle& style = line.style;
  if (!line.joined) return fmt::format("<svg viewBox=\"0 0 42 12\" aria-hidden=\"true\">{}</svg>", mark_html(style));
  return fmt::format(
      "<svg viewBox=\"0 0 42 12\" aria-hidden=\"true\"><rect width=\"42\" height=\"12\" fill=\"{0}\" opacity=\"0.18\"/>"
      "<line x1=\"0\" x2=\"42\" y1=\"6\" y2=\"6\" stroke=\"{0}\" stroke-width=\"2\"{1}/>{2}</svg>",
      style.colour, style.dashes.empty() ? "" : fmt::format(" stroke-dasharray=\"{}\"", style.dashes),
      mark_html(style));
}

// JSON of numbers alone: no text of a user's gets near the script.
std::string points_json(const FigureLine& line) {
  const auto value = [](double number) { return fmt::format("{:.4g}", number); };
  std::vector<std::string> points;
  points.reserve(line.points.size());
  for (const FigurePoint& point : line.points) {
    std::string text = fmt::format("[{:.7g},{}", point.x, value(point.y));
    if (point.band) text += fmt::format(",{},{}", value(point.band->first), value(point.band->second));
    points.push_back(text + "]");
  }
  return "[" + join(points, ",") + "]";
}

std::string axis_json(double low, double high, bool logarithmic) {
  return fmt::format("[{:.17g},{:.17g},{}]", low, high, logarithmic);
}

std::string key_html(const Figure& figure, const FigurePanel& panel, const std::string& prefix) {
  const std::vector<std::size_t> plotted = plotted_lines(figure, panel);
  std::string html = "<ul class=\"key\">\n";
  for (std::size_t k = 0; k < panel.lines.size(); ++k) {
    const FigureLine& line = panel.lines[k];
    std::vector<std::string> parts;
    for (std::size_t n = 0; n < plotted.size(); ++n) {
      if (plotted[n] == k) parts.push_back(fmt::format("{}gnuplot_plot_{}", prefix, n + 1));
    }
    html += fmt::format(
        "<li data-parts=\"{}\" data-points=\"{}\">{}<span class=\"name\">{}</span>{}</li>\n", join(parts, " "),
        points_json(line), key_sample(line), html_formulas(line.name),
        line.remark.empty() ? "" : fmt::format(" <span class=\"failed\">({})</span>", html_formulas(line.remark)));
  }
  return html + "</ul>\n";
}

std::string plot_html(const Figure& figure, const FigurePanel& panel, const std::string& drawing) {
  return fmt::format(
      "<div class=\"plot\" data-frame='{{\"left\":{},\"right\":{},\"top\":{},\"bottom\":{},\"width\":{}}}' "
      "data-x=\"{}\" data-label=\"{}\">\n{}</div>\n",
      PanelFrame::left, PanelFrame::right, PanelFrame::top, PanelFrame::bottom, PanelFrame::width,
      axis_json(panel.low_x, panel.high_x, figure.log_x), html_text(plain_formulas(figure.x_label)), drawing);
}

std::string panel_html(const Figure& figure, const FigurePanel& panel, const std::string& drawing,
                       const std::string& prefix) {
  std::string html = fmt::format("<figure>\n<h4>{}</h4>\n", html_formulas(panel.title));
  html += plot_html(figure, panel, drawing) + key_html(figure, panel, prefix);
  if (!panel.finding.empty() || !panel.remarks.empty()) {
    html += "<figcaption>\n";
    if (!panel.finding.empty()) html += paragraph(panel.finding, "finding");
    if (!panel.remarks.empty()) html += paragraph(join(panel.remarks, " "), "note");
    html += "</figcaption>\n";
  }
  return html + "</figure>\n";
}

}  // namespace

std::string drawing_prefix(std::string_view anchor, const Figure& figure, std::size_t panel) {
  return fmt::format("{}--{}-{}-", anchor, figure.name, panel + 1);
}

DrawnFigure draw_for_page(Figure figure, std::string_view anchor, const std::string& gnuplot) {
  DrawnFigure drawn{std::move(figure), {}, ""};
  for (std::size_t k = 0; k < drawn.figure.panels.size(); ++k) {
    const FigurePanel& panel = drawn.figure.panels[k];
    drawn.drawings.emplace_back();
    if (panel.lines.empty()) continue;
    const auto [output, fault] = run_gnuplot(gnuplot, panel_script(drawn.figure, panel));
    drawn.fault = fault;
    if (!fault.empty()) return drawn;
    const auto svg = inline_svg(output, drawing_prefix(anchor, drawn.figure, k), plain_formulas(panel.title));
    if (!svg) drawn.fault = in_quotes(gnuplot) + " drew no SVG";
    if (!svg) return drawn;
    drawn.drawings.back() = *svg;
  }
  return drawn;
}

std::string figure_html(const DrawnFigure& drawn, std::string_view anchor) {
  const Figure& figure = drawn.figure;
  std::string html = "<h3>" + html_formulas(figure.heading) + "</h3>\n";
  html += box("The figure could not be drawn, or not into all files",
              drawn.fault.empty() ? std::vector<std::string>{} : std::vector{drawn.fault});
  std::string panels;
  for (std::size_t k = 0; k < drawn.drawings.size(); ++k) {
    if (drawn.drawings[k].empty()) continue;
    panels += panel_html(figure, figure.panels[k], drawn.drawings[k], drawing_prefix(anchor, figure, k));
  }
  if (panels.empty()) return html + (drawn.fault.empty() ? paragraph("There is nothing to draw yet.", "note") : "");
  return html + "<div class=\"panels\">\n" + panels + "</div>\n" + paragraph(figure.caption, "note");
}

}  // namespace ignd
