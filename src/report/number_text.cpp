#include "report/number_text.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace ignd {
namespace {

// Of the first digit of a number: 0 for 3.2, -2 for 0.032.
int place_of(double value) { return static_cast<int>(std::floor(std::log10(value))); }

std::size_t decimals_of(const std::string& number) {
  const std::size_t point = number.find('.');
  return point == std::string::npos || number.find('e') != std::string::npos ? 0 : number.size() - point - 1;
}

}  // namespace

std::string without_zeros_in_exponent(std::string text) {
  const std::size_t e = text.find('e');
  if (e == std::string::npos) return text;
  if (text[e + 1] == '+') text.erase(e + 1, 1);
  const std::size_t digits = e + (text[e + 1] == '-' ? 2 : 1);
  while (digits + 1 < text.size() && text[digits] == '0') text.erase(digits, 1);
  return text;
}

std::string number_text(std::optional<double> value) {
  if (!value || !std::isfinite(*value)) return std::string(not_available);
  return without_zeros_in_exponent(fmt::format("{:.4g}", *value));
}

std::string rate_text(double rate) {
  if (!std::isfinite(rate)) return std::string(not_available);
  return without_zeros_in_exponent(format_number(rate));
}

std::string with_spread(std::optional<double> mean, std::optional<double> deviation) {
  if (!mean || !deviation) return number_text(mean);
  const double scale = std::max(std::abs(*mean), *deviation);
  if (!std::isfinite(scale) || *deviation <= 0 || *deviation < 1e-6 * scale) {
    return number_text(mean) + " ± " + without_zeros_in_exponent(fmt::format("{:.2g}", *deviation));
  }
  const int exponent = scale < 1e-3 || scale >= 1e6 ? place_of(scale) : 0;
  // Two steps, since 10^324 is not a number.
  const double unit = std::pow(10.0, -exponent / 2);
  const double rest = std::pow(10.0, -exponent - (-exponent / 2));
  const double m = *mean * unit * rest;
  const double d = *deviation * unit * rest;
  const int decimals = std::max(0, 1 - place_of(d));
  std::string text = fmt::format("{:.{}f} ± {:.{}f}", m, decimals, d, decimals);
  const bool zero = text.find_first_of("123456789") > text.find(' ');
  if (zero && text[0] == '-') text.erase(0, 1);
  return exponent == 0 ? text : fmt::format("({})e{}", text, exponent);
}

std::string with_given_spread(double mean, std::optional<double> deviation) {
  std::string m = rate_text(mean);
  if (!deviation) return m;
  const std::string d = rate_text(*deviation);
  if (m.find('e') != std::string::npos || d.find('e') != std::string::npos) return m + " ± " + d;
  const std::size_t decimals = std::max(decimals_of(m), decimals_of(d));
  return fmt::format("{:.{}f} ± {:.{}f}", mean, decimals, *deviation, decimals);
}

std::string seeds_text(std::vector<std::uint64_t> seeds) {
  std::ranges::sort(seeds);
  seeds.erase(std::unique(seeds.begin(), seeds.end()), seeds.end());
  std::string text;
  for (std::size_t first = 0; first < seeds.size();) {
    std::size_t last = first;
    while (last + 1 < seeds.size() && seeds[last + 1] == seeds[last] + 1) ++last;
    if (!text.empty()) text += ", ";
    text += std::to_string(seeds[first]);
    if (last > first) text += fmt::format("{}{}", last > first + 1 ? " to " : ", ", seeds[last]);
    first = last + 1;
  }
  return text.empty() ? "none" : text;
}

}  // namespace ignd
