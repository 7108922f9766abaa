#include "lab/rate_range.hpp"

#include "base/text.hpp"
#include "ignd/error.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace ignd {
namespace {

double parse_rate(std::string_view text) {
  const double rate = parse_number(text, "a learning rate");
  if (rate > 0 && std::isfinite(rate)) return rate;
  throw InvalidArgument(fmt::format("a learning rate is {}, but must be a finite number above 0", in_quotes(text)));
}

std::vector<double> parse_list(std::string_view text) {
  std::vector<double> rates;
  for (const std::string_view part : split(text, ',')) rates.push_back(parse_rate(part));
  std::sort(rates.begin(), rates.end());
  if (std::adjacent_find(rates.begin(), rates.end()) == rates.end()) return rates;
  throw InvalidArgument(fmt::format("the learning rates {} have one of them twice", in_quotes(text)));
}

}  // namespace

RateRange RateRange::parse(std::string_view text) {
  const auto parts = split(text, ':');
  if (parts.size() == 1) return {.list = parse_list(text)};
  if (parts.size() > 3) {
    throw InvalidArgument(
        fmt::format("the learning rates are {}, but must be FROM:TO, FROM:TO:PER-DECADE, or a list such as 0.001,0.01",
                    in_quotes(text)));
  }
  RateRange range{.list = {}, .from = parse_rate(parts[0]), .to = parse_rate(parts[1])};
  if (parts.size() == 3) range.per_decade = parse_count(parts[2], "the number of learning rates per decade");
  constexpr std::uint64_t most_per_decade = 100;
  if (range.from <= range.to && range.per_decade >= 1 && range.per_decade <= most_per_decade) return range;
  throw InvalidArgument(
      fmt::format("the learning rates are {}, but must run from one to a larger one, with 1 to {} per decade",
                  in_quotes(text), most_per_decade));
}

std::vector<double> RateRange::values() const {
  if (!list.empty()) return list;
  const auto in_four_digits = [](double rate) { return parse_number(fmt::format("{:.3e}", rate), "rate"); };
  std::vector<double> rates;
  for (double k = 0;; ++k) {
    const double rate = in_four_digits(from * std::pow(10, k / static_cast<double>(per_decade)));
    if (rate >= in_four_digits(to)) break;
    rates.push_back(rate);
  }
  rates.push_back(in_four_digits(to));
  return rates;
}

}  // namespace ignd
