#pragma once

#include "rl/linear_system.hpp"

#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace ignd {

// A system of the collection COMPleib (F. Leibfritz, "COMPleib: COnstrained Matrix-optimization Problem library",
// 2004), by a name in lower case; its matrices are those of version 1.1. Q and R are identities, as in the paper.
struct NamedSystem {
  std::string name, meaning;
  std::variant<ContinuousSystem, LinearSystem> system;
};

// The two systems of the paper first.
const std::vector<NamedSystem>& named_systems();

// None for an unknown name.
const NamedSystem* find_system(std::string_view name);

ContinuousSystem uav_system();  // AC1: an aircraft in the vertical plane, 5 states and 3 actions
ContinuousSystem bdt_system();  // BDT1: a binary distillation tower, 11 states and 3 actions

// Systems of other kinds are made like these: a row of braces for each state.
SystemMatrices with_unit_weights(Eigen::MatrixXd a, Eigen::MatrixXd b);

}  // namespace ignd
