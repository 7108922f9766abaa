#pragma once

#include <cstdint>
#include <span>
#include <vector>

// Training, validation and test rows. Each row is in exactly one part, and each part is in the order of the rows. A
// fraction above 0 asks for a validation or a test part; the rest is the training part. No part that was asked for is
// empty: with too few rows (groups, different times) for that, or fractions that make no sense, a split throws
// InvalidArgument.
namespace ignd {

struct Split {
  std::vector<std::uint32_t> train, validation, test;
};

struct SplitFractions {
  double validation = 0;
  double test = 0;  // both in [0, 1), and less than 1 together
};

Split split_randomly(std::size_t rows, SplitFractions fractions, std::uint64_t seed);

// Stratified: of every class, each part has its share of the rows, to within one row, and there is a training row of
// every class. InvalidArgument also where that leaves too few rows for the other parts.
Split split_by_class(std::span<const std::uint64_t> classes, SplitFractions fractions, std::uint64_t seed);

// One of several folds of the rows, which share them out; its rows are the test part. Of the other rows, a validation
// part is taken that is the given fraction of all. Each class has its share of each fold, to within one row, and the
// rows of a group are in one.
enum class FoldsBy { rows, classes, groups };
struct Fold {
  std::size_t count = 2, number = 0;  // from 0
};
Split split_into_folds(std::span<const std::uint64_t> keys, FoldsBy by, double validation, Fold fold,
                       std::uint64_t seed);

// Rows with the same key stay together. Groups in random order fill the test part and then the validation part as far
// as they fit, so that a part misses its size by at most half of the smallest group that is left, unless that would
// leave a part empty.
Split split_by_group(std::span<const std::uint64_t> keys, SplitFractions fractions, std::uint64_t seed);

// The earliest rows are the training set, the latest the test set. Rows of the same time stay together; the cuts are
// where the time changes, as near to the fractions as that allows.
Split split_by_time(std::span<const double> times, SplitFractions fractions);

}  // namespace ignd
