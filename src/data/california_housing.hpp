#pragma once

#include "data/table.hpp"

#include <filesystem>

namespace ignd {

// California Housing from cal_housing.tgz, with the eight features that scikit-learn derives from its columns (rooms,
// bedrooms and people by household), and MedHouseVal, the median value of a house in 100,000 USD. Throws FileError.
Table read_california_housing(const std::filesystem::path& path);

}  // namespace ignd
