#pragma once

#include <string>
#include <vector>

#include <Eigen/Core>

namespace ignd {

// ds/dt = A s + B a with the reward -(s'Qs + a'Ra) at every sampling instant.
struct ContinuousSystem {
  Eigen::MatrixXd a, b, q, r;
};

// Two systems of the COMPleib collection, with Q = I and R = I as in the paper.
ContinuousSystem uav_system();  // AC1: an aircraft in the vertical plane, 5 states and 3 actions
ContinuousSystem bdt_system();  // BDT1: a binary distillation tower, 11 states and 3 actions

// States and actions together: there is a weight for each pair of them.
inline constexpr Eigen::Index most_signals = 64;

// What is wrong with a system: shapes, numbers that are not finite, weights that are not symmetric and positive
// definite. One text each; none for a system that can be used.
std::vector<std::string> faults(const ContinuousSystem& system);

// s' = A s + B a, where the action is held for one sampling period.
struct LinearSystem {
  Eigen::MatrixXd a, b, q, r;
  Eigen::Index states() const { return a.rows(); }
  Eigen::Index actions() const { return b.cols(); }
};

// Exact, by the exponential of the system and its held input together. Throws InvalidArgument with every fault.
LinearSystem hold_actions(const ContinuousSystem& system, double period);

// The K of the policy a = K s with the largest discounted sum of rewards. Throws InvalidArgument for a discount outside
// [0, 1] and where no linear policy keeps that sum finite.
Eigen::MatrixXd optimal_policy(const LinearSystem& system, double discount);

}  // namespace ignd
