#pragma once

#include "ignd/aligned.hpp"
#include "ignd/random.hpp"
#include "rl/linear_system.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <Eigen/Core>

namespace ignd {

// The products z_i z_j, i <= j, of the signals z = (s, a), column by column: (0,0), (0,1), (1,1), (0,2), ... The
// products of states alone come first, so that another action changes only the end; a constant 1 may be the last.
class QuadraticFeatures {
 public:
  QuadraticFeatures(std::size_t signals, bool constant) : signals_(signals), constant_(constant) {}

  std::size_t signals() const { return signals_; }
  std::size_t size() const { return start(signals_) + (constant_ ? 1 : 0); }

  // Writes the columns from `first` on, and the constant, to x. Works on four products at a time, which is many times
  // faster: z and x need three spare numbers at their end.
  void write(const double* z, std::size_t first, double* x) const {
    double* column = x + start(first);
    for (std::size_t j = first; j < signals_; column += ++j) {
      for (std::size_t i = 0; i <= j; i += 4) {
        for (std::size_t k = i; k < i + 4; ++k) column[k] = z[k] * z[j];
      }
    }
    if (constant_) *column = 1;
  }

  // The symmetric M with w.x = z'Mz, the constant aside, and back. The features have no factor 2, so that an
  // off-diagonal element of M is half of its weight.
  Eigen::MatrixXd matrix(std::span<const double> w) const;
  void set_weights(const Eigen::MatrixXd& m, std::span<double> w) const;

 private:
  static std::size_t start(std::size_t column) { return column * (column + 1) / 2; }

  std::size_t signals_;
  bool constant_;
};

// Standard normal numbers, made in pairs and ahead of time: half the work of RandomStream::normal.
class Normals {
 public:
  Normals(std::uint64_t seed, std::string_view name) : stream_(seed, name) {}

  double next() {
    if (used_ == ready_.size()) refill();
    return ready_[used_++];
  }

 private:
  void refill();

  RandomStream stream_;
  std::array<double, 64> ready_{};
  std::size_t used_ = 64;
};

enum class Sampling {
  episodes,    // along the system's trajectories, with exploring actions
  independent  // states and actions N(0, I), each by itself
};

struct TransitionOptions {
  Sampling sampling = Sampling::episodes;
  std::uint64_t episode_steps = 10;
  // An episode starts at rho N(0, I) and adds rho N(0, I) to its actions, with log10(rho) uniform in this range.
  double exploration_low = -0.5, exploration_high = 0.5;
  double noise = 0;  // standard deviation of what is added to each state at each step
};

// What is seen in one step: the features of the state and the action, the reward, and the features of the next state
// with the policy's action there. Valid until the next one.
struct Transition {
  std::span<const double> x;
  double reward = 0;
  std::span<const double> next_x;
};

// An endless run of a linear system under a linear policy. Steps allocate nothing.
class Transitions {
 public:
  // Starts with the policy a = 0. Throws InvalidArgument, listing every fault of the options.
  Transitions(const LinearSystem& system, const TransitionOptions& options, std::uint64_t seed);

  const QuadraticFeatures& features() const { return features_; }

  // Switches to a = K s and starts a new episode. Throws InvalidArgument for a K of another shape.
  void follow(const Eigen::MatrixXd& policy);

  Transition next();

 private:
  void begin_episode();
  void draw_signals();
  void move();
  void act(AlignedVector<double>& signals) const;

  TransitionOptions options_;
  std::size_t states_, actions_;
  QuadraticFeatures features_;
  AlignedVector<double> dynamics_;  // by signal: what it adds to the next state
  AlignedVector<double> policy_;    // by state: what it adds to the actions
  std::vector<double> reward_;      // the weights with which the features give the reward
  std::vector<std::uint32_t> every_signal_;
  RandomStream scales_;
  Normals draws_, noise_;

  AlignedVector<double> here_, there_;  // states, then actions
  AlignedVector<double> x_, next_x_;
  double rho_ = 1;
  std::uint64_t steps_left_ = 0;  // of the episode
};

}  // namespace ignd
