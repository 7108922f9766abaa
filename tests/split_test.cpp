#include "learn/split.hpp"

#include "support.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace ignd::testing {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

using Rows = std::vector<std::uint32_t>;

SplitFractions random_fractions(RandomStream& stream) {
  SplitFractions fractions{stream.uniform(0, 0.6), stream.uniform(0, 0.4)};
  if (stream.below(4) == 0) fractions.validation = 0;
  if (stream.below(4) == 0) fractions.test = 0;
  return fractions;
}

std::size_t parts_of(SplitFractions fractions) {
  std::size_t parts = 1;
  if (fractions.validation > 0) ++parts;
  if (fractions.test > 0) ++parts;
  return parts;
}

// Each row in one part, each part in order, and no part empty that was asked for.
void expect_whole(const Split& split, std::size_t rows, SplitFractions fractions) {
  std::vector<int> seen(rows, 0);
  for (const Rows* part : {&split.train, &split.validation, &split.test}) {
    EXPECT_TRUE(std::ranges::is_sorted(*part));
    for (const auto row : *part) {
      ASSERT_LT(row, rows);
      ++seen[row];
    }
  }
  EXPECT_EQ(seen, std::vector<int>(rows, 1));
  EXPECT_FALSE(split.train.empty());
  EXPECT_EQ(split.validation.empty(), fractions.validation == 0);
  EXPECT_EQ(split.test.empty(), fractions.test == 0);
}

std::size_t wanted(std::size_t rows, double fraction) {
  return static_cast<std::size_t>(std::floor(static_cast<double>(rows) * fraction + 0.5));
}

std::size_t distance(std::size_t a, std::size_t b) { return a > b ? a - b : b - a; }

TEST(Random, PartsHaveTheirSizesAndCoverTheRows) {
  RandomStream stream(1, "split test");
  for (int trial = 0; trial < 500; ++trial) {
    const std::size_t rows = 3 + stream.below(300);
    const auto fractions = random_fractions(stream);
    const Split split = split_randomly(rows, fractions, 7);
    expect_whole(split, rows, fractions);
    // A part that was asked for has a row even if its share rounds to none, which may come from its neighbour.
    const std::size_t slack = rows < 20 ? 1 : 0;
    const auto at_least_one = [](std::size_t size, double fraction) {
      return fraction > 0 ? std::max<std::size_t>(size, 1) : 0;
    };
    const auto test = at_least_one(wanted(rows, fractions.test), fractions.test);
    EXPECT_LE(distance(split.test.size(), test), slack) << rows;
    const auto validation = at_least_one(wanted(rows, fractions.validation), fractions.validation);
    EXPECT_LE(distance(split.validation.size(), validation), 1U) << rows;
  }
}

TEST(Random, DependsOnTheSeedAlone) {
  const auto a = split_randomly(1000, {0.2, 0.2}, 1), b = split_randomly(1000, {0.2, 0.2}, 1);
  EXPECT_EQ(a.train, b.train);
  EXPECT_EQ(a.validation, b.validation);
  EXPECT_EQ(a.test, b.test);
  EXPECT_NE(split_randomly(1000, {0.2, 0.2}, 2).test, a.test);
}

TEST(Random, EveryRowIsInThePartsAsOftenAsTheFractionsSay) {
  std::vector<int> tested(20, 0), validated(20, 0);
  constexpr int trials = 4000;
  for (std::uint64_t seed = 0; seed < trials; ++seed) {
    const Split split = split_randomly(20, {0.25, 0.1}, seed);
    for (const auto row : split.test) ++tested[row];
    for (const auto row : split.validation) ++validated[row];
  }
  for (std::size_t row = 0; row < 20; ++row) {
    // Five standard deviations of a count.
    EXPECT_NEAR(tested[row], 0.1 * trials, 5 * std::sqrt(0.1 * 0.9 * trials));
    EXPECT_NEAR(validated[row], 0.25 * trials, 5 * std::sqrt(0.25 * 0.75 * trials));
  }
}

TEST(Random, IsTheSameOnEveryMachine) {
  const Split split = split_randomly(12, {0.25, 0.25}, 42);
  EXPECT_EQ(split.train, (Rows{3, 4, 6, 7, 8, 11}));
  EXPECT_EQ(split.validation, (Rows{0, 1, 2}));
  EXPECT_EQ(split.test, (Rows{5, 9, 10}));
}

TEST(Random, WithoutFractionsEverythingIsForLearning) {
  const Split split = split_randomly(5, {}, 1);
  EXPECT_EQ(split.train, (Rows{0, 1, 2, 3, 4}));
  EXPECT_TRUE(split.validation.empty());
  EXPECT_TRUE(split.test.empty());
}

