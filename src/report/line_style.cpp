#include "report/line_style.hpp"

#include "ignd/optimizer.hpp"
#include "report/format.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace ignd {
namespace {

// Okabe and Ito's hues, each in a darker and a lighter shade that still stands out from white paper.
struct RuleStyle {
  std::string_view rule;
  std::string_view colour, adaptive_colour;  // as it is, or with momentum; under a transform with adaptive rates
  std::string_view dashes;
};

constexpr std::array<RuleStyle, 5> rule_styles{{{"gauss-newton", "#0072B2", "#3A94D4", ""},
                                                {"gradient", "#D55E00", "#BF8400", "9,4"},
                                                {"relative", "#007A58", "#1FA67A", "16,4"},
                                                {"normalized", "#A23B72", "#CC6FA6", "2,3"},
                                                {"polyak", "#5E4B00", "#8C7A20", "9,3,2,3"}}};

constexpr RuleStyle baseline_style{"", "#333333", "#777777", "5,2,1,2,1,2"};

struct TransformStyle {
  std::string_view transform;
  Mark mark;
  bool adaptive;
};

constexpr std::array<TransformStyle, 8> transform_styles{{{"plain", Mark::nothing, false},
                                                          {"momentum", Mark::triangle, false},
                                                          {"nesterov", Mark::wedge, false},
                                                          {"adam", Mark::circle, true},
                                                          {"adamw", Mark::pentagon, true},
                                                          {"rmsprop", Mark::square, true},
                                                          {"adagrad", Mark::diamond, true},
                                                          {"adadelta", Mark::triangle, true}}};

// Names that say more than the optimizer behind them: what is another method, or the same one under another name.
struct NamedStyle {
  std::string_view name, rule, transform;
  std::size_t variation;
};

constexpr std::array<NamedStyle, 7> named_styles{{{"QL", "gradient", "plain", 0},
                                                  {"IGNDQ", "gauss-newton", "plain", 0},
                                                  {"NLMS", "gauss-newton", "plain", 3},
                                                  {"RLS-TD", "", "plain", 0},
                                                  {"least squares", "", "plain", 1},
                                                  {"mean of the targets", "", "plain", 2},
                                                  {"best constant", "", "plain", 2}}};

// "adam" of "adam:beta1=0.8".
std::string_view spec_name(std::string_view spec) { return spec.substr(0, spec.find(':')); }

const NamedStyle* find_named(std::string_view method) {
  const std::string_view name = method.substr(0, std::min(method.find(", "), method.size()));
  const auto* found = std::ranges::find(named_styles, name, &NamedStyle::name);
  return found == named_styles.end() ? nullptr : found;
}

// "Adam-IGND" and "relative IGND" are what the library calls adam-ignd and relative-ignd.
bool is_optimizer_name(const std::string& method) {
  static const std::vector<std::string> known = optimizer_names();
  return std::ranges::find(known, slug(method)) != known.end();
}

LineStyle own_style(const MethodResults& method) {
  if (const NamedStyle* named = find_named(method.name)) {
    return variation(optimizer_style(named->rule, named->transform), named->variation);
  }
  if (is_optimizer_name(method.name) && method.rule.empty()) {
    const Optimizer optimizer = find_optimizer(slug(method.name));
    return optimizer_style(optimizer.rule, optimizer.transform);
  }
  return optimizer_style(method.rule, method.transform);
}

// Who comes first to a style that several methods share: the one that it is named after, then those with the
// optimizer's own constants.
int precedence(const MethodResults& method) {
  const NamedStyle* named = find_named(method.name);
  if (named != nullptr ? named->name == method.name : is_optimizer_name(method.name)) return 0;
  const bool has_options =
      method.rule.find(':') != std::string::npos || method.transform.find(':') != std::string::npos;
  return has_options ? 2 : 1;
}

// Towards black (share < 0) or white.
std::string shaded(std::string_view colour, double share) {
  std::string out = "#";
  for (std::size_t at = 1; at < 7; at += 2) {
    const double part = static_cast<double>(std::strtol(std::string(colour.substr(at, 2)).c_str(), nullptr, 16));
    out += fmt::format("{:02X}", std::lround(share < 0 ? part * (1 + share) : part + (255 - part) * share));
  }
  return out;
}

template <class T, std::size_t n>
const T& next(const std::array<T, n>& all, const T& from, std::size_t steps) {
  const auto at = static_cast<std::size_t>(std::ranges::find(all, from) - all.begin());
  return all[(at + steps) % n];
}

}  // namespace

LineStyle optimizer_style(std::string_view rule, std::string_view transform) {
  const auto* of_rule = std::ranges::find(rule_styles, spec_name(rule), &RuleStyle::rule);
  const RuleStyle& first = of_rule == rule_styles.end() ? baseline_style : *of_rule;
  const auto* of_transform = std::ranges::find(transform_styles, spec_name(transform), &TransformStyle::transform);
  const TransformStyle& second = of_transform == transform_styles.end() ? transform_styles[0] : *of_transform;
  return {std::string(second.adaptive ? first.adaptive_colour : first.colour), first.dashes, second.mark};
}

LineStyle variation(const LineStyle& style, std::size_t k) {
  static constexpr std::array<std::string_view, 7> dashes{"", "9,4", "2,3", "16,4", "9,3,2,3", "5,2,1,2,1,2", "4,4"};
  static constexpr std::array marks{Mark::nothing, Mark::square,   Mark::circle,  Mark::diamond,
                                    Mark::wedge,   Mark::triangle, Mark::pentagon};
  static constexpr std::array shades{0.0, -0.45, 0.25};
  // The second count makes a hundred of seven dashes and seven marks.
  return {shaded(style.colour, shades[k % shades.size()]), next(dashes, style.dashes, k),
          next(marks, style.mark, k + k / dashes.size())};
}

LineStyles::LineStyles(const ExperimentResults& experiment) {
  std::vector<const MethodResults*> methods;
  for (const PanelResults& panel : experiment.panels) {
    for (const MethodResults& method : panel.methods) methods.push_back(&method);
  }
  std::ranges::stable_sort(methods, {}, [](const MethodResults* method) { return precedence(*method); });
  std::vector<LineStyle> taken;
  for (const MethodResults* method : methods) {
    if (styles_.contains(method->name)) continue;
    const LineStyle own = own_style(*method);
    std::size_t k = 0;
    while (k < taken.size() && std::ranges::find(taken, variation(own, k)) != taken.end()) ++k;
    taken.push_back(variation(own, k));
    styles_.emplace(method->name, taken.back());
  }
}

}  // namespace ignd
