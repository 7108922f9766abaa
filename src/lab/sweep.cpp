#include "lab/sweep.hpp"

#include "base/pinned.hpp"
#include "ignd/version.hpp"
#include "lab/host.hpp"
#include "lab/store.hpp"
#include "lab/unfinished_runs.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <list>
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

struct Flight {
  Flight(const PlannedRun& taken, std::filesystem::path file) : run(taken), unfinished(std::move(file)) {
    std::error_code ignored;
    resumed = !unfinished.empty() && std::filesystem::exists(unfinished, ignored);
  }

  PlannedRun run;
  std::filesystem::path unfinished;
  std::atomic<double> share = 0;
  bool resumed;  // and has not told yet what it has behind it
};

// Runs that wait, and results that wait to be stored. Threads take from one end and put at the other; the store belongs
// to the thread that made the sweep.
class Queue : Pinned {
 public:
  Queue(std::vector<PlannedRun> waiting, const UnfinishedRuns& unfinished, unsigned jobs, const std::atomic<bool>& stop)
      : waiting_(std::move(waiting)), unfinished_(unfinished), stop_(stop) {
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
      if (given_ == waiting_.size() || (cancelled_ && flights_.empty())) return std::nullopt;
      // A signal sets the flag and wakes nobody.
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

  // What waits to be stored is as far as it can be, so that nothing ever goes back.
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
    Flight* flight = nullptr;
    while ((flight = take()) != nullptr) {
      try {
        const auto start = Clock::now();
        const PlannedRun& run = flight->run;
        RunResult result = run.task->run(*run.config, RunControl(cancelled_, flight->unfinished, &flight->share));
        const std::chrono::duration<double> time = Clock::now() - start;
        end(*flight, Finished{run, std::move(result), time.count()}, nullptr);
      } catch (const RunStopped&) {
        end(*flight, std::nullopt, nullptr);
      } catch (...) {
        end(*flight, std::nullopt, std::current_exception());
      }
    }
  }

  Flight* take() {
    const std::lock_guard lock(mutex_);
    if (stop_ || cancelled_ || fault_ || next_ == waiting_.size()) return nullptr;
    const PlannedRun& run = waiting_[next_++];
    return &flights_.emplace_back(run, run.task->resumes() ? unfinished_.path_of(*run.config) : "");
  }

  void end(const Flight& flight, std::optional<Finished> result, std::exception_ptr fault) {
    const std::lock_guard lock(mutex_);
    flights_.remove_if([&](const Flight& one) { return &one == &flight; });
    if (result) finished_.push_back(std::move(*result));
    if (!fault_) fault_ = std::move(fault);
    changed_.notify_one();
  }

  std::vector<PlannedRun> waiting_;
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

// A program may be killed after a result was stored and before the run's file was removed.
void remove_those_stored(const std::vector<RunConfig>& runs, const Store& store, const UnfinishedRuns& unfinished,
                         const FindTask& task_named) {
  for (const RunConfig& config : runs) {
    if (task_named(config.task).resumes() && store.contains(config)) unfinished.remove(config);
  }
}

}  // namespace

void make_runs(const std::vector<RunConfig>& runs, Store& store, unsigned jobs, const std::atomic<bool>& stop,
               const std::function<void(const SweepProgress&)>& progress, const FindTask& task_named) {
  const std::string host = describe_host();
  const UnfinishedRuns unfinished(store.folder());
  remove_those_stored(runs, store, unfinished, task_named);
  std::vector<PlannedRun> missing = missing_runs(runs, store, task_named);
  if (std::ranges::any_of(missing, [](const PlannedRun& run) { return run.task->resumes(); })) unfinished.make_folder();
  Queue queue(std::move(missing), unfinished, jobs, stop);
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
