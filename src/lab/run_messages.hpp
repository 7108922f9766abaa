#pragma once

#include "ignd/checkpoint.hpp"
#include "lab/run_queue.hpp"

#include <cstddef>
#include <string>
#include <vector>

// What the ranks of a sweep tell each other. A message is a checkpoint in memory: named entries and a checksum.
namespace ignd {

// From rank 0 to another one, and back.
enum class RunMessage { runs, stop, leave, report, fault };

Checkpoint new_message(RunMessage kind);
RunMessage kind_of_message(const Checkpoint& message);

// Groups of runs. The reader gets the configurations apart, since its planned runs point to them.
void put_groups(Checkpoint& message, const std::vector<RunGroup>& groups);

struct ReceivedRun {
  RunConfig config;
  std::size_t group = 0, number = 0;
  double cost = 0;
  std::filesystem::path unfinished;
};
std::vector<ReceivedRun> runs_in(const Checkpoint& message);

void put_results(Checkpoint& message, const std::vector<FinishedRun>& results);
std::vector<FinishedRun> results_in(const Checkpoint& message);

// How a rank stands.
struct RankState {
  std::size_t idle = 0;      // threads with nothing to do
  std::size_t waiting = 0;   // groups that it has not begun
  std::size_t received = 0;  // messages with runs, since it began
  double under_way = 0;      // the sum of the shares of its runs
  double resumed = 0;        // that runs had behind them when they were resumed, since the last report
  bool stopped = false;      // by a signal: the whole sweep is to stop
  bool ended = false;        // no run is under way and none will begin

  bool operator==(const RankState&) const = default;
};

void put_state(Checkpoint& message, const RankState& state);
RankState state_in(const Checkpoint& message);

}  // namespace ignd
