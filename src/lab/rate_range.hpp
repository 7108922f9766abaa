#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ignd {

// The learning rates of a search: a list, or a number of them for each factor of ten between two of them.
struct RateRange {
  std::vector<double> list;  // where it is not empty, the rest says nothing
  double from = 0, to = 0;
  std::uint64_t per_decade = 1;

  // "0.001,0.01", "1e-6:1" (one for each factor of ten) or "1e-6:1:2". Throws InvalidArgument.
  static RateRange parse(std::string_view text);

  // The rates themselves, in increasing order, both ends included. Four digits are enough to tell rates apart, and the
  // same text on every machine.
  std::vector<double> values() const;
};

}  // namespace ignd
