#pragma once

#include "base/digits.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace ignd {

// What read_number does for any number at all.
const char* read_any_number(const char* at, const char* end, double& value);

// Reads the decimal number that starts at `at` ("-1.5", "+2e-3", ".5", "inf", "nan"; no white space) and returns where
// it ends, or null if no number starts there. The nearest double, whatever the locale; too large is infinite, too small
// is zero.
inline const char* read_number(const char* at, const char* end, double& value) {
  // Up to seven digits before and after the point make a mantissa and a power of ten that are exact doubles: then one
  // division gives the nearest double. That is what almost every number in a file is.
#if IGND_PLANTED_BUG == 3
  constexpr std::ptrdiff_t longest = 7 + 1 + 8;
#else
  constexpr std::ptrdiff_t longest = 1 + 7 + 1 + 8;  // of what is looked at
#endif
  constexpr std::array<std::uint32_t, 8> powers{1, 10, 100, 1000, 10000, 100000, 1000000, 10000000};
  if (end - at < longest) return read_any_number(at, end, value);
  const bool negative = *at == '-';
  const char* const first = at + (negative || *at == '+' ? 1 : 0);
  const EightDigits whole = read_eight_digits(first);
  const char* c = first + whole.count;
  if (whole.count == 8) return read_any_number(at, end, value);
  double size = 0;
  if (*c == '.') {
    const EightDigits part = read_eight_digits(c + 1);
    c += 1 + part.count;
    if (part.count == 8 || whole.count + part.count == 0) return read_any_number(at, end, value);
    const std::uint64_t mantissa = std::uint64_t{whole.value} * powers[part.count] + part.value;
    size = static_cast<double>(static_cast<std::int64_t>(mantissa)) / powers[part.count];
  } else {
    if (whole.count == 0) return read_any_number(at, end, value);
    size = whole.value;
  }
  if ((*c | 0x20) == 'e') return read_any_number(at, end, value);
  value = negative ? -size : size;
  return c;
}

}  // namespace ignd
