#pragma once

#include "rl/linear_system.hpp"
#include "rl/transitions.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>

#include <Eigen/Core>

namespace ignd {

// The mean of a semi-gradient step over the transitions of a policy. The step is c x (r + gamma w.x' - w.x), and its
// mean moves w by -(here - gamma next)(w - w*): small steps converge if every eigenvalue of that matrix has a positive
// real part, and run away from w* if one of them is negative (docs/math.md).
struct MeanUpdate {
  Eigen::MatrixXd here;  // E[c x x^T]
  Eigen::MatrixXd next;  // E[c x x'^T]

  // The smallest real part of an eigenvalue, as a part of the trace of `here`.
  double slowest_mode(double discount) const;

  // The spectral radius of a phase of `hold` steps with held targets: below 1, the phases converge.
  double phase_radius(double discount, double rate, std::uint64_t hold) const;
};

// Of plain steps, c = 1 (QL): exact, by the fourth moments of normal states and actions.
MeanUpdate plain_update(const LinearSystem& system, const TransitionOptions& options, const Eigen::MatrixXd& policy);

// Of normalised steps, c = 1 / |x|^2 (IGNDQ): the mean over as many transitions. Elements that are not finite mean that
// states run away.
MeanUpdate normalised_update(Transitions& transitions, std::size_t samples);

enum class Stability { stable, unstable, unclear };

// What two independent measurements say together: `unclear` if they disagree. An exact one is given twice.
struct UpdateStability {
  Stability stability = Stability::unclear;
  double slowest_mode = 0;                // the mean of the two
  std::optional<double> stable_discount;  // of an unstable one: a smaller discount, in hundredths, that would do
};

UpdateStability judge(const MeanUpdate& one, const MeanUpdate& other, double discount);

}  // namespace ignd
