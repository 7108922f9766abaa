#pragma once

#include "ignd/linear.hpp"
#include "ignd/random.hpp"
#include "ignd/trainer.hpp"
#include "rl/environment.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace ignd {

// Action values that are linear in one-hot features of state and action, each feature with a scale of its own:
// q(s, a) = scale * w. Learned by the trainer with the squared loss (f - y)^2 / 2, so that the gradient rule at rate 1
// and scale 1 moves a value exactly to its target.
class ActionValues {
 public:
  // One nonzero scale for each state and action, the actions of a state side by side; all values start at `initial`.
  ActionValues(std::uint32_t actions, std::vector<double> scales, double initial, const Optimizer& optimizer,
               double rate);

  double value(std::uint32_t state, std::uint32_t action) const;
  double best_value(std::uint32_t state) const;

  // The best actions of a state: several where values are within `tolerance` of the best, relative to it; none where a
  // value is not a number. The second form reuses the caller's memory.
  std::vector<std::uint32_t> best_actions(std::uint32_t state, double tolerance) const;
  void best_actions(std::uint32_t state, double tolerance, std::vector<std::uint32_t>& best) const;

  // One step of the trainer towards the target. False once anything is not finite: the values are then useless.
  bool learn(std::uint32_t state, std::uint32_t action, double target);

 private:
  std::size_t feature_of(std::uint32_t state, std::uint32_t action) const {
    return std::size_t{state} * actions_ + action;
  }

  std::uint32_t actions_;
  std::vector<double> scales_;
  std::vector<double> features_;  // of the present step; all zero between steps
  std::unique_ptr<Model<double>> model_;
  bool sparse_;  // the model takes the active feature alone, not all of them
  Trainer<double> trainer_;
};

// A scale for each pair of state and action: all 1, ...
std::vector<double> equal_scales(std::size_t pairs);
// ... or nonzero integers in [-10^4, 10^4], all equally likely, and the same ones whenever `draw` is the same.
std::vector<double> random_scales(std::size_t pairs, std::uint64_t draw);

struct QLearningOptions {
  Optimizer optimizer = {};  // the gradient rule is Q-learning, the Gauss-Newton rule IGNDQ
  double rate = 1;
  double gamma = 0.99;
  double epsilon_from = 1, epsilon_to = 0.05;  // the share of random actions, falling linearly ...
  std::uint64_t epsilon_episodes = 300;        // ... over this many episodes
  double initial_value = 0;
  double tie_tolerance = 1e-3;
};

// Q-learning in an environment, which must outlive it. The agent draws from its own random stream.
class QLearning {
 public:
  QLearning(DiscreteEnvironment& environment, std::vector<double> scales, const QLearningOptions& options,
            std::uint64_t seed);

  // Returns the sum of the rewards; 0 for the episode in which the values diverge and for all later ones.
  double run_episode();

  // Moves q(state, action) towards reward + gamma * the best value of the next state. After a terminated step there is
  // none; after a truncated one there is.
  void learn(std::uint32_t state, std::uint32_t action, const Outcome& outcome);

  bool diverged() const { return diverged_; }
  std::uint64_t episodes() const { return episodes_; }  // those begun
  const ActionValues& values() const { return values_; }

 private:
  double epsilon() const;
  std::uint32_t choose(std::uint32_t state, double epsilon);

  QLearningOptions options_;
  ActionValues values_;
  DiscreteEnvironment& environment_;
  RandomStream agent_;
  std::vector<std::uint32_t> best_;  // scratch
  std::uint64_t episodes_ = 0;
  bool diverged_ = false;
};

}  // namespace ignd
