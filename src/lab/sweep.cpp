#include "lab/sweep.hpp"

#include "base/pinned.hpp"
#include "ignd/version.hpp"
#include "lab/machine.hpp"
#include "lab/rank_sweep.hpp"
#include "lab/run_queue.hpp"
#include "lab/store.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <string>
#include <utility>

namespace ignd {
namespace {

std::vector<PlannedRun> missing_runs(const std::vector<RunConfig>& runs, const Store& store,
                                     const FindTask& task_named) {
  std::vector<PlannedRun> missing;
  for (const RunConfig& config : runs) {
    const Task& task = task_named(config.task);
    if (!store.contains(config)) missing.push_back({.config = &config, .task = &task, .cost = task.cost(config)});
  }
  // Runs of one seed may share what they are made from, as long as there is room for it.
  std::stable_sort(missing.begin(), missing.end(), [](const PlannedRun& a, const PlannedRun& b) {
    return std::pair(-a.cost, a.config->seed) < std::pair(-b.cost, b.config->seed);
  });
  return missing;
}

// Runs that may be trained together, as many at a time as the engine wants, in the order of their first runs.
std::vector<RunGroup> grouped(const std::vector<PlannedRun>& runs, const Engine& engine) {
  std::vector<RunGroup> groups;
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

// The runs of a sweep on their way from the queues to the store.
class Sweep : Pinned {
 public:
  Sweep(const std::vector<RunConfig>& runs, Store& store, const SweepOptions& options)
      : store_(store),
        ranks_(options.ranks),
        unfinished_(store.folder()),
        engine_(options.engine != nullptr ? *options.engine : engine_for(Machine::shared)) {
    remove_those_stored(runs, store, unfinished_, options.task_named);
    missing_ = missing_runs(runs, store, options.task_named);
    for (std::size_t i = 0; i < missing_.size(); ++i) {
      missing_[i].number = i;
      if (!missing_[i].task->resumes()) continue;
      missing_[i].unfinished = std::filesystem::absolute(unfinished_.path_of(*missing_[i].config));
      if (!has_folder_) unfinished_.make_folder();
      has_folder_ = true;
    }
  }

  bool make(unsigned jobs, const std::atomic<bool>& stop, const std::function<void(const SweepProgress&)>& progress) {
    RunQueue queue(engine_, ranks_ == nullptr || ranks_->rank_0_makes_runs() ? jobs : 0);
    if (!stop) queue.add(grouped(missing_, engine_));
    bool cancelled = false;
    tell(queue, progress);
    while (made_.done < missing_.size()) {
      if (!cancelled && (stop || (ranks_ != nullptr && ranks_->was_stopped()))) {
        cancelled = true;
        queue.cancel();
        if (ranks_ != nullptr) ranks_->cancel();
      }
      const bool over = cancelled && queue.is_idle() && (ranks_ == nullptr || ranks_->is_idle());
      bool told = false;
      std::vector<FinishedRun> finished = collect(queue);
      collected_ = finished.size();
      for (FinishedRun& run : finished) {
        keep(std::move(run));
        --collected_;
        tell(queue, progress);
        told = true;
      }
      if (over) return false;
      if (!told && Clock::now() - told_ > std::chrono::seconds(1)) tell(queue, progress);
    }
    return true;
  }

 private:
  using Clock = std::chrono::steady_clock;

  std::vector<FinishedRun> collect(RunQueue& queue) {
    // A signal handler only sets the flag, and messages wait to be fetched: look again soon.
    constexpr std::chrono::milliseconds soon(1);
    auto finished = queue.collect(soon);
    if (ranks_ == nullptr) return finished;
    for (FinishedRun& run : ranks_->exchange(queue)) finished.push_back(std::move(run));
    return finished;
  }

  void keep(FinishedRun run) {
    const PlannedRun& planned = missing_.at(run.number);
    ++made_.done;
    if (run.result.status != RunStatus::finished) ++made_.failed;
    if (ranks_ != nullptr) ranks_->note_pace(planned.cost, run.seconds);
    store_.add(*planned.config, {std::move(run.result), run.seconds, version(), run.host.empty() ? host_ : run.host});
    if (planned.task->resumes()) unfinished_.remove(*planned.config);
  }

  void tell(RunQueue& queue, const std::function<void(const SweepProgress&)>& progress) {
    told_ = Clock::now();
    made_.under_way = static_cast<double>(collected_);
    queue.look_at_shares(made_);
    if (ranks_ != nullptr) ranks_->look_at_shares(made_);
    progress(made_);
  }

  Store& store_;
  RankPool* ranks_;
  const UnfinishedRuns unfinished_;
  const Engine& engine_;
  const std::string host_ = describe_host();
  std::size_t collected_ = 0;  // results that are not stored yet
  std::vector<PlannedRun> missing_;
  bool has_folder_ = false;
  SweepProgress made_;
  Clock::time_point told_;
};

}  // namespace

bool make_runs(const std::vector<RunConfig>& runs, Store& store, const SweepOptions& options,
               const std::atomic<bool>& stop, const std::function<void(const SweepProgress&)>& progress) {
  return Sweep(runs, store, options).make(options.jobs, stop, progress);
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
