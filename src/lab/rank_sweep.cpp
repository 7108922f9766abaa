#include "lab/rank_sweep.hpp"

#include "ignd/error.hpp"
#include "lab/machine.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <map>
#include <utility>

namespace ignd {
namespace {

using Clock = std::chrono::steady_clock;

double elapsed_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// A parcel of short runs takes about this long, and only such are given ahead of time.
constexpr double parcel_seconds = 0.25;
constexpr std::size_t most_groups = 512;

// Results wait for others at most this long: a rank that is killed loses no more.
constexpr double most_delay = 0.1;
constexpr std::chrono::milliseconds look_again(1);

}  // namespace

RankPool::RankPool(Communicator& ranks) : ranks_(ranks), others_(static_cast<std::size_t>(ranks.size())) {}

RankPool::~RankPool() {
  for (int to = 1; to < ranks_.size(); ++to) ranks_.send(to, new_message(RunMessage::leave).to_bytes());
}

void RankPool::send(int to, const Checkpoint& message) {
  ++traffic_.sent;
  ranks_.send(to, message.to_bytes());
}

std::vector<FinishedRun> RankPool::exchange(RunQueue& queue) {
  const auto start = Clock::now();
  std::vector<FinishedRun> results;
  while (const auto received = ranks_.receive()) {
    ++traffic_.received;
    const Checkpoint message = Checkpoint::from_bytes(received->bytes, "message");
    if (kind_of_message(message) == RunMessage::fault) {
      if (message.number("usage") != 0) throw InvalidArgument(message.text("fault"));
      throw Error(message.text("fault"));
    }
    Rank& rank = others_.at(static_cast<std::size_t>(received->from));
    rank.state = state_in(message);
    rank.present = true;
    resumed_ += rank.state.resumed;
    stopped_ = stopped_ || rank.state.stopped;
    for (FinishedRun& run : results_in(message)) {
      --rank.given;
      results.push_back(std::move(run));
    }
  }
  if (!cancelled_) hand_out(queue);
  traffic_.seconds += elapsed_since(start);
  return results;
}

void RankPool::hand_out(RunQueue& queue) {
  for (const bool ahead : {false, true}) {
    for (int number = 1; number < ranks_.size(); ++number) {
      Rank& rank = others_[static_cast<std::size_t>(number)];
      // What a rank said before it knew of its last runs says nothing.
      if (!rank.present || rank.state.received != rank.sent) continue;
      if (ahead ? rank.state.waiting > 0 : rank.state.idle == 0) continue;
      if (!give(rank, number, queue, ahead)) return;
    }
  }
}

// False if there is nothing to give.
bool RankPool::give(Rank& rank, int number, RunQueue& queue, bool ahead) {
  const double pace = runs_noted_ > 0 && cost_noted_ > 0 ? seconds_noted_ / cost_noted_ : 1;
  const std::size_t parcels = ahead ? 1 : rank.state.idle;
  std::vector<RunGroup> given;
  for (std::size_t k = 0; k < parcels; ++k) {
    const RunQueue::Load load = queue.load();
    if (load.groups == 0) break;
    const double seconds = seconds_of_parcel(load);
    const double most_of_first = ahead ? parcel_seconds / pace : std::numeric_limits<double>::infinity();
    // The first results say how far the estimates can be trusted.
    const std::size_t groups =
        runs_noted_ == 0 ? 1 : std::clamp<std::size_t>(load.groups / others_.size() / 2, 1, most_groups);
    for (RunGroup& group : queue.take(most_of_first, seconds / pace, groups)) given.push_back(std::move(group));
  }
  if (given.empty()) return false;
  for (const RunGroup& group : given) rank.given += group.size();
  ++rank.sent;
  Checkpoint message = new_message(RunMessage::runs);
  put_groups(message, given);
  send(number, message);
  return true;
}

// Smaller parcels towards the end, so that all ranks end together.
double RankPool::seconds_of_parcel(const RunQueue::Load& load) const {
  const double pace = runs_noted_ > 0 && cost_noted_ > 0 ? seconds_noted_ / cost_noted_ : 1;
  return std::min(parcel_seconds, load.cost * pace / static_cast<double>(2 * others_.size()));
}

void RankPool::note_pace(double cost, double seconds) {
  cost_noted_ += cost;
  seconds_noted_ += seconds;
  ++runs_noted_;
}

void RankPool::cancel() {
  if (std::exchange(cancelled_, true)) return;
  for (int to = 1; to < ranks_.size(); ++to) send(to, new_message(RunMessage::stop));
}

bool RankPool::is_idle() const {
  return std::ranges::all_of(others_, [&](const Rank& rank) {
    return rank.given == 0 || (cancelled_ && rank.state.ended && rank.state.received == rank.sent);
  });
}

void RankPool::look_at_shares(SweepProgress& now) {
  for (const Rank& rank : others_) now.under_way += rank.state.under_way;
  now.resumed += std::exchange(resumed_, 0.0);
}

namespace {

// A rank other than 0 in a sweep.
class Server : Pinned {
 public:
  Server(Communicator& ranks, unsigned jobs, const Engine& engine, const FindTask& task_named)
      : ranks_(ranks), task_named_(task_named), queue_(engine, jobs), host_(describe_host()) {}

