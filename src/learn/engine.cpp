#include "learn/engine.hpp"

#include "learn/open_dataset.hpp"

#include <algorithm>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace ignd {
namespace {

void train_one(const RunSlot& slot, const Dataset& dataset, const std::atomic<bool>& stop) {
  RunObserver& observer = *slot.observer;
  Run run(slot.dataset != nullptr ? *slot.dataset : dataset, *slot.options);
  observer.begin(run);
  if (StepObserver* steps = observer.step_observer()) run.watch_steps(*steps);
  while (run.status() == RunStatus::running && !stop) {
    const auto epoch = run.learn_epoch(
        stop, [&] { observer.progress(run); }, observer.next_look(run));
    if (epoch || !stop) observer.look(run, epoch);
  }
  observer.end(run);
}

class CpuEngine final : public Engine {
 public:
  explicit CpuEngine(unsigned threads) : threads_(threads) {}

  std::string name() const override { return "cpu"; }
  std::string refusal(const Dataset& /*dataset*/, const TrainingOptions& /*options*/) const override { return ""; }
  std::size_t group_size() const override { return threads_; }

  void train(std::span<const RunSlot> group, const Dataset& dataset, const std::atomic<bool>& stop) const override {
    std::atomic<std::size_t> next = 0;
    std::mutex mutex;
    std::exception_ptr fault;
    const auto work = [&] {
      for (std::size_t i = next++; i < group.size() && !stop; i = next++) {
        try {
          train_one(group[i], dataset, stop);
        } catch (...) {
          const std::lock_guard lock(mutex);
          if (!fault) fault = std::current_exception();
          next = group.size();
        }
      }
    };
    {
      std::vector<std::jthread> others;
      const std::size_t wanted = std::min<std::size_t>(threads_, group.size());
      try {
        while (others.size() + 1 < wanted) others.emplace_back(work);
      } catch (const std::system_error&) {  // the machine has no more threads: fewer do the same work
      }
      work();
    }
    if (fault) std::rethrow_exception(fault);
  }

 private:
  unsigned threads_;
};

}  // namespace

const Engine& cpu_engine() {
  static const CpuEngine engine(1);
  return engine;
}

const Engine& parallel_cpu_engine() {
  static const CpuEngine engine(std::max(1U, std::thread::hardware_concurrency()));
  return engine;
}

const Engine& engine_for(Machine machine) { return machine == Machine::own ? parallel_cpu_engine() : cpu_engine(); }

void train_group(const Engine& engine, std::span<const RunSlot> group, const Dataset& dataset,
                 const std::atomic<bool>& stop) {
  std::vector<RunSlot> its, others;
  for (const RunSlot& slot : group) {
    (engine.refusal(dataset, *slot.options).empty() ? its : others).push_back(slot);
  }
  if (!its.empty()) engine.train(its, dataset, stop);
  if (!others.empty()) cpu_engine().train(others, dataset, stop);
}

std::string group_key(const RunSpec& spec) { return dataset_key(spec) + "\nmodel=" + spec.training.model; }

}  // namespace ignd
