#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Numbers as people want to read them; "n/a" where there is none.
namespace ignd {

inline constexpr std::string_view not_available = "n/a";

// "1e-08" is how programs write it, "1e-8" how people do.
std::string without_zeros_in_exponent(std::string number);

std::string number_text(std::optional<double> value);  // four digits, "5e-15"
std::string rate_text(double rate);                    // all of its digits, "1e-8"

// "0.227 ± 0.016", "(5.1 ± 1.2)e-15": two digits of the spread, and the mean to the same place.
std::string with_spread(std::optional<double> mean, std::optional<double> deviation);

// As it was printed by somebody else: all digits that were given, and no more.
std::string with_given_spread(double mean, std::optional<double> deviation);

std::string seeds_text(std::vector<std::uint64_t> seeds);  // "1 to 20, 25"

}  // namespace ignd
