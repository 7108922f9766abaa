#pragma once

#include "data/feature_table.hpp"
#include "ignd/samples.hpp"

#include <cstdint>
#include <span>
#include <string>

namespace ignd {

// What the inputs are multiplied by after they have been standardised: nothing, 100, or each its own power of ten
// between 1/100 and 100, the same for all seeds.
enum class InputScales { one, hundred, separate };

// Rows to learn from, to choose by and to be measured on, as the models see them.
struct TabularSplit {
  Samples<float> train, validation, test;
};

// The paper's protocol as far as it says: a split of 80, 10 and 10 % that the seed draws, numbers standardised by the
// mean and deviation of the rows to learn from alone, indicators left as they are.
TabularSplit split_and_standardise(const FeatureTable& data, std::uint64_t seed, InputScales scales);

}  // namespace ignd
