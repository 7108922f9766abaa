#include "sweep/sweep.hpp"

#include "ignd/version.hpp"
#include "sweep/host.hpp"
#include "sweep/store.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>

namespace ignd {
namespace {

struct Finished {
  const RunConfig* config = nullptr;
  RunResult result;
  double seconds = 0;
};

// Runs that wait, and results that wait to be stored. Threads take from one end and put at the other; the store belongs
// to the thread that made the sweep.
class Queue {
 public:
  Queue(std::vector<const RunConfig*> waiting, unsigned jobs, const std::atomic<bool>& stop)
      : waiting_(std::move(waiting)), stop_(stop) {
    const auto count = std::min<std::size_t>(jobs, waiting_.size());
    try {
      while (threads_.size() < count) threads_.emplace_back([this] { work(); });
    } catch (const std::system_error&) {  // the machine has no more of them: fewer do the same
      if (threads_.empty()) throw;
    }
  }
  ~Queue() { cancelled_ = true; }
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;
  Queue(Queue&&) = delete;
  Queue& operator=(Queue&&) = delete;

  // The next result; none once all are done or the sweep was stopped. Throws what a run has thrown.
  std::optional<Finished> next() {
    std::unique_lock lock(mutex_);
    while (finished_.empty()) {
      if (fault_) std::rethrow_exception(fault_);
      if (stop_) cancelled_ = true;
      if (given_ == waiting_.size() || (cancelled_ && in_flight_ == 0)) return std::nullopt;
      // A signal sets the flag and wakes nobody.
      constexpr std::chrono::milliseconds look_again(50);
      changed_.wait_for(lock, look_again);
    }
    Finished first = std::move(finished_.front());
    finished_.pop_front();
    ++given_;
    return first;
  }

 private:
  void work() {
    const RunConfig* config = nullptr;
    while ((config = take()) != nullptr) {
      try {
        const auto start = std::chrono::steady_clock::now();
        RunResult result = find_task(config->task).run(*config, cancelled_);
        const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
        give(Finished{config, std::move(result), time.count()});
      } catch (const RunStopped&) {
        give(std::nullopt);
      } catch (...) {
        fail(std::current_exception());
      }
    }
  }

  const RunConfig* take() {
    const std::lock_guard lock(mutex_);
    if (stop_ || cancelled_ || fault_ || next_ == waiting_.size()) return nullptr;
    ++in_flight_;
    return waiting_[next_++];
  }

  void give(std::optional<Finished> result) {
    const std::lock_guard lock(mutex_);
    --in_flight_;
    if (result) finished_.push_back(std::move(*result));
    changed_.notify_one();
  }

  void fail(std::exception_ptr fault) {
    const std::lock_guard lock(mutex_);
    --in_flight_;
    if (!fault_) fault_ = std::move(fault);
    changed_.notify_one();
  }

  std::vector<const RunConfig*> waiting_;
  const std::atomic<bool>& stop_;
  std::atomic<bool> cancelled_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Finished> finished_;
  std::size_t next_ = 0, given_ = 0, in_flight_ = 0;
  std::exception_ptr fault_;
  std::vector<std::jthread> threads_;  // last: they end before what they use
};

std::vector<const RunConfig*> missing_runs(const std::vector<RunConfig>& runs, const Store& store) {
  std::vector<std::pair<double, const RunConfig*>> missing;
  for (const RunConfig& config : runs) {
    if (!store.contains(config)) missing.emplace_back(find_task(config.task).cost(config), &config);
  }
  // Runs of one seed may share what they are made from, as long as there is room for it.
  std::stable_sort(missing.begin(), missing.end(), [](const auto& a, const auto& b) {
    return std::pair(-a.first, a.second->seed) < std::pair(-b.first, b.second->seed);
  });
  std::vector<const RunConfig*> longest_first;
  longest_first.reserve(missing.size());
  for (const auto& [cost, config] : missing) longest_first.push_back(config);
  return longest_first;
}

}  // namespace

void make_runs(const std::vector<RunConfig>& runs, Store& store, unsigned jobs, const std::atomic<bool>& stop,
               const std::function<void(const SweepProgress&)>& progress) {
  const std::string host = describe_host();
  Queue queue(missing_runs(runs, store), jobs, stop);
  SweepProgress now;
  progress(now);
  while (auto run = queue.next()) {
    ++now.done;
    if (run->result.status != RunStatus::finished) ++now.failed;
    store.add(*run->config, {std::move(run->result), run->seconds, version(), host});
    progress(now);
  }
}

}  // namespace ignd
