#pragma once

#include <cstddef>
#include <span>

#include <Eigen/Core>

namespace ignd {

// The products z_i z_j, i <= j, of the signals z = (s, a), column by column: (0,0), (0,1), (1,1), (0,2), ... The
// products of states alone come first, so that another action changes only the end; a constant 1 may be the last.
class QuadraticFeatures {
 public:
  QuadraticFeatures(std::size_t signals, bool constant) : signals_(signals), constant_(constant) {}

  std::size_t signals() const { return signals_; }
  std::size_t size() const { return start(signals_) + (constant_ ? 1 : 0); }

  // Writes the columns from `first` on, and the constant, to x. Four products at a time, which is many times faster: z
  // and x need room for three more numbers than they have.
  void write(const double* z, std::size_t first, double* x) const {
    double* column = x + start(first);
    for (std::size_t j = first; j < signals_; column += ++j) {
      for (std::size_t i = 0; i <= j; i += 4) {
        for (std::size_t k = i; k < i + 4; ++k) column[k] = z[k] * z[j];
      }
    }
    if (constant_) *column = 1;
  }

  // The symmetric M with w.x = z'Mz, the constant aside, and back. The features have no factor 2, so that an
  // off-diagonal element of M is half of its weight.
  Eigen::MatrixXd matrix(std::span<const double> w) const;
  void set_weights(const Eigen::MatrixXd& m, std::span<double> w) const;

 private:
  static std::size_t start(std::size_t column) { return column * (column + 1) / 2; }

  std::size_t signals_;
  bool constant_;
};

}  // namespace ignd
