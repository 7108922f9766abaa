#pragma once

#include "data/feature_table.hpp"

#include <filesystem>

namespace ignd {

// California Housing from cal_housing.tgz, with the eight features that scikit-learn derives from its columns (rooms,
// bedrooms and people by household) and the median value of a house in 100,000 USD. Throws FileError.
FeatureTable load_california_housing(const std::filesystem::path& path);

}  // namespace ignd
