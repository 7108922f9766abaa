#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace ignd {

inline bool is_digit(char c) { return c >= '0' && c <= '9'; }

struct EightDigits {
  std::uint32_t value;
  unsigned count;  // number of leading digits
};

// Reads the leading digits of eight characters at once: a loop would mispredict its end at almost every number.
inline EightDigits read_eight_digits(const char* at) {
  static_assert(std::endian::native == std::endian::little, "the first character is the lowest byte");
  std::uint64_t bytes = 0;
  std::memcpy(&bytes, at, sizeof bytes);
  bytes ^= 0x3030303030303030;
  // Sets the high bit of every byte above 9. A carry reaches only bytes after the first of them.
  const std::uint64_t others = ((bytes + 0x7676767676767676) | bytes) & 0x8080808080808080;
  const auto count = static_cast<unsigned>(std::countr_zero(others)) / 8;
  if (count == 0) return {0, 0};
  // Pad with leading zeros to eight digits, then combine pairs, fours, and all.
  bytes <<= 64 - 8 * count;
  bytes = bytes * 10 + (bytes >> 8);
  constexpr std::uint64_t first_and_third = 0x000000ff000000ff;
  constexpr std::uint64_t pair_weights = 100 + (std::uint64_t{1000000} << 32);
  constexpr std::uint64_t other_weights = 1 + (std::uint64_t{10000} << 32);
  bytes = (bytes & first_and_third) * pair_weights + ((bytes >> 16) & first_and_third) * other_weights;
  return {static_cast<std::uint32_t>(bytes >> 32), count};
}

// The general case of read_number.
const char* read_any_number(const char* at, const char* end, double& value);

// Reads the decimal number that starts at `at` ("-1.5", "+2e-3", ".5", "inf", "nan"; no white space) and returns where
// it ends, or null if no number starts there. The result is the nearest double in any locale; too large is infinite,
// too small is zero.
inline const char* read_number(const char* at, const char* end, double& value) {
  // The fast path, for almost all numbers in files: with up to seven digits before and after the point, mantissa and
  // power of ten are exact doubles, so one division gives the nearest double.
  constexpr std::ptrdiff_t longest = 1 + 7 + 1 + 8;  // the most characters it reads
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
