#include "rl/frozen_lake.hpp"

#include "ignd/error.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace ignd {
namespace {

using Cell = std::pair<int, int>;  // row and column

// What is known of a map without reading it from the class under test.
struct KnownMap {
  std::string name;
  int side;
  std::set<Cell> holes;
  int shortest_way;
  std::uint64_t step_limit;

  Cell goal() const { return {side - 1, side - 1}; }
  std::uint32_t state(Cell cell) const { return static_cast<std::uint32_t>(cell.first * side + cell.second); }
  bool ends(Cell cell) const { return holes.contains(cell) || cell == goal(); }
};

const std::vector<KnownMap>& known_maps() {
  static const std::vector<KnownMap> maps{
      {"4x4", 4, {{1, 1}, {1, 3}, {2, 3}, {3, 0}}, 6, 100},
      {"8x8", 8, {{2, 3}, {3, 5}, {4, 3}, {5, 1}, {5, 2}, {5, 6}, {6, 1}, {6, 4}, {6, 6}, {7, 3}}, 14, 200},
  };
  return maps;
}

// By clamped coordinates: the heading of an action is a quarter turn further for each next one, from left through down.
Cell moved(const KnownMap& map, Cell from, int heading) {
  constexpr std::array<Cell, 4> headings{{{0, -1}, {1, 0}, {0, 1}, {-1, 0}}};
  const auto [rows, columns] = headings[static_cast<std::size_t>((heading + 4) % 4)];
  return {std::clamp(from.first + rows, 0, map.side - 1), std::clamp(from.second + columns, 0, map.side - 1)};
}

// Next state, reward and termination to probability: the documented dynamics of a state that has not ended.
using Distribution = std::map<std::tuple<std::uint32_t, double, bool>, double>;

Distribution documented(const KnownMap& map, Cell from, int action, bool slippery) {
  Distribution result;
  for (int turn = -1; turn <= 1; ++turn) {
    if (turn != 0 && !slippery) continue;
    const Cell to = moved(map, from, action + turn);
    result[{map.state(to), to == map.goal() ? 1.0 : 0.0, map.ends(to)}] += slippery ? 1.0 / 3 : 1.0;
  }
  return result;
}

Distribution listed(const FrozenLake& lake, std::uint32_t state, std::uint32_t action) {
  Distribution result;
  for (const LakeTransition& t : lake.transitions(state, action))
    result[{t.state, t.reward, t.terminated}] += t.probability;
  return result;
}

TEST(FrozenLake, HasTheDocumentedTransitions) {
  for (const KnownMap& map : known_maps()) {
    for (const bool slippery : {false, true}) {
      const FrozenLake lake(map.name, slippery);
      ASSERT_EQ(lake.states(), map.side * map.side);
      for (int row = 0; row < map.side; ++row) {
        for (int column = 0; column < map.side; ++column) {
          const Cell cell{row, column};
          const std::uint32_t state = map.state(cell);
          for (int action = 0; action < 4; ++action) {
            SCOPED_TRACE(fmt::format("{} slippery {} state {} action {}", map.name, slippery, state, action));
            const Distribution expected =
                map.ends(cell) ? Distribution{{{state, 0.0, true}, 1.0}} : documented(map, cell, action, slippery);
            const Distribution found = listed(lake, state, static_cast<std::uint32_t>(action));
            ASSERT_EQ(found.size(), expected.size());
            double sum = 0;
            for (const auto& [what, probability] : expected) {
              ASSERT_TRUE(found.contains(what));
              EXPECT_NEAR(found.at(what), probability, 1e-15);
              sum += found.at(what);
            }
            EXPECT_NEAR(sum, 1, 1e-15);
          }
        }
      }
    }
  }
}

TEST(FrozenLake, HasItsHolesStartGoalAndLimits) {
  for (const KnownMap& map : known_maps()) {
    const FrozenLake lake(map.name, true);
    EXPECT_EQ(lake.start(), 0);
    EXPECT_EQ(lake.letter(0), 'S');
    EXPECT_EQ(lake.letter(map.state(map.goal())), 'G');
    EXPECT_EQ(lake.step_limit(), map.step_limit);
    std::set<Cell> holes;
    for (std::uint32_t state = 0; state < lake.states(); ++state) {
      if (lake.letter(state) == 'H') holes.insert({state / lake.columns(), state % lake.columns()});
    }
    EXPECT_EQ(holes, map.holes);
  }
}

TEST(FrozenLake, HasTheKnownShortestWays) {
  for (const KnownMap& map : known_maps()) {
    const FrozenLake lake(map.name, false);
    std::map<std::uint32_t, int> distance{{lake.start(), 0}};
    std::deque<std::uint32_t> waiting{lake.start()};
    for (; !waiting.empty(); waiting.pop_front()) {
      for (std::uint32_t action = 0; action < FrozenLake::action_count; ++action) {
        const std::uint32_t next = lake.transitions(waiting.front(), action)[0].state;
        if (distance.try_emplace(next, distance[waiting.front()] + 1).second) waiting.push_back(next);
      }
    }
    EXPECT_EQ(distance.at(lake.states() - 1), map.shortest_way);
  }
}

// The best expected discounted return from the start, by value iteration over the listed transitions.
double optimal_value(const FrozenLake& lake, double gamma, int sweeps = 20'000) {
  std::vector<double> value(lake.states());
  for (int sweep = 0; sweep < sweeps; ++sweep) {
    for (std::uint32_t state = 0; state < lake.states(); ++state) {
      double best = 0;
      for (std::uint32_t action = 0; action < FrozenLake::action_count; ++action) {
        double sum = 0;
        for (const LakeTransition& t : lake.transitions(state, action)) {
          sum += t.probability * (t.reward + (t.terminated ? 0 : gamma * value[t.state]));
        }
        best = std::max(best, sum);
      }
      value[state] = best;
    }
  }
  return value[lake.start()];
}

// 14/17 and 1 are the chances of the best policies that have all the time they want; 0.542 and 0.415 are the values at
// gamma 0.99 that textbooks print for the slippery maps.
TEST(FrozenLake, HasTheKnownOptimalValues) {
  EXPECT_NEAR(optimal_value(FrozenLake("4x4", false), 0.99), std::pow(0.99, 5), 1e-12);
  EXPECT_NEAR(optimal_value(FrozenLake("8x8", false), 0.99), std::pow(0.99, 13), 1e-12);
  EXPECT_NEAR(optimal_value(FrozenLake("4x4", true), 1), 14.0 / 17, 1e-9);
  EXPECT_NEAR(optimal_value(FrozenLake("8x8", true), 1), 1, 1e-9);
  EXPECT_NEAR(optimal_value(FrozenLake("4x4", true), 0.99), 0.542, 5e-4);
  EXPECT_NEAR(optimal_value(FrozenLake("8x8", true), 0.99), 0.415, 5e-4);
}

TEST(FrozenLakeEnvironment, DrawsTheListedTransitions) {
  const FrozenLake lake("4x4", true);
  FrozenLakeEnvironment walk(lake, RandomStream(1, "environment"));
  RandomStream agent(1, "agent");
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::map<std::uint32_t, double>> seen;
  std::uint32_t state = walk.reset();
  for (int i = 0; i < 300'000; ++i) {
    const auto action = static_cast<std::uint32_t>(agent.below(4));
    const Outcome outcome = walk.step(action);
    EXPECT_EQ(outcome.reward, lake.letter(outcome.state) == 'G' ? 1 : 0);
    ++seen[{state, action}][outcome.state];
    state = outcome.over() ? walk.reset() : outcome.state;
  }
  EXPECT_EQ(seen.size(), 11 * 4);  // all states but holes and goal
  for (const auto& [pair, counts] : seen) {
    double total = 0, listed_total = 0;
    for (const auto& [next, count] : counts) total += count;
    std::map<std::uint32_t, double> probability;
    for (const LakeTransition& t : lake.transitions(pair.first, pair.second)) probability[t.state] += t.probability;
    for (const auto& [next, p] : probability) {
      const double count = counts.contains(next) ? counts.at(next) : 0;
      EXPECT_NEAR(count, p * total, 5 * std::sqrt(total * p * (1 - p)) + 1e-6);
      listed_total += count;
    }
    EXPECT_EQ(listed_total, total);
  }
}

TEST(FrozenLakeEnvironment, EndsWhereTheLakeDoes) {
  const FrozenLake lake("4x4", false);
  FrozenLakeEnvironment walk(lake, RandomStream(1, "environment"));
  walk.reset();
  Outcome outcome;
  for (const std::uint32_t action : {FrozenLake::down, FrozenLake::down, FrozenLake::right, FrozenLake::down,
                                     FrozenLake::right, FrozenLake::right}) {
    EXPECT_FALSE(outcome.over());
    outcome = walk.step(action);
  }
  EXPECT_EQ(outcome.state, 15);
  EXPECT_EQ(outcome.reward, 1);
  EXPECT_TRUE(outcome.terminated);
  EXPECT_FALSE(outcome.truncated);
  EXPECT_THROW(walk.step(FrozenLake::left), InvalidArgument);

  walk.reset();
  walk.step(FrozenLake::right);
  outcome = walk.step(FrozenLake::down);
  EXPECT_EQ(outcome.state, 5);
  EXPECT_EQ(outcome.reward, 0);
  EXPECT_TRUE(outcome.terminated);
}

TEST(FrozenLakeEnvironment, IsCutShortAtTheStepLimit) {
  for (const KnownMap& map : known_maps()) {
    const FrozenLake lake(map.name, false);
    FrozenLakeEnvironment walk(lake, RandomStream(1, "environment"));
    for (int episode = 0; episode < 2; ++episode) {
      walk.reset();
      for (std::uint64_t step = 1; step <= map.step_limit; ++step) {
        const Outcome outcome = walk.step(FrozenLake::left);
        EXPECT_FALSE(outcome.terminated);
        EXPECT_EQ(outcome.truncated, step == map.step_limit);
      }
      EXPECT_THROW(walk.step(FrozenLake::left), InvalidArgument);
    }
  }
}

// As Gymnasium's wrapper has it: the limit does not ask what the lake said.
TEST(FrozenLakeEnvironment, CanEndInBothWaysAtOnce) {
  const FrozenLake lake("4x4", false);
  FrozenLakeEnvironment walk(lake, RandomStream(1, "environment"));
  walk.reset();
  for (int step = 1; step < 99; ++step) walk.step(FrozenLake::up);
  walk.step(FrozenLake::down);
  const Outcome outcome = walk.step(FrozenLake::right);
  EXPECT_TRUE(outcome.terminated);
  EXPECT_TRUE(outcome.truncated);
}

TEST(FrozenLakeEnvironment, RefusesWhatIsNoStep) {
  const FrozenLake lake("4x4", true);
  FrozenLakeEnvironment walk(lake, RandomStream(1, "environment"));
  EXPECT_THROW(walk.step(0), InvalidArgument);
  walk.reset();
  EXPECT_THROW(walk.step(4), InvalidArgument);
  EXPECT_NO_THROW(walk.step(3));
  EXPECT_THROW(lake.transitions(16, 0), InvalidArgument);
}

TEST(FrozenLake, TakesMapsOfOnesOwn) {
  const FrozenLake lake("FFS/GHF", false);
  EXPECT_EQ(lake.states(), 6);
  EXPECT_EQ(lake.columns(), 3);
  EXPECT_EQ(lake.start(), 2);
  EXPECT_EQ(lake.transitions(0, FrozenLake::down)[0].reward, 1);
  EXPECT_EQ(lake.step_limit(), 62);  // 12.5 for each of two rows and three columns
  EXPECT_EQ(FrozenLake("SFFF/FHFH/FFFH/HFFG", true).step_limit(), 100);
  // A way as long as the lake is wide and more: four times the way.
  const std::string corridor = "S" + std::string(60, 'F') + "G";
  EXPECT_EQ(FrozenLake(corridor, false).step_limit(), 25 * 63 / 2);
  EXPECT_EQ(FrozenLake("SFFFFFFFFF/HHHHHHHHHF/FFFFFFFFFF/FHHHHHHHHH/FFFFFFFFFF/HHHHHHHHHF/FFFFFFFFFF/FHHHHHHHHH/"
                       "FFFFFFFFFF/HHHHHHHHHF/FFFFFFFFFF/FHHHHHHHHH/FFFFFFFFFG",
                       false)
                .step_limit(),
            4 * (7 * 9 + 12));
}

std::string complaint(const std::string& map) {
  try {
    const FrozenLake lake(map, false);
    return "no complaint";
  } catch (const InvalidArgument& error) {
    return error.what();
  }
}

TEST(FrozenLake, RefusesGarbage) {
  const std::vector<std::pair<std::string, std::string>> bad{
      {"", "first row is empty"},
      {"/SG", "first row is empty"},
      {"SFG/", "row 2 of the map has 0 letters, but row 1 has 3"},
      {"SF/FFG", "row 2 of the map has 3 letters, but row 1 has 2"},
      {"SFG/FXF", "row 2 of the map has the letter 'X'"},
      {"SFG/F\nF", "\\x0a"},
      {"sfg", "row 1 of the map has the letter 's'"},
      {"5x5", "the letter '5'"},
      {"FFG", "0 starts"},
      {"SFS/FFG", "2 starts"},
      {"SFF", "no goal"},
      {"SHG", "can be reached"},
      {"SF/HH/FG", "can be reached"},
      {"S" + std::string(64, 'F') + "G", "more than 64 columns"},
  };
  for (const auto& [map, expected] : bad) {
    const std::string text = complaint(map);
    EXPECT_NE(text.find(expected), std::string::npos) << map << ": " << text;
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
  }
  std::string tall = "S";
  for (int row = 0; row < 64; ++row) tall += "/F";
  EXPECT_NE(complaint(tall + "/G").find("more than 64 rows"), std::string::npos);
}

// Every small map of random letters is either refused or has a goal that a random walk can reach.
TEST(FrozenLake, TakesOrRefusesAnyText) {
  RandomStream stream(3, "garbage");
  int taken = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string map;
    const std::uint64_t columns = 1 + stream.below(3), rows = 1 + stream.below(3);
    for (std::uint64_t row = 0; row < rows; ++row) {
      if (row > 0) map += '/';
      for (std::uint64_t column = 0; column < columns; ++column) map += "SFFHGG"[stream.below(6)];
    }
    try {
      const FrozenLake lake(map, true);
      ++taken;
      EXPECT_GT(optimal_value(lake, 0.5, 20), 0) << map;
    } catch (const InvalidArgument&) {
    }
  }
  EXPECT_GT(taken, 100);
}

}  // namespace
}  // namespace ignd