TEST(Random, AsManyRowsAsPartsGiveOneEach) {
  for (const double validation : {1e-9, 0.3, 0.9}) {
    const Split split = split_randomly(3, {validation, 0.09}, 1);
    EXPECT_EQ(split.train.size(), 1U);
    EXPECT_EQ(split.validation.size(), 1U);
    EXPECT_EQ(split.test.size(), 1U);
  }
  EXPECT_EQ(split_randomly(2, {0, 0.999}, 1).train.size(), 1U);
  EXPECT_EQ(split_randomly(2, {0.001, 0}, 1).validation.size(), 1U);
}

// Of each class, how many rows there are in a part.
std::map<std::uint64_t, double> count_classes(const std::vector<std::uint64_t>& classes, const Rows& part) {
  std::map<std::uint64_t, double> counts;
  for (const std::uint64_t name : classes) counts[name] = 0;
  for (const std::uint32_t row : part) ++counts[classes[row]];
  return counts;
}

TEST(Classes, HaveTheirShareInEveryPartAndATrainingRow) {
  RandomStream stream(6, "split test");
  for (int trial = 0; trial < 1000; ++trial) {
    const std::uint64_t kinds = 1 + stream.below(30);
    Rows order;
    for (std::uint32_t k = 0; k < kinds; ++k) {
      const std::uint64_t rows = stream.below(3) == 0 ? 1 : 1 + stream.below(200);
      order.insert(order.end(), rows, k);
    }
    stream.shuffle(order);
    std::vector<std::uint64_t> classes;
    for (const std::uint32_t k : order) classes.push_back(k * 0x9e3779b97f4a7c15);
    const auto fractions = random_fractions(stream);
    Split split;
    try {
      split = split_by_class(classes, fractions, static_cast<std::uint64_t>(trial));
    } catch (const InvalidArgument&) {
      EXPECT_LT(classes.size(), kinds + parts_of(fractions) - 1);  // a row for each class, and for each other part
      continue;
    }
    expect_whole(split, classes.size(), fractions);
    Rows all(classes.size());
    std::iota(all.begin(), all.end(), 0U);
    auto rows = count_classes(classes, all);
    auto train = count_classes(classes, split.train);
    auto validation = count_classes(classes, split.validation);
    auto test = count_classes(classes, split.test);
    // Where a part has a single row, it may be one that was taken from the training rows.
    const double slack = split.validation.size() == 1 || split.test.size() == 1 ? 1 : 0;
    for (const auto& [name, count] : rows) {
      EXPECT_GE(train[name], 1);
      EXPECT_LE(std::abs(test[name] - count * fractions.test), 1);
      EXPECT_LE(std::abs(validation[name] - count * fractions.validation), 1);
      EXPECT_LE(std::abs(train[name] - count * (1 - fractions.validation - fractions.test)), 1 + slack);
    }
  }
}

TEST(Classes, LargeOnesGiveTheSizesOfARandomSplit) {
  RandomStream stream(7, "split test");
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<std::uint64_t> classes(500 + stream.below(500));
    for (auto& name : classes) name = stream.below(4);
    const Split by_class = split_by_class(classes, {0.1, 0.2}, 1);
    const Split randomly = split_randomly(classes.size(), {0.1, 0.2}, 1);
    EXPECT_LE(distance(by_class.test.size(), randomly.test.size()), 1U);
    EXPECT_LE(distance(by_class.validation.size(), randomly.validation.size()), 1U);
  }
}

TEST(Classes, DependOnTheSeedAlone) {
  std::vector<std::uint64_t> classes(300);
  for (std::size_t i = 0; i < classes.size(); ++i) classes[i] = i % 3;
  EXPECT_EQ(split_by_class(classes, {0.1, 0.1}, 1).test, split_by_class(classes, {0.1, 0.1}, 1).test);
  EXPECT_NE(split_by_class(classes, {0.1, 0.1}, 1).test, split_by_class(classes, {0.1, 0.1}, 2).test);
}

TEST(Classes, AreRefusedWhereTrainingNeedsEveryRow) {
  const std::vector<std::uint64_t> each_its_own{1, 2, 3, 4};
  EXPECT_EQ(message_of([&] {
              split_by_class(each_its_own, {0.1, 0.1}, 1);
            }),
            "too few rows for the split: with a row of each of 4 classes to train on, none is left for validation or "
            "test; give more data or ask for fewer parts");
  EXPECT_EQ(split_by_class(each_its_own, {}, 1).train.size(), 4U);
}

