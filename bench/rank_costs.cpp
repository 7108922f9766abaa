#include "base/communicator.hpp"
#include "ignd/checkpoint.hpp"
#include "lab/rank_sweep.hpp"
#include "lab/run_messages.hpp"
#include "lab/store.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <deque>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>

// What a sweep over many ranks costs rank 0: the time of its own thread for each message and each result, with ranks
// that answer at once. What MPI needs to carry a message comes on top. From it follows how many ranks rank 0 can keep
// busy.
namespace ignd {
namespace {

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

// Keeps what rank 0 sends and gives it the reports of the others.
class AnsweringRanks final : public Communicator {
 public:
  explicit AnsweringRanks(int size) : size_(size) {}
  int rank() const override { return 0; }
  int size() const override { return size_; }
  unsigned cores() const override { return 1; }
  void send(int to, std::string bytes) override { sent.push_back({to, std::move(bytes)}); }
  std::optional<Message> receive() override {
    if (reports.empty()) return std::nullopt;
    Message first = std::move(reports.front());
    reports.pop_front();
    return first;
  }

  std::deque<Message> reports;
  std::vector<Message> sent;

 private:
  int size_;
};

RunConfig config_of(std::uint64_t seed) {
  RunConfig config{.task = "training", .settings = {}, .optimizer = {"gradient", "adam"}, .rate = 0.01, .seed = seed};
  std::map<std::string, std::string> settings;
  for (int k = 0; k < 40; ++k) settings[fmt::format("setting-{}", k)] = fmt::format("value {}", k);
  config.settings = Settings(settings);
  return config;
}

struct Costs {
  double message = 0, run = 0, store = 0;  // seconds
};

// Every rank reports once, with `results` finished runs, and gets further ones.
Costs measure(int ranks, std::size_t results) {
  const std::size_t runs = static_cast<std::size_t>(ranks) * results;
  std::vector<RunConfig> configs;
  std::vector<RunGroup> groups;
  configs.reserve(2 * runs);
  for (std::size_t i = 0; i < 2 * runs; ++i) {
    configs.push_back(config_of(i + 1));
    groups.push_back({{.config = &configs.back(),
                       .task = &find_task("lqr"),
                       .cost = 0.25 / static_cast<double>(results),
                       .number = i}});
  }
  AnsweringRanks others(ranks);
  RankPool pool(others);
  pool.note_pace(1, 1);
  RunQueue queue(cpu_engine(), 0);
  queue.add(std::move(groups));
  RunResult result;
  result.score = 0.5;
  for (int k = 0; k < 20; ++k) {
    result.x.push_back(k);
    result.y.push_back(1.0 / (k + 1));
  }
  std::vector<FinishedRun> finished(results, {.number = 0, .result = result, .seconds = 0.1, .host = "a processor"});
  for (int rank = 1; rank < ranks; ++rank) {
    Checkpoint report = new_message(RunMessage::report);
    put_state(report, {.idle = 1});
    put_results(report, finished);
    others.reports.push_back({rank, report.to_bytes()});
  }
  const double start = cpu_seconds();
  const auto stored = pool.exchange(queue);
  Costs costs;
  costs.message = (cpu_seconds() - start) / (ranks - 1);
  costs.run = costs.message / static_cast<double>(results);
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / fmt::format("rank-costs-{}", start);
  {
    Store store(folder, Store::Access::write);
    const std::size_t some = std::min<std::size_t>(stored.size(), 2000);
    const double before = cpu_seconds();
    for (std::size_t i = 0; i < some; ++i) store.add(configs[i], {stored[i].result, 0.1, "1", "a processor"});
    costs.store = (cpu_seconds() - before) / static_cast<double>(some);
  }
  std::filesystem::remove_all(folder);
  return costs;
}

}  // namespace
}  // namespace ignd

int main() {
  std::printf("| ranks | runs in a message | rank 0 for a message | to store a run | runs/s at most |\n");
  std::printf("|---|---|---|---|---|\n");
  for (const int ranks : {100, 1000, 10'000}) {
    for (const std::size_t results : {1U, 25U}) {
      if (ranks == 10'000 && results > 1) continue;  // half a million runs
      const ignd::Costs costs = ignd::measure(ranks, results);
      const double most = 1 / (costs.run + costs.store);
      std::printf("| %d | %zu | %.3g µs | %.3g µs | %.2g runs/s |\n", ranks, results, 1e6 * costs.message,
                  1e6 * costs.store, most);
    }
  }
}
