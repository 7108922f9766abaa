#pragma once

#include "base/digits.hpp"
#include "base/number.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

// The pieces that rows of text are made of, for the parsers.
namespace ignd {

inline bool is_blank(char c) { return c == ' ' || c == '\t'; }

inline const char* skip_blanks(const char* at, const char* end) {
  while (at < end && is_blank(*at)) ++at;
  return at;
}

// The text up to the next blank, for messages.
std::string_view word_at(const char* at, const char* end);

// "'12x' is not WHAT".
std::string is_not(std::string_view word, std::string_view what);

// Reads an unsigned decimal number below 2^32. Null if there is none or it is larger.
inline const char* read_index(const char* at, const char* end, std::uint32_t& index) {
  if (end - at >= 8) {
    const EightDigits digits = read_eight_digits(at);
    index = digits.value;
    if (digits.count > 0 && digits.count < 8) return at + digits.count;
  }
  const char* const first = at;
  std::uint64_t value = 0;
  for (; at < end && is_digit(*at); ++at) {
    value = 10 * value + static_cast<std::uint64_t>(*at - '0');
    if (value > std::numeric_limits<std::uint32_t>::max()) return nullptr;
  }
  index = static_cast<std::uint32_t>(value);
  return at > first ? at : nullptr;
}

// A number that a double, or a float if that is what is asked for, can hold. Null if there is none.
template <class T>
const char* read_finite(const char* at, const char* end, T& value) {
  double number = 0;
  at = read_number(at, end, number);
  value = static_cast<T>(number);
  return std::isfinite(value) ? at : nullptr;
}

}  // namespace ignd
