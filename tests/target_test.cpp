#include "learn/target.hpp"

#include "base/text.hpp"
#include "ignd/checkpoint.hpp"
#include "ignd/error.hpp"
#include "ignd/random.hpp"

#include <cmath>
#include <numeric>
#include <set>
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
  std::vector<std::uint32_t> all(table.size());
  std::iota(all.begin(), all.end(), 0U);
  return fit_target(table, 1, all, rows, loss);
}

// Throws BadSample where a row holds something that is no such target.
void check_target(const Table& table, std::size_t column, const Target& target) {
  for (std::size_t row = 0; row < table.size(); ++row) {
    const std::string fault = unknown_target(table, column, row, target);
    if (!fault.empty()) throw BadSample(fmt::format("row {}: {}", row + 1, fault));
  }
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
  RandomStream stream(1, "target");
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
  expect_fault<InvalidArgument>({"a", "b", "c"}, "logistic", "a, b, c");
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
  expect_fault<BadSample>(values, "", "the target 'y' holds 10011 different texts in 10011 rows");
  expect_fault<BadSample>(values, "squared", "the target 'y' holds texts; the loss squared needs them");
}

using Names = std::vector<std::string>;

// Each text `times` times, one after the other and again.
Names repeated(const Names& texts, std::size_t times) {
  Names all;
  for (std::size_t i = 0; i < times; ++i) all.insert(all.end(), texts.begin(), texts.end());
  return all;
}

Names random_texts(RandomStream& stream, std::size_t count) {
  std::set<std::string> texts;
  while (texts.size() < count)
    texts.insert(fmt::format("{:c}{}", 'A' + static_cast<char>(stream.below(50)), texts.size()));
  return {texts.begin(), texts.end()};
}

TEST(SeveralClasses, AreTextsInTheOrderOfTheirBytes) {
  const Target target = fit(repeated({"dog", "Bird", "cat", "\xc3\xa9", "10", "9"}, 2));
  EXPECT_EQ(target.classes, (Names{"10", "9", "Bird", "cat", "dog", "\xc3\xa9"}));
  EXPECT_TRUE(target.text);
  EXPECT_TRUE(target.is_class());
  EXPECT_TRUE(target.is_multiclass());
  EXPECT_EQ(target.outputs(), 6U);
  EXPECT_EQ(fit({"yes", "no", "yes"}).outputs(), 1U);
  EXPECT_EQ(fit({"1", "2", "6"}).outputs(), 1U);
}

TEST(SeveralClasses, AreNumbersInTheirOrderWhereTheLossAsks) {
  const Names values = repeated({"10", "9", "-1.5", "1e3", "0", "-0"}, 2);
  const Target target = fit(values, "softmax");
  EXPECT_EQ(target.classes, (Names{"-1.5", "0", "9", "10", "1000"}));
  EXPECT_FALSE(target.text);
  EXPECT_EQ(target.learned(-1.5), 0);
  EXPECT_EQ(target.learned(-0.0), 1);
  EXPECT_EQ(target.learned(1000), 4);
  EXPECT_THROW(target.learned(2), BadSample);
  EXPECT_THROW(target.learned(std::nan("")), BadSample);
  EXPECT_FALSE(fit(values).is_class()) << "numbers are numbers unless somebody asks";
}

TEST(Target, SaysWhyItIsANumberOrAClassWhereItCouldBeEither) {
  EXPECT_EQ(fit(repeated({"0", "1"}, 3)).choice,
            "classification, because there are two different numbers; --loss squared learns a number");
  EXPECT_EQ(fit(repeated({"3", "4", "5"}, 3)).choice,
            "regression, because numbers are not taken for classes, though there are only 3 whole ones; --loss softmax "
            "learns classes, --loss poisson counts");
  EXPECT_TRUE(fit(repeated({"-1", "0", "1"}, 3)).choice.ends_with("--loss softmax learns classes"));
  // Every option that is named does what it says.
  EXPECT_FALSE(fit(repeated({"0", "1"}, 3), "squared").is_class());
  EXPECT_EQ(fit(repeated({"3", "4", "5"}, 3), "softmax").classes, (Names{"3", "4", "5"}));
  EXPECT_TRUE(fit(repeated({"3", "4", "5"}, 3), "poisson").logarithm);
  for (const Names& clear : {Names{"a", "b"}, {"a", "b", "c"}, {"1", "2", "2.5"}}) {
    EXPECT_EQ(fit(repeated(clear, 3)).choice, "");
  }
  EXPECT_EQ(fit({"1", "2", "3"}).choice, "") << "each its own";
  Names many;
  for (int i = 0; i <= 20; ++i) many.push_back(std::to_string(i));
  EXPECT_EQ(fit(repeated(many, 3)).choice, "");
  for (const char* loss : {"squared", "poisson", "softmax"})
    EXPECT_EQ(fit(repeated({"3", "4", "5"}, 3), loss).choice, "");
}

