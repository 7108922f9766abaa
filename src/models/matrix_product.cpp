#include "models/matrix_product.hpp"

#include "ignd/aligned.hpp"
#include "ignd/error.hpp"
#include "kernels/kernels.hpp"

#ifdef IGND_HAS_ONEDNN
#include "models/onednn_program.hpp"

#include <algorithm>

#include <dnnl.h>
#include <fmt/format.h>
#endif

namespace ignd {
namespace {

// The kernel reads b row by row: where b lies transposed, it gets a copy.
template <class T>
void multiply_by_kernel(std::size_t rows, std::size_t columns, std::size_t inner, Matrix<const T> a, Matrix<const T> b,
                        Matrix<T> c, bool add) {
  thread_local AlignedVector<T> copy;
  if (b.transposed) {
    if (copy.size() < inner * columns) copy.resize(inner * columns);
    transpose(b.at, columns, inner, b.stride, copy.data(), columns);
    b = {copy.data(), columns};
  }
  kernels::table<T>().product({.rows = rows,
                               .depth = inner,
                               .columns = columns,
                               .a = a.at,
                               .a_row_stride = a.transposed ? 1 : a.stride,
                               .a_column_stride = a.transposed ? a.stride : 1,
                               .b = b.at,
                               .b_stride = b.stride,
                               .out = c.at,
                               .out_stride = c.stride,
                               .add = add});
}

}  // namespace

#ifdef IGND_HAS_ONEDNN
template <>
void multiply(std::size_t rows, std::size_t columns, std::size_t inner, Matrix<const float> a, Matrix<const float> b,
              Matrix<float> c, bool add) {
  if (inner == 0) {
    for (std::size_t r = 0; r < rows && !add; ++r) std::fill_n(c.at + r * c.stride, columns, 0.0F);
  }
  if (rows == 0 || columns == 0 || inner == 0) return;
  const OpenMpThreads one(1);
  const auto size = [](std::size_t n) { return static_cast<dnnl_dim_t>(n); };
  const auto letter = [](bool transposed) { return transposed ? 'T' : 'N'; };
  const dnnl_status_t status =
      dnnl_sgemm(letter(a.transposed), letter(b.transposed), size(rows), size(columns), size(inner), 1, a.at,
                 size(a.stride), b.at, size(b.stride), add ? 1 : 0, c.at, size(c.stride));
  if (status != dnnl_success) {
    throw Error(fmt::format("oneDNN cannot multiply {} x {} by {} x {}: status {}", rows, inner, inner, columns,
                            static_cast<int>(status)));
  }
}
#else
template <>
void multiply(std::size_t rows, std::size_t columns, std::size_t inner, Matrix<const float> a, Matrix<const float> b,
              Matrix<float> c, bool add) {
  multiply_by_kernel(rows, columns, inner, a, b, c, add);
}
#endif

template <>
void multiply(std::size_t rows, std::size_t columns, std::size_t inner, Matrix<const double> a, Matrix<const double> b,
              Matrix<double> c, bool add) {
  multiply_by_kernel(rows, columns, inner, a, b, c, add);
}

}  // namespace ignd
