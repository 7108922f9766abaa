#include "data/number.hpp"

#include <array>
#include <charconv>
#include <cstdint>
#include <limits>
#include <system_error>

namespace ignd {
namespace {

// Powers of ten that a double holds exactly.
constexpr std::array<double, 23> exact_powers{1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                              1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
constexpr std::uint64_t largest_exact = std::uint64_t{1} << std::numeric_limits<double>::digits;
constexpr int most_digits = 18;  // that many nines fit in 64 bits

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Everything the quick way leaves: many digits, exponents, inf and nan. Too large is infinite, too small is zero.
const char* read_any(const char* at, const char* end, double& value) {
  if (at < end && *at == '+') {
    ++at;
    if (at < end && *at == '-') return nullptr;
  }
  const auto result = std::from_chars(at, end, value);
  if (result.ec == std::errc::invalid_argument) return nullptr;
  if (result.ec == std::errc::result_out_of_range) {
    bool tiny = false;
    for (const char* c = at; c < result.ptr; ++c) {
      if (*c == 'e' || *c == 'E') tiny = c + 1 < result.ptr && c[1] == '-';
    }
    value = tiny ? 0.0 : std::numeric_limits<double>::infinity();
    if (*at == '-') value = -value;
  }
  return result.ptr;
}

}  // namespace

// A number of at most 18 digits whose mantissa and power of ten are exact doubles is one exact division: that is what
// almost every number in a file is, and twice as fast as the general way.
const char* read_number(const char* at, const char* end, double& value) {
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
  const bool more = c < end && ((*c | 0x20) == 'e' || digits == 0);
  if (more || digits == 0 || digits > most_digits || mantissa > largest_exact) return read_any(at, end, value);
  const double size = static_cast<double>(mantissa) / exact_powers[static_cast<std::size_t>(decimals)];
  value = negative ? -size : size;
  return c;
}

}  // namespace ignd
