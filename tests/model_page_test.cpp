#include "report/model_page.hpp"

#include "learn/metrics.hpp"
#include "markup.hpp"
#include "run_tool.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace ignd {
namespace {

using testing::contains;
using testing::Markup;
using testing::MarkupReader;

Markup read(const ModelReport& report) {
  const WrittenPage page = model_page(report);
  EXPECT_EQ(page.fault, "");
  Markup markup = MarkupReader(page.html).read();
  EXPECT_TRUE(markup.faults.empty()) << markup.faults[0];
  EXPECT_EQ(markup.scripts.size(), 1U) << "the page's own, and nothing from the user's texts";
  return markup;
}

std::size_t drawings(const Markup& markup) {
  return static_cast<std::size_t>(std::ranges::count(markup.elements, "svg", &testing::Element::name));
}

// Of numbers, with every part.
ModelReport of_numbers() {
  ModelReport report{.target = "price", .data = "houses.csv", .summary = "On the test rows: RMSE 3.", .part = "test"};
  report.columns = {{"area", "number, mean 115"}, {"town", "text, 3 values"}};
  report.curves = {{"network 1", {1, 2, 3}, {9, 4, 2}, {8, 5, 4}}, {"network 2", {1, 2}, {7, 3}, {6, 4}}};
  report.score_names = {"rmse", "mae"};
  report.scores = {{"test", "model", {3.0, 2.5}}, {"test", "least squares", {4.0, std::nullopt}}};
  for (int i = 0; i < 50; ++i) report.residuals.push_back({double(i), std::sin(i)});
  report.left_out_residuals = 1950;
  Explanation made{.rows = 2000, .all_rows = 2000, .measure = "RMSE", .score = 3};
  made.importance = {{"area", 40.25, 1.5}, {"town", 2.5, {}}};
  made.averaged = 500;
  PartialDependence area{.column = "area"}, town{.column = "town"};
  area.points = {{"10", 10.0, {1.5}}, {"20", 20.0, {2.5}}, {"missing", std::nullopt, {2.25}}};
  town.points = {{"Ulm", std::nullopt, {1.25}}, {"Kiel", std::nullopt, {1.75}}};
  town.note = "and 3 rarer texts";
  made.dependence = {area, town};
  report.explanation = made;
  report.error_name = "target - prediction";
  report.worst = {{"17", "200", "100", 100}, {"3", "50", "99", -49}};
  report.card = {{"command", "ignd train houses.csv --target price"}, {"seed", "1"}};
  return report;
}

ModelReport of_classes() {
  ModelReport report{.target = "left", .data = "churn.csv", .part = "validation", .classes = {"no", "yes"}};
  report.confusion = {48, 22, 30, 50};
  const std::vector<double> probability{0.05, 0.55, 0.58, 0.95}, hit{0, 1, 0, 1};
  report.reliability = reliability_of(probability, hit);
  report.calibration_error = 0.04125;
  report.reliable_of = "the probability of yes";
  return report;
}

TEST(ModelPage, SaysWhatTheRunSays) {
  const Markup page = read(of_numbers());
  for (const char* text :
       {"A model of price of houses.csv", "On the test rows: RMSE 3.", "number, mean 115", "least squares", "n/a",
        "40.2 ± 1.5", "and 3 rarer texts.", "Where it is missing: 2.25.", "target - prediction", "-49",
        "ignd train houses.csv --target price", "50 of 2,000 rows, drawn by the seed", "from 3, if the column"}) {
    EXPECT_TRUE(contains(page.text, text)) << text;
  }
  // Two panels of curves, the residuals and the partial dependence of the number, and a sample of each line.
  const std::string html = model_page(of_numbers()).html;
  std::size_t panels = 0;
  for (std::size_t at = 0; (at = html.find("class=\"panel\"", at)) != std::string::npos; ++at) ++panels;
  EXPECT_EQ(panels, 4U);
  EXPECT_GT(drawings(page), panels);
  EXPECT_EQ(html, model_page(of_numbers()).html);
}

TEST(ModelPage, ShowsConfusionAndCalibration) {
  const Markup page = read(of_classes());
  for (const char* text : {"Confusion and calibration", "Measured on the validation rows", "true \\ predicted", "48",
                           "the probability of yes", "Expected calibration error: 0.04125."}) {
    EXPECT_TRUE(contains(page.text, text)) << text;
  }
  EXPECT_FALSE(contains(page.text, "Residuals"));
  // Of many classes the table would be too wide.
  ModelReport many{.target = "digit", .data = "d.csv", .part = "test"};
  for (int k = 0; k < 30; ++k) many.classes.push_back(fmt::format("class {}", k));
  many.confusion.assign(900, 0);
  many.confusion[30 * 4 + 7] = 12;
  const Markup listed = read(many);
  EXPECT_TRUE(contains(listed.text, "The most frequent confusions"));
  EXPECT_TRUE(contains(listed.text, "class 4") && contains(listed.text, "class 7"));
  EXPECT_FALSE(contains(listed.text, "class 9"));
}

TEST(ModelPage, OfNothingIsStillAPage) {
  const Markup page = read({.target = "", .data = "photos"});
  EXPECT_TRUE(contains(page.text, "A model of photos"));
  EXPECT_EQ(drawings(page), 0U);
  ModelReport flat{.target = "y", .data = "d.csv", .part = "test"};
  flat.curves = {{"the model", {1}, {0}, {}}};
  flat.residuals = {{5, 0}, {5, 0}, {5, 1e200}};  // what gnuplot cannot draw is left out
  EXPECT_GT(drawings(read(flat)), 0U);
}

// All digits would push the label of the axis off the panel.
TEST(ModelPage, WritesLongNumbersOfTheAxesInShort) {
  ModelReport report{.target = "y", .data = "d.csv", .part = "test"};
  report.residuals = {{1, 150'000}, {2, -120'000}};
  const Markup page = read(report);
  EXPECT_TRUE(contains(page.text, "100k") && contains(page.text, "-100k")) << page.text;
  EXPECT_FALSE(contains(page.text, "100000"));
}

TEST(ModelPage, HostileTextsStayTexts) {
  ModelReport report = of_numbers();
  const std::string hostile = "</td><script>alert(1)</script>'\"&\x01";
  report.target = report.summary = report.worst[0].target = hostile;
  report.columns[0] = {hostile, hostile};
  report.explanation->dependence[0].column = report.explanation->dependence[1].points[0].text = hostile;
  report.curves[0].name = hostile;
  report.card[0] = {hostile, hostile};
  read(report);
}

TEST(ModelPage, WithoutGnuplotHasAllElse) {
  const WrittenPage page = model_page(of_numbers(), "no-such-program");
  EXPECT_TRUE(contains(page.fault, "cannot start 'no-such-program'"));
  const Markup markup = MarkupReader(page.html).read();
  EXPECT_TRUE(contains(markup.text, "40.2 ± 1.5"));
  EXPECT_TRUE(contains(markup.text, "The figure could not be drawn"));
}

// Against sums by hand, and against the measure of two classes.
TEST(Reliability, IsWhatTheBinsSay) {
  const std::vector<double> probability{0.05, 0.09, 0.55, 0.58, 1.0}, hit{0, 1, 1, 0, 1}, weight{1, 3, 2, 1, 1};
  const auto bins = reliability_of(probability, hit, weight);
  ASSERT_EQ(bins.size(), 10U);
  EXPECT_NEAR(bins[0].probability, (0.05 + 3 * 0.09) / 4, 1e-15);
  EXPECT_NEAR(bins[0].share, 0.75, 1e-15);
  EXPECT_NEAR(bins[5].share, 2.0 / 3, 1e-15);
  EXPECT_EQ(bins[9].weight, 1);
  EXPECT_EQ(bins[3].weight, 0);
  std::vector<double> logits;
  for (const double p : probability) logits.push_back(p == 1.0 ? 800 : std::log(p / (1 - p)));
  EXPECT_NEAR(calibration_error(bins), classification_metrics(hit, logits, weight).calibration_error, 1e-12);
  EXPECT_EQ(calibration_error({}), 0);
}

}  // namespace
}  // namespace ignd
