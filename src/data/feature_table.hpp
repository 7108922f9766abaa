#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace ignd {

// A data set as numbers, ready for whoever splits and standardises it.
struct FeatureTable {
  std::vector<std::string> names;  // of the features
  std::size_t numbers = 0;         // so many features come first that are to be standardised; the others are 0 or 1
  std::vector<double> features;    // row after row
  std::vector<double> targets;

  std::size_t size() const { return targets.size(); }
  std::span<const double> operator[](std::size_t row) const {
    return std::span(features).subspan(row * names.size(), names.size());
  }
};

}  // namespace ignd
