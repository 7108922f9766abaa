#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

namespace ignd {

// A row-major matrix with `stride` numbers from one row to the next, or the transpose of one.
template <class T>
struct Matrix {
  T* at = nullptr;
  std::size_t stride = 0;
  bool transposed = false;
};

// c (rows x columns) = a (rows x inner) b (inner x columns), or c += a b if `add`. Float uses oneDNN where the build
// has it; double, and float without it, our own kernel. Runs on one thread.
template <class T>
void multiply(std::size_t rows, std::size_t columns, std::size_t inner, Matrix<const T> a, Matrix<const T> b,
              Matrix<T> c, bool add = false);
template <>
void multiply(std::size_t rows, std::size_t columns, std::size_t inner, Matrix<const float> a, Matrix<const float> b,
              Matrix<float> c, bool add);
template <>
void multiply(std::size_t rows, std::size_t columns, std::size_t inner, Matrix<const double> a, Matrix<const double> b,
              Matrix<double> c, bool add);

// out[c][r] = in[r][c]. Works on one square at a time, through a small copy: rows may be so far apart that the cache
// cannot hold a line of each of them at once.
template <class T>
void transpose(const T* in, std::size_t rows, std::size_t columns, std::size_t in_stride, T* out,
               std::size_t out_stride) {
  constexpr std::size_t side = 16;
  std::array<T, side * side> square;
  for (std::size_t top = 0; top < rows; top += side) {
    const std::size_t high = std::min(rows - top, side);
    for (std::size_t left = 0; left < columns; left += side) {
      const std::size_t wide = std::min(columns - left, side);
      for (std::size_t r = 0; r < high; ++r) {
        for (std::size_t c = 0; c < wide; ++c) square[c * side + r] = in[(top + r) * in_stride + left + c];
      }
      for (std::size_t c = 0; c < wide; ++c) {
        std::copy_n(square.data() + c * side, high, out + (left + c) * out_stride + top);
      }
    }
  }
}

}  // namespace ignd
