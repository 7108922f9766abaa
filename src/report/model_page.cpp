#include "report/model_page.hpp"

#include "base/text.hpp"
#include "report/axis.hpp"
#include "report/format.hpp"
#include "report/page_elements.hpp"
#include "report/page_figure.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <tuple>
#include <utility>

#include <fmt/format.h>

namespace ignd {
namespace {

constexpr std::size_t most_lines = 8;  // of a panel, which more would crowd

LineStyle style_of(std::size_t k) { return variation(optimizer_style("gauss-newton", "plain"), k); }
LineStyle reference_style() { return optimizer_style("", "plain"); }

// Five per cent of room around what is drawn. A logarithmic axis has whole decades.
std::pair<double, double> with_room(const Range& range, bool logarithmic) {
  if (logarithmic)
    return {std::pow(10, std::floor(std::log10(range.low))), std::pow(10, std::ceil(std::log10(range.high)))};
  const double room = range.length() > 0 ? 0.05 * range.length() : std::max(0.05 * std::abs(range.low), 1e-3);
  return {range.low - room, range.high + room};
}

bool can_be_drawn(const FigurePoint& point) {
  constexpr double most = 1e100;  // gnuplot calculates with squares
  return std::abs(point.x) < most && std::abs(point.y) < most;
}

// Sets the axes of a panel by its lines.
void set_axes(FigurePanel& panel, bool may_be_logarithmic) {
  Range x, y;
  for (FigureLine& line : panel.lines) {
    std::erase_if(line.points, [](const FigurePoint& point) { return !can_be_drawn(point); });
    for (const FigurePoint& point : line.points) {
      x.include(point.x);
      y.include(point.y);
      if (!point.band) continue;
      y.include(point.band->first);
      y.include(point.band->second);
    }
  }
  std::erase_if(panel.lines, [](const FigureLine& line) { return line.points.empty(); });
  if (panel.lines.empty()) return;
  constexpr double long_way = 20;
  panel.log_y = may_be_logarithmic && y.low > 0 && y.high > long_way * y.low;
  std::tie(panel.low_y, panel.high_y) = with_room(y, panel.log_y);
  std::tie(panel.low_x, panel.high_x) = with_room(x, false);
}

FigureLine line_of(std::string name, LineStyle style, std::span<const double> x, std::span<const double> y) {
  FigureLine line;
  line.name = std::move(name);
  line.style = std::move(style);
  for (std::size_t k = 0; k < std::min(x.size(), y.size()); ++k) line.points.push_back({x[k], y[k], {}});
  return line;
}

class ModelPage {
 public:
  ModelPage(const ModelReport& report, const std::string& gnuplot) : report_(report), gnuplot_(gnuplot) {}

  WrittenPage write() {
    add("data", "The data", data());
    add("curves", "Learning curves", curves());
    add("scores", "Scores", scores());
    add("errors", report_.classes.empty() ? "Residuals" : "Confusion and calibration", errors());
    add("importance", "What the model has learned", importance());
    add("worst", "The worst " + report_.samples, worst());
    add("card", "Model card", fact_list(report_.card));
    const std::string title =
        report_.target.empty() ? report_.data : fmt::format("{} of {}", report_.target, report_.data);
    std::string html = page_start("ignd: " + title, "A model of " + title);
    html += paragraph(report_.summary) + box("Warnings", report_.warnings);
    html += "<nav id=\"_contents\" aria-label=\"Contents\">\n<ol>\n" + contents_ + "</ol>\n</nav>\n" + sections_;
    return {html + page_end(), fault_};
  }

 private:
  void add(const char* anchor, const std::string& heading, const std::string& html) {
    if (html.empty()) return;
    contents_ += fmt::format("<li><a href=\"#{}\">{}</a></li>\n", anchor, html_text(heading));
    sections_ +=
        fmt::format("<section id=\"{}\">\n<h2>{}</h2>\n{}<p><a href=\"#_contents\">Contents</a></p>\n</section>\n",
                    anchor, html_text(heading), html);
  }

  std::string drawn(Figure figure, bool may_be_logarithmic, const char* anchor) {
    for (FigurePanel& panel : figure.panels) set_axes(panel, may_be_logarithmic);
    std::erase_if(figure.panels, [](const FigurePanel& panel) { return panel.lines.empty(); });
    if (figure.panels.empty()) return "";
    const DrawnFigure made = draw_for_page(std::move(figure), anchor, gnuplot_);
    if (!made.fault.empty()) fault_ = made.fault;
    return figure_html(made, anchor);
  }

  std::string data() const {
    ResultTable table;
    for (const auto& [name, what] : report_.columns) table.rows.push_back({.cells = {name, what}});
    return table.rows.empty() ? "" : html_table(table, {"column", "becomes"}, Rows::of_texts);
  }

