#include "report/line_style.hpp"

#include "ignd/optimizer.hpp"
#include "ignd/step_rule.hpp"
#include "ignd/transform.hpp"
#include "made_up_results.hpp"

#include <cmath>
#include <cstdlib>
#include <set>
#include <tuple>

#include <gtest/gtest.h>

namespace ignd {
namespace {

MethodResults method_of(const std::string& name, const Optimizer& optimizer) {
  MethodResults method = testing::method_with(name, {});
  method.rule = optimizer.rule;
  method.transform = optimizer.transform;
  return method;
}

LineStyles styles_of(std::vector<MethodResults> methods) {
  ExperimentResults experiment;
  experiment.panels = {{"p", "P", "", std::move(methods)}};
  return LineStyles(experiment);
}

// The share of the light that a colour gives back, as the eye weighs it (WCAG's relative luminance).
double luminance(const std::string& colour) {
  const auto part = [&](std::size_t at) {
    const double value = static_cast<double>(std::strtol(colour.substr(at, 2).c_str(), nullptr, 16)) / 255;
    return value <= 0.04045 ? value / 12.92 : std::pow((value + 0.055) / 1.055, 2.4);
  };
  return 0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5);
}

TEST(LineStyle, OptimizersDifferWithoutColoursToo) {
  std::set<std::tuple<std::string_view, Mark>> in_grey;
  std::set<std::tuple<std::string, std::string_view, Mark>> in_colour;
  std::size_t pairs = 0;
  for (const std::string& rule : step_rule_names()) {
    for (const std::string& transform : transform_names()) {
      const LineStyle style = optimizer_style(rule, transform);
      in_colour.emplace(style.colour, style.dashes, style.mark);
      if (transform == "adadelta") continue;  // it has the triangle of momentum, in the colour of adaptive rates
      in_grey.emplace(style.dashes, style.mark);
      ++pairs;
    }
  }
  EXPECT_EQ(in_grey.size(), pairs);
  EXPECT_EQ(in_colour.size(), pairs + step_rule_names().size());
}

TEST(LineStyle, ColoursStandOutFromPaper) {
  for (const std::string& rule : step_rule_names()) {
    for (const std::string& transform : transform_names()) {
      const LineStyle style = optimizer_style(rule, transform);
      ASSERT_EQ(style.colour.size(), 7U);
      // Three to one is what WCAG asks of graphics.
      EXPECT_GT(1.05 / (luminance(style.colour) + 0.05), 3) << rule << " " << transform << " " << style.colour;
    }
  }
}

TEST(LineStyle, EveryOptimizerOfTheLibraryHasARowOfTheTable) {
  const LineStyle unknown = optimizer_style("none", "plain");
  for (const std::string& rule : step_rule_names()) EXPECT_NE(optimizer_style(rule, "plain"), unknown) << rule;
  std::set<std::pair<std::string, Mark>> marks;
  for (const std::string& name : transform_names()) {
    const LineStyle style = optimizer_style("gradient", name);
    marks.emplace(style.colour, style.mark);
  }
  EXPECT_EQ(marks.size(), transform_names().size());
}

TEST(LineStyle, OptionsDoNotMatter) {
  EXPECT_EQ(optimizer_style("gauss-newton:eps_lm=3", "adam:beta1=0.5"), optimizer_style("gauss-newton", "adam"));
}

TEST(LineStyle, VariationsDiffer) {
  const LineStyle style = optimizer_style("gauss-newton", "plain");
  EXPECT_EQ(variation(style, 0), style);
  std::set<std::tuple<std::string, std::string_view, Mark>> seen;
  std::set<std::tuple<std::string_view, Mark>> in_grey;
  for (std::size_t k = 0; k < 100; ++k) {
    const LineStyle varied = variation(style, k);
    seen.emplace(varied.colour, varied.dashes, varied.mark);
    if (k < 49) in_grey.emplace(varied.dashes, varied.mark);
  }
  EXPECT_EQ(seen.size(), 100U);
  EXPECT_EQ(in_grey.size(), 49U);
}

TEST(LineStyle, AMethodLooksTheSameInEveryStudy) {
  const Optimizer sgd = find_optimizer("sgd"), ignd = find_optimizer("ignd"), adam = find_optimizer("adam");
  const Optimizer nlms = find_optimizer("nlms");
  const LineStyles one = styles_of({method_of("SGD", sgd), method_of("IGND", ignd), method_of("Adam", adam)});
  const LineStyles two = styles_of({method_of("IGND, eps_LM 1", {"gauss-newton:eps_lm=1", "plain"}),
                                    method_of("NLMS", nlms), method_of("IGND", ignd), method_of("SGD .1", sgd)});
  const LineStyles control = styles_of({method_of("QL", sgd), method_of("IGNDQ", nlms), method_of("RLS-TD", nlms)});
  const LineStyles lake = styles_of({method_of("QL, rate 1", sgd), method_of("QL, rate 1e-8", sgd)});
  const LineStyles nameless = styles_of({method_of("Adam", {"", ""}), method_of("NLMS", {"", ""})});
  EXPECT_EQ(one.of("IGND"), two.of("IGND")) << "the plain one, wherever it is listed";
  EXPECT_EQ(one.of("SGD"), two.of("SGD .1"));
  EXPECT_NE(two.of("IGND, eps_LM 1"), two.of("IGND"));
  EXPECT_NE(two.of("IGND, eps_LM 1"), two.of("NLMS"));
  const LineStyles damped = styles_of({method_of("undamped", {"gauss-newton:eps_c=0,eps_lm=0", "plain"}),
                                       method_of("damped", {"gauss-newton", "plain"})});
  EXPECT_EQ(damped.of("damped"), one.of("IGND"));
  EXPECT_EQ(control.of("QL"), one.of("SGD"));
  EXPECT_EQ(control.of("IGNDQ"), one.of("IGND"));
  EXPECT_NE(control.of("RLS-TD"), control.of("IGNDQ")) << "though both name the same optimizer";
  EXPECT_EQ(lake.of("QL, rate 1"), one.of("SGD"));
  EXPECT_NE(lake.of("QL, rate 1"), lake.of("QL, rate 1e-8"));
  EXPECT_EQ(nameless.of("Adam"), one.of("Adam")) << "by its name";
  EXPECT_EQ(nameless.of("NLMS"), two.of("NLMS"));
}

TEST(LineStyle, MethodsOfAnExperimentDifferWhateverTheirNames) {
  std::vector<MethodResults> methods;
  for (const std::string& name : optimizer_names()) methods.push_back(method_of(name, find_optimizer(name)));
  for (int k = 0; k < 30; ++k) {
    methods.push_back(method_of("unknown " + std::to_string(k), {"", ""}));
    methods.push_back(method_of("IGND " + std::to_string(k), find_optimizer("ignd")));
    methods.push_back(method_of("SGD " + std::to_string(k), find_optimizer("sgd")));
  }
  const LineStyles styles = styles_of(methods);
  std::set<std::tuple<std::string, std::string_view, Mark>> seen;
  for (const MethodResults& method : methods) {
    const LineStyle& style = styles.of(method.name);
    EXPECT_TRUE(seen.emplace(style.colour, style.dashes, style.mark).second) << method.name;
  }
  EXPECT_EQ(styles.of("unknown 7"), styles_of(methods).of("unknown 7")) << "the same every time";
}

}  // namespace
}  // namespace ignd
