#include "rl/control_systems.hpp"

#include <algorithm>
#include <utility>

namespace ignd {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;

ContinuousSystem continuous(MatrixXd a, MatrixXd b) { return {with_unit_weights(std::move(a), std::move(b))}; }
LinearSystem sampled(MatrixXd a, MatrixXd b) { return {with_unit_weights(std::move(a), std::move(b))}; }

std::vector<NamedSystem> make_named_systems() {
  std::vector<NamedSystem> all;
  all.push_back({"uav", "AC1, an aircraft in the vertical plane", uav_system()});
  all.push_back({"bdt", "BDT1, a binary distillation tower", bdt_system()});
  all.push_back({"ac3", "AC3, an L-1011 aircraft in cruise flight",
                 continuous(MatrixXd{{0, 0, 1, 0, 0},
                                     {0, -0.154, -0.0042, 1.54, 0},
                                     {0, 0.249, -1, -5.2, 0},
                                     {0.0386, -0.996, -0.0003, -0.117, 0},
                                     {0, 0.5, 0, 0, -0.5}},
                            MatrixXd{{0, 0}, {-0.744, -0.032}, {0.337, -1.12}, {0.02, 0}, {0, 0}})});
  all.push_back({"ac5", "AC5, a B-747 aircraft in discrete time",
                 sampled(MatrixXd{{0.9801, 0.0003, -0.0980, 0.0038},
                                  {-0.3868, 0.9071, 0.0471, -0.0008},
                                  {0.1591, -0.0015, 0.9691, 0.0003},
                                  {-0.0198, 0.0958, 0.0021, 1}},
                         MatrixXd{{-0.0001, 0.0058}, {0.0296, 0.0153}, {0.0012, -0.0908}, {0.0015, 0.0008}})});
  all.push_back({"he1", "HE1, a helicopter in longitudinal motion",
                 continuous(MatrixXd{{-0.0366, 0.0271, 0.0188, -0.4555},
                                     {0.0482, -1.01, 0.0024, -4.0208},
                                     {0.1002, 0.3681, -0.707, 1.42},
                                     {0, 0, 1, 0}},
                            MatrixXd{{0.4422, 0.1761}, {3.5446, -7.5922}, {-5.52, 4.49}, {0, 0}})});
  all.push_back({"he2", "HE2, an AH-64 helicopter at 130 knots",
                 continuous(MatrixXd{{-0.0649, 0.0787, 0.1705, -0.5616},
                                     {0.0386, -0.939, 4.2277, 0.0198},
                                     {0.1121, -0.4254, -0.7968, 0},
                                     {0, 0, 1, 0}},
                            MatrixXd{{-0.9454, 0.5313}, {-8.6476, -10.769}, {19.0824, -2.8959}, {0, 0}})});
  all.push_back({"mfp", "MFP, a moored floating platform",
                 continuous(MatrixXd{{0, 0, 1, 0},
                                     {0, 0, 0, 1},
                                     {-0.101, -0.1681, -0.04564, -0.01075},
                                     {0.06082, -2.1407, -0.05578, -0.1273}},
                            MatrixXd{{0, 0, 0}, {0, 0, 0}, {0.1179, 0.1441, 0.1476}, {0.1441, 1.7057, -0.7557}})});
  all.push_back(
      {"nn4", "NN4, lateral motion of an aircraft",
       continuous(MatrixXd{{0, 1, 0, 0}, {0, -2.93, -4.75, -0.78}, {0.086, 0, -0.11, -1}, {0, -0.042, 2.59, -0.39}},
                  MatrixXd{{0, 0}, {0, -3.91}, {0.035, 0}, {-2.53, 0.31}})});
  all.push_back({"psm", "PSM, two areas of a power system",
                 continuous(MatrixXd{{-0.04165, 0, 4.92, -4.92, 0, 0, 0},
                                     {-5.21, -12.5, 0, 0, 0, 0, 0},
                                     {0, 3.33, -3.33, 0, 0, 0, 0},
                                     {0.545, 0, 0, 0, -0.545, 0, 0},
                                     {0, 0, 0, 4.92, -0.04165, 0, 4.92},
                                     {0, 0, 0, 0, -5.21, -12.5, 0},
                                     {0, 0, 0, 0, 0, 3.33, -3.33}},
                            MatrixXd{{-4.92, 0}, {0, 0}, {0, 0}, {0, 0}, {0, -4.92}, {0, 0}, {0, 0}})});
  all.push_back({"rea1", "REA1, an unstable chemical reactor",
                 continuous(MatrixXd{{1.38, -0.2077, 6.715, -5.676},
                                     {-0.5814, -4.29, 0, 0.675},
                                     {1.067, 4.273, -6.654, 5.893},
                                     {0.048, 4.273, 1.343, -2.104}},
                            MatrixXd{{0, 0}, {5.679, 0}, {1.136, -3.146}, {1.136, 0}})});
  return all;
}

}  // namespace

SystemMatrices with_unit_weights(MatrixXd a, MatrixXd b) {
  const Index states = a.rows();
  const Index actions = b.cols();
  return {std::move(a), std::move(b), MatrixXd::Identity(states, states), MatrixXd::Identity(actions, actions)};
}

const std::vector<NamedSystem>& named_systems() {
  static const std::vector<NamedSystem> all = make_named_systems();
  return all;
}

const NamedSystem* find_system(std::string_view name) {
  const auto found = std::ranges::find(named_systems(), name, &NamedSystem::name);
  return found == named_systems().end() ? nullptr : &*found;
}

ContinuousSystem uav_system() {
  return continuous(MatrixXd{{0, 0, 1.132, 0, -1},
                             {0, -0.0538, -0.1712, 0, 0.0705},
                             {0, 0, 0, 1, 0},
                             {0, 0.0485, 0, -0.8556, -1.013},
                             {0, -0.2909, 0, 1.0532, -0.6859}},
                    MatrixXd{{0, 0, 0}, {-0.12, 1, 0}, {0, 0, 0}, {4.419, 0, -1.665}, {1.575, 0, -0.0732}});
}

ContinuousSystem bdt_system() {
  MatrixXd a = MatrixXd::Zero(11, 11);
  a.diagonal() << -0.014, -0.0138, -0.0141, -0.0158, -0.0312, -0.0352, -0.0422, -0.0482, -0.0572, -0.0483, -0.0185;
  a.diagonal(1) << 0.0043, 0.0046, 0.0063, 0.011, 0.015, 0.022, 0.028, 0.037, 0.042, 0.0005;
  a.diagonal(-1) << 0.0095, 0.0095, 0.0095, 0.0095, 0.0202, 0.0202, 0.0202, 0.0202, 0.0202, 0.0255;
  a(1, 10) = 0.0005;
  a(2, 10) = 0.0002;
  a(7, 10) = 0.0002;
  a(8, 10) = 0.0005;
  a(10, 0) = 0.0255;
  return continuous(std::move(a), MatrixXd{{0, 0, 0},
                                           {5e-6, -4e-5, 0.0025},
                                           {2e-6, -2e-5, 0.005},
                                           {1e-6, -1e-5, 0.005},
                                           {0, 0, 0.005},
                                           {0, 0, 0.005},
                                           {-5e-6, 1e-5, 0.005},
                                           {-1e-5, 3e-5, 0.005},
                                           {-4e-5, 5e-6, 0.0025},
                                           {-2e-5, 2e-6, 0.0025},
                                           {4.6e-4, 4.6e-4, 0}});
}

}  // namespace ignd
