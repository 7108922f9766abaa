#pragma once

#include "dense_algebra.hpp"
#include "rl/control_systems.hpp"
#include "rl/transitions.hpp"

#include <utility>
#include <vector>

namespace ignd::testing {

inline LinearSystem uav() { return hold_actions(uav_system(), 0.1); }

inline LinearSystem random_system(RandomStream& stream, Eigen::Index states, Eigen::Index actions) {
  return {{random_matrix(stream, states, states, 0.3), random_matrix(stream, states, actions),
           random_definite(stream, states), random_definite(stream, actions)}};
}

// A system of the collection at its sampling instants.
inline LinearSystem sampled_system(const char* name) {
  return hold_actions(std::get<ContinuousSystem>(find_system(name)->system), 0.1);
}

// M of the values of a policy, from the definition: the rewards of a long run, in matrices.
inline Eigen::MatrixXd true_values(const LinearSystem& system, double discount, const Eigen::MatrixXd& policy) {
  const Eigen::Index n = system.states();
  const Eigen::Index m = system.actions();
  Eigen::MatrixXd step(n, n + m);
  step << system.a, system.b;
  Eigen::MatrixXd act(n + m, n);
  act << Eigen::MatrixXd::Identity(n, n), policy;
  Eigen::MatrixXd reward = Eigen::MatrixXd::Zero(n + m, n + m);
  reward.topLeftCorner(n, n) = -system.q;
  reward.bottomRightCorner(m, m) = -system.r;
  const Eigen::MatrixXd onwards = act * step;
  Eigen::MatrixXd values = reward;
  for (int k = 0; k < 5000; ++k) values = reward + discount * quadratic_form(values, onwards);
  return values;
}

// A transition that is kept: copies of the features.
struct Kept {
  Eigen::VectorXd x, next_x;
  double reward;
};

inline std::vector<Kept> draw(Transitions& transitions, int count) {
  std::vector<Kept> kept;
  for (int i = 0; i < count; ++i) {
    const Transition seen = transitions.next();
    kept.push_back({to_eigen(seen.x), to_eigen(seen.next_x), seen.reward});
  }
  return kept;
}

}  // namespace ignd::testing
