#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace ignd {

// The small system behind an exact step: (H G + mu I) z = l, with G = J J^T (or J P J^T) and H block-diagonal, one
// positive semidefinite block of `block` rows for each sample; then d = -J^T z is the damped Gauss-Newton direction
// (docs/minibatch.md). Matrices are stored row by row; of G only what lies on the diagonal and right of it is read.
//
// With H = S S^T and l = S y + r, where r is what lies in directions without curvature, z = S v + r / mu with
// (S^T G S + mu I) v = y - S^T G r / mu: symmetric and positive definite for every H >= 0, and without the difference
// of nearly equal numbers that l - S u would be where mu is small. Without damping, mu = 0, it is z = G^-1 H^-1 l.
class DampedSystem {
 public:
  // For systems of up to most_rows rows, with a Gram matrix known to a relative error of `rounding`. Solving allocates
  // nothing.
  DampedSystem(std::size_t most_rows, std::size_t block, double rounding);

  std::span<double> gram() { return gram_; }            // rows x rows, filled by the caller
  std::span<double> curvature() { return curvature_; }  // the blocks of H one after the other

  // False if the system is singular to rounding, or holds a number that is not finite.
  bool solve(std::size_t rows, double mu, std::span<const double> l, std::span<double> z);

  // G x, after the caller has filled G.
  void multiply_gram(std::size_t rows, std::span<const double> x, std::span<double> out) const;

 private:
  double gram_at(std::size_t rows, std::size_t r, std::size_t c) const {
    return r <= c ? gram_[r * rows + c] : gram_[c * rows + r];
  }
  bool solve_undamped(std::size_t rows, std::span<const double> l, std::span<double> z);
  bool factor_curvature(std::size_t rows);
  void divide_by_root(std::size_t rows, std::span<const double> l);
  void form_half(std::size_t rows);
  void form_system(std::size_t rows, double mu);
  void apply_root(std::size_t rows, std::span<const double> x, std::span<double> out, bool transposed) const;

  std::size_t block_;
  double rounding_;
  std::vector<double> gram_, curvature_, root_, half_, system_;
  std::vector<double> y_, rest_, scratch_;
};

}  // namespace ignd
