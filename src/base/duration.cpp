#include "base/duration.hpp"

#include "base/text.hpp"
#include "ignd/error.hpp"

#include <cmath>
#include <cstdint>

#include <fmt/format.h>

namespace ignd {
namespace {

// "3 min 20 s", or "3 min" if the rest is 0.
std::string in_two_units(std::uint64_t count, const char* unit, std::uint64_t rest, const char* smaller_unit) {
  const std::string text = fmt::format("{} {}", count, unit);
  return rest == 0 ? text : fmt::format("{} {} {}", text, rest, smaller_unit);
}

}  // namespace

double parse_duration(std::string_view text) {
  const std::string_view units = "smh";
  const std::size_t unit = text.empty() ? std::string_view::npos : units.find(text.back());
  double value = -1;
  if (unit != std::string_view::npos) {
    try {
      value = parse_number(text.substr(0, text.size() - 1), "the budget");
    } catch (const InvalidArgument&) {  // reported below, with what is expected
      value = -1;
    }
  }
  if (!(value > 0) || !std::isfinite(value)) {
    throw InvalidArgument(fmt::format("the budget is {}, but must be a time such as 90s, 10m or 2h", in_quotes(text)));
  }
  return value * std::pow(60, static_cast<double>(unit));
}

std::string duration_text(double seconds) {
  if (!(seconds >= 0 && seconds < 1e15)) return "n/a";
  if (seconds < 10) return fmt::format("{} s", format_number(std::round(seconds * 100) / 100));
  const auto whole = static_cast<std::uint64_t>(std::llround(seconds));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return in_two_units(whole / 60, "min", whole % 60, "s");
  return in_two_units(whole / 3600, "h", whole % 3600 / 60, "min");
}

}  // namespace ignd
