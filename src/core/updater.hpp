#pragma once

#include "core/idle_steps.hpp"
#include "ignd/model.hpp"
#include "ignd/schedule.hpp"
#include "ignd/transform.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace ignd {

class Checkpoint;

// Adds what is wrong with an option that may be any finite number of at least 0.
void check_not_negative(std::vector<std::string>& faults, const char* name, double value);

// Everything that grows with the parameters and changes with every step: the transform's state, the average of the
// iterates, and for the rows of a table, when each was last brought up to date. A copy is an independent run.
//
// A row that no sample reads may have to move all the same. Two kinds of movement can be made up for when the row is
// next read: steps with g = 0 at known rates (from a time stamp per row), and the pure shrinking of plain steps with l2
// (from the logarithm of the product of all factors so far). Sparse tables always wait like this; dense layers only if
// nothing else touches every row at every step (l2, averaging).
template <class T>
class Updater final : public RowReader {
 public:
  struct Options {
    std::shared_ptr<const Transform<T>> transform;
    Schedule schedule = Schedule::constant(0);
    std::vector<RowTable> tables;
    double l2 = 0;
    std::uint64_t average_from = 0;
    bool whole_layers = false;  // every step goes through all rows of tables that are not sparse
  };

  // Why these options cannot be combined, one text each; empty if they can.
  static std::vector<std::string> faults(const Options& options);

  Updater(Options options, std::size_t parameter_count);

  // Whether it must be told which rows are read; and marks the blocks of the model's sensitivity whose rows wait.
  bool waits() const { return waits_; }
  void mark_waiting(Sensitivity<T>& j) const;

  // A step consists of begin, the model's forward pass (which announces the rows it reads, some of them perhaps twice)
  // and, unless the step is called off, finish: weights as after step t, then step t + 1. Returns h.
  void begin(std::span<T> w, std::uint64_t t) {
    w_ = w;
    t_ = t;
    reads_.clear();
  }
  void about_to_read(std::size_t table, std::span<const std::uint32_t> rows) override;
  double finish(const Sensitivity<T>& j, const Sensitivity<T>& direction, const Step& step) {
    const double h = options_.transform->apply(w_, state_, j, direction, step);
    if (waits_ || !average_.empty()) follow_up(step);
    return h;
  }

  // The same where the caller moves the weights itself, by plain steps.
  template <class Move>
  void finish_plain(const Step& step, const Move& move) {
    move(w_);
    if (waits_ || !average_.empty()) follow_up(step);
  }

  // Gives all rows the values a dense run has after step t.
  void catch_up_all(std::span<T> w, std::uint64_t t);

  const Transform<T>& transform() const { return *options_.transform; }

  // Empty without averaging.
  std::span<const T> average() const { return average_; }

  void save(Checkpoint& checkpoint) const;
  void restore(const Checkpoint& checkpoint);

 private:
  // How far the rows of a table lag behind. The arrays are empty where nothing has to be made up for.
  struct LazyTable {
    RowTable table;
    std::vector<std::uint64_t> stamp;
    std::vector<double> log_shrink;
  };
  struct Read {
    std::size_t table;
    std::span<const std::uint32_t> rows;
  };
  struct CachedSteps {
    std::uint64_t last = 0;
    IdleSteps<T> steps;
  };

  void reserve_scratch();
  const IdleSteps<T>& idle_steps(std::uint64_t first, std::uint64_t last);
  void catch_up(LazyTable& rows, std::uint32_t row);
  void average_range(std::size_t offset, std::size_t count, std::uint64_t t);
  void average_layers(std::uint64_t t);
  void follow_up(const Step& step);

  Options options_;
  TransformState<T> state_;
  AlignedVector<T> average_;
  std::vector<LazyTable> tables_;
  double log_shrink_ = 0;
  bool waits_ = false;

  // Of the step under way.
  std::span<T> w_;
  std::uint64_t t_ = 0;
  std::vector<Read> reads_;
  std::array<CachedSteps, 32> cache_;  // by the number of steps; the first is for longer runs
  IdleSteps<T> none_;
};

}  // namespace ignd
