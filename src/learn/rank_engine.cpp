#include "learn/rank_engine.hpp"

#include "ignd/checkpoint.hpp"
#include "ignd/error.hpp"
#include "learn/run.hpp"

#include <algorithm>
#include <chrono>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include <fmt/format.h>

namespace ignd {
namespace {

constexpr std::chrono::milliseconds look_again(1);

// From rank 0: a run, or orders. To rank 0: how it stands.
enum class TrainingMessage { run, seen, stop, leave, ask, progress, epoch, ended, skipped, stopped, fault };

Checkpoint message_of(TrainingMessage kind) {
  Checkpoint message;
  message.set("training", static_cast<std::uint64_t>(kind));
  return message;
}

TrainingMessage kind_of(const Checkpoint& message) { return static_cast<TrainingMessage>(message.number("training")); }

// A checkpoint within a message is a text of bytes.
void put_state(Checkpoint& message, const RunView& run) {
  Checkpoint state;
  run.save(state);
  message.set("state", state.to_bytes());
}

Checkpoint run_state(const Checkpoint& message) { return Checkpoint::from_bytes(message.text("state"), "a rank"); }

void set_double(Checkpoint& message, const char* name, double value) {
  message.set(name, std::span<const double>(&value, 1));
}

double double_in(const Checkpoint& message, const char* name) { return message.array<double>(name, 1)[0]; }

const Dataset& dataset_of(const RunSlot& slot, const Dataset& usual) {
  return slot.dataset != nullptr ? *slot.dataset : usual;
}

// Everything of a run that another rank trains: what it was when that began, until it sends its state.
class DistantRun final : public RunView {
 public:
  DistantRun(const Dataset& dataset, const TrainingOptions& options) : run_(dataset, options) {}

  RunStatus status() const override { return run_.status(); }
  std::uint64_t epoch() const override { return run_.epoch(); }
  std::uint64_t learned() const override { return std::max(run_.learned(), learned_); }
  std::uint64_t to_learn() const override { return run_.to_learn(); }
  double learning_seconds() const override { return seconds_; }
  std::unique_ptr<Model<float>> last() const override { return run_.last(); }
  std::unique_ptr<Model<float>> kept() const override { return run_.kept(); }
  std::uint64_t kept_epoch() const override { return run_.kept_epoch(); }
  std::optional<Scores> measure(Iterate iterate, std::span<const std::uint32_t> rows,
                                const std::atomic<bool>& stop) const override {
    return run_.measure(iterate, rows, stop);
  }
  std::optional<std::vector<double>> outputs(std::span<const std::uint32_t> rows,
                                             const std::atomic<bool>& stop) const override {
    return run_.outputs(rows, stop);
  }
  std::span<const std::uint32_t> unseen() const override { return run_.unseen(); }
  void save(Checkpoint& checkpoint) const override { run_.save(checkpoint); }
  void restore(const Checkpoint& checkpoint) override { run_.restore(checkpoint); }

  // What its rank tells.
  void progress(std::uint64_t learned) { learned_ = learned; }
  void update(const Checkpoint& message) {
    run_.restore(run_state(message));
    seconds_ = double_in(message, "seconds");
  }

 private:
  Run run_;
  std::uint64_t learned_ = 0;
  double seconds_ = 0;
};

}  // namespace

// Rank 0's side of a group: threads of its own and the other ranks take runs one by one.
class RankEngine::Group : Pinned {
 public:
  Group(const RankEngine& engine, std::span<const RunSlot> slots, const Dataset& dataset)
      : engine_(engine), slots_(slots), dataset_(dataset) {}

  void train(const std::atomic<bool>& stop) {
    const std::size_t threads = std::min<std::size_t>(engine_.jobs_, slots_.size());
    std::vector<std::jthread> own;
    const Ending ending(cancelled_);  // before the threads are waited for
    while (own.size() < threads) own.emplace_back([this] { work(); });
    bool told = false;
    while (ended_ < slots_.size()) {
      if ((stop || engine_.stopped_) && !std::exchange(told, true)) {
        engine_.stopped_ = true;
        cancelled_ = true;
        for (int to = 1; to < engine_.ranks_.size(); ++to) send(to, message_of(TrainingMessage::stop));
      }
      while (const auto received = engine_.ranks_.receive()) {
        obey(received->from, Checkpoint::from_bytes(received->bytes, "message"));
      }
      hand_out();
      {
        const std::lock_guard lock(mutex_);
        if (fault_) std::rethrow_exception(fault_);
      }
      if (cancelled_ && distant_.empty() && busy_ == 0) break;
      std::this_thread::sleep_for(look_again);
    }
  }

 private:
  // At the end of its scope, no run goes on.
  class Ending : Pinned {
   public:
    explicit Ending(std::atomic<bool>& over) : over_(over) {}
    ~Ending() { over_ = true; }

