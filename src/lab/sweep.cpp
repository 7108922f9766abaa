#include "lab/sweep.hpp"

#include "base/pinned.hpp"
#include "ignd/version.hpp"
#include "lab/machine.hpp"
#include "lab/store.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>

namespace ignd {
namespace {

using Clock = std::chrono::steady_clock;

struct PlannedRun {
  const RunConfig* config = nullptr;
  const Task* task = nullptr;
  double cost = 0;
};

struct Finished {
  PlannedRun run;
  RunResult result;
  double seconds = 0;
};

// A run under way.
struct Flight {
  Flight(const PlannedRun& taken, const std::filesystem::path& unfinished, const std::atomic<bool>& stop)
      : run(taken), control(stop, unfinished, &share) {
    std::error_code ignored;
    resumed = !unfinished.empty() && std::filesystem::exists(unfinished, ignored);
  }

  PlannedRun run;
  std::atomic<double> share = 0;
  RunControl control;
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
  bool resumed;  // and has not told yet what it has behind it
};

using Group = std::vector<PlannedRun>;

// Groups of runs that wait, and results that wait to be stored. Threads take from one end and put at the other; the
// store belongs to the thread that made the sweep.
class Queue : Pinned {
 public:
  Queue(std::vector<Group> waiting, const Engine& engine, const UnfinishedRuns& unfinished, unsigned jobs,
        const std::atomic<bool>& stop)
      : waiting_(std::move(waiting)), engine_(engine), unfinished_(unfinished), stop_(stop) {
    for (const Group& group : waiting_) runs_ += group.size();
    const auto count = std::min<std::size_t>(jobs, waiting_.size());
    try {
      while (threads_.size() < count) threads_.emplace_back([this] { work(); });
    } catch (const std::system_error&) {  // the machine has no more of them: fewer do the same
      if (threads_.empty()) throw;
    }
  }
  ~Queue() { cancelled_ = true; }

  // The next result; none once all are done or the sweep was stopped. As long as there is none, `meanwhile` is called
  // about once a second. Throws what a run has thrown.
  std::optional<Finished> next(const std::function<void()>& meanwhile) {
    std::unique_lock lock(mutex_);
    auto called = Clock::now();
    while (finished_.empty()) {
      if (fault_) std::rethrow_exception(fault_);
      if (stop_) cancelled_ = true;
      if (given_ == runs_ || (cancelled_ && flights_.empty())) return std::nullopt;
      // A signal handler only sets the flag, so poll it.
      constexpr std::chrono::milliseconds look_again(50);
      changed_.wait_for(lock, look_again);
      if (Clock::now() - called < std::chrono::seconds(1)) continue;
      called = Clock::now();
      lock.unlock();
      meanwhile();
      lock.lock();
    }
    Finished first = std::move(finished_.front());
    finished_.pop_front();
    ++given_;
    return first;
  }

  // Results that wait to be stored count as complete, so that the progress never decreases.
  void look_at_shares(SweepProgress& now) {
    const std::lock_guard lock(mutex_);
    now.under_way = static_cast<double>(finished_.size());
    for (Flight& flight : flights_) {
      const double share = flight.share;
      now.under_way += share;
      if (!flight.resumed || share == 0) continue;
      now.resumed += share;
      flight.resumed = false;
    }
  }

 private:
  void work() {
    for (std::vector<Flight*> group = take(); !group.empty(); group = take()) {
      std::exception_ptr fault;
      try {
        std::vector<TaskRun> runs;
        runs.reserve(group.size());
        for (const Flight* flight : group) runs.push_back({flight->run.config, &flight->control});
        group[0]->run.task->run_group(runs, engine_, [&](std::size_t i, RunResult result) {
          const std::chrono::duration<double> time = Clock::now() - group[i]->start;
          end(*std::exchange(group[i], nullptr), std::move(result), time.count());
        });
      } catch (const Stopped&) {
      } catch (...) {
        fault = std::current_exception();
      }
      give_up(group, fault);
    }
  }

  // The next group; none if there is nothing to do any more.
  std::vector<Flight*> take() {
    const std::lock_guard lock(mutex_);
    std::vector<Flight*> taken;
    if (stop_ || cancelled_ || fault_ || next_ == waiting_.size()) return taken;
    for (const PlannedRun& run : waiting_[next_++]) {
      taken.push_back(
          &flights_.emplace_back(run, run.task->resumes() ? unfinished_.path_of(*run.config) : "", cancelled_));
    }
    return taken;
  }