  void serve(const std::atomic<bool>& stop) {
    while (!left_) {
      while (const auto received = ranks_.receive()) obey(Checkpoint::from_bytes(received->bytes, "message"));
      if (stop && !state_.stopped) {
        state_.stopped = true;
        queue_.cancel();
        cancelled_ = true;
      }
      collect();
      report_if_due();
    }
  }

 private:
  void obey(const Checkpoint& message) {
    const RunMessage kind = kind_of_message(message);
    if (kind == RunMessage::runs) {
      ++state_.received;
      begin(runs_in(message));
      return;
    }
    left_ = kind == RunMessage::leave;
    cancelled_ = true;
    queue_.cancel();
  }

  void begin(std::vector<ReceivedRun> runs) try {
    std::vector<RunGroup> groups;
    for (ReceivedRun& run : runs) {
      if (run.group >= groups.size()) groups.resize(run.group + 1);
      const RunConfig& config = configs_.insert_or_assign(run.number, std::move(run.config)).first->second;
      groups[run.group].push_back({.config = &config,
                                   .task = &task_named_(config.task),
                                   .cost = run.cost,
                                   .number = run.number,
                                   .unfinished = std::move(run.unfinished)});
    }
    queue_.add(std::move(groups));
  } catch (const std::exception& fault) {
    tell_fault(fault);
  }

  void collect() try {
    for (FinishedRun& run : queue_.collect(look_again)) {
      if (results_.empty()) first_result_ = Clock::now();
      configs_.erase(run.number);
      run.host = host_;
      results_.push_back(std::move(run));
    }
  } catch (const std::exception& fault) {
    tell_fault(fault);
    std::this_thread::sleep_for(look_again);
  }

  // Once: rank 0 ends the sweep.
  void tell_fault(const std::exception& fault) {
    if (std::exchange(told_fault_, true)) return;
    Checkpoint message = new_message(RunMessage::fault);
    message.set("fault", std::string(fault.what()));
    message.set("usage", std::uint64_t{dynamic_cast<const InvalidArgument*>(&fault) != nullptr});
    ranks_.send(0, message.to_bytes());
  }

  // What is urgent is told at once: that there is room for more, or that all has stopped. The rest may wait a moment.
  void report_if_due() {
    const RunQueue::Load load = queue_.load();
    RankState now = state_;
    now.idle = load.threads;
    now.waiting = load.groups;
    now.ended = cancelled_ && queue_.is_idle();
    const bool more = now.idle > told_.idle || (now.waiting == 0) != (told_.waiting == 0) ||
                      now.received != told_.received || now.stopped != told_.stopped || now.ended != told_.ended;
    const bool late = !results_.empty() && elapsed_since(first_result_) > most_delay;
    if (has_told_ && !more && !late && (queue_.is_idle() || elapsed_since(last_) < 1)) return;
    SweepProgress shares;
    queue_.look_at_shares(shares);
    now.under_way = shares.under_way;
    now.resumed = shares.resumed;
    Checkpoint message = new_message(RunMessage::report);
    put_state(message, now);
    put_results(message, std::exchange(results_, {}));
    ranks_.send(0, message.to_bytes());
    told_ = now;
    has_told_ = true;
    last_ = Clock::now();
  }

  Communicator& ranks_;
  const FindTask& task_named_;
  std::map<std::size_t, RunConfig> configs_;  // of the runs that it has
  RunQueue queue_;                            // after what its runs point to
  std::string host_;
  RankState state_, told_;
  std::vector<FinishedRun> results_;
  Clock::time_point first_result_, last_ = Clock::now();
  bool left_ = false, cancelled_ = false, told_fault_ = false, has_told_ = false;
};

}  // namespace

void serve_runs(Communicator& ranks, unsigned jobs, const Engine& engine, const std::atomic<bool>& stop,
                const FindTask& task_named) {
  Server(ranks, jobs, engine, task_named).serve(stop);
}

}  // namespace ignd