TEST(Target, CountsAreToldByTheirZerosAndTheirSpread) {
  RandomStream stream(3, "counts");
  const auto drawn = [&](const auto& draw, int rows = 300) {
    Names values;
    for (int i = 0; i < rows; ++i) values.push_back(format_number(draw()));
    return values;
  };
  const auto geometric = [&] {  // mean 4, variance 20
    double value = 0;
    while (stream.uniform() < 0.8) ++value;
    return value;
  };
  const Names counts = drawn(geometric);
  const Target found = fit(counts);
  EXPECT_TRUE(found.logarithm);
  EXPECT_EQ(default_loss(found), "poisson");
  EXPECT_TRUE(found.choice.starts_with("counts, because all numbers are whole, some are 0, and their variance is "))
      << found.choice;
  EXPECT_TRUE(found.choice.ends_with(" times their mean: --loss squared learns them as numbers")) << found.choice;
  EXPECT_FALSE(fit(counts, "squared").logarithm);
  EXPECT_EQ(fit(counts, "poisson").choice, "");
  const auto expect_numbers = [](const Names& values, const char* what) {
    EXPECT_FALSE(fit(values).logarithm) << what;
    EXPECT_EQ(default_loss(fit(values)), "squared");
  };
  expect_numbers(Names(counts.begin(), counts.begin() + 99), "too few to tell");
  expect_numbers(drawn([&] { return geometric() + 1; }), "nothing is 0: grades, ages, years");
  expect_numbers(drawn([&] { return geometric() - 1; }), "negative");
  expect_numbers(drawn([&] { return geometric() + 0.5; }), "not whole");
  expect_numbers(drawn([&] { return 1000 * geometric(); }), "amounts of money");
  expect_numbers(drawn([&] { return static_cast<double>(stream.below(5)); }), "grades from 0 to 4");
  expect_numbers(drawn([&] { return static_cast<double>(stream.below(21)); }), "points from 0 to 20");
  expect_numbers(drawn([&] { return stream.below(10) == 0 ? 6.0 : 8.0 - 8 * (stream.below(30) == 0); }), "vary less");
}

TEST(SeveralClasses, HaveTheNumberOfTheirPlaceWhateverTheOrderOfTheRows) {
  RandomStream stream(1, "classes");
  for (const std::size_t count : {3U, 4U, 50U, 1000U}) {
    const Names sorted = random_texts(stream, count);
    std::vector<std::uint32_t> order(2 * count);
    std::iota(order.begin(), order.end(), 0U);
    stream.shuffle(order);
    Names values;
    for (const std::uint32_t k : order) values.push_back(sorted[k % count]);
    const Table table = column_of(values);
    const Target target = fit(values);
    EXPECT_EQ(target.classes, sorted);
    for (std::size_t row = 0; row < table.size(); ++row) {
      ASSERT_EQ(target.classes[static_cast<std::size_t>(target.learned(table[row][1]))], values[row]);
    }
    check_target(table, 1, target);
  }
}

TEST(SeveralClasses, RefusesTooManyAndSaysHowManyThereAre) {
  RandomStream stream(2, "classes");
  expect_fault<BadSample>(repeated(random_texts(stream, 1001), 2), "",
                          "the target 'y' holds 1001 different texts in 2002 rows, but at most 1000 can be classes");
  expect_fault<BadSample>({"a", "b", "c"}, "", "3 different texts in 3 rows, each its own; choose another column");
  expect_fault<BadSample>({"1", "2", "3"}, "softmax", "3 different numbers in 3 rows, each its own; leave out");
  expect_fault<InvalidArgument>({"a", "b", "a"}, "softmax", "'y' has two: give the logistic loss");
  expect_fault<BadSample>(repeated({"a", "b", "c"}, 2), "squared", "the loss squared needs them");
}