   private:
    std::atomic<bool>& over_;
  };

  void send(int to, const Checkpoint& message) const { engine_.ranks_.send(to, message.to_bytes()); }

  std::optional<std::size_t> take() {
    const std::lock_guard lock(mutex_);
    if (cancelled_ || next_ == slots_.size()) return std::nullopt;
    return next_++;
  }

  void work() {
    ++busy_;
    while (const auto i = take()) {
      try {
        cpu_engine().train(slots_.subspan(*i, 1), dataset_, cancelled_);
      } catch (...) {
        const std::lock_guard lock(mutex_);
        if (!fault_) fault_ = std::current_exception();
      }
      ++ended_;
    }
    --busy_;
  }

  void hand_out() {
    for (std::size_t to = 1; to < engine_.asked_.size(); ++to) {
      while (engine_.asked_[to] > 0) {
        const auto i = take();
        if (!i) return;
        --engine_.asked_[to];
        give(static_cast<int>(to), *i);
      }
    }
  }

  void give(int to, std::size_t i) {
    const RunSlot& slot = slots_[i];
    auto run = std::make_unique<DistantRun>(dataset_of(slot, dataset_), *slot.options);
    slot.observer->begin(*run);
    Checkpoint message = message_of(TrainingMessage::run);
    message.set("slot", std::uint64_t{i});
    message.set("model", slot.options->model);
    message.set("seed", slot.options->seed);
    set_double(message, "rate", slot.options->rate);
    if (run->learned() > 0) put_state(message, *run);
    distant_.emplace(i, std::move(run));
    send(to, message);
  }

  void obey(int from, const Checkpoint& message) {
    const TrainingMessage kind = kind_of(message);
    if (kind == TrainingMessage::ask) {
      ++engine_.asked_.at(static_cast<std::size_t>(from));
      return;
    }
    if (kind == TrainingMessage::stopped) {
      engine_.stopped_ = true;
      return;
    }
    if (kind == TrainingMessage::fault) throw Error(message.text("fault"));
    const std::size_t i = message.number("slot");
    const auto found = distant_.find(i);
    if (found == distant_.end()) return;
    DistantRun& run = *found->second;
    RunObserver& observer = *slots_[i].observer;
    if (kind == TrainingMessage::progress) {
      run.progress(message.number("learned"));
      observer.progress(run);
      return;
    }
    if (kind == TrainingMessage::epoch && cancelled_) return;  // its last state follows
    if (kind != TrainingMessage::skipped) run.update(message);
    if (kind == TrainingMessage::epoch) {
      std::optional<EpochReport> report(std::in_place);
      report->epoch = run.epoch();
      report->training_loss = double_in(message, "training-loss");
      report->best = run.kept_epoch() == run.epoch();
      observer.look(run, report);
      Checkpoint seen = message_of(TrainingMessage::seen);
      seen.set("slot", std::uint64_t{i});
      send(from, seen);
      return;
    }
    if (kind == TrainingMessage::ended) observer.end(run);
    distant_.erase(found);
    ++ended_;
  }

  const RankEngine& engine_;
  std::span<const RunSlot> slots_;
  const Dataset& dataset_;
  std::atomic<bool> cancelled_ = false;
  std::atomic<std::size_t> busy_ = 0, ended_ = 0;
  std::mutex mutex_;
  std::size_t next_ = 0;
  std::exception_ptr fault_;
  std::map<std::size_t, std::unique_ptr<DistantRun>> distant_;
};

RankEngine::~RankEngine() {
  for (int to = 1; to < ranks_.size(); ++to) ranks_.send(to, message_of(TrainingMessage::leave).to_bytes());
}

void RankEngine::train(std::span<const RunSlot> group, const Dataset& dataset, const std::atomic<bool>& stop) const {
  if (!stopped_) Group(*this, group, dataset).train(stop);
}

namespace {

Checkpoint fault_message(const Communicator& ranks, const std::string& fault) {
  Checkpoint message = message_of(TrainingMessage::fault);
  message.set("fault", fmt::format("rank {}: {}", ranks.rank(), fault));
  return message;
}

// Messages of the threads of a rank, which its main thread sends.
class Outbox : Pinned {
 public:
  void put(const Checkpoint& message) {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(message.to_bytes());
  }
  std::deque<std::string> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(waiting_, {});
  }

 private:
  std::mutex mutex_;
  std::deque<std::string> waiting_;
};

// Tells rank 0 of a run. As in one process, a run goes on after an epoch once its observer has looked at it: it may be
// saved then, and learning must not be faster than the disk.
class Teller final : public RunObserver {
 public:
  Teller(std::uint64_t slot, std::optional<Checkpoint> state, RankStates states, Outbox& outbox,
         std::atomic<bool>& seen, const std::atomic<bool>& cancelled)
      : slot_(slot), state_(std::move(state)), states_(states), outbox_(outbox), seen_(seen), cancelled_(cancelled) {}