  std::string curves() {
    Figure figure{.name = "curves", .heading = "Loss after each epoch", .title = "", .x_label = "epoch"};
    figure.y_label = "loss";
    FigurePanel training{.title = "training"}, validation{.title = "validation"};
    for (std::size_t k = 0; k < report_.curves.size() && k < most_lines; ++k) {
      const ModelReport::Curve& curve = report_.curves[k];
      training.lines.push_back(line_of(curve.name, style_of(k), curve.epochs, curve.training));
      validation.lines.push_back(line_of(curve.name, style_of(k), curve.epochs, curve.validation));
    }
    figure.panels = {std::move(training), std::move(validation)};
    figure.caption =
        "Values of the loss on the scale that the model learns. The training loss is a mean over the epoch, each "
        "sample predicted before it was learned from.";
    if (report_.curves.size() > most_lines) figure.caption += fmt::format(" The first {} are shown.", most_lines);
    return drawn(std::move(figure), true, "curves");
  }

  std::string scores() const {
    if (report_.scores.empty()) return "";
    std::vector<std::string> header{"", "measured on"};
    header.insert(header.end(), report_.score_names.begin(), report_.score_names.end());
    ResultTable table;
    for (const auto& [part, predictor, values] : report_.scores) {
      ResultRow row{.cells = {predictor, part}};
      for (const auto& value : values) row.cells.push_back(number_text(value));
      if (predictor == "model") row.bold = {0};
      table.rows.push_back(std::move(row));
    }
    if (!report_.part_note.empty()) table.notes.push_back(report_.part_note);
    return html_table(table, header);
  }

  std::string errors() {
    if (report_.part.empty()) return "";
    const std::string note = paragraph(fmt::format("Measured on the {} {}.", report_.part, report_.samples), "note");
    return note + (report_.classes.empty() ? residuals() : confusion() + reliability());
  }

  std::string residuals() {
    Figure figure{.name = "residuals", .heading = "Residuals", .title = "", .x_label = "prediction"};
    figure.y_label = "target - prediction";
    FigureLine points{.name = "a row", .remark = "", .style = style_of(0), .points = {}, .joined = false};
    points.style.mark = Mark::circle;
    Range x;
    for (const auto& [prediction, residual] : report_.residuals) {
      points.points.push_back({prediction, residual, {}});
      x.include(prediction);
    }
    if (points.points.empty()) return "";
    FigureLine zero{.name = "no error", .remark = "", .style = reference_style(), .points = {}};
    zero.points = {{x.low, 0, {}}, {x.high, 0, {}}};
    FigurePanel panel{.title = "residuals against predictions", .lines = {std::move(zero), std::move(points)}};
    if (report_.left_out_residuals > 0) {
      panel.remarks.push_back(fmt::format("{} of {} {}, drawn by the seed.", with_commas(report_.residuals.size()),
                                          with_commas(report_.residuals.size() + report_.left_out_residuals),
                                          report_.samples));
    }
    figure.panels = {std::move(panel)};
    figure.caption =
        "A cloud around zero without a shape is what is left of a model that has learned what there is. A bend is "
        "something it missed; a fan says that large predictions are less certain.";
    return drawn(std::move(figure), false, "errors");
  }

  std::string confusion() const {
    const std::size_t count = report_.classes.size();
    if (report_.confusion.size() != count * count) return "";
    constexpr std::size_t most_classes_of_a_table = 20, most_listed = 20;
    ResultTable table{.title = "Confusion", .rows = {}, .notes = {}};
    if (count <= most_classes_of_a_table) {
      std::vector<std::string> header{"true \\ predicted"};
      header.insert(header.end(), report_.classes.begin(), report_.classes.end());
      for (std::size_t i = 0; i < count; ++i) {
        ResultRow row{.cells = {report_.classes[i]}, .bold = {i + 1}};
        for (std::size_t k = 0; k < count; ++k) row.cells.push_back(number_text(report_.confusion[i * count + k]));
        table.rows.push_back(std::move(row));
      }
      return html_table(table, header, Rows::in_groups);
    }
    std::vector<std::size_t> order;
    for (std::size_t at = 0; at < count * count; ++at) {
      if (at / count != at % count && report_.confusion[at] > 0) order.push_back(at);
    }
    std::ranges::stable_sort(order, std::ranges::greater{}, [&](std::size_t at) { return report_.confusion[at]; });
    order.resize(std::min(order.size(), most_listed));
    for (const std::size_t at : order) {
      table.rows.push_back(
          {.cells = {report_.classes[at / count], report_.classes[at % count], number_text(report_.confusion[at])}});
    }
    table.title = "The most frequent confusions";
    return html_table(table, {"true", "predicted", report_.samples});
  }