std::vector<std::uint64_t> random_keys(RandomStream& stream, std::size_t rows) {
  std::vector<std::uint64_t> keys(rows);
  const std::uint64_t groups = 3 + stream.below(rows);
  for (std::size_t i = 0; i < rows; ++i) {
    // Small numbers more often than large ones: groups of very different sizes.
    const double u = stream.uniform();
    keys[i] = i < 3 ? i * 0x9e3779b97f4a7c15
                    : static_cast<std::uint64_t>(u * u * static_cast<double>(groups)) * 0x9e3779b97f4a7c15;
  }
  return keys;
}

TEST(Groups, StayTogether) {
  RandomStream stream(2, "split test");
  for (int trial = 0; trial < 500; ++trial) {
    const auto keys = random_keys(stream, 3 + stream.below(200));
    const auto fractions = random_fractions(stream);
    const Split split = split_by_group(keys, fractions, static_cast<std::uint64_t>(trial));
    expect_whole(split, keys.size(), fractions);
    std::map<std::uint64_t, const Rows*> home;
    for (const Rows* part : {&split.train, &split.validation, &split.test}) {
      for (const auto row : *part) EXPECT_EQ(home.try_emplace(keys[row], part).first->second, part);
    }
  }
}

TEST(Groups, MissTheirSizesByHalfTheSmallestGroupLeftAtMost) {
  RandomStream stream(3, "split test");
  for (int trial = 0; trial < 500; ++trial) {
    const auto keys = random_keys(stream, 50 + stream.below(200));
    const auto fractions = random_fractions(stream);
    const Split split = split_by_group(keys, fractions, static_cast<std::uint64_t>(trial));
    const auto sizes_in = [&](const Rows& part) {
      std::map<std::uint64_t, std::size_t> sizes;
      for (const auto row : part) ++sizes[keys[row]];
      return sizes;
    };
    const auto left = sizes_in(split.train);
    if (left.size() == 1) continue;  // the last group cannot be given away
    std::size_t smallest = keys.size();
    for (const auto& [key, size] : left) smallest = std::min(smallest, size);
    const auto expect_near = [&](const Rows& part, double fraction) {
      if (sizes_in(part).size() < 2) return;  // one group is taken even if it is too large
      EXPECT_LE(2 * distance(part.size(), wanted(keys.size(), fraction)), smallest) << trial;
    };
    expect_near(split.validation, fractions.validation);
    expect_near(split.test, fractions.test);
  }
}

TEST(Groups, OfOneRowGiveTheSizesOfARandomSplit) {
  std::vector<std::uint64_t> keys(100);
  for (std::size_t i = 0; i < 100; ++i) keys[i] = 1000 - i;
  const Split split = split_by_group(keys, {0.2, 0.1}, 1);
  EXPECT_EQ(split.test.size(), 10U);
  EXPECT_EQ(split.validation.size(), 20U);
}

TEST(Groups, AsManyAsPartsGiveOneEach) {
  const std::vector<std::uint64_t> keys{5, 5, 5, 9, 9, 9, 9, 1};
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    expect_whole(split_by_group(keys, {0.4, 0.5}, seed), 8, {0.4, 0.5});
    expect_whole(split_by_group(keys, {0.01, 0.01}, seed), 8, {0.01, 0.01});
    expect_whole(split_by_group(keys, {0.01, 0.98}, seed), 8, {0.01, 0.98});
  }
}

TEST(Groups, AreTheSameOnEveryMachineAndWhateverTheKeys) {
  const std::vector<std::uint64_t> keys{7, 7, 3, 8, 3, 1, 8, 8, 2, 6, 6, 4};
  auto other = keys;
  for (auto& key : other) key = key * 0x123456789 + 5;
  const Split split = split_by_group(keys, {0.25, 0.25}, 42);
  EXPECT_EQ(split.train, (Rows{0, 1, 5, 9, 10, 11}));
  EXPECT_EQ(split.validation, (Rows{3, 6, 7}));
  EXPECT_EQ(split.test, (Rows{2, 4, 8}));
  EXPECT_EQ(split_by_group(other, {0.25, 0.25}, 42).train, split.train);
}

TEST(Time, EarlierIsForLearningAndTiesStayTogether) {
  RandomStream stream(4, "split test");
  for (int trial = 0; trial < 500; ++trial) {
    std::vector<double> times(3 + stream.below(100));
    const std::uint64_t different = 1 + stream.below(times.size());
    for (double& time : times) time = static_cast<double>(stream.below(different)) - 10;
    times[0] = -infinity;
    times[1] = infinity;
    times[2] = 0.5;
    const auto fractions = random_fractions(stream);
    const Split split = split_by_time(times, fractions);
    expect_whole(split, times.size(), fractions);
    const auto bounds = [&](const Rows& part) {
      const auto time_of = [&](std::uint32_t row) { return times[row]; };
      const auto [low, high] = std::ranges::minmax(part, {}, time_of);
      return std::pair(times[low], times[high]);
    };
    double before = bounds(split.train).second;
    for (const Rows* part : {&split.validation, &split.test}) {
      if (part->empty()) continue;
      EXPECT_LT(before, bounds(*part).first);
      before = bounds(*part).second;
    }
  }
}