  void begin(RunView& run) override {
    if (state_) run.restore(*state_);
    state_.reset();
  }
  void progress(const RunView& run) override {
    constexpr std::chrono::milliseconds often(100);
    if (std::chrono::steady_clock::now() - told_ < often) return;
    told_ = std::chrono::steady_clock::now();
    Checkpoint message = about(TrainingMessage::progress);
    message.set("learned", run.learned());
    outbox_.put(message);
  }
  void look(RunView& run, const std::optional<EpochReport>& epoch) override {
    if (!epoch || states_ == RankStates::at_the_end) return;
    Checkpoint message = with_state(TrainingMessage::epoch, run);
    set_double(message, "training-loss", epoch->training_loss);
    outbox_.put(message);
    while (!seen_.exchange(false) && !cancelled_) std::this_thread::sleep_for(look_again);
  }
  void end(RunView& run) override {
    ended_ = true;
    outbox_.put(with_state(TrainingMessage::ended, run));
  }

  // Where it was stopped before it began.
  void tell_if_skipped() {
    if (!ended_) outbox_.put(about(TrainingMessage::skipped));
  }

 private:
  Checkpoint about(TrainingMessage kind) const {
    Checkpoint message = message_of(kind);
    message.set("slot", slot_);
    return message;
  }
  Checkpoint with_state(TrainingMessage kind, const RunView& run) const {
    Checkpoint message = about(kind);
    put_state(message, run);
    set_double(message, "seconds", run.learning_seconds());
    return message;
  }

  std::uint64_t slot_;
  std::optional<Checkpoint> state_;
  RankStates states_;
  Outbox& outbox_;
  std::atomic<bool>& seen_;
  const std::atomic<bool>& cancelled_;
  std::chrono::steady_clock::time_point told_;
  bool ended_ = false;
};

}  // namespace

void serve_training(Communicator& ranks, unsigned jobs, std::span<const RunSlot> runs, const Dataset& dataset,
                    RankStates states, const std::atomic<bool>& stop) {
  Outbox outbox;
  std::atomic<bool> cancelled = false;
  std::map<std::uint64_t, std::atomic<bool>> seen;  // by slot: rank 0 has looked at its last epoch
  const auto train = [&](const Checkpoint& message, std::atomic<bool>& own_seen) {
    try {
      const auto known = std::ranges::find_if(runs, [&](const RunSlot& slot) {
        return slot.options->model == message.text("model") && slot.options->seed == message.number("seed");
      });
      if (known == runs.end()) throw Error("the ranks have read different data or options");
      TrainingOptions options = *known->options;
      options.rate = double_in(message, "rate");
      std::optional<Checkpoint> state;
      if (message.has("state")) state = run_state(message);
      Teller teller(message.number("slot"), std::move(state), states, outbox, own_seen, cancelled);
      const RunSlot slot{.options = &options, .observer = &teller, .dataset = &dataset_of(*known, dataset)};
      cpu_engine().train({&slot, 1}, dataset, cancelled);
      teller.tell_if_skipped();
      outbox.put(message_of(TrainingMessage::ask));
    } catch (const std::exception& fault) {
      outbox.put(fault_message(ranks, fault.what()));
    }
  };
  std::vector<std::jthread> threads;  // of runs; those that have ended wait here
  for (unsigned k = 0; k < jobs; ++k) outbox.put(message_of(TrainingMessage::ask));
  for (bool left = false, told = false; !left;) {
    if (stop && !std::exchange(told, true)) {
      cancelled = true;
      outbox.put(message_of(TrainingMessage::stopped));
    }
    while (const auto received = ranks.receive()) {
      const Checkpoint message = Checkpoint::from_bytes(received->bytes, "message");
      const TrainingMessage kind = kind_of(message);
      if (kind == TrainingMessage::run) {
        std::atomic<bool>& own_seen = seen[message.number("slot")];
        own_seen = false;
        threads.emplace_back([&train, &own_seen, message] { train(message, own_seen); });
      } else if (kind == TrainingMessage::seen) {
        seen[message.number("slot")] = true;
      } else {
        cancelled = true;
        left = kind == TrainingMessage::leave;
      }
    }
    for (std::string& bytes : outbox.take()) ranks.send(0, std::move(bytes));
    std::this_thread::sleep_for(look_again);
  }
}

void refuse_training(Communicator& ranks, const std::string& fault) {
  ranks.send(0, fault_message(ranks, fault).to_bytes());
  while (true) {
    while (const auto received = ranks.receive()) {
      if (kind_of(Checkpoint::from_bytes(received->bytes, "message")) == TrainingMessage::leave) return;
    }
    std::this_thread::sleep_for(look_again);
  }
}

}  // namespace ignd
