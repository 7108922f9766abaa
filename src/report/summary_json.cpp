#include "report/summary_json.hpp"

#include "report/statistics.hpp"

#include <cmath>

#include <nlohmann/json.hpp>

namespace ignd {
namespace {

using Json = nlohmann::ordered_json;

Json number(std::optional<double> value) { return value && std::isfinite(*value) ? Json(*value) : Json(nullptr); }

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
          {"paper_std", preview ? Json(nullptr) : number(method.paper_std)}};
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
  return {{"name", panel.name}, {"rows", std::move(rows)}, {"comparisons", std::move(comparisons)}};
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
                    {"better", experiment.metric.higher_is_better ? "higher" : "lower"},
                    {"planned", experiment.planned},
                    {"done", experiment.done},
                    {"wall_seconds", number(experiment.wall_seconds)},
                    {"run_seconds", number(experiment.run_seconds)},
                    {"panels", std::move(panels)}});
  }
  // Bytes that are not UTF-8 are replaced: a reader of JSON would stop at them.
  return Json{{"experiments", std::move(list)}}.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace ignd
