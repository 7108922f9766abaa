#include "learn/metric_checks.hpp"

#include "ignd/error.hpp"

#include <cmath>

#include <fmt/format.h>

namespace ignd {

void check_finite(double value, std::string_view what, std::size_t row) {
  if (!std::isfinite(value)) throw InvalidArgument(fmt::format("the {} of row {} is {}", what, row, value));
}

void check_weight(double weight, std::size_t row) {
  check_finite(weight, "weight", row);
  if (weight < 0) throw InvalidArgument(fmt::format("the weight of row {} is {}, which is negative", row, weight));
}

void check_not_empty(double weight) {
  if (weight <= 0) throw InvalidArgument("there is nothing to measure: no row has a weight above 0");
}

}  // namespace ignd