  std::string reliability() {
    Figure figure{.name = "reliability", .heading = "Calibration", .title = "", .x_label = "predicted probability"};
    figure.y_label = "share that is so";
    figure.marks = true;
    FigureLine line{.name = "the model", .remark = "", .style = style_of(0), .points = {}};
    for (const ReliabilityBin& bin : report_.reliability) {
      if (!(bin.weight > 0)) continue;
      const double error = std::sqrt(bin.share * (1 - bin.share) / bin.weight);
      line.points.push_back(
          {bin.probability, bin.share, std::pair(std::max(bin.share - error, 0.0), std::min(bin.share + error, 1.0))});
    }
    FigureLine ideal{.name = "perfect calibration", .remark = "", .style = reference_style(), .points = {}};
    ideal.points = {{0, 0, {}}, {1, 1, {}}};
    FigurePanel panel{.title = report_.reliable_of, .lines = {std::move(ideal), std::move(line)}};
    panel.finding = fmt::format("Expected calibration error: {}.", number_text(report_.calibration_error));
    figure.panels = {std::move(panel)};
    figure.caption =
        "Predictions fall into ten bins of equal width. Each point is the mean probability of a bin, and how often it "
        "was so there; the shaded region is one standard error. Above the diagonal the model is too modest, below it "
        "too sure.";
    return drawn(std::move(figure), false, "errors");
  }

  std::string importance() {
    if (!report_.explanation) return "";
    const Explanation& made = *report_.explanation;
    ResultTable table{.title = "Permutation importance", .rows = {}, .notes = {}};
    for (const ColumnImportance& one : made.importance) {
      table.rows.push_back({.cells = {one.column, with_spread(one.increase, one.deviation)}});
    }
    table.notes.push_back(fmt::format(
        "How much the {} rises, from {}, if the column is shuffled among {} {}: mean and standard deviation over the "
        "shuffles. Columns that say the same share their importance.",
        made.measure, number_text(made.score), with_commas(made.rows), report_.samples));
    std::string html = html_table(table, {"column", made.measure + " rises by"});
    Figure figure{.name = "dependence", .heading = "Partial dependence", .title = "", .x_label = "value"};
    figure.y_label = report_.classes.empty() ? "mean prediction" : "mean probability";
    figure.marks = true;
    figure.caption =
        fmt::format("What the model predicts on average over {} {} if the column has this value in all of them.",
                    with_commas(made.averaged), report_.samples);
    std::string tables;
    for (const PartialDependence& curve : made.dependence) {
      if (curve.is_text()) {
        tables += text_dependence(curve);
      } else {
        figure.panels.push_back(number_dependence(curve));
      }
    }
    return html + drawn(std::move(figure), false, "importance") + tables;
  }

  // Of two classes there is one line; it is of the positive one.
  std::string line_name(std::size_t k) const {
    return report_.classes.empty() ? "prediction" : report_.classes[report_.classes.size() == 2 ? 1 : k];
  }

  FigurePanel number_dependence(const PartialDependence& curve) const {
    constexpr double seconds_of_a_year = 31'556'952, first_year = 1970;
    FigurePanel panel{.title = curve.is_date ? curve.column + " (as a year)" : curve.column};
    const std::size_t lines = curve.points.empty() ? 0 : std::min(curve.points[0].means.size(), most_lines);
    for (std::size_t k = 0; k < lines; ++k) {
      FigureLine line{.name = line_name(k), .remark = "", .style = style_of(k), .points = {}};
      for (const auto& point : curve.points) {
        if (!point.value) continue;
        const double x = curve.is_date ? first_year + *point.value / seconds_of_a_year : *point.value;
        line.points.push_back({x, point.means[k], {}});
      }
      panel.lines.push_back(std::move(line));
    }
    if (!curve.points.empty() && !curve.points.back().value) {
      panel.remarks.push_back(
          fmt::format("Where it is missing: {}.", in_short(curve.points.back().means[0], digits())));
    }
    return panel;
  }

  int digits() const { return report_.classes.empty() ? 6 : 4; }

  std::string text_dependence(const PartialDependence& curve) const {
    ResultTable table{.title = curve.column, .rows = {}, .notes = {}};
    std::vector<std::string> header{"text"};
    const std::size_t shown = std::min(curve.points[0].means.size(), most_lines);
    for (std::size_t k = 0; k < shown; ++k) {
      header.push_back((report_.classes.empty() ? "mean " : "mean probability of ") + line_name(k));
    }
    for (const auto& point : curve.points) {
      ResultRow row{.cells = {point.text}};
      for (std::size_t k = 0; k < shown; ++k) row.cells.push_back(in_short(point.means[k], digits()));
      table.rows.push_back(std::move(row));
    }
    if (!curve.note.empty()) table.notes.push_back(curve.note + ".");
    return html_table(table, header);
  }

  std::string worst() const {
    if (report_.worst.empty()) return "";
    ResultTable table;
    for (const auto& [name, target, prediction, error] : report_.worst) {
      table.rows.push_back({.cells = {name, target, prediction, number_text(error)}});
    }
    table.notes.push_back(
        fmt::format("The {} {} with the largest errors. Look at them first: they are often mistakes "
                    "in the data.",
                    report_.part, report_.samples));
    return html_table(table, {report_.samples == "rows" ? "row" : "name", "target", "prediction", report_.error_name});
  }

  const ModelReport& report_;
  const std::string& gnuplot_;
  std::string contents_, sections_, fault_;
};

}  // namespace

WrittenPage model_page(const ModelReport& report, const std::string& gnuplot) {
  return ModelPage(report, gnuplot).write();
}

}  // namespace ignd
