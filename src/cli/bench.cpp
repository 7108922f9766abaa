#include "cli/bench.hpp"

#include "cli/output.hpp"
#include "core/text.hpp"
#include "ignd/ignd.hpp"
#include "kernels/kernels.hpp"
#include "kernels/peaks.hpp"
#include "rl/policy_evaluation.hpp"
#include "rl/q_learning.hpp"
#include "rl/transitions.hpp"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <functional>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace ignd::cli {
namespace {

constexpr std::size_t sample_count = 2048;
constexpr std::size_t hash_bits = 18;
constexpr std::size_t active_features = 40;
constexpr double round_seconds = 4e-3;
constexpr double warm_up_samples = 40'000;

double seconds_of(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Something that can be done over and over and is timed round by round.
struct Timed {
  std::function<void()> pass;
  double units_per_pass = 1;
  std::size_t passes = 1;
  std::vector<double> seconds_per_unit = {};

  // Not measured: lets caches, branch predictors and Adam's corrections settle.
  void warm_up(double units) {
    for (double done = 0; done < units; done += units_per_pass) pass();
  }

  void round() {
    const double start = seconds_of(CLOCK_MONOTONIC);
    for (std::size_t i = 0; i < passes; ++i) pass();
    const double elapsed = seconds_of(CLOCK_MONOTONIC) - start;
    seconds_per_unit.push_back(elapsed / (units_per_pass * static_cast<double>(passes)));
  }

  // Enough passes for a round to take long beside the clock and short beside a time slice.
  void calibrate() {
    round();
    const double one = seconds_per_unit.back() * units_per_pass;
    passes = static_cast<std::size_t>(std::max(1.0, round_seconds / one));
    seconds_per_unit.clear();
  }

  double typical() const { return median(seconds_per_unit); }

  // Half the distance between the quartiles, relative to the median.
  double spread() const {
    std::vector<double> sorted = seconds_per_unit;
    std::sort(sorted.begin(), sorted.end());
    return (sorted[sorted.size() * 3 / 4] - sorted[sorted.size() / 4]) / 2 / typical();
  }
};

// The work of one step, as if nothing were skipped.
struct Work {
  double multiply_adds = 0;
  double weight_bytes = 0;
  double roots = 0;  // weights of which a root is taken and divided by
  double lines = 0;  // random cache lines of a hashed table
};

struct Row {
  std::string model, optimizer, precision;
  Work work;
  Timed timed;
  std::string label() const { return model + " " + optimizer + " " + precision; }
};

template <class T>
const char* precision_name() {
  return sizeof(T) == sizeof(float) ? "float" : "double";
}

// Everything a training run needs, kept alive by the closure that is timed.
template <class T>
struct Run {
  std::unique_ptr<Model<T>> model;
  std::unique_ptr<Trainer<T>> trainer;

  Run(const std::string& spec, const Optimizer& optimizer) : model(make_model<T>(spec)) {
    // Small enough for every optimizer to stay where it is: it is the speed that is looked at.
    const double rate = optimizer.rule == "gradient" || optimizer.transform != "plain" ? 1e-4 : 0.05;
    trainer = std::make_unique<Trainer<T>>(
        *model, TrainerOptions{.optimizer = optimizer, .schedule = Schedule::constant(rate)});
  }

  void require_health() const {
    if (trainer->status() != StepStatus::learned) throw Error("a benchmark run ended early");
  }
};

template <class T>
Timed time_dense(const std::string& spec, std::size_t features, const Optimizer& optimizer) {
  auto run = std::make_shared<Run<T>>(spec, optimizer);
  auto samples = std::make_shared<Samples<T>>(features);
  Stream stream(1, "bench");
  std::vector<T> x(features);
  for (std::size_t i = 0; i < sample_count; ++i) {
    for (T& value : x) value = static_cast<T>(stream.normal());
    samples->add(x, x[0] + 0.1 * stream.normal());
  }
  std::vector<std::uint32_t> order(sample_count);
  std::iota(order.begin(), order.end(), 0U);
  stream.shuffle(order);
  return {[run, samples, order] {
            learn(*run->trainer, *samples, order);
            run->require_health();
          },
          static_cast<double>(sample_count)};
}

// Sorted features, as the readers of sparse files give them; a few samples have one twice.
struct SparseData {
  std::vector<std::uint32_t> index;
  std::vector<float> values;
  SparseData() {
    Stream stream(2, "bench");
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
  auto run = std::make_shared<Run<float>>(fmt::format("hashed-linear:bits={},bias=0", hash_bits), optimizer);
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
  LakeWalk walk(*lake, Stream(3, "bench"));
  Stream agent(4, "bench");
  for (std::uint32_t state = walk.reset(); updates.size() < sample_count;) {
    const auto action = static_cast<std::uint32_t>(agent.below(FrozenLake::action_count));
    updates.push_back({state, action, walk.step(action)});
    const Outcome& outcome = updates.back().outcome;
    state = outcome.over() ? walk.reset() : outcome.state;
  }
  return {[lake, learning, updates] {
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
  return {[data, table] {
            const std::size_t n = data->index.size();
            for (std::size_t k = 0; k < n; ++k) (*table)[data->index[k]] += data->values[k];
          },
          static_cast<double>(sample_count * active_features)};
}

// A step of the system, its features and an update of the values of the policy a = 0.
Timed time_control(const ContinuousSystem& system, const Optimizer& optimizer) {
  auto transitions = std::make_shared<Transitions>(hold_actions(system, 0.1), TransitionOptions{}, 1);
  const double rate = optimizer.rule == "gradient" ? 1e-6 : 1;
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
  const std::string& transform = optimizer.transform;
  const bool roots = transform != "plain" && transform != "momentum" && transform != "nesterov";
  rows.push_back({spec, optimizer_name, precision_name<T>(), dense_work(widths, sizeof(T), roots),
                  time_dense<T>(spec, widths[0], optimizer)});
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
        .multiply_adds = 2 * 65, .weight_bytes = 65 * sizeof(float), .roots = optimizer.transform == "adam" ? 65.0 : 0};
    rows.push_back(
        {"linear:features=64", name, "float", linear, time_dense<float>("linear:features=64", 64, optimizer)});
    const Work hashed{.roots = optimizer.transform == "adam" ? 41.0 : 0, .lines = active_features};
    rows.push_back(
        {fmt::format("hashed-linear:bits={},bias=0", hash_bits), name, "float", hashed, time_hashed(optimizer)});
  }
  for (const char* name : {"sgd", "ignd"}) {
    for (const auto& [map, weights] : {std::pair("4x4", 64.0), std::pair("8x8", 256.0)}) {
      const Work work{.multiply_adds = 2 * weights, .weight_bytes = weights * sizeof(double)};
      rows.push_back(
          {fmt::format("frozen-lake q {}", map), name, "double", work, time_q_updates(map, find_optimizer(name))});
    }
  }
  for (const char* transform : {"momentum", "nesterov", "adagrad", "rmsprop", "adadelta", "adamw"}) {
    add_network<float>(rows, paper, fmt::format("gauss-newton+{}", transform), {"gauss-newton", transform});
  }
  for (const char* name : {"sgd", "nlms"}) {
    const Optimizer optimizer = find_optimizer(name);
    rows.push_back({"lqr:uav", name, "double", control_work(uav_system()), time_control(uav_system(), optimizer)});
    rows.push_back({"lqr:bdt", name, "double", control_work(bdt_system()), time_control(bdt_system(), optimizer)});
  }
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

// The best round: a peak is what the machine can do, not what it does while disturbed.
double best(const Timed& timed) {
  return *std::min_element(timed.seconds_per_unit.begin(), timed.seconds_per_unit.end());
}

double floor_us(const Work& work, const Peaks& peaks, const Timed& lines) {
  return 1e6 * (work.multiply_adds * best(peaks.multiply_adds) + work.weight_bytes * best(peaks.stores) +
                work.roots * best(peaks.roots) + work.lines * best(lines));
}

void print_peaks(const Peaks& peaks, const char* precision) {
  fmt::print("peaks, {:6}: {:.1f} G multiply-adds/s, {:.1f} GB/s stored, {:.2f} G root-and-quotients/s\n", precision,
             1e-9 / best(peaks.multiply_adds), 1e-9 / best(peaks.stores), 1e-9 / best(peaks.roots));
}

}  // namespace

int bench(const BenchOptions& options) {
  std::vector<Row> rows = all_rows();
  std::erase_if(rows, [&](const Row& row) { return row.label().find(options.filter) == std::string::npos; });
  if (rows.empty()) {
    print_error("ignd: no benchmark contains {}; without --filter all are listed\n", in_quotes(options.filter));
    return 2;
  }

  Peaks in_float = make_peaks<float>();
  Peaks in_double = make_peaks<double>();
  Timed lines = time_lines();
  std::vector<Timed*> all{&in_float.multiply_adds, &in_float.stores, &in_float.roots, &in_double.multiply_adds,
                          &in_double.stores,       &in_double.roots, &lines};
  for (Row& row : rows) all.push_back(&row.timed);

  // Round by round through everything: a disturbance falls on all alike and the ratios stay.
  for (Row& row : rows) row.timed.warm_up(warm_up_samples);
  for (Timed* timed : all) timed->calibrate();
  const double wall_start = seconds_of(CLOCK_MONOTONIC);
  const double cpu_start = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
  for (unsigned repeat = 0; repeat < options.repeats; ++repeat) {
    for (Timed* timed : all) timed->round();
  }
  const double busy = (seconds_of(CLOCK_MONOTONIC) - wall_start) / (seconds_of(CLOCK_PROCESS_CPUTIME_ID) - cpu_start);

  if (!options.json) {
    fmt::print("ignd {}, {}, {} kernels; one thread, median of {} rounds after {:.0f} steps\n", version(), compiler(),
               cpu_path(), options.repeats, warm_up_samples);
    print_peaks(in_float, "float");
    print_peaks(in_double, "double");
    fmt::print("a random line of {} kB: {:.2f} ns\n\n", (std::size_t{4} << hash_bits) / 1024, 1e9 * best(lines));
    fmt::print("{:28} {:22} {:8} {:>10} {:>8} {:>10} {:>7}\n", "model", "optimizer", "numbers", "us/sample", "spread",
               "floor us", "ratio");
  }
  for (const Row& row : rows) {
    const double us = 1e6 * row.timed.typical();
    const double floor = floor_us(row.work, row.precision == "float" ? in_float : in_double, lines);
    if (options.json) {
      fmt::print(
          "{{\"model\":\"{}\",\"optimizer\":\"{}\",\"precision\":\"{}\",\"threads\":1,\"us_per_sample\":{:.5g},"
          "\"spread\":{:.3g},\"floor_us\":{:.5g},\"cpu_path\":\"{}\"}}\n",
          row.model, row.optimizer, row.precision, us, row.timed.spread(), floor, cpu_path());
    } else {
      fmt::print("{:28} {:22} {:8} {:10.3f} {:7.1f}% {:10.3f} {:7.2f}\n", row.model, row.optimizer, row.precision, us,
                 100 * row.timed.spread(), floor, us / floor);
    }
  }
  if (busy > 1.03) {
    print_error("ignd: the machine is busy: {:.0f} % of the time went to others; the figures are too high\n",
                100 * (1 - 1 / busy));
  }
  return 0;
}

}  // namespace ignd::cli
