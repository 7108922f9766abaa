#pragma once

#include <string>
#include <vector>

#include <Eigen/Core>

namespace ignd {

struct SystemMatrices {
  Eigen::MatrixXd a, b, q, r;
  Eigen::Index states() const { return a.rows(); }
  Eigen::Index actions() const { return b.cols(); }
};

// ds/dt = A s + B a with the reward -(s'Qs + a'Ra) at every sampling instant.
struct ContinuousSystem : SystemMatrices {};

// s' = A s + B a, with the same reward at every step.
struct LinearSystem : SystemMatrices {};

// States and actions together: there is a weight for each pair of them.
inline constexpr Eigen::Index most_signals = 64;

// What is wrong with a system: shapes, numbers that are not finite, weights that are not symmetric and positive
// definite. One text each; none for a system that can be used.
std::vector<std::string> faults(const SystemMatrices& system);

// The system of the sampling instants, where each action is held for one period. Exact, by the exponential of the
// system and its held input together. Throws InvalidArgument with every fault.
LinearSystem hold_actions(const ContinuousSystem& system, double period);

// The K of the policy a = K s with the largest discounted sum of rewards. Throws InvalidArgument for a discount outside
// [0, 1] and where no linear policy keeps that sum finite.
Eigen::MatrixXd optimal_policy(const LinearSystem& system, double discount);

// The spectral radius of sqrt(discount) (A + B K). The policy a = K s has a finite discounted cost if it is below 1.
double discounted_radius(const LinearSystem& system, double discount, const Eigen::MatrixXd& policy);

// The eigenvalues of a real square matrix.
Eigen::VectorXcd spectrum(const Eigen::MatrixXd& matrix);

}  // namespace ignd