TEST(SeveralClasses, NamesARowWhoseClassIsNotInTraining) {
  expect_fault<BadSample>({"a", "b", "c", "a", "b", "d", "c"}, "",
                          "row 6: the target 'y' is 'd', which no training row", 5);
  expect_fault<BadSample>({"a", "b", "a", "b", "c"}, "", "row 5: the target 'y' is 'c', which no training row", 4);
  expect_fault<BadSample>({"1", "2", "1", "2", "5"}, "softmax", "row 5: the target 'y' is '5'", 4);
}

TEST(SeveralClasses, AStrayWordAmongNumbersIsNoClass) {
  const Names values = repeated({"1", "2", "3+", "0"}, 2);
  expect_fault<BadSample>(values, "", "row 3: the target 'y' is '3+', which is not a number, but most others are");
  EXPECT_EQ(fit(values, "softmax").classes, (Names{"0", "1", "2", "3+"}));
}

Checkpoint saved(const Target& target) {
  Checkpoint checkpoint;
  target.save(checkpoint);
  return checkpoint;
}

TEST(SeveralClasses, AreSavedWhole) {
  RandomStream stream(3, "classes");
  for (const Target& target : {fit(repeated({"b", "a'|", "a"}, 2)), fit(repeated({"1", "0.1", "-7e300"}, 2), "softmax"),
                               fit(repeated(random_texts(stream, 1000), 2))}) {
    const Target loaded = Target::load(saved(target));
    EXPECT_EQ(loaded.name, target.name);
    EXPECT_EQ(loaded.classes, target.classes);
    EXPECT_EQ(loaded.text, target.text);
    EXPECT_EQ(loaded.class_numbers, target.class_numbers);
  }
}

TEST(SeveralClasses, OfADamagedFileAreRefused) {
  const Target texts = fit(repeated({"a", "b", "c"}, 2));
  const Target numbers = fit(repeated({"1", "2", "3"}, 2), "softmax");
  const auto expect_refused = [](const Target& target, const std::string& entry, const auto& value) {
    Checkpoint checkpoint = saved(target);
    checkpoint.set(entry, value);
    EXPECT_THROW(Target::load(checkpoint), FileError) << entry;
  };
  for (const std::uint64_t count : {0ULL, 1ULL, 2ULL, 4ULL, 1001ULL, ~0ULL}) {
    expect_refused(texts, "target.classes", count);
    expect_refused(numbers, "target.classes", count);
  }
  for (const std::string name : {"a", "c", "z"}) expect_refused(texts, "target.class.1", name);
  for (const std::string name : {"1", "3", "5", "1e0", "inf", "nan", "", "x", "2 "}) {
    expect_refused(numbers, "target.class.1", name);
  }
  expect_refused(numbers, "target.class.2", std::string("inf"));
  expect_refused(texts, "target.class.1", std::uint64_t{7});
  expect_refused(texts, "target.classes", std::string("3"));
  expect_refused(texts, "target.kind", std::string("several values"));
  expect_refused(texts, "target.kind", std::string("several"));
}

TEST(CheckTarget, NamesTheRowOfAClassThatTrainingDidNotHave) {
  const Target texts = fit(repeated({"a", "b", "c", "d", "e", "f", "g"}, 2));
  check_target(column_of({"g", "a", "a"}), 1, texts);
  try {
    check_target(column_of({"g", "zebra"}), 1, texts);
    FAIL();
  } catch (const BadSample& fault) {
    EXPECT_EQ(
        std::string(fault.what()),
        "row 2: the target 'y' is the text 'zebra'; the model knows the texts 'a', 'b', 'c', 'd', 'e' and 2 more");
  }
  const Target numbers = fit(repeated({"0", "1", "2"}, 2), "softmax");
  check_target(column_of({"2", "-0"}), 1, numbers);
  EXPECT_THROW(check_target(column_of({"2", "1.5"}), 1, numbers), BadSample);
  EXPECT_THROW(check_target(column_of({"2", "x"}), 1, numbers), BadSample);
  EXPECT_THROW(check_target(column_of({"1", "1"}), 1, texts), BadSample);
}

TEST(ListClasses, SaysHowManyMoreThereAre) {
  EXPECT_EQ(list_classes(Names{}), "");
  EXPECT_EQ(list_classes(Names{"a"}), "'a'");
  EXPECT_EQ(list_classes(Names{"a", "b"}), "'a' and 'b'");
  EXPECT_EQ(list_classes(Names{"a", "b", "c", "d", "e"}), "'a', 'b', 'c', 'd' and 'e'");
  EXPECT_EQ(list_classes(Names{"a", "b", "c", "d", "e", "f"}), "'a', 'b', 'c', 'd', 'e' and 1 more");
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
