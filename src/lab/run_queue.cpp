#include "lab/run_queue.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

namespace ignd {
namespace {

double cost_of(const RunGroup& group) {
  double cost = 0;
  for (const PlannedRun& run : group) cost += run.cost;
  return cost;
}

}  // namespace

RunQueue::Flight::Flight(const PlannedRun& taken, const std::atomic<bool>& stop)
    : run(taken), control(stop, taken.unfinished, &share) {
  std::error_code ignored;
  resumed = !run.unfinished.empty() && std::filesystem::exists(run.unfinished, ignored);
}

RunQueue::~RunQueue() {
  const std::lock_guard lock(mutex_);
  cancelled_ = closed_ = true;
  added_.notify_all();
}

void RunQueue::add(std::vector<RunGroup> groups) {
  const std::lock_guard lock(mutex_);
  for (RunGroup& group : groups) {
    waiting_cost_ += cost_of(group);
    waiting_.push_back(std::move(group));
  }
  const auto wanted = std::min<std::size_t>(jobs_, busy_ + waiting_.size());
  try {
    while (threads_.size() < wanted) threads_.emplace_back([this] { work(); });
  } catch (const std::system_error&) {  // the machine has no more of them: fewer do the same
    if (threads_.empty()) throw;
  }
  added_.notify_all();
}

std::vector<RunGroup> RunQueue::take(double most_of_first, double most_cost, std::size_t most_groups) {
  const std::lock_guard lock(mutex_);
  std::vector<RunGroup> taken;
  if (cancelled_ || waiting_.empty() || cost_of(waiting_.front()) > most_of_first) return taken;
  double cost = cost_of(waiting_.front());
  do {
    taken.push_back(pop());
    if (!waiting_.empty()) cost += cost_of(waiting_.front());
  } while (!waiting_.empty() && cost <= most_cost && taken.size() < most_groups);
  return taken;
}

std::vector<FinishedRun> RunQueue::collect(std::chrono::microseconds wait) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, wait, [&] { return !finished_.empty() || fault_ || (cancelled_ && flights_.empty()); });
  if (finished_.empty() && fault_) std::rethrow_exception(fault_);
  return std::exchange(finished_, {});
}

void RunQueue::look_at_shares(SweepProgress& now) {
  const std::lock_guard lock(mutex_);
  now.under_way += static_cast<double>(finished_.size());
  for (Flight& flight : flights_) {
    const double share = flight.share;
    now.under_way += share;
    if (!flight.resumed || share == 0) continue;
    now.resumed += share;
    flight.resumed = false;
  }
}

void RunQueue::cancel() { cancelled_ = true; }

bool RunQueue::is_idle() const {
  const std::lock_guard lock(mutex_);
  return flights_.empty() && finished_.empty();
}

RunQueue::Load RunQueue::load() const {
  const std::lock_guard lock(mutex_);
  const std::size_t used = busy_ + waiting_.size();
  return {.groups = waiting_.size(), .cost = waiting_cost_, .threads = jobs_ - std::min<std::size_t>(used, jobs_)};
}

void RunQueue::work() {
  for (std::vector<Flight*> group = begin_next(); !group.empty(); group = begin_next()) {
    std::exception_ptr fault;
    try {
      std::vector<TaskRun> runs;
      runs.reserve(group.size());
      for (const Flight* flight : group) runs.push_back({flight->run.config, &flight->control});
      group[0]->run.task->run_group(runs, engine_, [&](std::size_t i, RunResult result) {
        const std::chrono::duration<double> time = std::chrono::steady_clock::now() - group[i]->start;
        end(*std::exchange(group[i], nullptr), std::move(result), time.count());
      });
    } catch (const Stopped&) {
    } catch (...) {
      fault = std::current_exception();
    }
    give_up(group, fault);
  }
}

// Waits for the next group; none if there is nothing to do any more.
std::vector<RunQueue::Flight*> RunQueue::begin_next() {
  std::unique_lock lock(mutex_);
  added_.wait(lock, [&] { return closed_ || (!waiting_.empty() && !cancelled_ && !fault_); });
  std::vector<Flight*> taken;
  if (closed_) return taken;
  ++busy_;
  for (const PlannedRun& run : pop()) taken.push_back(&flights_.emplace_back(run, cancelled_));
  return taken;
}

RunGroup RunQueue::pop() {
  RunGroup first = std::move(waiting_.front());
  waiting_.pop_front();
  waiting_cost_ = waiting_.empty() ? 0 : waiting_cost_ - cost_of(first);
  return first;
}

void RunQueue::end(const Flight& flight, RunResult result, double seconds) {
  const std::lock_guard lock(mutex_);
  finished_.push_back({flight.run.number, std::move(result), seconds, ""});
  flights_.remove_if([&](const Flight& one) { return &one == &flight; });
  changed_.notify_one();
}

// The runs of a group that have not ended.
void RunQueue::give_up(const std::vector<Flight*>& group, const std::exception_ptr& fault) {
  const std::lock_guard lock(mutex_);
  for (const Flight* left : group) {
    if (left != nullptr) flights_.remove_if([&](const Flight& one) { return &one == left; });
  }
  --busy_;
  if (!fault_) fault_ = fault;
  changed_.notify_one();
}

}  // namespace ignd
