#include "models/matrix_product.hpp"

#include "support.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace ignd::testing {
namespace {

template <class T>
class MatrixProduct : public ::testing::Test {};
using Precisions = ::testing::Types<float, double>;
TYPED_TEST_SUITE(MatrixProduct, Precisions, );

TYPED_TEST(MatrixProduct, EqualsTheSumsWrittenOut) {
  using T = TypeParam;
  RandomStream stream(1, "products");
  for (int trial = 0; trial < 200; ++trial) {
    const std::size_t m = stream.below(20), n = stream.below(20), k = stream.below(40);
    const bool first = stream.below(2) == 0, second = stream.below(2) == 0, add = stream.below(2) == 0;
    // Rows are further apart than they are long.
    const std::size_t stride_a = (first ? m : k) + 3, stride_b = (second ? k : n) + 1, stride_c = n + 2;
    const auto a = normal_vector<T>(stream, stride_a * ((first ? k : m) + 1));
    const auto b = normal_vector<T>(stream, stride_b * ((second ? n : k) + 1));
    auto c = normal_vector<T>(stream, stride_c * (m + 1));
    const auto before = c;
    multiply<T>(m, n, k, {a.data(), stride_a, first}, {b.data(), stride_b, second}, {c.data(), stride_c}, add);
    for (std::size_t r = 0; r < m; ++r) {
      for (std::size_t s = 0; s < stride_c; ++s) {
        double expected = s >= n || add ? before[r * stride_c + s] : 0;
        for (std::size_t i = 0; i < k && s < n; ++i) {
          expected += static_cast<double>(first ? a[i * stride_a + r] : a[r * stride_a + i]) *
                      static_cast<double>(second ? b[s * stride_b + i] : b[i * stride_b + s]);
        }
        // Up to forty products of size one.
        ASSERT_NEAR(c[r * stride_c + s], expected, sizeof(T) == 4 ? 1e-4 : 1e-12) << m << " " << n << " " << k;
      }
    }
  }
}

}  // namespace
}  // namespace ignd::testing
