#include "kernel_arrays.hpp"
#include "kernels/kernels.hpp"
#include "support.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <gtest/gtest.h>

// Matrix products and Cholesky factors of every table, against sums in long double and against Eigen.
namespace ignd::testing {
namespace {

using kernels::Kernels;
using kernels::Product;

struct Sizes {
  std::size_t rows, depth, columns;
};

std::string text(const Sizes& sizes) {
  return std::to_string(sizes.rows) + " x " + std::to_string(sizes.depth) + " x " + std::to_string(sizes.columns);
}

// All rows and columns up to 40 with any depth up to 40, and some that are larger.
std::vector<Sizes> all_sizes(RandomStream& stream) {
  std::vector<Sizes> all{{33, 128, 64}, {100, 130, 150}, {1, 300, 200}, {200, 1, 70}, {70, 0, 90}, {130, 257, 1}};
  for (std::size_t rows = 0; rows <= 40; ++rows) {
    for (std::size_t columns = 0; columns <= 40; ++columns) all.push_back({rows, stream.below(41), columns});
  }
  return all;
}

template <class T>
constexpr T untouched = T(12345);  // between the rows of out

// A product of random matrices with random strides, a transposed or not.
template <class T>
class RandomProduct {
 public:
  RandomProduct(RandomStream& stream, const Sizes& sizes)
      : sizes_(sizes),
        b_stride_(sizes.columns + stream.below(3) * stream.below(5)),
        out_stride_(sizes.columns + stream.below(3) * stream.below(5)),
        factor_(stream.below(3) == 0 ? T{1} : random_values<T>(stream, 1, Kind::extreme).front()),
        add_(stream.below(2) == 0),
        a_(random_values<T>(stream, choose_strides(stream), kinds[stream.below(3)])),
        b_(random_values<T>(stream, extent(sizes.depth, b_stride_, sizes.columns), kinds[stream.below(3)])),
        before_(extent(sizes.rows, out_stride_, sizes.columns), untouched<T>) {
    const auto values = random_values<T>(stream, before_.size(), kinds[stream.below(3)]);
    for (std::size_t i = 0; i < sizes_.rows; ++i) {
      for (std::size_t c = 0; c < sizes_.columns; ++c) {
        const std::size_t at = i * out_stride_ + c;
        before_[at] = add_ ? values[at] : std::numeric_limits<T>::quiet_NaN();
      }
    }
  }

  const Sizes& sizes() const { return sizes_; }
  std::size_t out_stride() const { return out_stride_; }
  T before(std::size_t i, std::size_t c) const { return before_[i * out_stride_ + c]; }

  // What some rows and columns of the product become, between guards, with everything at odd addresses.
  Array<T> run(RandomStream& stream, const Kernels<T>& table, bool upper = false) const {
    return run_part(stream, table, {0, 0, 0}, sizes_, upper);
  }
  Array<T> run_part(RandomStream& stream, const Kernels<T>& table, const Sizes& from, const Sizes& part,
                    bool upper = false) const {
    Array<T> a(a_, stream.below(4));
    Array<T> b(b_, stream.below(4));
    Array<T> out(before_, stream.below(4), Role::written);
    table.product({.rows = part.rows,
                   .depth = part.depth,
                   .columns = part.columns,
                   .a = a.data() + from.rows * a_row_stride_,
                   .a_row_stride = a_row_stride_,
                   .a_column_stride = a_column_stride_,
                   .b = b.data() + from.columns,
                   .b_stride = b_stride_,
                   .out = out.data() + from.rows * out_stride_ + from.columns,
                   .out_stride = out_stride_,
                   .factor = factor_,
                   .add = add_,
                   .upper = upper});
    EXPECT_TRUE(out.guards_untouched());
    return out;
  }

  bool is_right(const Array<T>& out, std::size_t i, std::size_t c) const {
    const Element want = element(i, c);
    const auto got = static_cast<double>(out[i * out_stride_ + c]);
    // Infinitely many times next to nothing is infinite, or not a number if the sum was rounded to zero.
    if (std::isinf(factor_) && want.may_vanish) return !std::isfinite(got);
    return agree(got, want.value, want.tolerance);
  }
  double expected(std::size_t i, std::size_t c) const { return element(i, c).value; }

 private:
  struct Element {
    double value, tolerance;
    bool may_vanish;
  };

  static std::size_t extent(std::size_t rows, std::size_t stride, std::size_t columns) {
    return rows == 0 ? 0 : (rows - 1) * stride + columns;
  }

