#pragma once

#include "ignd/random.hpp"

#include <span>

#include <Eigen/Core>

namespace ignd::testing {

// The linear algebra that tests compare with. It is compiled once, in dense_algebra.cpp: each of Eigen's factorizations
// takes the compiler seconds.

// Normal elements.
Eigen::MatrixXd random_matrix(RandomStream& stream, Eigen::Index rows, Eigen::Index columns, double scale = 1);

// A A^T + I of a matrix of normal elements.
Eigen::MatrixXd random_definite(RandomStream& stream, Eigen::Index size);

Eigen::VectorXd to_eigen(std::span<const double> values);

// X^T matrix X.
Eigen::MatrixXd quadratic_form(const Eigen::MatrixXd& matrix, const Eigen::MatrixXd& x);

// Of left X = right, for any square matrix that can be inverted.
Eigen::MatrixXd solve(const Eigen::MatrixXd& left, const Eigen::MatrixXd& right);

// Of left x = right, for a positive definite matrix.
Eigen::VectorXd solve_definite(const Eigen::MatrixXd& left, const Eigen::VectorXd& right);

// The shortest x of those that minimise ||left x - right||, where pivots below 1e-10 of the largest count as zero.
Eigen::VectorXd least_squares_solution(const Eigen::MatrixXd& left, const Eigen::VectorXd& right);

// Of a symmetric matrix, from the smallest to the largest.
Eigen::VectorXd eigenvalues(const Eigen::MatrixXd& symmetric);

}  // namespace ignd::testing
