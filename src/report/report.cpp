#include "report/report.hpp"

#include "base/atomic_file.hpp"
#include "base/text.hpp"
#include "ignd/error.hpp"
#include "report/drawing.hpp"
#include "report/format.hpp"
#include "report/formula.hpp"
#include "report/gnuplot.hpp"
#include "report/page.hpp"
#include "report/result_table.hpp"
#include "report/statistics.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace ignd {
namespace {

using Json = nlohmann::ordered_json;

Json number(std::optional<double> value) { return value && std::isfinite(*value) ? Json(*value) : Json(nullptr); }

const char* better_word(const ScoreInfo& metric) {
  return !metric.is_contest ? "neither" : metric.higher_is_better ? "higher" : "lower";
}

// Of the first seed.
Json matrices(const MethodResults& method) {
  Json named = Json::object();
  if (method.runs.empty()) return named;
  for (const auto& [name, rows] : method.runs.front().result.matrices) named[name] = rows;
  return named;
}

Json row(const MethodResults& method, bool preview) {
  const ScoreSummary scores = summarize(method);
  return {{"method", method.name},
          {"learning_rate", takes_rate(method) ? number(method.rate) : Json(nullptr)},
          {"setting", method.setting},
          {"mean", number(scores.all.mean)},
          {"std", number(scores.all.deviation)},
          {"seeds", scores.done},
          {"failed", scores.failed},
          {"paper_mean", preview ? Json(nullptr) : number(method.paper_mean)},
          {"paper_std", preview ? Json(nullptr) : number(method.paper_std)},
          {"matrices", matrices(method)}};
}

Json comparison(const ComparedPair& pair) {
  const auto& [names, difference] = pair;
  const bool known = difference.complete();
  return {{"better", names.better},
          {"worse", names.worse},
          {"difference", known ? number(difference.differences.mean) : Json(nullptr)},
          {"standard_error", known ? number(difference.standard_error) : Json(nullptr)},
          {"wins", difference.wins},
          {"pairs", difference.pairs},
          {"log", difference.logarithms}};
}

Json panel_json(const ExperimentResults& experiment, const PanelResults& panel) {
  Json rows = Json::array();
  for (const MethodResults& method : panel.methods) rows.push_back(row(method, experiment.preview));
  Json comparisons = Json::array();
  for (const ComparedPair& pair : compare_pairs(experiment, panel)) comparisons.push_back(comparison(pair));
  return {{"name", panel.name},
          {"rows", std::move(rows)},
          {"comparisons", std::move(comparisons)},
          {"advice", panel.advice}};
}

}  // namespace

