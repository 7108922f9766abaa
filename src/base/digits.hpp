#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

namespace ignd {

inline bool is_digit(char c) { return c >= '0' && c <= '9'; }

struct EightDigits {
  std::uint32_t value;
  unsigned count;  // how many of the eight characters are digits, up to the first that is none
};

// The digits at the front of eight characters, all at once: a loop would mispredict its end at almost every number.
inline EightDigits read_eight_digits(const char* at) {
  static_assert(std::endian::native == std::endian::little, "the first character is the lowest byte");
  std::uint64_t bytes = 0;
  std::memcpy(&bytes, at, sizeof bytes);
  bytes ^= 0x3030303030303030;
  // The high bit of every byte above 9. A carry goes only into bytes behind the first of them.
  const std::uint64_t others = ((bytes + 0x7676767676767676) | bytes) & 0x8080808080808080;
  const auto count = static_cast<unsigned>(std::countr_zero(others)) / 8;
  if (count == 0) return {0, 0};
  // Zeros in front, so that there are always eight: pairs of digits, then fours, then all.
  bytes <<= 64 - 8 * count;
  bytes = bytes * 10 + (bytes >> 8);
  constexpr std::uint64_t first_and_third = 0x000000ff000000ff;
  constexpr std::uint64_t pair_weights = 100 + (std::uint64_t{1000000} << 32);
  constexpr std::uint64_t other_weights = 1 + (std::uint64_t{10000} << 32);
  bytes = (bytes & first_and_third) * pair_weights + ((bytes >> 16) & first_and_third) * other_weights;
  return {static_cast<std::uint32_t>(bytes >> 32), count};
}

}  // namespace ignd
