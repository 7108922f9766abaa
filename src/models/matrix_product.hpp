#pragma once

#include <cstddef>

namespace ignd {

// A matrix stored row by row, so many numbers from one row to the next, or the transpose of one.
template <class T>
struct Matrix {
  T* at = nullptr;
  std::size_t stride = 0;
  bool transposed = false;
};

// c (rows x columns) = a (rows x inner) b (inner x columns), on top of what c holds if `add`. In float through oneDNN,
// in double plain loops. Uses one thread.
template <class T>
void multiply(std::size_t rows, std::size_t columns, std::size_t inner, Matrix<const T> a, Matrix<const T> b,
              Matrix<T> c, bool add = false);

}  // namespace ignd