// Every pair of cuts that leaves no part empty, tried out: the cut before the test is as near as any.
TEST(Time, CutsAreAsNearAsTiesAllow) {
  RandomStream stream(5, "split test");
  for (int trial = 0; trial < 300; ++trial) {
    std::vector<double> times(4 + stream.below(30));
    for (double& time : times) time = static_cast<double>(stream.below(12));
    const auto fractions = random_fractions(stream);
    const std::set<double> different(times.begin(), times.end());
    if (different.size() < parts_of(fractions)) continue;
    const Split split = split_by_time(times, fractions);
    const auto rows_from = [&](double time) {
      return static_cast<std::size_t>(std::ranges::count_if(times, [&](double t) { return t >= time; }));
    };
    const std::vector<double> starts(std::next(different.begin()), different.end());  // of a later part
    if (fractions.test > 0) {
      std::size_t best = times.size();
      for (std::size_t i = fractions.validation > 0 ? 1 : 0; i < starts.size(); ++i) {
        best = std::min(best, distance(rows_from(starts[i]), wanted(times.size(), fractions.test)));
      }
      EXPECT_EQ(distance(split.test.size(), wanted(times.size(), fractions.test)), best) << trial;
    }
    if (fractions.validation > 0) {
      const auto both = wanted(times.size(), fractions.test) + wanted(times.size(), fractions.validation);
      std::size_t best = 2 * times.size();
      for (const double start : starts) {
        if (rows_from(start) > split.test.size()) best = std::min(best, distance(rows_from(start), both));
      }
      EXPECT_EQ(distance(split.test.size() + split.validation.size(), both), best) << trial;
    }
  }
}

TEST(Time, AHandMadeCase) {
  const Split split = split_by_time(std::vector<double>{5, 1, 4, 4, 2, 3, 1, 6, 7, 0}, {0.2, 0.2});
  EXPECT_EQ(split.train, (Rows{1, 4, 5, 6, 9}));
  EXPECT_EQ(split.validation, (Rows{0, 2, 3}));
  EXPECT_EQ(split.test, (Rows{7, 8}));
}

TEST(Refused, FractionsThatMakeNoSense) {
  const std::vector<std::uint64_t> keys{1, 2, 3, 4};
  const std::vector<double> times{1, 2, 3, 4};
  for (const SplitFractions bad : {SplitFractions{-0.1, 0},
                                   {0, -0.1},
                                   {1, 0},
                                   {0, 1},
                                   {0.5, 0.5},
                                   {nan, 0},
                                   {0, nan},
                                   {infinity, 0},
                                   {-infinity, infinity}}) {
    EXPECT_THROW(split_randomly(4, bad, 1), InvalidArgument);
    EXPECT_THROW(split_by_group(keys, bad, 1), InvalidArgument);
    EXPECT_THROW(split_by_time(times, bad), InvalidArgument);
  }
  EXPECT_EQ(message_of([] {
              split_randomly(4, {0.5, 0.75}, 1);
            }),
            "the fractions of the split are 0.5 (validation) and 0.75 (test); they must be at least 0 and less than 1 "
            "together");
}

TEST(Refused, TooFewRowsGroupsOrTimes) {
  EXPECT_EQ(
      message_of([] { split_randomly(0, {}, 1); }),
      "too few rows for the split: one for each part makes 1, the data have 0; give more data or ask for fewer parts");
  EXPECT_EQ(
      message_of([] {
        split_randomly(2, {0.1, 0.1}, 1);
      }),
      "too few rows for the split: one for each part makes 3, the data have 2; give more data or ask for fewer parts");
  EXPECT_EQ(message_of([] {
              split_by_group(std::vector<std::uint64_t>{4, 4, 4}, {0, 0.1}, 1);
            }),
            "too few groups for the split: one for each part makes 2, the data have 1; give more data or ask for fewer "
            "parts");
  EXPECT_EQ(message_of([] {
              split_by_time(std::vector<double>{4, 4, 5, 5}, {0.1, 0.1});
            }),
            "too few different times for the split: one for each part makes 3, the data have 2; give more data or ask "
            "for fewer parts");
  EXPECT_THROW(split_by_group({}, {}, 1), InvalidArgument);
  EXPECT_THROW(split_by_time({}, {}), InvalidArgument);
}

