#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace ignd {

// A data set as numbers, to be split and standardised.
struct FeatureTable {
  std::vector<std::string> names;  // of the features
  std::size_t numbers = 0;         // the first features, which are to be standardised; the others are 0 or 1
  std::vector<double> features;    // row after row
  std::vector<double> targets;

  std::size_t size() const { return targets.size(); }
  std::span<const double> operator[](std::size_t row) const {
    return std::span(features).subspan(row * names.size(), names.size());
  }
};

// California Housing from cal_housing.tgz, with the eight features that scikit-learn derives from its columns (rooms,
// bedrooms and people by household) and the median value of a house in 100,000 USD. Throws FileError.
FeatureTable load_california_housing(const std::filesystem::path& path);

// Diamonds from diamonds.csv: six numbers, then cut, color and clarity as 0 and 1 for each grade from the worst to the
// best (colors by their letters), and the price in USD. Throws FileError.
FeatureTable load_diamonds(const std::filesystem::path& path);

}  // namespace ignd
