#pragma once

#include "ignd/random.hpp"

#include <Eigen/Core>

namespace ignd::testing {

// Normal elements.
inline Eigen::MatrixXd random_matrix(Stream& stream, Eigen::Index rows, Eigen::Index columns, double scale = 1) {
  Eigen::MatrixXd matrix(rows, columns);
  for (double& element : matrix.reshaped()) element = scale * stream.normal();
  return matrix;
}

}  // namespace ignd::testing
