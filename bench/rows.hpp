#pragma once

#include "ignd/ignd.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

// What ignd_bench measures: the rows of its table, and the least that each could cost.
namespace ignd::bench {

// Samples per pass through a small model: a multiple of all batch sizes.
inline constexpr std::size_t sample_count = 2048;

// A repeatable piece of work, timed round by round.
struct Timed {
  std::function<void()> pass;
  double units_per_pass = 1;
  double warm_up_units = 40'000;
  double round_seconds = 4e-3;  // long beside the clock, and short beside a time slice
  std::size_t passes = 1;
  // Whether to run one pass before the clock starts, to bring back what other rows have evicted from the caches. Not
  // needed where a pass is as long as a round.
  bool starts_warm = false;
  std::vector<double> seconds_per_unit = {};

  void warm_up();  // not measured: lets caches, branch predictors and Adam's corrections settle
  void calibrate();
  void round();
  double typical() const;
  double spread() const;  // half the distance between the quartiles, relative to the median
  double best() const;
};

// The work of one step.
struct Work {
  double multiply_adds = 0;
  double shared_multiply_adds = 0;  // those that are divided among the row's threads
  double weight_bytes = 0;          // written to the nearest cache
  double memory_reads = 0;          // bytes of weights too many for the caches, as often as they are read
  double memory_updates = 0;        // the same: read, changed and written
  double roots = 0;                 // weights of which a root is taken and divided by
  double lines = 0;                 // random cache lines of a hashed table
};

struct Measured {
  Work work;
  Timed timed;
};

struct Row {
  std::string model, optimizer, precision;
  std::function<Measured()> start;  // takes the memory, once the row is wanted
  unsigned threads = 1;
  Measured measured = {};
  double megabytes = 0;  // of the heap, with the samples

  std::string label() const { return model + " " + optimizer + " " + precision; }
};

inline bool takes_roots(const Optimizer& optimizer) {
  return make_transform<float>(optimizer.transform)->takes_roots();
}

// Everything a training run needs, kept alive by the closure that is timed.
template <class T>
struct Run {
  std::unique_ptr<Model<T>> model;
  std::unique_ptr<Trainer<T>> trainer;

  Run(const std::string& spec, const Optimizer& optimizer, double rate)
      : model(make_model<T>(spec)),
        trainer(std::make_unique<Trainer<T>>(
            *model, TrainerOptions{.optimizer = optimizer, .schedule = Schedule::constant(rate)})) {}

  void require_health() const {
    if (trainer->status() != StepStatus::learned) throw Error("a benchmark run ended early");
  }
};

// How batches are stepped.
struct BatchKind {
  const char* name;
  const char* optimizer;
  BatchMode mode;
};
inline constexpr BatchKind batched_sgd{"sgd", "sgd", BatchMode::average};
inline constexpr BatchKind averaged_ignd{"ignd average", "ignd", BatchMode::average};
inline constexpr BatchKind exact_ignd{"ignd exact", "ignd", BatchMode::exact};
inline constexpr BatchKind batched_adam{"adam", "adam", BatchMode::average};

// Steps with one sample at a time and with mini-batches: networks for tables, linear models, Q-learning and control.
std::vector<Row> step_rows();

// The paper's networks for images, on one thread and on two, and for texts, with four optimizers each.
std::vector<Row> network_rows();

// What the cache lines of a hashed step cost by themselves: it reads the sample, and reads, changes and writes each
// weight that it touches.
Timed time_lines();
std::size_t hashed_table_bytes();

}  // namespace ignd::bench