std::string summary_json(const std::vector<ExperimentResults>& experiments) {
  Json list = Json::array();
  for (const ExperimentResults& experiment : experiments) {
    Json panels = Json::array();
    for (const PanelResults& panel : experiment.panels) panels.push_back(panel_json(experiment, panel));
    list.push_back({{"name", experiment.name},
                    {"title", experiment.title},
                    {"preview", experiment.preview},
                    {"metric", experiment.metric.label},
                    {"better", better_word(experiment.metric)},
                    {"planned", experiment.planned},
                    {"done", experiment.done},
                    {"wall_seconds", number(experiment.wall_seconds)},
                    {"run_seconds", number(experiment.run_seconds)},
                    {"panels", std::move(panels)}});
  }
  // Bytes that are not UTF-8 are replaced: a reader of JSON would stop at them.
  return Json{{"experiments", std::move(list)}}.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

namespace {

namespace fs = std::filesystem;

struct FigureFile {
  FigureFormat format;
  std::string_view extension;
  std::string_view first_bytes;
};
constexpr std::array<FigureFile, 3> figure_files{{{FigureFormat::svg, ".svg", "<?xml"},
                                                  {FigureFormat::pdf, ".pdf", "%PDF"},
                                                  {FigureFormat::png, ".png", "\x89PNG"}}};

class ReportWriter {
 public:
  ReportWriter(const fs::path& folder, const std::string& gnuplot) : folder_(folder), gnuplot_(gnuplot) {}

  WrittenReport write(const std::vector<ExperimentResults>& experiments, const std::vector<ExperimentResults>& others) {
    std::error_code fault;
    fs::create_directories(folder_, fault);
    if (fault) throw FileError(fmt::format("cannot make the folder {}: {}", quoted_path(folder_), fault.message()));
    std::vector<ReportSection> sections;
    sections.reserve(experiments.size());
    for (const ExperimentResults& experiment : experiments) sections.push_back(make_section(experiment));
    write_file("summary.json", summary_json(experiments));
    write_file("report.html", report_page(sections, paper_table(experiments, others)));
    for (const auto& [reason, names] : undrawn_) {
      written_.warnings.push_back(
          fmt::format("figures are missing or those of an earlier report ({}): {}", join(names, ", "), reason));
    }
    return std::move(written_);
  }

 private:
  ReportSection make_section(const ExperimentResults& experiment) {
    ReportSection section;
    section.results = &experiment;
    section.anchor = unused_anchor(experiment.name);
    for (const FigureKind kind : experiment.figures) {
      for (Figure& figure : figures_of(kind, experiment)) add_figure(section, std::move(figure));
      if (kind == FigureKind::rates) add_file(section, section.anchor + "-rates.csv", rates_csv(experiment));
    }
    if (has_curve(experiment, CurvePart::validation)) {
      add_file(section, section.anchor + "-validation.csv", curves_csv(experiment, CurvePart::validation));
    }
    const std::pair<std::string_view, std::string> tables[] = {{"-table.md", markdown_tables(experiment)},
                                                               {"-table.tex", latex_table(experiment)},
                                                               {"-curves.csv", curves_csv(experiment)}};
    for (const auto& [ending, content] : tables) add_file(section, section.anchor + std::string(ending), content);
    return section;
  }

  void add_figure(ReportSection& section, Figure figure) {
    section.figures.push_back({std::move(figure), {}, ""});
    draw(section, section.figures.back());
  }

  std::string unused_anchor(const std::string& name) {
    const std::string wanted = slug(name);
    std::string anchor = wanted;
    for (int k = 2; !anchors_.insert(anchor).second; ++k) anchor = fmt::format("{}-{}", wanted, k);
    return anchor;
  }

  void draw(ReportSection& section, DrawnFigure& drawn) {
    const auto& panels = drawn.figure.panels;
    if (std::ranges::all_of(panels, [](const FigurePanel& panel) { return panel.lines.empty(); })) return;
    drawn = draw_for_page(std::move(drawn.figure), section.anchor, gnuplot_);
    if (drawn.fault.empty()) drawn.fault = write_figure(section, drawn.figure);
    if (!drawn.fault.empty()) undrawn_[drawn.fault].push_back(in_quotes(section.results->name));
  }

  std::string write_figure(ReportSection& section, const Figure& figure) {
    for (const auto& [format, extension, first_bytes] : figure_files) {
      const auto [output, fault] = run_gnuplot(gnuplot_, figure_script(figure, format));
      if (!fault.empty()) return fault;
      if (!output.starts_with(first_bytes)) return fmt::format("{} drew no {}", in_quotes(gnuplot_), extension);
      add_file(section, fmt::format("{}-{}{}", section.anchor, figure.name, extension), output);
    }
    return "";
  }

  void add_file(ReportSection& section, const std::string& name, std::string_view content) {
    write_file(name, content);
    section.files.push_back(name);
  }

  void write_file(const std::string& name, std::string_view content) {
    write_file_atomically(folder_ / name, content);
    written_.files.push_back(folder_ / name);
  }

  const fs::path& folder_;
  const std::string& gnuplot_;
  std::set<std::string> anchors_;
  std::map<std::string, std::vector<std::string>> undrawn_;  // names of experiments by what went wrong
  WrittenReport written_;
};

}  // namespace

WrittenReport write_report(const std::vector<ExperimentResults>& experiments, const fs::path& folder,
                           const std::string& gnuplot, const std::vector<ExperimentResults>& others) {
  return ReportWriter(folder, gnuplot).write(experiments, others);
}

}  // namespace ignd
