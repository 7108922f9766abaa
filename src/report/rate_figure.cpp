#include "report/figure_parts.hpp"
#include "report/titles.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace ignd {
namespace {

// The rates at which every run was made and finished, with the setting that was chosen where there was a choice.
FigureLine search_line(const MethodResults& method, bool log_scale) {
  FigureLine line;
  std::size_t failing = 0, rates = 0;
  for (const RateResult& rate : method.search) {
    if (rate.setting != method.setting) continue;
    ++rates;
    if (rate.failed > 0) ++failing;
    if (rate.failed > 0 || rate.done < rate.planned) continue;
    const auto point = figure_point(rate.rate, spread_of(rate.scores), spread_of_logarithms(rate.scores), log_scale);
    if (point) line.points.push_back(*point);
  }
  if (failing > 0) line.remark = fmt::format("fails at {} of {} rates", failing, rates);
  return line;
}

// A method that was not searched for: a point at its rate, or a line from one side to the other where it has none.
FigureLine given_line(const MethodResults& method, const Range& rates, bool log_scale) {
  const ScoreSummary scores = summarize(method);
  const double rate = method.rate.value_or(0);
  const auto point = figure_point(rate, scores.all, scores.logarithms, log_scale);
  FigureLine line;
  if (!point || rate > rates.high || (rate > 0 && rate < rates.low)) return line;
  if (rate > 0) {
    line.points = {*point};
  } else {
    line.points = {{rates.low, point->y, {}}, {rates.high, point->y, {}}};
  }
  return line;
}

bool has_rungs(const ExperimentResults& experiment) {
  return std::ranges::any_of(experiment.panels, [](const PanelResults& panel) {
    return std::ranges::any_of(panel.methods, [](const MethodResults& method) {
      return std::ranges::any_of(method.search, [](const RateResult& rate) { return rate.rung > 0; });
    });
  });
}

Range rates_of(const PanelResults& panel) {
  Range rates;
  for (const MethodResults& method : panel.methods) {
    for (const RateResult& rate : method.search) rates.include(rate.rate);
  }
  return rates;
}

FigurePanel make_panel(const PanelResults& results, const ScoreInfo& metric, LineStyles& styles) {
  FigurePanel panel;
  panel.title = title_of(results);
  const Range rates = rates_of(results);
  if (rates.empty() || !(rates.length() > 0)) return panel;
  Range y;
  for (const MethodResults& method : results.methods) {
    FigureLine line =
        method.search.empty() ? given_line(method, rates, metric.log_scale) : search_line(method, metric.log_scale);
    if (line.points.empty()) continue;
    line.name = method.name;
    line.style = styles.of(method.name);
    y.include(line);
    panel.lines.push_back(std::move(line));
  }
  panel.low_x = rates.low;
  panel.high_x = rates.high;
  if (!panel.lines.empty()) set_y_range(panel, y, metric.log_scale);
  return panel;
}

}  // namespace

Figure rate_figure(const ExperimentResults& experiment) {
  Figure figure = figure_of(experiment);
  figure.name = "rates";
  figure.heading = "How much depends on the learning rate";
  figure.title += ": by learning rate";
  figure.x_label = "learning rate";
  figure.log_x = true;
  figure.marks = true;
  figure.caption += " A rate is left out where a run failed. Flat lines have no rate.";
  if (has_rungs(experiment)) {
    figure.caption +=
        " A point is of the last rung that its rate reached; those of different rungs cannot be compared.";
  }
  LineStyles styles;
  for (const PanelResults& panel : experiment.panels)
    figure.panels.push_back(make_panel(panel, experiment.metric, styles));
  return figure;
}

}  // namespace ignd
