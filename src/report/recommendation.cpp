#include "report/recommendation.hpp"

#include "core/text.hpp"
#include "report/number_text.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

namespace ignd {
namespace {

// The 97.5 % quantile of Student's distribution: a table, and where it ends the expansion about the normal one.
double t_quantile(std::uint64_t degrees) {
  static constexpr std::array table{12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262};
  if (degrees <= table.size()) return table[degrees - 1];
  const double n = static_cast<double>(degrees);
  return 1.95996 + 2.37227 / n + 2.82250 / (n * n);
}

std::vector<const MethodResults*> best_first(const PanelResults& panel, const MetricInfo& metric) {
  std::vector<std::pair<double, const MethodResults*>> found;
  for (const MethodResults& method : panel.methods) {
    const auto mean = summarize(method).all.mean;
    if (!method.search.empty() && mean) found.emplace_back(metric.higher_is_better ? -*mean : *mean, &method);
  }
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<const MethodResults*> methods;
  methods.reserve(found.size());
  for (const auto& [mean, method] : found) methods.push_back(method);
  return methods;
}

std::string listed(const std::vector<std::string>& names) {
  if (names.size() < 2) return join(names, "");
  return join(std::span(names).first(names.size() - 1), ", ") + " and " + names.back();
}

std::string size_text(const PairedDifference& difference) {
  const auto& mean = difference.differences.mean;
  return with_spread(mean ? std::optional(std::abs(*mean)) : std::nullopt, difference.standard_error);
}

// What is to be said where a method that takes no search is not clearly worse.
std::string baseline_clause(const MethodResults& best, const MethodResults& baseline, const MetricInfo& metric) {
  const PairedDifference difference = compare(best, baseline, metric);
  const auto& mean = difference.differences.mean;
  if (!mean) return "";
  const bool ahead = metric.higher_is_better ? *mean > 0 : *mean < 0;
  const bool apart = told_apart(difference);
  if (ahead && (apart || difference.pairs < 2)) return "";
  if (apart || difference.pairs < 2) {
    return fmt::format("; even {} is better, by {}", baseline.name, size_text(difference));
  }
  const std::string verdict = ahead ? fmt::format("it cannot be told apart from {} either", baseline.name)
                                    : fmt::format("even {} is as good", baseline.name);
  return fmt::format("; {}: the difference is {}", verdict, size_text(difference));
}

std::string against_others(const std::vector<const MethodResults*>& methods, const MetricInfo& metric) {
  const MethodResults& best = *methods.front();
  const char* direction = metric.higher_is_better ? "higher" : "lower";
  std::vector<std::string> not_apart;
  for (std::size_t k = 1; k < methods.size(); ++k) {
    if (!told_apart(compare(best, *methods[k], metric))) not_apart.push_back(methods[k]->name);
  }
  const MethodResults& next = *methods[1];
  const PairedDifference to_next = compare(best, next, metric);
  const std::string measure = fmt::format("mean and standard error over {} seeds", to_next.pairs);
  if (not_apart.empty()) {
    return fmt::format("is the best: its {} is {} than that of {}, the next best, by {} ({})", metric.label, direction,
                       next.name, size_text(to_next), measure);
  }
  return fmt::format("has the {}est {}, but cannot be told apart from {}: the difference to {} is {} ({})",
                     metric.higher_is_better ? "high" : "low", metric.label, listed(not_apart), next.name,
                     size_text(to_next), measure);
}

}  // namespace

bool told_apart(const PairedDifference& difference) {
  const auto& [n, mean, deviation] = difference.differences;
  if (!difference.complete() || n < 2 || !mean || !difference.standard_error) return false;
  return std::abs(*mean) > t_quantile(n - 1) * *difference.standard_error;
}

Recommendation recommend(const PanelResults& panel, const MetricInfo& metric) {
  const auto methods = best_first(panel, metric);
  if (methods.empty()) return {nullptr, "no optimizer finished at any rate; smaller rates may"};
  const MethodResults& best = *methods.front();
  const ScoreSummary scores = summarize(best);
  std::string sentence = fmt::format("{} at rate {} ", best.name, rate_text(best.rate.value_or(0)));
  if (methods.size() == 1) {
    sentence += fmt::format("has a {} of {} over {} seeds", metric.label,
                            with_spread(scores.all.mean, scores.all.deviation), scores.done);
  } else if (scores.done < 2) {
    sentence += fmt::format("has the {}est {}; one seed does not say how sure that is",
                            metric.higher_is_better ? "high" : "low", metric.label);
  } else {
    sentence += against_others(methods, metric);
  }
  for (const MethodResults& method : panel.methods) {
    if (method.search.empty()) sentence += baseline_clause(best, method, metric);
  }
  return {&best, sentence};
}

}  // namespace ignd
