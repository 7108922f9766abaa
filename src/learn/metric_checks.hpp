#pragma once

#include <cstddef>
#include <string_view>

// What all metrics refuse, by an InvalidArgument that names the row, counted from 1.
namespace ignd {

void check_finite(double value, std::string_view what, std::size_t row);
void check_weight(double weight, std::size_t row);
void check_not_empty(double weight);  // of all rows

}  // namespace ignd