  // Row by row, column by column, or with room between all numbers; returns how many numbers that spans.
  std::size_t choose_strides(RandomStream& stream) {
    const std::size_t gap = stream.below(2) * stream.below(5);
    const auto layout = stream.below(5);
    a_row_stride_ = layout < 2 ? sizes_.depth + gap : 1;
    a_column_stride_ = layout < 2 ? 1 : sizes_.rows + gap;
    if (layout == 4) {
      a_row_stride_ = 3;
      a_column_stride_ = 3 * sizes_.rows + gap;
    }
    if (sizes_.rows == 0 || sizes_.depth == 0) return 0;
    return (sizes_.rows - 1) * a_row_stride_ + (sizes_.depth - 1) * a_column_stride_ + 1;
  }

  // By definition, with what depth + 3 roundings may be off by.
  Element element(std::size_t i, std::size_t c) const {
    long double sum = 0;
    long double size = 0;
    for (std::size_t k = 0; k < sizes_.depth; ++k) {
      const long double term = static_cast<long double>(a_[i * a_row_stride_ + k * a_column_stride_]) *
                               static_cast<long double>(b_[k * b_stride_ + c]);
      sum += term;
      size += std::abs(term);
    }
    const auto factor = static_cast<long double>(factor_);
    const long double old = add_ ? static_cast<long double>(before(i, c)) : 0;
    const double roundings = static_cast<double>(sizes_.depth) + 3;
    return {static_cast<double>(old + factor * sum),
            roundings * (rounding<T>(static_cast<double>(std::abs(old) + std::abs(factor) * size)) +
                         static_cast<double>(std::abs(factor)) * rounding<T>(0)),
            std::abs(sum) < static_cast<long double>(std::numeric_limits<T>::min())};
  }

