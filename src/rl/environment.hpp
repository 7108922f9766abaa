#pragma once

#include <cstddef>
#include <cstdint>

namespace ignd {

// What a step led to. `terminated`: the task is over; `truncated`: a step limit cut the episode short. Both may hold.
struct Outcome {
  std::uint32_t state = 0;
  double reward = 0;
  bool terminated = false, truncated = false;

  bool over() const { return terminated || truncated; }
};

// A task with finitely many states and actions, numbered from 0, that is played in episodes.
class DiscreteEnvironment {
 public:
  virtual ~DiscreteEnvironment() = default;

  virtual std::uint32_t states() const = 0;
  virtual std::uint32_t actions() const = 0;
  std::size_t pairs() const { return std::size_t{states()} * actions(); }  // of a state and an action

  // Begins an episode and returns its first state.
  virtual std::uint32_t reset() = 0;

  // Throws InvalidArgument for an unknown action and outside an episode.
  virtual Outcome step(std::uint32_t action) = 0;
};

}  // namespace ignd
