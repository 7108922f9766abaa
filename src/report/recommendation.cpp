#include "report/recommendation.hpp"

#include "base/text.hpp"
#include "report/format.hpp"

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

// The mean that the rate was chosen by.
std::optional<double> chosen_mean(const MethodResults& method) {
  const auto chosen =
      std::ranges::find_if(method.search, [&](const RateResult& rate) { return is_chosen(method, rate); });
  return chosen == method.search.end() ? std::nullopt : chosen->mean;
}

// Ranked by the score that chose the rates: the best of several reported scores would look better than it is.
std::vector<const MethodResults*> best_first(const PanelResults& panel, const ScoreInfo& metric) {
  std::vector<std::pair<double, const MethodResults*>> found;
  for (const MethodResults& method : panel.methods) {
    const auto mean = chosen_mean(method);
    if (!mean || !summarize(method).all.mean) continue;
    found.emplace_back(metric.higher_is_better ? -*mean : *mean, &method);
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

bool is_ahead(const PairedDifference& difference, const ScoreInfo& metric) {
  const double mean = difference.differences.mean.value_or(0);
  return metric.higher_is_better ? mean > 0 : mean < 0;
}

// The clause for a baseline without a search that is not clearly worse.
std::string baseline_clause(const MethodResults& best, const MethodResults& baseline, const ScoreInfo& metric) {
  const PairedDifference difference = compare(best, baseline, metric);
  if (!difference.differences.mean) return "";
  const bool ahead = is_ahead(difference, metric);
  const bool apart = told_apart(difference);
  if (ahead && (apart || difference.pairs < 2)) return "";
  if (apart || difference.pairs < 2) {
    return fmt::format("; even {} is better, by {}", baseline.name, size_text(difference));
  }
  const std::string verdict = ahead ? fmt::format("it cannot be told apart from {} either", baseline.name)
                                    : fmt::format("even {} is as good", baseline.name);
  return fmt::format("; {}: the difference is {}", verdict, size_text(difference));
}

// What the test rows say of the method that is best on the validation rows.
std::string against_others(const std::vector<const MethodResults*>& methods, const ScoreInfo& metric) {
  const MethodResults& best = *methods.front();
  std::vector<std::string> better, not_apart;
  for (const MethodResults* other : std::span(methods).subspan(1)) {
    const PairedDifference difference = compare(best, *other, metric);
    const std::string text = fmt::format("{} ({})", other->name, size_text(difference));
    if (!told_apart(difference)) {
      not_apart.push_back(text);
    } else if (!is_ahead(difference, metric)) {
      better.push_back(text);
    }
  }
  const PairedDifference to_next = compare(best, *methods[1], metric);
  if (better.empty() && not_apart.empty()) {
    return fmt::format(
        "is the best on the validation rows, and on the test rows its {} is {} than that of {}, the next best, by {} "
        "(mean and standard error over {} seeds)",
        metric.label, metric.higher_is_better ? "higher" : "lower", methods[1]->name, size_text(to_next),
        to_next.pairs);
  }
  std::vector<std::string> verdicts;
  if (!better.empty())
    verdicts.push_back(fmt::format("{} {} better", listed(better), better.size() == 1 ? "is" : "are"));
  if (!not_apart.empty()) verdicts.push_back(fmt::format("it cannot be told apart from {}", listed(not_apart)));
  return fmt::format(
      "is the best on the validation rows, but on the test rows {}; in brackets, the difference of the {} and its "
      "standard error over {} seeds",
      join(verdicts, ", and "), metric.label, to_next.pairs);
}

}  // namespace

bool told_apart(const PairedDifference& difference) {
  const auto& [n, mean, deviation] = difference.differences;
  if (!difference.complete() || n < 2 || !mean || !difference.standard_error) return false;
  return std::abs(*mean) > t_quantile(n - 1) * *difference.standard_error;
}

Recommendation recommend(const PanelResults& panel, const ScoreInfo& metric) {
  const auto methods = best_first(panel, metric);
  if (methods.empty()) return {nullptr, "no optimizer finished at any rate; smaller rates may"};
  const MethodResults& best = *methods.front();
  const ScoreSummary scores = summarize(best);
  std::string sentence = fmt::format("{} at rate {}", best.name, rate_text(best.rate.value_or(0)));
  if (methods.size() == 1) {
    sentence =
        fmt::format("the {} of {} is {} over {} seed{}", metric.label, sentence,
                    with_spread(scores.all.mean, scores.all.deviation), scores.done, scores.done == 1 ? "" : "s");
  } else if (scores.done < 2) {
    sentence += " is the best on the validation rows; one seed does not say how sure that is";
  } else {
    sentence += " " + against_others(methods, metric);
  }
  for (const MethodResults& method : panel.methods) {
    if (method.search.empty()) sentence += baseline_clause(best, method, metric);
  }
  return {&best, sentence};
}

}  // namespace ignd
