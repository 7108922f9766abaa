#include "cli/bench.hpp"

#include "base/text.hpp"
#include "cli/batch_rows.hpp"
#include "cli/bench_row.hpp"
#include "cli/network_rows.hpp"
#include "cli/output.hpp"
#include "ignd/ignd.hpp"
#include "kernels/flush_to_zero.hpp"
#include "kernels/kernels.hpp"
#include "kernels/peaks.hpp"
#include "rl/policy_evaluation.hpp"
#include "rl/q_learning.hpp"
#include "rl/transitions.hpp"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <functional>
#include <iterator>
#include <memory>
#include <numeric>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <malloc.h>

namespace ignd::cli {
namespace {

constexpr std::size_t hash_bits = 18;
constexpr std::size_t active_features = 40;
constexpr std::size_t nearest_cache_bytes = std::size_t{48} << 10;  // of most machines at the most
constexpr std::size_t array_bytes = std::size_t{128} << 20;         // more than the last cache of most machines

double seconds_of(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double heap_megabytes() {
  const auto use = mallinfo2();
  return 1e-6 * static_cast<double>(use.uordblks + use.hblkhd);
}

template <class T>
const char* precision_name() {
  return sizeof(T) == sizeof(float) ? "float" : "double";
}

// Small enough for every optimizer to stay where it is: it is the speed that is looked at.
double small_rate(const Optimizer& optimizer) {
  return optimizer.has_gradient_rule() || !optimizer.has_plain_transform() ? 1e-4 : 0.05;
}

// Where the arrays of a small network happen to lie changes its step by a tenth, and differs from row to row and from
// process to process: every pass goes through several places, each with its share of the samples.
constexpr std::size_t places = 4;

template <class T>
Timed time_dense(const std::string& spec, std::size_t features, const Optimizer& optimizer) {
  std::vector<std::shared_ptr<Run<T>>> runs;
  do {
    runs.push_back(std::make_shared<Run<T>>(spec, optimizer, small_rate(optimizer)));
  } while (runs.size() < places && runs[0]->model->parameters().size_bytes() < nearest_cache_bytes);
  auto samples = std::make_shared<Samples<T>>(features);
  RandomStream stream(1, "bench");
  std::vector<T> x(features);
  for (std::size_t i = 0; i < sample_count; ++i) {
    for (T& value : x) value = static_cast<T>(stream.normal());
    samples->add(x, x[0] + 0.1 * stream.normal());
  }
  std::vector<std::uint32_t> order(sample_count);
  std::iota(order.begin(), order.end(), 0U);
  stream.shuffle(order);
  const auto count = static_cast<double>(runs.size());
  Timed timed{[runs, samples, order, turn = std::size_t{0}]() mutable {
                const std::size_t share = order.size() / runs.size();
                for (const auto& run : runs) {
                  learn(*run->trainer, *samples, std::span(order).subspan(turn++ % runs.size() * share, share));
                  run->require_health();
                }
                ++turn;  // other samples at each place the next time
              },
              static_cast<double>(sample_count)};
  timed.warm_up_units *= count;
  return timed;
}

// Sorted features, as the readers of sparse files give them; a few samples have one twice.
struct SparseData {
  std::vector<std::uint32_t> index;
  std::vector<float> values;
  SparseData() {
    RandomStream stream(2, "bench");
    for (std::size_t i = 0; i < sample_count; ++i) {
      std::vector<std::uint32_t> row(active_features);
      for (auto& feature : row) feature = static_cast<std::uint32_t>(stream.below(1U << hash_bits));
      std::sort(row.begin(), row.end());
      index.insert(index.end(), row.begin(), row.end());
      for (std::size_t k = 0; k < active_features; ++k) values.push_back(static_cast<float>(stream.normal()));
    }
  }
  Input<float> operator[](std::size_t i) const {
    return {std::span(values).subspan(i * active_features, active_features),
            std::span(index).subspan(i * active_features, active_features)};
  }
};

Timed time_hashed(const Optimizer& optimizer) {
  auto run = std::make_shared<Run<float>>(fmt::format("hashed-linear:bits={},bias=0", hash_bits), optimizer,
                                          small_rate(optimizer));
  auto data = std::make_shared<SparseData>();
  std::vector<Sample<float>> samples;
  for (std::size_t i = 0; i < sample_count; ++i) samples.push_back({(*data)[i], 1});
  return {[run, data, samples] {
            learn<float>(*run->trainer, samples);
            run->require_health();
          },
          static_cast<double>(sample_count)};
}

// Updates along a random walk, made beforehand.
Timed time_q_updates(const std::string& map, const Optimizer& optimizer) {
  struct Update {
    std::uint32_t state, action;
    Outcome outcome;
  };
  auto lake = std::make_shared<FrozenLake>(map, true);
  auto learning =
      std::make_shared<QLearning>(*lake, equal_scales(*lake), QLearningOptions{.optimizer = optimizer, .rate = 0.1}, 1);
  std::vector<Update> updates;
  LakeWalk walk(*lake, RandomStream(3, "bench"));
  RandomStream agent(4, "bench");
  for (std::uint32_t state = walk.reset(); updates.size() < sample_count;) {
    const auto action = static_cast<std::uint32_t>(agent.below(FrozenLake::action_count));
    updates.push_back({state, action, walk.step(action)});
    const Outcome& outcome = updates.back().outcome;
    state = outcome.over() ? walk.reset() : outcome.state;
  }
  return {[lake, learning, updates] {
            [[maybe_unused]] const kernels::FlushToZero flush;  // as around an episode
            for (const Update& update : updates) learning->learn(update.state, update.action, update.outcome);
            if (learning->diverged()) throw Error("a benchmark run ended early");
          },
          static_cast<double>(sample_count)};
}

// What the cache lines of a hashed step cost by themselves: the sample read, each touched weight read, changed and
// written.
Timed time_lines() {
  auto data = std::make_shared<SparseData>();
  auto table = std::make_shared<AlignedVector<float>>(std::size_t{1} << hash_bits);
  return {[data, table] { kernels::changed_lines(*table, data->index, data->values); },
          static_cast<double>(sample_count * active_features)};
}

// A step of the system, its features and an update of the values of the policy a = 0.
Timed time_control(const ContinuousSystem& system, const Optimizer& optimizer) {
  auto transitions = std::make_shared<Transitions>(hold_actions(system, 0.1), TransitionOptions{}, 1);
  const double rate = optimizer.has_gradient_rule() ? 1e-6 : 1;
  const std::shared_ptr<PolicyEvaluation> evaluation =
      make_semi_gradient(transitions->features().size(), 0.9, optimizer, Schedule::constant(rate));
  return {[transitions, evaluation] {
            for (std::size_t i = 0; i < sample_count; ++i) {
              if (!evaluation->update(transitions->next())) throw Error("a benchmark run ended early");
            }
          },
          static_cast<double>(sample_count)};
}

Work control_work(const ContinuousSystem& system) {
  const auto states = static_cast<double>(system.a.rows());
  const auto actions = static_cast<double>(system.b.cols());
  const double features = (states + actions) * (states + actions + 1) / 2;
  // The reward, both values, the norm and the update; the products themselves; the system and the policy.
  return {.multiply_adds = 5 * features + 2 * features + states * (states + 2 * actions),
          .weight_bytes = features * sizeof(double)};
}

Work dense_work(const std::vector<std::size_t>& widths, std::size_t number_size, bool roots) {
  Work work;
  for (std::size_t l = 0; l < widths.size(); ++l) {
    const std::size_t outputs = l + 1 < widths.size() ? widths[l + 1] : 1;
    const double weights = static_cast<double>((widths[l] + 1) * outputs);
    work.multiply_adds += weights * (l == 0 ? 2 : 3);  // forward and update, and backward but for the first layer
    work.weight_bytes += weights * static_cast<double>(number_size);
    if (roots) work.roots += weights;
  }
  return work;
}

template <class T>
void add_network(std::vector<Row>& rows, const std::vector<std::size_t>& widths, const std::string& optimizer_name,
                 const Optimizer& optimizer) {
  const std::string spec = fmt::format("mlp:widths={}", fmt::join(widths, "x"));
  const bool roots = takes_roots(optimizer);
  rows.push_back({spec, optimizer_name, precision_name<T>(), [=] {
                    return Measured{dense_work(widths, sizeof(T), roots), time_dense<T>(spec, widths[0], optimizer)};
                  }});
}

std::vector<Row> all_rows() {
  const std::vector<std::size_t> paper{8, 32, 64, 32};  // the paper's network for tables
  const std::vector<std::size_t> wide{64, 256, 256};
  std::vector<Row> rows;
  for (const char* name : {"sgd", "ignd", "adam", "adam-ignd"}) {
    const Optimizer optimizer = find_optimizer(name);
    add_network<float>(rows, paper, name, optimizer);
    add_network<double>(rows, paper, name, optimizer);
    add_network<float>(rows, wide, name, optimizer);
    const Work linear{
        .multiply_adds = 2 * 65, .weight_bytes = 65 * sizeof(float), .roots = takes_roots(optimizer) ? 65.0 : 0};
    rows.push_back({"linear:features=64", name, "float", [=] {
                      return Measured{linear, time_dense<float>("linear:features=64", 64, optimizer)};
                    }});
    const Work hashed{.roots = takes_roots(optimizer) ? 41.0 : 0, .lines = active_features};
    rows.push_back({fmt::format("hashed-linear:bits={},bias=0", hash_bits), name, "float", [=] {
                      return Measured{hashed, time_hashed(optimizer)};
                    }});
  }
  for (const char* name : {"sgd", "ignd"}) {
    for (const auto& [map, weights] : {std::pair("4x4", 64.0), std::pair("8x8", 256.0)}) {
      const Work work{.multiply_adds = 2 * weights, .weight_bytes = weights * sizeof(double)};
      rows.push_back({fmt::format("frozen-lake q {}", map), name, "double", [=, map = map] {
                        return Measured{work, time_q_updates(map, find_optimizer(name))};
                      }});
    }
  }
  for (const char* transform : {"momentum", "nesterov", "adagrad", "rmsprop", "adadelta", "adamw"}) {
    add_network<float>(rows, paper, fmt::format("gauss-newton+{}", transform), {"gauss-newton", transform});
  }
  for (const char* name : {"sgd", "nlms"}) {
    const Optimizer optimizer = find_optimizer(name);
    for (const auto& [model, system] : {std::pair("lqr:uav", uav_system()), std::pair("lqr:bdt", bdt_system())}) {
      rows.push_back({model, name, "double", [=, system = system] {
                        return Measured{control_work(system), time_control(system, optimizer)};
                      }});
    }
  }
  std::ranges::move(batch_rows(), std::back_inserter(rows));
  std::ranges::move(network_rows(), std::back_inserter(rows));
  return rows;
}

// Seconds per unit of each kind of work at the machine's best.
struct Peaks {
  Timed multiply_adds, stores, roots;
};

template <class T>
Peaks make_peaks() {
  constexpr std::size_t rounds = 1000;
  return {{[] { kernels::multiply_adds<T>(rounds); }, kernels::multiply_adds<T>(rounds)},
          {[] { kernels::stored_bytes<T>(rounds); }, kernels::stored_bytes<T>(rounds)},
          {[] { kernels::roots_and_quotients<T>(rounds); }, kernels::roots_and_quotients<T>(rounds)}};
}

// Both of two threads at once: they may share a processor. Long enough for the start of a thread not to count.
Timed time_two_threads() {
  constexpr std::size_t rounds = 200'000;
  return {[] {
            std::thread other([] { kernels::multiply_adds<float>(rounds); });
            kernels::multiply_adds<float>(rounds);
            other.join();
          },
          2 * kernels::multiply_adds<float>(rounds)};
}

struct AllPeaks {
  Peaks in_float = make_peaks<float>();
  Peaks in_double = make_peaks<double>();
  Timed lines = time_lines();
  Timed two_threads = time_two_threads();
  std::shared_ptr<std::vector<float>> array = std::make_shared<std::vector<float>>(array_bytes / sizeof(float));
  Timed reads = {[array = array] { kernels::read_bytes(*array); }, static_cast<double>(array_bytes)};
  Timed updates = {[array = array] { kernels::updated_bytes(*array); }, static_cast<double>(array_bytes)};

  std::vector<Timed*> all() {
    return {&in_float.multiply_adds,
            &in_float.stores,
            &in_float.roots,
            &in_double.multiply_adds,
            &in_double.stores,
            &in_double.roots,
            &lines,
            &two_threads,
            &reads,
            &updates};
  }
};

// By the best rounds: a peak is what the machine can do, not what it does while disturbed. But for the lines, which are
// a piece of work like the rows and no peak: what one costs changes with what others leave of the caches, for the step
// as well, so that both are taken by the median of the same rounds.
double floor_us(const Row& row, const AllPeaks& peaks) {
  const Work& work = row.measured.work;
  const Peaks& numbers = row.precision == "float" ? peaks.in_float : peaks.in_double;
  const Timed& shared = row.threads == 2 ? peaks.two_threads : numbers.multiply_adds;
  return 1e6 * (work.multiply_adds * numbers.multiply_adds.best() + work.shared_multiply_adds * shared.best() +
                work.weight_bytes * numbers.stores.best() + work.memory_reads * peaks.reads.best() +
                work.memory_updates * peaks.updates.best() + work.roots * numbers.roots.best() +
                work.lines * peaks.lines.typical());
}

void print_peaks(const Peaks& peaks, const char* precision) {
  fmt::print("peaks, {:6}: {:.1f} G multiply-adds/s, {:.1f} GB/s stored, {:.2f} G root-and-quotients/s\n", precision,
             1e-9 / peaks.multiply_adds.best(), 1e-9 / peaks.stores.best(), 1e-9 / peaks.roots.best());
}

void print_head(const AllPeaks& peaks, unsigned repeats) {
  fmt::print("ignd {}, {}, {} kernels; median of {} rounds\n", version(), compiler(), cpu_path(), repeats);
  print_peaks(peaks.in_float, "float");
  print_peaks(peaks.in_double, "double");
  fmt::print("two threads, float: {:.1f} G multiply-adds/s\n", 1e-9 / peaks.two_threads.best());
  fmt::print("a random line of {} kB: {:.2f} ns, spread {:.1f}%, at best {:.2f}\n",
             (std::size_t{4} << hash_bits) / 1024, 1e9 * peaks.lines.typical(), 100 * peaks.lines.spread(),
             1e9 * peaks.lines.best());
  fmt::print("{} MB in a row: {:.1f} GB/s read, {:.1f} GB/s changed\n\n", array_bytes >> 20, 1e-9 / peaks.reads.best(),
             1e-9 / peaks.updates.best());
  fmt::print("{:28} {:22} {:8} {:>7} {:>10} {:>8} {:>10} {:>7} {:>7}\n", "model", "optimizer", "numbers", "threads",
             "us/sample", "spread", "floor us", "ratio", "MB");
}

void print_row(const Row& row, const AllPeaks& peaks, bool json) {
  const Timed& timed = row.measured.timed;
  const double us = 1e6 * timed.typical();
  const double floor = floor_us(row, peaks);
  if (json) {
    fmt::print(
        "{{\"model\":\"{}\",\"optimizer\":\"{}\",\"precision\":\"{}\",\"threads\":{},\"us_per_sample\":{:.5g},"
        "\"spread\":{:.3g},\"floor_us\":{:.5g},\"megabytes\":{:.4g},\"cpu_path\":\"{}\"}}\n",
        row.model, row.optimizer, row.precision, row.threads, us, timed.spread(), floor, row.megabytes, cpu_path());
  } else {
    fmt::print("{:28} {:22} {:8} {:7} {:10.3f} {:7.1f}% {:10.3f} {:7.2f} {:7.1f}\n", row.model, row.optimizer,
               row.precision, row.threads, us, 100 * timed.spread(), floor, us / floor, row.megabytes);
  }
}

}  // namespace

int bench(const BenchOptions& options) {
  std::vector<Row> rows = all_rows();
  std::erase_if(rows, [&](const Row& row) { return row.label().find(options.filter) == std::string::npos; });
  if (rows.empty()) {
    print_error("ignd: no benchmark contains {}; without --filter all are listed\n", in_quotes(options.filter));
    return 2;
  }

  AllPeaks peaks;
  std::vector<Timed*> all = peaks.all();
  for (Row& row : rows) {
    const double before = heap_megabytes();
    row.measured = row.start();
    row.measured.timed.warm_up();
    row.megabytes = heap_megabytes() - before;
    all.push_back(&row.measured.timed);
  }

  // Round by round through everything: a disturbance falls on all alike and the ratios stay.
  for (Timed* timed : all) timed->calibrate();
  // This thread's: a second one that computes must not make up for what others took.
  const double wall_start = seconds_of(CLOCK_MONOTONIC);
  const double cpu_start = seconds_of(CLOCK_THREAD_CPUTIME_ID);
  for (unsigned repeat = 0; repeat < options.repeats; ++repeat) {
    for (Timed* timed : all) timed->round();
  }
  const double busy = (seconds_of(CLOCK_MONOTONIC) - wall_start) / (seconds_of(CLOCK_THREAD_CPUTIME_ID) - cpu_start);

  if (!options.json) print_head(peaks, options.repeats);
  for (const Row& row : rows) print_row(row, peaks, options.json);
  if (busy > 1.03) {
    print_error("ignd: the machine is busy: {:.0f} % of the time went to others; the figures are too high\n",
                100 * (1 - 1 / busy));
  }
  return 0;
}

}  // namespace ignd::cli
