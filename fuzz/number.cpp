#include "base/number.hpp"

#include "require.hpp"

#include <bit>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

using ignd::is_digit;
using ignd::fuzz::require;

namespace {

bool same(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b) || (std::isnan(a) && std::isnan(b));
}

// Whether a number starts here, by its grammar alone.
bool starts_number(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  std::string word;
  for (const char c : text.substr(0, 3)) word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (word == "inf" || word == "nan") return true;
  if (text.starts_with('.')) text.remove_prefix(1);
  return !text.empty() && is_digit(text.front());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  double value = 0;
  const char* const end = ignd::read_number(text.data(), text.data() + size, value);
  require((end != nullptr) == starts_number(text), "a number is read where one starts, and only there");
  if (end == nullptr) return 0;

  const std::string number(text.data(), end);
  const bool has_digits = is_digit(number.back()) || number.back() == '.';
  require(!has_digits || end == text.data() + size || !is_digit(*end), "it is read to its end");
  char* rest = nullptr;
  require(same(std::strtod(number.c_str(), &rest), value) && *rest == '\0', "it is what strtod says");

  const std::string longer = number + "                    ";
  double again = 0;
  require(ignd::read_number(longer.data(), longer.data() + longer.size(), again) == longer.data() + number.size() &&
              same(again, value),
          "what stands behind it changes nothing");
  return 0;
}
