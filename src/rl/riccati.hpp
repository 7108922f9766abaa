#pragma once

#include "rl/linear_system.hpp"

namespace ignd {

// The K of the policy a = K s with the largest discounted sum of rewards. Throws InvalidArgument for a discount outside
// [0, 1] and where no linear policy keeps that sum finite.
Eigen::MatrixXd optimal_policy(const LinearSystem& system, double discount);

}  // namespace ignd