  void end(const Flight& flight, RunResult result, double seconds) {
    const std::lock_guard lock(mutex_);
    finished_.push_back({flight.run, std::move(result), seconds});
    flights_.remove_if([&](const Flight& one) { return &one == &flight; });
    changed_.notify_one();
  }

  // The runs of a group that have not ended.
  void give_up(const std::vector<Flight*>& group, const std::exception_ptr& fault) {
    const std::lock_guard lock(mutex_);
    for (const Flight* left : group) {
      if (left != nullptr) flights_.remove_if([&](const Flight& one) { return &one == left; });
    }
    if (!fault_) fault_ = fault;
    changed_.notify_one();
  }

  std::vector<Group> waiting_;
  std::size_t runs_ = 0;  // of all groups
  const Engine& engine_;
  const UnfinishedRuns& unfinished_;
  const std::atomic<bool>& stop_;
  std::atomic<bool> cancelled_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::list<Flight> flights_;
  std::deque<Finished> finished_;
  std::size_t next_ = 0, given_ = 0;
  std::exception_ptr fault_;
  std::vector<std::jthread> threads_;  // last: they end before what they use
};

std::vector<PlannedRun> missing_runs(const std::vector<RunConfig>& runs, const Store& store,
                                     const FindTask& task_named) {
  std::vector<PlannedRun> missing;
  for (const RunConfig& config : runs) {
    const Task& task = task_named(config.task);
    if (!store.contains(config)) missing.push_back({&config, &task, task.cost(config)});
  }
  // Runs of one seed may share what they are made from, as long as there is room for it.
  std::stable_sort(missing.begin(), missing.end(), [](const PlannedRun& a, const PlannedRun& b) {
    return std::pair(-a.cost, a.config->seed) < std::pair(-b.cost, b.config->seed);
  });
  return missing;
}

// Runs that may be trained together, as many at a time as the engine wants, in the order of their first runs.
std::vector<Group> grouped(const std::vector<PlannedRun>& runs, const Engine& engine) {
  std::vector<Group> groups;
  std::map<std::string, std::size_t> open;  // the group of a key that has room
  for (const PlannedRun& run : runs) {
    const std::string key = engine.group_size() > 1 ? run.task->group_of(*run.config) : "";
    const auto found = key.empty() ? open.end() : open.find(key);
    if (found != open.end() && groups[found->second].size() < engine.group_size()) {
      groups[found->second].push_back(run);
      continue;
    }
    if (!key.empty()) open[key] = groups.size();
    groups.push_back({run});
  }
  return groups;
}

// A program may be killed after a result was stored and before the run's file was removed.
void remove_those_stored(const std::vector<RunConfig>& runs, const Store& store, const UnfinishedRuns& unfinished,
                         const FindTask& task_named) {
  for (const RunConfig& config : runs) {
    if (task_named(config.task).resumes() && store.contains(config)) unfinished.remove(config);
  }
}

}  // namespace

void make_runs(const std::vector<RunConfig>& runs, Store& store, const SweepOptions& options,
               const std::atomic<bool>& stop, const std::function<void(const SweepProgress&)>& progress) {
  const FindTask& task_named = options.task_named;
  const Engine& engine = options.engine != nullptr ? *options.engine : engine_for(Machine::shared);
  const std::string host = describe_host();
  const UnfinishedRuns unfinished(store.folder());
  remove_those_stored(runs, store, unfinished, task_named);
  const std::vector<PlannedRun> missing = missing_runs(runs, store, task_named);
  if (std::ranges::any_of(missing, [](const PlannedRun& run) { return run.task->resumes(); })) unfinished.make_folder();
  Queue queue(grouped(missing, engine), engine, unfinished, options.jobs, stop);
  SweepProgress now;
  const auto tell = [&] {
    queue.look_at_shares(now);
    progress(now);
  };
  tell();
  while (auto made = queue.next(tell)) {
    ++now.done;
    if (made->result.status != RunStatus::finished) ++now.failed;
    store.add(*made->run.config, {std::move(made->result), made->seconds, version(), host});
    if (made->run.task->resumes()) unfinished.remove(*made->run.config);
    tell();
  }
}

SweepWork work_left(const std::vector<RunConfig>& runs, const Store& store, unsigned jobs, const FindTask& task_named) {
  SweepWork work;
  double longest = 0;
  for (const PlannedRun& run : missing_runs(runs, store, task_named)) {
    ++work.runs;
    work.seconds += run.cost / jobs;
    longest = std::max(longest, run.cost);
  }
  work.seconds = std::max(work.seconds, longest);
  return work;
}

}  // namespace ignd
