#include "core/damped_system.hpp"

#include "kernels/kernels.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ignd {
namespace {

// The factor of a positive semidefinite block, in place and lower: a direction without curvature becomes a column of
// zeros. False for any other block.
bool factor_block(double* a, std::size_t n) {
  double largest = 0;
  for (std::size_t k = 0; k < n; ++k) largest = std::max(largest, a[k * n + k]);
  const double share = static_cast<double>(n) * std::numeric_limits<double>::epsilon();
  const double tiny = share * largest, least = std::sqrt(share);
  for (std::size_t c = 0; c < n; ++c) {
    double pivot = a[c * n + c];
    for (std::size_t k = 0; k < c; ++k) pivot -= a[c * n + k] * a[c * n + k];
    if (!(pivot >= -least * largest) || !std::isfinite(pivot)) return false;
    const bool flat = !(pivot > tiny);
    a[c * n + c] = flat ? 0 : std::sqrt(pivot);
    for (std::size_t r = c + 1; r < n; ++r) {
      double sum = a[r * n + c];
      for (std::size_t k = 0; k < c; ++k) sum -= a[r * n + k] * a[c * n + k];
      a[r * n + c] = flat ? 0 : sum / a[c * n + c];
      a[c * n + r] = 0;
    }
  }
  return true;
}

}  // namespace

DampedSystem::DampedSystem(std::size_t most_rows, std::size_t block, double rounding)
    : block_(block),
      rounding_(rounding),
      gram_(most_rows * most_rows),
      curvature_(most_rows * block),
      root_(most_rows * block),
      half_(block == 1 ? 0 : most_rows * most_rows),
      system_(most_rows * most_rows),
      y_(most_rows),
      rest_(most_rows),
      scratch_(most_rows) {}

bool DampedSystem::factor_curvature(std::size_t rows) {
  if (block_ == 1) {
    for (std::size_t r = 0; r < rows; ++r) root_[r] = std::sqrt(curvature_[r]);
    return true;
  }
  std::copy_n(curvature_.begin(), rows * block_, root_.begin());
  for (std::size_t r = 0; r < rows; r += block_) {
    if (!factor_block(root_.data() + r * block_, block_)) return false;
  }
  return true;
}

// out = S x, or S^T x.
void DampedSystem::apply_root(std::size_t rows, std::span<const double> x, std::span<double> out,
                              bool transposed) const {
  for (std::size_t r = 0; r < rows; ++r) {
    const std::size_t first = r - r % block_;
    double sum = 0;
    for (std::size_t k = 0; k < block_; ++k) {
      const double entry = transposed ? root_[(first + k) * block_ + r % block_] : root_[r * block_ + k];
      sum += entry * x[first + k];
    }
    out[r] = sum;
  }
}

// G S, block by block.
void DampedSystem::form_half(std::size_t rows) {
  for (std::size_t r = 0; r < rows; ++r) {
    double* row = half_.data() + r * rows;
    std::fill_n(row, rows, 0.0);
    for (std::size_t k = 0; k < rows; ++k) {
      const double factor = gram_at(rows, r, k);
      double* block = row + (k - k % block_);
      for (std::size_t c = 0; c <= k % block_; ++c) block[c] += factor * root_[k * block_ + c];
    }
  }
}

// S^T G S + mu I.
void DampedSystem::form_system(std::size_t rows, double mu) {
  if (block_ == 1) {
    for (std::size_t r = 0; r < rows; ++r) {
      for (std::size_t c = r; c < rows; ++c) system_[r * rows + c] = root_[r] * gram_[r * rows + c] * root_[c];
    }
  } else {
    form_half(rows);
    for (std::size_t r = 0; r < rows; ++r) {
      double* row = system_.data() + r * rows;
      std::fill(row + r, row + rows, 0.0);
      for (std::size_t k = r; k < r - r % block_ + block_; ++k) {  // S is lower: above r there are zeros
        const double factor = root_[k * block_ + r % block_];
        const double* half = half_.data() + k * rows;
        for (std::size_t c = r; c < rows; ++c) row[c] += factor * half[c];
      }
    }
  }
  for (std::size_t r = 0; r < rows; ++r) system_[r * rows + r] += mu;
}

void DampedSystem::multiply_gram(std::size_t rows, std::span<const double> x, std::span<double> out) const {
  std::fill_n(out.begin(), rows, 0.0);
  for (std::size_t r = 0; r < rows; ++r) {
    const double* row = gram_.data() + r * rows;
    double sum = row[r] * x[r];
    for (std::size_t c = r + 1; c < rows; ++c) {
      sum += row[c] * x[c];
      out[c] += row[c] * x[r];
    }
    out[r] += sum;
  }
}

bool DampedSystem::solve_undamped(std::size_t rows, std::span<const double> l, std::span<double> z) {
  const auto& kernel = kernels::table<double>();
  std::copy_n(curvature_.begin(), rows * block_, root_.begin());
  std::copy_n(l.begin(), rows, z.begin());
  for (std::size_t r = 0; r < rows; r += block_) {
    double* block = root_.data() + r * block_;
    if (!kernel.cholesky(block, block_, block_)) return false;
    kernel.cholesky_solve(block, block_, block_, z.data() + r);
  }
  std::copy_n(gram_.begin(), rows * rows, system_.begin());
  if (!kernel.cholesky(system_.data(), rows, rows)) return false;
  const double least = static_cast<double>(rows) * rounding_;
  for (std::size_t r = 0; r < rows; ++r) {
    const double pivot = system_[r * rows + r] * system_[r * rows + r];
    if (!(pivot > least * gram_[r * rows + r])) return false;
  }
  kernel.cholesky_solve(system_.data(), rows, rows, z.data());
  return true;
}

// l = S y + r, block by block.
void DampedSystem::divide_by_root(std::size_t rows, std::span<const double> l) {
  constexpr double few = 8 * std::numeric_limits<double>::epsilon();
  for (std::size_t r = 0; r < rows; ++r) {
    const std::size_t column = r % block_, first = r - column;
    double left = l[r], size = std::abs(l[r]);
    for (std::size_t k = 0; k < column; ++k) {
      const double part = root_[r * block_ + k] * y_[first + k];
      left -= part;
      size += std::abs(part);
    }
    const double pivot = root_[r * block_ + column];
    y_[r] = pivot > 0 ? left / pivot : 0;
    // Without curvature the slope is often zero too, up to rounding.
    const bool rounding = column > 0 && std::abs(left) <= few * static_cast<double>(block_) * size;
    rest_[r] = pivot > 0 || rounding ? 0 : left;
  }
}

bool DampedSystem::solve(std::size_t rows, double mu, std::span<const double> l, std::span<double> z) {
  if (mu == 0) return solve_undamped(rows, l, z);
  if (!factor_curvature(rows)) return false;
  form_system(rows, mu);
  if (!kernels::table<double>().cholesky(system_.data(), rows, rows)) return false;
  divide_by_root(rows, l);
  const auto rest = std::span(rest_).first(rows), right = std::span(scratch_).first(rows);
  if (std::ranges::any_of(rest, [](double r) { return r != 0; })) {
    multiply_gram(rows, rest, z);
    apply_root(rows, z, right, true);
    for (std::size_t r = 0; r < rows; ++r) y_[r] -= right[r] / mu;
  }
  kernels::table<double>().cholesky_solve(system_.data(), rows, rows, y_.data());
  apply_root(rows, y_, z, false);
  for (std::size_t r = 0; r < rows; ++r) z[r] += rest[r] / mu;
  return true;
}

}  // namespace ignd