  Sizes sizes_;
  std::size_t b_stride_, out_stride_;
  std::size_t a_row_stride_ = 0, a_column_stride_ = 0;
  T factor_;
  bool add_;
  std::vector<T> a_, b_, before_;
};

template <class T>
class Products : public ::testing::Test {};

struct PrecisionNames {
  template <class T>
  static std::string GetName(int) {
    return sizeof(T) == sizeof(float) ? "float" : "double";
  }
};
using Precisions = ::testing::Types<float, double>;
TYPED_TEST_SUITE(Products, Precisions, PrecisionNames);

TYPED_TEST(Products, AreTheSumsThatTheyAreDefinedAs) {
  using T = TypeParam;
  RandomStream stream(1, "products");
  for (const Sizes& sizes : all_sizes(stream)) {
    const RandomProduct<T> product(stream, sizes);
    for (const Kernels<T>* table : kernels::all_tables<T>()) {
      const Array<T> out = product.run(stream, *table);
      for (std::size_t i = 0; i < sizes.rows; ++i) {
        for (std::size_t c = 0; c < sizes.columns; ++c) {
          ASSERT_TRUE(product.is_right(out, i, c))
              << table->name << " " << text(sizes) << " at " << i << ", " << c << ": "
              << out[i * product.out_stride() + c] << " instead of " << product.expected(i, c);
        }
        for (std::size_t c = sizes.columns; i + 1 < sizes.rows && c < product.out_stride(); ++c) {
          ASSERT_EQ(out[i * product.out_stride() + c], untouched<T>) << table->name << " " << text(sizes);
        }
      }
    }
  }
}

TYPED_TEST(Products, OfColumnsAreTheirSums) {
  RandomStream stream(21, "columns");
  for (const Kernels<TypeParam>* table : kernels::all_tables<TypeParam>()) {
    SCOPED_TRACE(table->name);
    for (std::size_t columns = 0; columns <= 70; ++columns) {
      const std::size_t rows = stream.below(20), a_stride = columns + stream.below(4),
                        b_stride = columns + stream.below(4);
      const auto kind = kinds[stream.below(3)];
      const auto a_values = random_values<TypeParam>(stream, rows * a_stride, kind);
      const auto b_values = random_values<TypeParam>(stream, rows * b_stride, kind);
      Array<TypeParam> a(a_values, stream.below(4)), b(b_values, stream.below(4));
      Array<TypeParam> sums(std::vector<TypeParam>(columns, TypeParam{7}), stream.below(4), Role::written);
      table->column_products(a.data(), a_stride, b.data(), b_stride, rows, columns, sums.data());
      EXPECT_TRUE(sums.guards_untouched());
      for (std::size_t c = 0; c < columns; ++c) {
        double sum = 0, size = 0;
        for (std::size_t r = 0; r < rows; ++r) {
          const double part =
              static_cast<double>(a_values[r * a_stride + c]) * static_cast<double>(b_values[r * b_stride + c]);
          sum += part;
          size += std::abs(part);
        }
        const double tolerance = 20 * static_cast<double>(std::numeric_limits<TypeParam>::epsilon()) * size +
                                 20 * static_cast<double>(std::numeric_limits<TypeParam>::min());
        EXPECT_TRUE(agree(static_cast<double>(sums[c]), sum, tolerance)) << sums[c] << " " << sum;
      }
    }
  }
}

TYPED_TEST(Products, HaveTheSameBitsWhereverATileEnds) {
  using T = TypeParam;
  RandomStream stream(2, "products");
  for (int repeat = 0; repeat < 200; ++repeat) {
    const Sizes sizes{2 + stream.below(60), stream.below(70), 2 + stream.below(60)};
    const RandomProduct<T> product(stream, sizes);
    const Sizes from{stream.below(sizes.rows), 0, stream.below(sizes.columns - 1)};
    const Sizes part{1 + stream.below(sizes.rows - from.rows), sizes.depth,
                     2 + stream.below(sizes.columns - from.columns - 1)};
    for (const Kernels<T>* table : kernels::all_tables<T>()) {
      const Array<T> whole = product.run(stream, *table);
      const Array<T> some = product.run_part(stream, *table, from, part);
      for (std::size_t i = from.rows; i < from.rows + part.rows; ++i) {
        for (std::size_t c = from.columns; c < from.columns + part.columns; ++c) {
          const std::size_t at = i * product.out_stride() + c;
          ASSERT_TRUE(same_bits(some[at], whole[at])) << table->name << " " << text(sizes) << " at " << i << ", " << c;
        }
      }
    }
  }
}

TYPED_TEST(Products, OfWhichTheUpperPartIsAskedForHaveIt) {
  using T = TypeParam;
  RandomStream stream(3, "products");
  for (std::size_t n = 0; n <= 140; n += n < 40 ? 1 : 9) {
    const Sizes sizes{n, stream.below(40), n + stream.below(2) * stream.below(20)};
    const RandomProduct<T> product(stream, sizes);
    for (const Kernels<T>* table : kernels::all_tables<T>()) {
      const Array<T> out = product.run(stream, *table, true);
      for (std::size_t i = 0; i < sizes.rows; ++i) {
        for (std::size_t c = 0; c < sizes.columns; ++c) {
          const bool kept = same_bits(out[i * product.out_stride() + c], product.before(i, c));
          ASSERT_TRUE(product.is_right(out, i, c) || (c < i && kept))
              << table->name << " " << text(sizes) << " at " << i << ", " << c;
        }
      }
    }
  }
}

using Matrix = Eigen::MatrixXd;
using Vector = Eigen::VectorXd;
using LongMatrix = Eigen::Matrix<long double, Eigen::Dynamic, Eigen::Dynamic>;
using LongVector = Eigen::Matrix<long double, Eigen::Dynamic, 1>;

constexpr double epsilon = std::numeric_limits<double>::epsilon();

Matrix normal_matrix(RandomStream& stream, std::size_t rows, std::size_t columns) {
  Matrix made(rows, columns);
  for (auto& value : made.reshaped()) value = stream.normal();
  return made;
}

// Positive definite, with eigenvalues from about `damping` to a few.
Matrix definite_matrix(RandomStream& stream, std::size_t n, double damping) {
  const Matrix b = normal_matrix(stream, n, n + 1);
  return b * b.transpose() / static_cast<double>(n + 1) + damping * Matrix::Identity(b.rows(), b.rows());
}

std::vector<std::size_t> orders() {
  std::vector<std::size_t> all{64, 100, 128, 129, 160, 303};
  for (std::size_t n = 0; n <= 40; ++n) all.push_back(n);
  return all;
}

template <class M>
auto& entry(M& m, std::size_t i, std::size_t k) {
  return m(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(k));
}

// Column by column, with NaN wherever nothing is to be read from.
std::vector<double> lower_triangle(const Matrix& from, std::size_t stride) {
  const auto n = static_cast<std::size_t>(from.rows());
  std::vector<double> values(n == 0 ? 0 : (n - 1) * stride + n, std::numeric_limits<double>::quiet_NaN());
  for (std::size_t k = 0; k < n; ++k) {
    for (std::size_t i = k; i < n; ++i) values[k * stride + i] = entry(from, i, k);
  }
  return values;
}

struct Factored {
  bool good;
  Matrix l;
};

Factored factored(RandomStream& stream, const Kernels<double>& table, const Matrix& a) {
  const auto n = static_cast<std::size_t>(a.rows());
  const std::size_t stride = n + stream.below(2) * stream.below(9);
  Array<double> at(lower_triangle(a, stride), stream.below(4), Role::written);
  Factored result{table.cholesky(at.data(), n, stride), Matrix::Zero(a.rows(), a.rows())};
  EXPECT_TRUE(at.guards_untouched());
  for (std::size_t k = 0; k < n; ++k) {
    for (std::size_t i = k; i < n; ++i) entry(result.l, i, k) = at[k * stride + i];
    for (std::size_t i = n; k + 1 < n && i < stride; ++i) EXPECT_TRUE(std::isnan(at[k * stride + i])) << "in the gap";
  }
  return result;
}

// The largest entry of L L^T - a in units of what rounding explains, which does not depend on how rows are scaled.
double factor_error(const Matrix& l, const Matrix& a) {
  const LongMatrix lower = l.cast<long double>();
  const LongMatrix off = lower * lower.transpose() - LongMatrix(a.cast<long double>());
  double worst = 0;
  for (Eigen::Index k = 0; k < a.rows(); ++k) {
    for (Eigen::Index i = k; i < a.rows(); ++i) {
      const double size = std::sqrt(a(i, i)) * std::sqrt(a(k, k)) * (static_cast<double>(a.rows()) + 8) * epsilon;
      const double error = static_cast<double>(std::abs(off(i, k))) / size;
      worst = error <= worst ? worst : error;  // a NaN gets through
    }
  }
  return worst;
}

Vector solved(RandomStream& stream, const Kernels<double>& table, const Matrix& l, const Vector& b) {
  const auto n = static_cast<std::size_t>(l.rows());
  const std::size_t stride = n + stream.below(2) * stream.below(9);
  Array<double> at(lower_triangle(l, stride), stream.below(4));
  Array<double> x(std::vector<double>(b.begin(), b.end()), stream.below(4), Role::written);
  table.cholesky_solve(at.data(), n, stride, x.data());
  EXPECT_TRUE(x.guards_untouched());
  return Eigen::Map<const Vector>(x.data(), static_cast<Eigen::Index>(n));
}

// The largest entry of L L^T x - b in units of what rounding explains.
double solution_error(const Matrix& l, const Vector& x, const Vector& b) {
  const LongMatrix lower = l.cast<long double>();
  const LongVector at = x.cast<long double>();
  const LongVector product = lower.transpose() * at;
  const LongVector off = lower * product - LongVector(b.cast<long double>());
  const LongVector inner = lower.cwiseAbs().transpose() * at.cwiseAbs();
  const LongVector size = lower.cwiseAbs() * inner;
  double worst = 0;
  for (Eigen::Index i = 0; i < b.size(); ++i) {
    const double unit = static_cast<double>(size[i]) * (static_cast<double>(b.size()) + 8) * epsilon;
    const double error = static_cast<double>(std::abs(off[i])) / unit;
    worst = error <= worst ? worst : error;
  }
  return worst;
}

TEST(Cholesky, FactorsAndSolutionsAreThoseOfEigen) {
  RandomStream stream(4, "products");
  for (const std::size_t n : orders()) {
    const Matrix a = definite_matrix(stream, n, 0.1);
    const Vector b = normal_matrix(stream, n, 1);
    const Eigen::LLT<Matrix> reference(a);
    const Matrix l = reference.matrixL();
    const Vector x = n == 0 ? b : Vector(reference.solve(b));
    for (const Kernels<double>* table : kernels::all_tables<double>()) {
      const Factored got = factored(stream, *table, a);
      ASSERT_TRUE(got.good) << table->name << " " << n;
      ASSERT_LE((got.l - l).norm(), 1e-12 * static_cast<double>(n)) << table->name << " " << n;
      ASSERT_LE(factor_error(got.l, a), 1) << table->name << " " << n;
      const Vector solution = solved(stream, *table, got.l, b);
      ASSERT_LE((solution - x).norm(), 1e-12 * static_cast<double>(n) * (x.norm() + 1)) << table->name << " " << n;
      ASSERT_LE(solution_error(got.l, solution, b), 1) << table->name << " " << n;
    }
  }
}

TEST(Cholesky, IsAsGoodWhereRowsAreOfVeryDifferentSizes) {
  RandomStream stream(5, "products");
  for (const std::size_t n : orders()) {
    Vector scale(n);
    for (double& size : scale) size = std::pow(10, stream.uniform(-120, 120));
    const Matrix a = scale.asDiagonal() * definite_matrix(stream, n, 1e-3) * scale.asDiagonal();
    const Vector b = scale.asDiagonal() * normal_matrix(stream, n, 1);
    for (const Kernels<double>* table : kernels::all_tables<double>()) {
      const Factored got = factored(stream, *table, a);
      ASSERT_TRUE(got.good) << table->name << " " << n;
      ASSERT_LE(factor_error(got.l, a), 1) << table->name << " " << n;
      ASSERT_LE(solution_error(got.l, solved(stream, *table, got.l, b), b), 1) << table->name << " " << n;
    }
  }
}

TEST(Cholesky, OfNearlySingularMatricesIsRightOrRefused) {
  RandomStream stream(6, "products");
  for (const std::size_t n : orders()) {
    for (const double damping : {0.0, 1e-16, 1e-15, 1e-13, 1e-10}) {
      const Matrix b = normal_matrix(stream, n, n / 2);
      const Matrix a = b * b.transpose() + damping * Matrix::Identity(b.rows(), b.rows());
      for (const Kernels<double>* table : kernels::all_tables<double>()) {
        const Factored got = factored(stream, *table, a);
        ASSERT_TRUE(got.good || damping < 1e-12) << table->name << " " << n << " " << damping;
        ASSERT_TRUE(!got.good || factor_error(got.l, a) <= 1) << table->name << " " << n << " " << damping;
      }
    }
  }
}

TEST(Cholesky, RefusesWhatIsNotPositiveDefinite) {
  RandomStream stream(7, "products");
  for (const std::size_t n : orders()) {
    if (n == 0) continue;
    const Matrix a = definite_matrix(stream, n, 0.1);
    const auto row = static_cast<Eigen::Index>(stream.below(n));
    const auto column = static_cast<Eigen::Index>(stream.below(static_cast<std::size_t>(row) + 1));
    std::vector<Matrix> bad{Matrix::Zero(a.rows(), a.rows()), -a, a * std::numeric_limits<double>::denorm_min()};
    const auto with_entry = [&](Eigen::Index i, Eigen::Index k, double value) {
      bad.push_back(a);
      bad.back()(i, k) = value;
    };
    with_entry(row, row, 0);
    with_entry(row, row, -1);
    for (const double value : {std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity(),
                               std::numeric_limits<double>::quiet_NaN()}) {
      with_entry(row, row, value);
      with_entry(row, column, value);
    }
    if (row > 0) {
      bad.push_back(a);  // the same row twice
      bad.back().row(row) = bad.back().row(row - 1);
      bad.back().col(row) = bad.back().col(row - 1);
    }
    for (const Kernels<double>* table : kernels::all_tables<double>()) {
      for (std::size_t k = 0; k < bad.size(); ++k) {
        ASSERT_FALSE(factored(stream, *table, bad[k]).good)
            << table->name << " " << n << ", matrix " << k << ", " << row << ", " << column;
      }
    }
  }
}

TEST(Cholesky, HoldsFromTheSmallestNumbersToTheLargest) {
  RandomStream stream(8, "products");
  for (const std::size_t n : {std::size_t{1}, std::size_t{7}, std::size_t{8}, std::size_t{33}}) {
    for (const double scale : {1e-300, 1e300}) {
      const Matrix a = scale * definite_matrix(stream, n, 0.1);
      for (const Kernels<double>* table : kernels::all_tables<double>()) {
        const Factored got = factored(stream, *table, a);
        ASSERT_TRUE(got.good) << table->name << " " << n << " " << scale;
        ASSERT_LE(factor_error(got.l, a), 1) << table->name << " " << n << " " << scale;
      }
    }
  }
}

TEST(Cholesky, WhatIsNotFiniteOnTheRightStaysSo) {
  RandomStream stream(9, "products");
  for (const std::size_t n : orders()) {
    if (n == 0) continue;
    const Matrix a = definite_matrix(stream, n, 0.1);
    const Matrix l = Eigen::LLT<Matrix>(a).matrixL();
    for (const double value : {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
      Vector b = normal_matrix(stream, n, 1);
      b[static_cast<Eigen::Index>(stream.below(n))] = value;
      for (const Kernels<double>* table : kernels::all_tables<double>()) {
        const Vector x = solved(stream, *table, l, b);
        ASSERT_FALSE(std::isfinite(x[0])) << table->name << " " << n;
      }
    }
  }
}

}  // namespace
}  // namespace ignd::testing
