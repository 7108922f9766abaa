#include "models/matrix_product.hpp"

#include "ignd/error.hpp"
#include "models/onednn_program.hpp"

#include <algorithm>

#include <dnnl.h>
#include <fmt/format.h>

namespace ignd {

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

template <>
void multiply(std::size_t rows, std::size_t columns, std::size_t inner, Matrix<const double> a, Matrix<const double> b,
              Matrix<double> c, bool add) {
  const auto element = [](const Matrix<const double>& m, std::size_t r, std::size_t k) {
    return m.transposed ? m.at[k * m.stride + r] : m.at[r * m.stride + k];
  };
  for (std::size_t r = 0; r < rows; ++r) {
    double* row = c.at + r * c.stride;
    if (!add) std::fill_n(row, columns, 0.0);
    for (std::size_t k = 0; k < inner; ++k) {
      const double factor = element(a, r, k);
      for (std::size_t column = 0; column < columns; ++column) row[column] += factor * element(b, k, column);
    }
  }
}

}  // namespace ignd
