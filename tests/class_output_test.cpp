#include "cli/prediction_writer.hpp"
#include "cli/result_tables.hpp"
#include "ignd/random.hpp"
#include "learn/trained_model.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

// What is printed of predictions of several classes, and of how good they are.
namespace ignd::cli {
namespace {

using Words = std::vector<std::string>;

MulticlassMetrics metrics_of(const std::vector<double>& confusion) {
  MulticlassMetrics metrics;
  metrics.classes = static_cast<std::size_t>(std::lround(std::sqrt(static_cast<double>(confusion.size()))));
  metrics.confusion = confusion;
  return metrics;
}

Words numbered(std::size_t count, const std::string& name) {
  Words names;
  for (std::size_t k = 0; k < count; ++k) names.push_back(fmt::format("{}{:02}", name, k));
  return names;
}

Words lines_of(const std::string& text) {
  Words lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST(ConfusionTable, NamesRowsAndColumns) {
  EXPECT_EQ(confusion_text(metrics_of({50, 0, 0, 0, 47, 3, 0, 1, 48.5}), Words{"setosa", "versicolor", "virginica"}),
            "true \\ predicted     setosa versicolor  virginica\n"
            "  setosa                 50          .          .\n"
            "  versicolor              .         47          3\n"
            "  virginica               .          1       48.5\n");
}

TEST(ConfusionTable, NumbersTheColumnsWhereNamesWouldBeTooWide) {
  std::vector<double> confusion(400);
  for (std::size_t k = 0; k < 20; ++k) confusion[21 * k] = 1000 + static_cast<double>(k);
  confusion[1] = 7;
  const std::string text = confusion_text(metrics_of(confusion), numbered(20, "a class with a long name "));
  const Words lines = lines_of(text);
  ASSERT_EQ(lines.size(), 21U);
  EXPECT_EQ(lines[0].substr(0, 52), "true \\ predicted                    1    2    3    4");
  EXPECT_EQ(lines[1].substr(0, 52), "   1 a class with a long name 00 1000    7    .    .");
  EXPECT_EQ(lines[20].substr(0, 32), "  20 a class with a long name 19");
  for (const std::string& line : lines) {
    EXPECT_EQ(line.size(), lines[0].size()) << line;
    EXPECT_LE(line.size(), 140U);
  }
}

TEST(ConfusionTable, ListsTheMostFrequentOfManyClasses) {
  const Words names = numbered(21, "c");
  std::vector<double> confusion(441);
  EXPECT_EQ(confusion_text(metrics_of(confusion), names), "no class is taken for another\n");
  for (std::size_t k = 0; k < 21; ++k) confusion[22 * k] = 1e6;
  EXPECT_EQ(confusion_text(metrics_of(confusion), names), "no class is taken for another\n");
  confusion[3 * 21 + 20] = 123;
  confusion[5] = 9;
  confusion[6] = 9;
  EXPECT_EQ(confusion_text(metrics_of(confusion), names),
            "the most frequent confusions\n"
            "  true  predicted  rows\n"
            "  c03   c20         123\n"
            "  c00   c05           9\n"
            "  c00   c06           9\n");
  for (double& count : confusion) count += 1;
  EXPECT_EQ(lines_of(confusion_text(metrics_of(confusion), names)).size(), 12U);
}

TEST(ConfusionTable, IsNotTornByWhateverNames) {
  const Words names{"a\nb\tc", "Gr\xc3\xbcn", std::string(200, 'x'), "", "\xff\xfe"};
  const Words lines = lines_of(confusion_text(metrics_of(std::vector<double>(25, 1)), names));
  ASSERT_EQ(lines.size(), 6U);
  EXPECT_NE(lines[1].find("a?b?c"), std::string::npos);
  EXPECT_NE(lines[2].find("Gr\xc3\xbcn"), std::string::npos);
  EXPECT_EQ(lines[2].size(), lines[1].size() + 1) << "two bytes, but one character";
  EXPECT_EQ(lines[3].find(std::string(33, 'x')), std::string::npos);
}

TEST(ConfusionTable, IsAnArrayOfRowsInJson) {
  JsonLine line("result");
  set_confusion(line, metrics_of({1, 2, 3, 4, 5, 6, 7, 8, 9.5}), Words{"a.b", "c\"d", "\xff"});
  const auto read = nlohmann::json::parse(line.text());
  EXPECT_EQ(read["classes"][0], "a.b");
  EXPECT_EQ(read["classes"][1], "c\"d");
  EXPECT_EQ(read["confusion"], nlohmann::json::parse("[[1,2,3],[4,5,6],[7,8,9.5]]"));
}

Target target_of(const Words& classes) { return {.name = "y", .classes = classes, .text = true}; }

PredictionFormat format_for(const Target& target, const Words& kept = {}) { return {"row", kept, target.classes}; }

// The line for a model's outputs.
std::string line_of(const Target& target, const std::vector<double>& outputs) {
  PredictedSample sample;
  sample.prediction.name = "7";
  interpret(target, outputs, sample.prediction);
  std::string line;
  format_for(target).append(line, sample);
  return line;
}

TEST(PredictionFormat, OfNumbersAreTheNumber) {
  Target target{.name = "y", .classes = {}};
  target.mean = 5;
  target.deviation = 2;
  EXPECT_EQ(format_for(target).header(), "row,prediction\n");
  EXPECT_EQ(line_of(target, {0.1}), "7,5.2\n");
}

TEST(PredictionFormat, OfTwoClassesAreThePredictionAndAProbability) {
  const Target target = target_of({"no, never", "yes"});
  EXPECT_EQ(format_for(target).header(), "row,prediction,probability\n");
  EXPECT_EQ(line_of(target, {0.0}), "7,yes,0.5\n");
  EXPECT_EQ(line_of(target, {-2.0}), "7,\"no, never\",0.11920292202211755\n");
}

TEST(PredictionFormat, AreEmptyForABadRow) {
  for (const Words& classes : {Words{}, Words{"a", "b"}, Words{"a", "b", "c"}}) {
    const PredictionFormat format = format_for(target_of(classes), {"id", "a,b"});
    const PredictedSample bad{.prediction = {.name = "7"}, .kept = {"=1", "x y"}, .usable = false};
    std::string line;
    format.append(line, bad);
    EXPECT_TRUE(line.starts_with("7,'=1,x y,")) << line;
    EXPECT_TRUE(format.header().starts_with("row,id,\"a,b\",prediction")) << format.header();
    EXPECT_EQ(std::ranges::count(line, ',') + 1, std::ranges::count(format.header(), ',')) << "one is in quotes";
  }
}

TEST(PredictionFormat, OfMoreClassesHaveOneForEach) {
  const Target target = target_of({"a", "b, \"c\"", "d"});
  EXPECT_EQ(format_for(target).header(), "row,prediction,probability_a,\"probability_b, \"\"c\"\"\",probability_d\n");
  EXPECT_EQ(line_of(target, {0, 0, 0}), "7,a,0.3333333333333333,0.3333333333333333,0.3333333333333333\n");
  EXPECT_EQ(line_of(target, {-1000, 1000, 999}), "7,\"b, \"\"c\"\"\",0,0.7310585786300049,0.2689414213699951\n");
}

TEST(PredictionFormat, PredictTheMostProbableClass) {
  RandomStream stream(1, "class columns");
  for (int trial = 0; trial < 100; ++trial) {
    const std::size_t classes = 3 + stream.below(30);
    const Target target = target_of(numbered(classes, "c"));
    std::vector<double> logits(classes);
    for (double& logit : logits) logit = 5 * stream.normal();
    const std::string line = line_of(target, logits);
    Words fields;
    std::istringstream parts(line.substr(2));
    for (std::string field; std::getline(parts, field, ',');) fields.push_back(field);
    ASSERT_EQ(fields.size(), classes + 1);
    EXPECT_EQ(std::ranges::count(format_for(target).header(), ','), static_cast<std::ptrdiff_t>(classes) + 1);
    const auto best = std::ranges::max_element(logits) - logits.begin();
    EXPECT_EQ(fields[0], fmt::format("c{:02}", best));
    double sum = 0;
    for (std::size_t k = 0; k < classes; ++k) {
      const double probability = std::stod(fields[k + 1]);
      EXPECT_LE(probability, std::stod(fields[static_cast<std::size_t>(best) + 1]));
      sum += probability;
    }
    EXPECT_NEAR(sum, 1, 1e-7);
  }
}

}  // namespace
}  // namespace ignd::cli
