#pragma once

#include "learn/centring.hpp"

#include <cmath>
#include <cstdint>

namespace ignd {

// Offset and scale of a stream's targets, from its first few: the mean, and a power of two so that numbers of any unit
// fit into a float. Then both stay, and what is left of the offset is for the bias to learn.
struct TargetRange {
  bool moves = false;      // the loss does not care where zero is
  bool stretches = false;  // nor what one is
  double offset = 0;
  double scale = 1;
  bool has_scale = false;
  std::uint64_t seen = 0;

  double to_model(double y) const { return (y - offset) / scale; }
  double from_model(double f) const { return f * scale + offset; }

  TargetRange with(double y) const {
    TargetRange next = *this;
    if (seen >= first_look) return next;
    ++next.seen;
    if (moves) next.offset += (y - offset) / static_cast<double>(next.seen);
    // Until the first target that differs from the offset all weights are zero: no prediction changes.
    const double distance = std::abs(y - next.offset);
    if (stretches && !has_scale && distance > 0 && std::isfinite(distance)) {
      next.has_scale = true;
      next.scale = std::exp2(std::floor(std::log2(distance)));
    }
    return next;
  }
};

}  // namespace ignd
