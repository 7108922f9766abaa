#pragma once

#include "base/pinned.hpp"
#include "lab/sweep.hpp"
#include "lab/task.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <filesystem>
#include <list>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace ignd {

// A run that a sweep has to make.
struct PlannedRun {
  const RunConfig* config = nullptr;
  const Task* task = nullptr;
  double cost = 0;                        // an estimate of its seconds
  std::size_t number = 0;                 // in its sweep
  std::filesystem::path unfinished = {};  // its checkpoint; empty: it cannot be resumed
};

using RunGroup = std::vector<PlannedRun>;

struct FinishedRun {
  std::size_t number = 0;
  RunResult result;
  double seconds = 0;
  std::string host;  // empty: this machine
};

// Groups of runs that wait, threads that make them, and results that wait to be collected. The threads and other ranks
// take from the front.
class RunQueue : Pinned {
 public:
  RunQueue(const Engine& engine, unsigned jobs) : engine_(engine), jobs_(jobs) {}
  ~RunQueue();

  // Behind those that wait. Starts as many threads as are useful.
  void add(std::vector<RunGroup> groups);

  // Takes groups for another rank: the first one, unless it costs more than `most_of_first`, and further ones up to
  // this cost and number in all.
  std::vector<RunGroup> take(double most_of_first, double most_cost, std::size_t most_groups);

  // The results since the last call. Waits up to this long for the first one. Throws what a run has thrown.
  std::vector<FinishedRun> collect(std::chrono::microseconds wait);

  // Adds the shares of the runs under way, and to `resumed` what resumed runs had behind them as soon as they tell.
  // Results that wait to be collected count as complete, so that the progress never decreases.
  void look_at_shares(SweepProgress& now);

  // No run begins any more, and those under way stop. May be called again and again.
  void cancel();
  bool is_idle() const;  // no run is under way, and no result waits

  struct Load {
    std::size_t groups = 0;   // that wait
    double cost = 0;          // of these
    std::size_t threads = 0;  // that have nothing to do, as far as what waits does not keep them busy
  };
  Load load() const;

 private:
  // A run under way.
  struct Flight {
    Flight(const PlannedRun& taken, const std::atomic<bool>& stop);

    PlannedRun run;
    std::atomic<double> share = 0;
    RunControl control;
    std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
    bool resumed = false;  // and has not told yet what it has behind it
  };

  void work();
  std::vector<Flight*> begin_next();
  void end(const Flight& flight, RunResult result, double seconds);
  void give_up(const std::vector<Flight*>& group, const std::exception_ptr& fault);
  RunGroup pop();

  const Engine& engine_;
  const unsigned jobs_;
  std::atomic<bool> cancelled_ = false;
  mutable std::mutex mutex_;
  std::condition_variable added_, changed_;
  std::deque<RunGroup> waiting_;
  double waiting_cost_ = 0;
  std::list<Flight> flights_;
  std::size_t busy_ = 0;  // threads
  std::vector<FinishedRun> finished_;
  std::exception_ptr fault_;
  bool closed_ = false;
  std::vector<std::jthread> threads_;  // last: they end before what they use
};

}  // namespace ignd
