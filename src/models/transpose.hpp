#pragma once

#include <algorithm>
#include <cstddef>

namespace ignd {

// out[c][r] = in[r][c]. Some columns at a time, so that every line of memory is read and written while it is at hand.
template <class T>
void transpose(const T* in, std::size_t rows, std::size_t columns, std::size_t in_stride, T* out,
               std::size_t out_stride) {
  constexpr std::size_t at_once = 16;
  for (std::size_t first = 0; first < columns; first += at_once) {
    const std::size_t end = std::min(columns, first + at_once);
    for (std::size_t r = 0; r < rows; ++r) {
      for (std::size_t c = first; c < end; ++c) out[c * out_stride + r] = in[r * in_stride + c];
    }
  }
}

}  // namespace ignd
