#include "bench/rows.hpp"

#include "bench/peaks.hpp"
#include "kernels/flush_to_zero.hpp"
#include "rl/control_systems.hpp"
#include "rl/frozen_lake.hpp"
#include "rl/policy_iteration.hpp"
#include "rl/q_learning.hpp"
#include "rl/transitions.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <numeric>
#include <span>
#include <utility>

#include <fmt/format.h>

namespace ignd::bench {

void Timed::warm_up() {
  for (double done = 0; done < warm_up_units; done += units_per_pass) pass();
}

void Timed::round() {
  if (starts_warm) pass();
  const auto start = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < passes; ++i) pass();
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  seconds_per_unit.push_back(elapsed.count() / (units_per_pass * static_cast<double>(passes)));
}

void Timed::calibrate() {
  round();
  const double one = seconds_per_unit.back() * units_per_pass;
  passes = static_cast<std::size_t>(std::max(1.0, round_seconds / one));
  starts_warm = one < round_seconds;
  seconds_per_unit.clear();
}

double Timed::typical() const {
  std::vector<double> values = seconds_per_unit;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double Timed::spread() const {
  std::vector<double> sorted = seconds_per_unit;
  std::sort(sorted.begin(), sorted.end());
  return (sorted[sorted.size() * 3 / 4] - sorted[sorted.size() / 4]) / 2 / typical();
}

double Timed::best() const { return *std::min_element(seconds_per_unit.begin(), seconds_per_unit.end()); }

namespace {

constexpr std::size_t hash_bits = 18;
constexpr std::size_t active_features = 40;
constexpr std::size_t nearest_cache_bytes = std::size_t{48} << 10;  // of most machines at the most

template <class T>
const char* precision_name() {
  return sizeof(T) == sizeof(float) ? "float" : "double";
}

// So small that the weights hardly move: only the speed matters.
double small_rate(const Optimizer& optimizer) {
  return optimizer.has_gradient_rule() || !optimizer.has_plain_transform() ? 1e-4 : 0.05;
}

// Where a small network lies in memory changes its step time by a tenth, from row to row and from process to process.
// Every pass therefore goes through several copies, each with its share of the samples.
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
  auto environment = std::make_shared<FrozenLakeEnvironment>(*lake, RandomStream(3, "bench"));
  auto learning = std::make_shared<QLearning>(*environment, equal_scales(environment->pairs()),
                                              QLearningOptions{.optimizer = optimizer, .rate = 0.1}, 1);
  std::vector<Update> updates;
  RandomStream agent(4, "bench");
  for (std::uint32_t state = environment->reset(); updates.size() < sample_count;) {
    const auto action = static_cast<std::uint32_t>(agent.below(FrozenLake::action_count));
    updates.push_back({state, action, environment->step(action)});
    const Outcome& outcome = updates.back().outcome;
    state = outcome.over() ? environment->reset() : outcome.state;
  }
  return {[lake, environment, learning, updates] {
            [[maybe_unused]] const kernels::FlushToZero flush;  // as around an episode
            for (const Update& update : updates) learning->learn(update.state, update.action, update.outcome);
            if (learning->diverged()) throw Error("a benchmark run ended early");
          },
          static_cast<double>(sample_count)};
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

struct BatchRun {
  std::unique_ptr<Model<float>> model;
  std::unique_ptr<BatchTrainer<float>> trainer;
  Samples<float> samples;
  std::vector<std::uint32_t> order;
  std::vector<Sample<float>> batch;

  BatchRun(const std::string& spec, std::size_t features, const Optimizer& optimizer, const BatchOptions& options)
      : model(make_model<float>(spec)),
        trainer(std::make_unique<BatchTrainer<float>>(
            *model,
            BatchTrainerOptions{.optimizer = optimizer, .schedule = Schedule::constant(1e-4), .batch = options})),
        samples(features),
        order(sample_count) {
    RandomStream stream(1, "bench");
    std::vector<float> x(features);
    for (std::size_t i = 0; i < sample_count; ++i) {
      for (float& value : x) value = static_cast<float>(stream.normal());
      samples.add(x, x[0] + 0.1 * stream.normal());
    }
    std::iota(order.begin(), order.end(), 0U);
    stream.shuffle(order);
    batch.reserve(options.size);
  }

  void pass() {
    const std::size_t size = trainer->options().batch.size;
    for (std::size_t start = 0; start < sample_count; start += size) {
      batch.clear();
      for (std::size_t k = start; k < start + size; ++k) batch.push_back(samples[order[k]]);
      trainer->step(batch);
    }
    if (trainer->status() != StepStatus::learned) throw Error("a benchmark run ended early");
  }
};

// For each sample: forward, update and, but for the first layer, backward; of an exact step half of the Gram matrix,
// which is symmetric, and Cholesky's factors, whose doubles count twice. Weights are written once for each batch.
Work batch_work(const std::vector<std::size_t>& widths, std::size_t size, bool exact, bool roots) {
  Work work;
  const auto b = static_cast<double>(size);
  for (std::size_t l = 0; l < widths.size(); ++l) {
    const std::size_t outputs = l + 1 < widths.size() ? widths[l + 1] : 1;
    const auto weights = static_cast<double>((widths[l] + 1) * outputs);
    work.multiply_adds += weights * (l == 0 ? 2 : 3);
    work.weight_bytes += weights * sizeof(float) / b;
    if (exact) work.multiply_adds += b / 2 * static_cast<double>(widths[l] + 1 + outputs);
    if (roots) work.roots += weights / b;
  }
  if (exact) work.multiply_adds += 2 * b * b / 6;
  return work;
}

std::vector<Row> batch_rows() {
  const std::vector<std::size_t> paper{8, 32, 64, 32}, linear{64};
  std::vector<Row> rows;
  for (const auto& [spec, widths] :
       {std::pair("mlp:widths=8x32x64x32", paper), std::pair("linear:features=64", linear)}) {
    for (const std::size_t size : {8U, 32U, 128U}) {
      for (const BatchKind& kind : {batched_sgd, averaged_ignd, exact_ignd, batched_adam}) {
        const BatchOptions options{.size = size, .mode = kind.mode, .lambda = 1};
        const Optimizer optimizer = find_optimizer(kind.optimizer);
        const Work work = batch_work(widths, size, kind.mode == BatchMode::exact, takes_roots(optimizer));
        rows.push_back({spec, fmt::format("{} b={}", kind.name, size), "float",
                        [spec = std::string(spec), features = widths[0], optimizer, options, work] {
                          auto run = std::make_shared<BatchRun>(spec, features, optimizer, options);
                          return Measured{work, {[run] { run->pass(); }, static_cast<double>(sample_count)}};
                        }});
      }
    }
  }
  return rows;
}

}  // namespace

Timed time_lines() {
  auto data = std::make_shared<SparseData>();
  auto table = std::make_shared<AlignedVector<float>>(std::size_t{1} << hash_bits);
  return {[data, table] { changed_lines(*table, data->index, data->values); },
          static_cast<double>(sample_count * active_features)};
}

std::size_t hashed_table_bytes() { return sizeof(float) << hash_bits; }

std::vector<Row> step_rows() {
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
  return rows;
}

}  // namespace ignd::bench
