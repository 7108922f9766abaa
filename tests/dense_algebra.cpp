#include "dense_algebra.hpp"

#include <Eigen/Dense>

namespace ignd::testing {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

MatrixXd random_matrix(RandomStream& stream, Index rows, Index columns, double scale) {
  MatrixXd matrix(rows, columns);
  for (double& element : matrix.reshaped()) element = scale * stream.normal();
  return matrix;
}

MatrixXd random_definite(RandomStream& stream, Index size) {
  const MatrixXd root = random_matrix(stream, size, size);
  return root * root.transpose() + MatrixXd::Identity(size, size);
}

VectorXd to_eigen(std::span<const double> values) {
  return Eigen::Map<const VectorXd>(values.data(), static_cast<Index>(values.size()));
}

MatrixXd quadratic_form(const MatrixXd& matrix, const MatrixXd& x) { return x.transpose() * matrix * x; }

MatrixXd solve(const MatrixXd& left, const MatrixXd& right) { return left.fullPivLu().solve(right); }

VectorXd solve_definite(const MatrixXd& left, const VectorXd& right) { return left.ldlt().solve(right); }

VectorXd least_squares_solution(const MatrixXd& left, const VectorXd& right) {
  Eigen::CompleteOrthogonalDecomposition<MatrixXd> solver;
  solver.setThreshold(1e-10);
  solver.compute(left);
  return solver.solve(right);
}

VectorXd eigenvalues(const MatrixXd& symmetric) {
  return Eigen::SelfAdjointEigenSolver<MatrixXd>(symmetric, Eigen::EigenvaluesOnly).eigenvalues();
}

}  // namespace ignd::testing
