#pragma once

#include "ignd/linear.hpp"
#include "ignd/trainer.hpp"
#include "rl/frozen_lake.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

namespace ignd {

// The actions that are best in a state: several where their values are tied.
struct BestActions {
  std::array<std::uint32_t, FrozenLake::action_count> actions{};
  std::size_t count = 0;

  bool operator==(const BestActions&) const = default;
};

// Action values that are linear in one-hot features of state and action, each feature with a scale of its own:
// q(s, a) = scale * w. Learned by the trainer with the squared loss (f - y)^2 / 2, so that the gradient rule at rate 1
// and scale 1 moves a value exactly to its target.
class ActionValues {
 public:
  // One nonzero scale for each state and action; all values are `initial` at first.
  ActionValues(std::vector<double> scales, double initial, const Optimizer& optimizer, double rate);

  double value(std::uint32_t state, std::uint32_t action) const;
  double best_value(std::uint32_t state) const;

  // Values within `tolerance` of the best, relative to it, are ties. None is best where one is not a number.
  BestActions best_actions(std::uint32_t state, double tolerance) const;

  // One step of the trainer towards the target. False once something is not finite: the values are of no use then.
  bool learn(std::uint32_t state, std::uint32_t action, double target);

 private:
  std::vector<double> scales_;
  std::vector<double> features_;  // of the step under way; all zero between steps
  std::unique_ptr<Model<double>> model_;
  bool sparse_;  // whether the model is told the active feature, and not all of them
  Trainer<double> trainer_;
};

// A feature's scale for each state and action of a lake.
std::vector<double> equal_scales(const FrozenLake& lake);
// Nonzero integers in [-10^4, 10^4], all equally likely, and the same ones whenever `draw` is the same.
std::vector<double> random_scales(const FrozenLake& lake, std::uint64_t draw);

struct QLearningOptions {
  Optimizer optimizer = {};  // the gradient rule is Q-learning, the Gauss-Newton rule IGNDQ
  double rate = 1;
  double gamma = 0.99;
  double epsilon_from = 1, epsilon_to = 0.05;  // the share of random actions, falling in a straight line ...
  std::uint64_t epsilon_episodes = 300;        // ... over so many episodes
  double initial_value = 0;
  double tie_tolerance = 1e-3;
};

// Q-learning on a lake, which must outlive it. The agent and the lake have random streams of their own.
class QLearning {
 public:
  QLearning(const FrozenLake& lake, std::vector<double> scales, const QLearningOptions& options, std::uint64_t seed);

  // The sum of the rewards. The episode in which the values leave the finite numbers, and all after it, give 0.
  double run_episode();

  // Moves q(state, action) towards reward + gamma * best value of what came after: nothing does after a terminated
  // step, but something would have after one that was only cut short.
  void learn(std::uint32_t state, std::uint32_t action, const Outcome& outcome);

  bool diverged() const { return diverged_; }
  std::uint64_t episodes() const { return episodes_; }  // those begun
  const ActionValues& values() const { return values_; }

 private:
  double epsilon() const;
  std::uint32_t choose(std::uint32_t state, double epsilon);

  QLearningOptions options_;
  ActionValues values_;
  LakeWalk walk_;
  RandomStream agent_;
  std::uint64_t episodes_ = 0;
  bool diverged_ = false;
};

}  // namespace ignd
