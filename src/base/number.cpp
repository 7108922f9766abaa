#include "base/number.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <system_error>

namespace ignd {
namespace {

// Powers of ten that a double holds exactly.
constexpr std::array<double, 23> exact_powers{1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                              1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
constexpr std::uint64_t largest_exact = std::uint64_t{1} << std::numeric_limits<double>::digits;
constexpr int most_digits = 18;  // 18 nines fit in 64 bits

// Whether a number out of range is too large rather than too small: depends on the position of the first nonzero digit
// and on the exponent.
bool is_huge(const char* at, const char* end) {
  constexpr long plenty = 1L << 40;
  long position = 0;  // of the decimal point, counted from the first nonzero digit
  bool behind_point = false;
  bool started = false;
  for (; at < end && (*at | 0x20) != 'e'; ++at) {
    if (*at == '.') behind_point = true;
    if (!is_digit(*at)) continue;
    started = started || *at != '0';
    if (started && !behind_point) ++position;
    if (!started && behind_point) --position;
  }
  if (at == end) return position > 0;
  ++at;
  const bool negative = *at == '-';
  long exponent = 0;
  for (; at < end; ++at) {
    if (is_digit(*at)) exponent = std::min(10 * exponent + (*at - '0'), plenty);
  }
  return position + (negative ? -exponent : exponent) > 0;
}

// Handles many digits, exponents, inf and nan.
const char* read_with_library(const char* at, const char* end, double& value) {
  if (at < end && *at == '+') {
    ++at;
    if (at < end && *at == '-') return nullptr;
  }
  const auto result = std::from_chars(at, end, value);
  if (result.ec == std::errc::invalid_argument) return nullptr;
  if (result.ec == std::errc::result_out_of_range) {
    value = is_huge(at, result.ptr) ? std::numeric_limits<double>::infinity() : 0.0;
    if (*at == '-') value = -value;
  }
  return result.ptr;
}

}  // namespace

// If a number has at most 18 digits, and its mantissa and power of ten are exact doubles, one division gives the
// nearest double, twice as fast as the general method.
const char* read_any_number(const char* at, const char* end, double& value) {
  const char* c = at;
  const bool negative = c < end && *c == '-';
  if (c < end && (*c == '-' || *c == '+')) ++c;
  const char* first = c;
  std::uint64_t mantissa = 0;
  for (; c < end && is_digit(*c); ++c) mantissa = 10 * mantissa + static_cast<std::uint64_t>(*c - '0');
  long digits = c - first;
  long decimals = 0;
  if (c < end && *c == '.') {
    const char* point = c++;
    for (; c < end && is_digit(*c); ++c) mantissa = 10 * mantissa + static_cast<std::uint64_t>(*c - '0');
    decimals = c - point - 1;
    digits += decimals;
  }
  const bool exponent = c < end && (*c | 0x20) == 'e';
  if (exponent || digits == 0 || digits > most_digits || mantissa > largest_exact) {
    return read_with_library(at, end, value);
  }
  const double size = static_cast<double>(mantissa) / exact_powers[static_cast<std::size_t>(decimals)];
  value = negative ? -size : size;
  return c;
}

}  // namespace ignd