TEST(Refused, TimesThatAreNone) {
  EXPECT_EQ(message_of([] {
              split_by_time(std::vector<double>{1, 2, nan}, {0, 0.1});
            }),
            "the time of row 3 is not a number, so the rows have no order");
}

TEST(Refused, MoreRowsThanNumbersForThem) {
  EXPECT_EQ(message_of([] { split_randomly(std::size_t{1} << 32, {}, 1); }),
            "4294967296 rows are too many to split; at most 4294967295 can be");
}

// Each row is tested in one fold, and nowhere else; the other parts share out the rest.
TEST(Folds, ShareOutTheRows) {
  RandomStream stream(11, "folds");
  for (int trial = 0; trial < 60; ++trial) {
    const auto by = static_cast<FoldsBy>(trial % 3);
    const std::size_t count = 2 + stream.below(6), rows = 60 + stream.below(200);
    std::vector<std::uint64_t> keys(rows);
    const std::uint64_t different = by == FoldsBy::groups ? 2 * count + stream.below(40) : 2 + stream.below(3);
    for (std::size_t i = 0; i < rows; ++i) keys[i] = i < different ? i : stream.below(different);
    std::vector<int> tested(rows);
    std::map<std::uint64_t, std::set<std::size_t>> folds_of_key;
    std::map<std::uint64_t, std::vector<std::size_t>> rows_of_key;
    for (std::size_t k = 0; k < count; ++k) {
      const Split split = split_into_folds(keys, by, 0.1, {count, k}, 5);
      std::set<std::uint32_t> all;
      for (const auto* part : {&split.train, &split.validation, &split.test}) {
        EXPECT_TRUE(std::ranges::is_sorted(*part));
        all.insert(part->begin(), part->end());
      }
      EXPECT_EQ(all.size(), rows);
      EXPECT_EQ(split.train.size() + split.validation.size() + split.test.size(), rows);
      std::map<std::uint64_t, std::size_t> of_key;
      for (const std::uint32_t row : split.test) {
        ++tested[row];
        ++of_key[keys[row]];
        folds_of_key[keys[row]].insert(k);
      }
      for (std::uint64_t key = 0; key < different; ++key) rows_of_key[key].push_back(of_key[key]);
      if (by == FoldsBy::groups) {
        std::set<std::uint64_t> learned;
        for (const std::uint32_t row : split.train) learned.insert(keys[row]);
        for (const std::uint32_t row : split.validation) EXPECT_FALSE(learned.contains(keys[row]));
        continue;
      }
      EXPECT_NEAR(static_cast<double>(split.test.size()), static_cast<double>(rows) / static_cast<double>(count), 1);
      EXPECT_NEAR(static_cast<double>(split.validation.size()), 0.1 * static_cast<double>(rows), 4);
    }
    EXPECT_EQ(std::ranges::count(tested, 1), static_cast<std::ptrdiff_t>(rows));
    for (const auto& [key, folds] : folds_of_key) {
      if (by == FoldsBy::groups) {
        EXPECT_EQ(folds.size(), 1U);
      }
    }
    for (const auto& [key, in_fold] : rows_of_key) {
      if (by != FoldsBy::classes) continue;
      const auto [least, most] = std::ranges::minmax(in_fold);
      EXPECT_LE(most - least, 1U) << "a class has its share of each fold";
    }
  }
}

TEST(Folds, OfGroupsAreAboutAsLarge) {
  std::vector<std::uint64_t> keys;
  for (std::uint64_t group = 0; group < 60; ++group) keys.insert(keys.end(), 1 + group % 10, group);
  for (std::size_t k = 0; k < 5; ++k) {
    const auto test = split_into_folds(keys, FoldsBy::groups, 0.1, {5, k}, 1).test.size();
    EXPECT_NEAR(static_cast<double>(test), static_cast<double>(keys.size()) / 5, 5);
  }
}

TEST(Folds, NeedTwoRowsOrGroupsEach) {
  const std::vector<std::uint64_t> keys(19, 1);
  EXPECT_THROW(split_into_folds(keys, FoldsBy::rows, 0.1, {10, 0}, 1), InvalidArgument);
  EXPECT_THROW(split_into_folds(keys, FoldsBy::groups, 0.1, {2, 0}, 1), InvalidArgument);
  EXPECT_NO_THROW(split_into_folds(keys, FoldsBy::rows, 0.1, {9, 8}, 1));
}

}  // namespace
}  // namespace ignd::testing
