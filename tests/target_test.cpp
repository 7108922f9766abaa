#include "train/target.hpp"

#include "ignd/checkpoint.hpp"
#include "ignd/error.hpp"
#include "ignd/random.hpp"

#include <cmath>
#include <numeric>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace ignd {
namespace {

Table table_of(const std::string& csv) {
  return Table::parse_csv(csv, {.dialect = {.delimiter = ',', .header = true}});
}

// A table with the column y, and x besides.
Table column_of(const std::vector<std::string>& values) {
  std::string csv = "x,y\n";
  for (const std::string& value : values) csv += "1," + value + "\n";
  return table_of(csv);
}

Target fit(const std::vector<std::string>& values, const std::string& loss = "", std::size_t training_rows = 0) {
  const Table table = column_of(values);
  std::vector<std::uint32_t> rows(training_rows == 0 ? table.size() : training_rows);
  std::iota(rows.begin(), rows.end(), 0U);
  return fit_target(table, 1, rows, loss);
}

template <class Fault>
void expect_fault(const std::vector<std::string>& values, const std::string& loss, const std::string& part,
                  std::size_t training_rows = 0) {
  try {
    fit(values, loss, training_rows);
    FAIL() << "nothing was thrown; expected " << part;
  } catch (const Fault& fault) {
    EXPECT_NE(std::string(fault.what()).find(part), std::string::npos) << fault.what();
  }
}

TEST(Target, IsANumberIfThereAreMoreThanTwoValues) {
  const Target target = fit({"1", "2", "6"});
  EXPECT_FALSE(target.is_class());
  EXPECT_DOUBLE_EQ(target.mean, 3);
  EXPECT_DOUBLE_EQ(target.deviation, std::sqrt(14.0 / 3));
  EXPECT_DOUBLE_EQ(target.learned(6), 3 / std::sqrt(14.0 / 3));
}

TEST(Target, IsScaledByTheTrainingRowsOnly) {
  const Target target = fit({"1", "3", "1000000", "-7"}, "", 2);
  EXPECT_DOUBLE_EQ(target.mean, 2);
  EXPECT_DOUBLE_EQ(target.deviation, 1);
}

TEST(Target, ComesBackFromWhatIsLearned) {
  Stream stream(1, "target");
  for (const double scale : {1e-100, 1e-3, 1.0, 1e9, 1e150}) {
    std::vector<std::string> values(20);
    for (auto& value : values) value = fmt::format("{}", scale * (5 + stream.normal()));
    const Target target = fit(values);
    double sum = 0;
    double squares = 0;
    for (const auto& text : values) {
      const double value = std::stod(text);
      const double learned = target.learned(value);
      EXPECT_NEAR(target.in_units(target.output_for(learned)) / value, 1, 1e-12);
      sum += learned;
      squares += learned * learned;
    }
    EXPECT_NEAR(sum, 0, 1e-9);
    EXPECT_NEAR(squares, 20, 1e-9);
  }
}

TEST(Target, IsAClassIfThereAreTwoValues) {
  const Target texts = fit({"yes", "no", "yes"});
  EXPECT_EQ(texts.classes, (std::vector<std::string>{"no", "yes"}));
  EXPECT_TRUE(texts.text);
  const Target numbers = fit({"7", "-1.5", "7"});
  EXPECT_EQ(numbers.classes, (std::vector<std::string>{"-1.5", "7"}));
  EXPECT_FALSE(numbers.text);
  EXPECT_EQ(numbers.learned(7), 1);
  EXPECT_EQ(numbers.learned(-1.5), 0);
}

TEST(Target, DoesNotDependOnTheOrderOfTheRows) {
  const Target one = fit({"b", "a", "b"});
  const Target other = fit({"a", "b", "b"});
  EXPECT_EQ(one.classes, other.classes);
  EXPECT_EQ(one.positive, other.positive);
}

TEST(Target, IsWhatTheLossAsksFor) {
  EXPECT_FALSE(fit({"0", "1", "0"}, "squared").is_class());
  EXPECT_FALSE(fit({"0", "1", "0"}, "huber:delta=2").is_class());
  EXPECT_TRUE(fit({"0", "1", "0"}, "logistic").is_class());
  const Target count = fit({"0", "1", "5"}, "poisson");
  EXPECT_EQ(count.learned(5), 5);
  EXPECT_NEAR(count.in_units(count.output_for(5)), 5, 1e-12);
  EXPECT_TRUE(std::isfinite(count.output_for(-3)));
}

TEST(Target, RefusesWhatCannotBeLearned) {
  expect_fault<BadSample>({"1", "", "2"}, "", "row 2: the target 'y' is missing");
  expect_fault<BadSample>({"1", "2", "NaN"}, "", "row 3: the target 'y' is missing");
  expect_fault<BadSample>({"1", "2", "inf"}, "", "row 3: the target 'y' is infinite");
  expect_fault<BadSample>({"1", "2", "abc", "3"}, "", "row 3: the target 'y' is 'abc', which is not a number");
  expect_fault<BadSample>({"a", "b", "c"}, "", "more than two");
  expect_fault<BadSample>({"a", "b"}, "squared", "the loss squared needs them");
  expect_fault<BadSample>({"5", "5"}, "", "is '5' in every row");
  expect_fault<BadSample>({"a", "a"}, "", "is 'a' in every row");
  expect_fault<BadSample>({"a", "a", "b"}, "", "is 'a' in every training row", 2);
  expect_fault<BadSample>({"1e308", "-1e308", "1e308", "3"}, "", "too large");
  expect_fault<InvalidArgument>({"1", "2", "3"}, "logistic", "1, 2, 3");
}

// A table keeps only so many texts: then the row cannot be named, but no wrong one is.
TEST(Target, NamesNoWrongRowAmongManyTexts) {
  std::vector<std::string> values;
  for (std::size_t i = 0; i < most_labels + 10; ++i) values.push_back(std::to_string(i) + ".5");
  values.emplace_back("abc");
  expect_fault<BadSample>(values, "", "the target 'y' holds texts");
}

TEST(Target, IsSavedWhole) {
  for (const Target& target :
       {fit({"1", "2", "6"}), fit({"yes", "no"}), fit({"3", "4"}), fit({"1", "2", "6"}, "poisson")}) {
    Checkpoint checkpoint;
    target.save(checkpoint);
    const Target loaded = Target::load(checkpoint);
    EXPECT_EQ(loaded.name, target.name);
    EXPECT_EQ(loaded.classes, target.classes);
    EXPECT_EQ(loaded.text, target.text);
    EXPECT_EQ(loaded.positive, target.positive);
    EXPECT_EQ(loaded.logarithm, target.logarithm);
    EXPECT_EQ(loaded.mean, target.mean);
    EXPECT_EQ(loaded.deviation, target.deviation);
    checkpoint.set("target.kind", std::string("colour"));
    EXPECT_THROW(Target::load(checkpoint), FileError);
  }
}

TEST(CheckTarget, AcceptsMoreOfTheSame) {
  check_target(column_of({"yes", "yes"}), 1, fit({"yes", "no"}));
  check_target(column_of({"4"}), 1, fit({"3", "4"}));
  check_target(column_of({"17", "-2"}), 1, fit({"1", "2", "6"}));
}

TEST(CheckTarget, RefusesWhatTheModelDoesNotKnow) {
  EXPECT_THROW(check_target(column_of({"yes", "maybe"}), 1, fit({"yes", "no"})), BadSample);
  EXPECT_THROW(check_target(column_of({"3", "5"}), 1, fit({"3", "4"})), BadSample);
  EXPECT_THROW(check_target(column_of({"3", "x"}), 1, fit({"3", "4"})), BadSample);
  EXPECT_THROW(check_target(column_of({"1", "x"}), 1, fit({"1", "2", "6"})), BadSample);
  EXPECT_THROW(check_target(column_of({"1", "", "x"}), 1, fit({"1", "2", "6"})), BadSample);
  EXPECT_THROW(check_target(column_of({"1", "inf"}), 1, fit({"1", "2", "6"})), BadSample);
  // The text 1 is no number: here the column holds only that, and is one of numbers.
  EXPECT_THROW(check_target(column_of({"1", "1"}), 1, fit({"1", "x"})), BadSample);
}

}  // namespace
}  // namespace ignd
