#pragma once

#include "ignd/random.hpp"
#include "rl/environment.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ignd {

// One of the ways a step can end.
struct LakeTransition {
  double probability = 0;
  std::uint32_t state = 0;
  double reward = 0;
  bool terminated = false;
};

// The dynamics of Gymnasium's FrozenLake-v1. Cells are the states, row by row: S start, F frozen, H hole, G goal. A
// step moves to the next cell, or stays where the lake ends; reaching the goal is worth 1, and goals and holes end the
// episode. On a slippery lake the intended direction and the two beside it are equally likely.
class FrozenLake {
 public:
  static constexpr std::uint32_t action_count = 4;
  static constexpr std::uint32_t left = 0, down = 1, right = 2, up = 3;
  static constexpr std::size_t largest_side = 64;

  // "4x4" and "8x8" are Gymnasium's maps; any other is given by its rows: "SFF/FHF/FFG". Throws InvalidArgument unless
  // the rows are of one length, there is one start and a goal that can be reached from it.
  FrozenLake(std::string_view map, bool slippery);

  std::uint32_t states() const { return static_cast<std::uint32_t>(cells_.size()); }
  std::uint32_t columns() const { return columns_; }
  std::uint32_t start() const { return start_; }
  char letter(std::uint32_t state) const { return cells_.at(state); }

  // 100 on the 4x4 map and 200 on the 8x8 map, as in Gymnasium. On other maps 12.5 for every row and column, and at
  // least four times the shortest path to a goal.
  std::uint64_t step_limit() const { return step_limit_; }

  // All equally likely. A state that ended the episode leads to itself, without reward. Throws InvalidArgument where
  // there is no such state or action.
  std::span<const LakeTransition> transitions(std::uint32_t state, std::uint32_t action) const;

 private:
  void read_cells(std::string_view rows);
  void find_start();
  std::uint64_t shortest_way() const;
  void list_transitions(bool slippery);
  bool ends_episode(std::uint32_t state) const { return cells_[state] == 'H' || cells_[state] == 'G'; }
  std::uint32_t neighbour(std::uint32_t state, std::uint32_t direction) const;

  std::string cells_;
  std::uint32_t rows_ = 0, columns_ = 0;
  std::uint32_t start_ = 0;
  std::uint64_t step_limit_ = 0;
  std::vector<LakeTransition> transitions_;
  std::vector<std::size_t> first_;  // of a state and action, and the end of all
};

// Episodes on a lake, which must outlive them.
class FrozenLakeEnvironment final : public DiscreteEnvironment {
 public:
  FrozenLakeEnvironment(const FrozenLake& lake, RandomStream stream) : lake_(lake), stream_(stream) {}

  std::uint32_t states() const override { return lake_.states(); }
  std::uint32_t actions() const override { return FrozenLake::action_count; }
  std::uint32_t reset() override;
  Outcome step(std::uint32_t action) override;

 private:
  const FrozenLake& lake_;
  RandomStream stream_;
  std::uint32_t state_ = 0;
  std::uint64_t steps_ = 0;
  bool over_ = true;
};

}  // namespace ignd
