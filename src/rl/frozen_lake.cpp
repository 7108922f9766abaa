#include "rl/frozen_lake.hpp"

#include "base/text.hpp"
#include "ignd/error.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

namespace ignd {
namespace {

constexpr std::string_view small_map = "SFFF/FHFH/FFFH/HFFG";
constexpr std::string_view large_map = "SFFFFFFF/FFFFFFFF/FFFHFFFF/FFFFFHFF/FFFHFFFF/FHHFFFHF/FHFFHFHF/FFFHFFFG";

std::string_view rows_of(std::string_view map) {
  if (map == "4x4") return small_map;
  if (map == "8x8") return large_map;
  return map;
}

[[noreturn]] void refuse_map(const std::string& why) {
  throw InvalidArgument(fmt::format("{}; a map is 4x4, 8x8 or rows of the letters S F H G such as SFF/FHF/FFG", why));
}

}  // namespace

FrozenLake::FrozenLake(std::string_view map, bool slippery) {
  read_cells(rows_of(map));
  find_start();
  step_limit_ = std::max<std::uint64_t>(25 * (rows_ + columns_) / 2, 4 * shortest_way());
  list_transitions(slippery);
}

void FrozenLake::read_cells(std::string_view rows) {
  const std::string_view first = rows.substr(0, rows.find('/'));
  if (first.empty()) refuse_map("the map's first row is empty");
  if (first.size() > largest_side) refuse_map(fmt::format("the map has more than {} columns", largest_side));
  columns_ = static_cast<std::uint32_t>(first.size());
  for (const std::string_view row : split(rows, '/')) {
    if (++rows_ > largest_side) refuse_map(fmt::format("the map has more than {} rows", largest_side));
    if (row.size() != columns_) {
      refuse_map(fmt::format("row {} of the map has {} letters, but row 1 has {}", rows_, row.size(), columns_));
    }
    const std::size_t unknown = row.find_first_not_of("SFHG");
    if (unknown != std::string_view::npos) {
      refuse_map(fmt::format("row {} of the map has the letter {}", rows_, in_quotes(row.substr(unknown, 1))));
    }
    cells_ += row;
  }
}

void FrozenLake::find_start() {
  const auto starts = std::count(cells_.begin(), cells_.end(), 'S');
  if (starts != 1) refuse_map(fmt::format("the map has {} starts S, but needs one", starts));
  if (cells_.find('G') == std::string::npos) refuse_map("the map has no goal G");
  start_ = static_cast<std::uint32_t>(cells_.find('S'));
}

std::uint32_t FrozenLake::neighbour(std::uint32_t state, std::uint32_t direction) const {
  const std::uint32_t row = state / columns_, column = state % columns_;
  switch (direction) {
    case left:
      return column > 0 ? state - 1 : state;
    case down:
      return row + 1 < rows_ ? state + columns_ : state;
    case right:
      return column + 1 < columns_ ? state + 1 : state;
    default:
      return row > 0 ? state - columns_ : state;
  }
}

// Breadth first.
std::uint64_t FrozenLake::shortest_way() const {
  std::vector<std::optional<std::uint64_t>> distance(states());
  std::vector<std::uint32_t> reached{start_};
  distance[start_] = 0;
  for (std::size_t i = 0; i < reached.size(); ++i) {
    const std::uint32_t state = reached[i];
    if (cells_[state] == 'G') return *distance[state];
    if (ends_episode(state)) continue;
    for (std::uint32_t direction = 0; direction < action_count; ++direction) {
      const std::uint32_t next = neighbour(state, direction);
      if (distance[next]) continue;
      distance[next] = *distance[state] + 1;
      reached.push_back(next);
    }
  }
  refuse_map("no goal of the map can be reached from its start");
}

void FrozenLake::list_transitions(bool slippery) {
  for (std::uint32_t state = 0; state < states(); ++state) {
    for (std::uint32_t action = 0; action < action_count; ++action) {
      first_.push_back(transitions_.size());
      if (ends_episode(state)) {
        transitions_.push_back({1, state, 0, true});
        continue;
      }
      const auto go = [&](std::uint32_t direction, double probability) {
        const std::uint32_t next = neighbour(state, direction % action_count);
        transitions_.push_back({probability, next, cells_[next] == 'G' ? 1.0 : 0.0, ends_episode(next)});
      };
      if (slippery) {
        for (const std::uint32_t turn : {3U, 0U, 1U}) go(action + turn, 1.0 / 3);
      } else {
        go(action, 1);
      }
    }
  }
  first_.push_back(transitions_.size());
}

std::span<const LakeTransition> FrozenLake::transitions(std::uint32_t state, std::uint32_t action) const {
  if (state >= states()) throw InvalidArgument(fmt::format("the lake has no state {}; it has {}", state, states()));
  if (action >= action_count) {
    throw InvalidArgument(fmt::format("there is no action {}; 0 is left, 1 down, 2 right, 3 up", action));
  }
  const std::size_t pair = std::size_t{state} * action_count + action;
  return std::span(transitions_).subspan(first_[pair], first_[pair + 1] - first_[pair]);
}

std::uint32_t FrozenLakeEnvironment::reset() {
  steps_ = 0;
  over_ = false;
  return state_ = lake_.start();
}

Outcome FrozenLakeEnvironment::step(std::uint32_t action) {
  if (over_) throw InvalidArgument("no episode is under way; reset() begins one");
  const auto possible = lake_.transitions(state_, action);
  const LakeTransition& chosen = possible.size() == 1 ? possible[0] : possible[stream_.below(possible.size())];
  state_ = chosen.state;
  const Outcome outcome{state_, chosen.reward, chosen.terminated, ++steps_ >= lake_.step_limit()};
  over_ = outcome.over();
  return outcome;
}

}  // namespace ignd
