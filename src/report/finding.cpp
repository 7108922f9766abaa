#include "report/finding.hpp"

#include "base/text.hpp"
#include "report/format.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace ignd {
namespace {

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

namespace {

const char* best_word(const ScoreInfo& metric) { return metric.higher_is_better ? "highest" : "lowest"; }

// "by 0.008 ± 0.002" or "by a factor of 1.6e5".
std::string distance_text(const PairedDifference& difference) {
  if (!difference.logarithms) return size_text(difference);
  const double factor = std::pow(10.0, std::abs(difference.differences.mean.value_or(0)));
  return "a factor of " + without_zeros_in_exponent(fmt::format("{:.2g}", factor));
}

std::string score_text(const MethodResults& method, const ScoreInfo& metric) {
  const ScoreSummary scores = summarize(method);
  if (!metric.log_scale || !scores.logarithms.mean) return with_spread(scores.all.mean, scores.all.deviation);
  return "geometric mean " + without_zeros_in_exponent(fmt::format("{:.2g}", std::pow(10.0, *scores.logarithms.mean)));
}

// The others that have runs, in two groups: those that the best one beats, and those that no test tells apart from it.
struct Rivals {
  std::vector<const MethodResults*> beaten, level;
};

Rivals rivals_of(const MethodResults& best, const PanelResults& panel, const ScoreInfo& metric) {
  Rivals rivals;
  for (const MethodResults& other : panel.methods) {
    if (&other == &best || other.runs.empty()) continue;
    (beats(best, other, metric) ? rivals.beaten : rivals.level).push_back(&other);
  }
  return rivals;
}

std::string level_text(const MethodResults& best, const MethodResults& other, const ScoreInfo& metric) {
  const PairedDifference difference = compare(best, other, metric);
  if (difference.ties == difference.pairs) return other.name + " (equal on every seed)";
  if (!difference.differences.mean) return other.name;
  return fmt::format("{} ({})", other.name, distance_text(difference));
}

// "the other", "the other 3".
std::string others(std::size_t count) { return count == 1 ? "the other" : fmt::format("the other {}", count); }

// How the best of several seeds stands against the others.
std::string verdict(const std::vector<const MethodResults*>& order, const PanelResults& panel,
                    const ScoreInfo& metric) {
  const MethodResults& best = *order.front();
  const Rivals rivals = rivals_of(best, panel, metric);
  if (!rivals.level.empty()) {
    std::vector<std::string> names;
    for (const MethodResults* other : rivals.level) names.push_back(level_text(best, *other, metric));
    const std::string rest =
        rivals.beaten.empty() ? "" : fmt::format("; it is better than {}", others(rivals.beaten.size()));
    return fmt::format(", but a paired test cannot tell it apart from {}{}.", listed(names), rest);
  }
  if (order.size() < 2) return fmt::format("; {} failed in some runs.", others(rivals.beaten.size()));
  const PairedDifference to_next = compare(best, *order[1], metric);
  const std::string seeds = to_next.logarithms ? "" : fmt::format(" (standard error over {} seeds)", to_next.pairs);
  const bool alone = rivals.beaten.size() == 1;
  return fmt::format(", better than {}{} by {}{}. A paired test tells {}.", order[1]->name, alone ? "" : ", the next,",
                     distance_text(to_next), seeds, alone ? "them apart" : "it apart from all others");
}

// The rates at which a search stays close to its best score, without a gap.
struct GoodRates {
  std::string name;
  double low = 0, high = 0;
  double width() const { return high / low; }
};

bool is_close(double value, double best, const ScoreInfo& metric) {
  if (metric.log_scale) return value > 0 && best > 0 && std::abs(std::log10(value / best)) <= std::log10(2.0);
  return std::abs(value - best) <= 0.05 * std::abs(best);
}

std::optional<GoodRates> good_rates(const MethodResults& method, const ScoreInfo& metric) {
  std::vector<std::pair<double, std::optional<double>>> tried;  // a rate with a failed run has no mean
  for (const RateResult& rate : method.search) {
    if (rate.setting == method.setting) tried.emplace_back(rate.rate, rate.mean);
  }
  std::size_t best = tried.size();
  for (std::size_t k = 0; k < tried.size(); ++k) {
    if (!tried[k].second) continue;
    if (best == tried.size() ||
        (metric.higher_is_better ? *tried[k].second > *tried[best].second : *tried[k].second < *tried[best].second)) {
      best = k;
    }
  }
  if (best == tried.size()) return {};
  const auto close = [&](std::size_t k) {
    return tried[k].second && is_close(*tried[k].second, *tried[best].second, metric);
  };
  std::size_t first = best, last = best;
  while (first > 0 && close(first - 1)) --first;
  while (last + 1 < tried.size() && close(last + 1)) ++last;
  return GoodRates{method.name, tried[first].first, tried[last].first};
}

std::string interval(const GoodRates& rates) {
  if (rates.low == rates.high) return fmt::format("only at {}", rate_text(rates.low));
  return fmt::format("from {} to {}", rate_text(rates.low), rate_text(rates.high));
}

}  // namespace

std::string score_finding(const PanelResults& panel, const ScoreInfo& metric) {
  const auto order = ranked(panel, metric);
  const auto with_runs =
      std::ranges::count_if(panel.methods, [](const MethodResults& method) { return !method.runs.empty(); });
  if (order.empty() || with_runs < 2 || !metric.is_contest) return "";
  const MethodResults& best = *order.front();
  const std::string start =
      fmt::format("{} has the {} {}, {}", best.name, best_word(metric), metric.label, score_text(best, metric));
  if (summarize(best).done < 2) return start + "; one seed does not say how sure that is.";
  return start + verdict(order, panel, metric);
}

std::string curve_finding(const FigurePanel& panel, const std::string& label, const ScoreInfo& metric) {
  if (panel.lines.size() < 2) return "";
  const auto last = [&](const FigureLine& line) {
    return metric.higher_is_better ? -line.points.back().y : line.points.back().y;
  };
  std::vector<const FigureLine*> order;
  for (const FigureLine& line : panel.lines) order.push_back(&line);
  std::ranges::stable_sort(order, {}, [&](const FigureLine* line) { return last(*line); });
  return fmt::format("{} ends with the {} {}, {}; {}, the next, with {}.", order[0]->name, best_word(metric), label,
                     number_text(order[0]->points.back().y), order[1]->name, number_text(order[1]->points.back().y));
}

std::string change_finding(const FigurePanel& panel, const ScoreInfo& metric) {
  if (panel.lines.size() < 2) return "";
  const auto change = [&](const FigureLine& line) {
    const auto [low, high] = std::ranges::minmax(line.points, {}, &FigurePoint::y);
    return metric.log_scale ? high.y / low.y : high.y - low.y;
  };
  const auto text = [&](const FigureLine& line) {
    return (metric.log_scale ? "by a factor of " : "by ") +
           without_zeros_in_exponent(fmt::format("{:.2g}", change(line)));
  };
  const auto [least, most] = std::ranges::minmax_element(panel.lines, {}, change);
  if (!(change(*least) < change(*most))) return "";
  return fmt::format("{} changes most along the panel, {}; {} least, {}.", most->name, text(*most), least->name,
                     text(*least));
}

std::string seconds_finding(const FigurePanel& panel) {
  if (panel.lines.size() < 2) return "";
  const auto [fast, slow] =
      std::ranges::minmax_element(panel.lines, {}, [](const FigureLine& line) { return line.points.back().x; });
  const auto seconds = [](const FigureLine& line) { return fmt::format("{:.3g} s", line.points.back().x); };
  if (fast == slow) return "";
  return fmt::format("A run of {} takes {}, one of {} {}.", fast->name, seconds(*fast), slow->name, seconds(*slow));
}

std::string rates_finding(const PanelResults& panel, const ScoreInfo& metric) {
  std::vector<GoodRates> all;
  for (const MethodResults& method : panel.methods) {
    if (const auto rates = good_rates(method, metric)) all.push_back(*rates);
  }
  if (all.empty()) return "";
  const auto [narrow, wide] = std::ranges::minmax_element(all, {}, &GoodRates::width);
  const std::string near = metric.log_scale ? "within a factor of 2" : "within 5 %";
  const std::string first =
      fmt::format("{} stays {} of its best {} {}", wide->name, near, metric.label, interval(*wide));
  if (wide->width() == 1) return fmt::format("No method stays {} of its best {} beyond one rate.", near, metric.label);
  if (narrow->width() == wide->width()) return first + ".";
  return fmt::format("{}, {} {}.", first, narrow->name, interval(*narrow));
}

}  // namespace ignd
