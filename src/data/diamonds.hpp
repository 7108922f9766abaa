#pragma once

#include "data/feature_table.hpp"

#include <filesystem>

namespace ignd {

// Diamonds from diamonds.csv: six numbers, then cut, color and clarity as 0 and 1 for each grade from the worst to the
// best (colors by their letters), and the price in USD. Throws FileError.
FeatureTable load_diamonds(const std::filesystem::path& path);

}  // namespace ignd
