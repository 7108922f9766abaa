#include "rl/quadratic_features.hpp"

namespace ignd {

Eigen::MatrixXd QuadraticFeatures::matrix(std::span<const double> w) const {
  const auto n = static_cast<Eigen::Index>(signals_);
  Eigen::MatrixXd m(n, n);
  std::size_t k = 0;
  for (Eigen::Index j = 0; j < n; ++j) {
    for (Eigen::Index i = 0; i < j; ++i) m(i, j) = m(j, i) = w[k++] / 2;
    m(j, j) = w[k++];
  }
  return m;
}

void QuadraticFeatures::set_weights(const Eigen::MatrixXd& m, std::span<double> w) const {
  std::size_t k = 0;
  for (Eigen::Index j = 0; j < m.cols(); ++j) {
    for (Eigen::Index i = 0; i < j; ++i) w[k++] = m(i, j) + m(j, i);
    w[k++] = m(j, j);
  }
  if (constant_) w[k] = 0;
}

}  // namespace ignd
