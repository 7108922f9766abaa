#pragma once

#include "ignd/model.hpp"
#include "ignd/schedule.hpp"
#include "ignd/transform.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace ignd {

class Checkpoint;

// Everything that grows with the parameters and changes with every step: the transform's state, the average of the
// iterates, and for the rows of a row table, when each was last brought up to date. A copy is an independent run.
template <class T>
class Updater {
 public:
  struct Options {
    std::shared_ptr<const Transform<T>> transform;
    Schedule schedule = Schedule::constant(0);
    RowTable table;
    double l2 = 0;
    std::uint64_t average_from = 0;
  };

  // Why these options cannot be combined, one text each; empty if they can.
  static std::vector<std::string> faults(const Options& options);

  Updater(Options options, std::size_t parameter_count);

  // Gives the rows the values a dense run has after step t.
  void catch_up(std::span<T> w, std::span<const std::uint32_t> rows, std::uint64_t t);
  void catch_up_all(std::span<T> w, std::uint64_t t);

  // One step along g = c * direction + decay * w; `rows` are those that j touches, and are up to date. Returns h.
  double step(std::span<T> w, const Sensitivity<T>& j, const Sensitivity<T>& direction,
              std::span<const std::uint32_t> rows, double c, double decay, StepAt at);

  const Transform<T>& transform() const { return *options_.transform; }

  // Empty without averaging.
  std::span<const T> average() const { return average_; }

  void save(Checkpoint& checkpoint) const;
  void restore(const Checkpoint& checkpoint);

 private:
  std::size_t row_offset(std::uint32_t row) const { return options_.table.offset + row * options_.table.width; }
  void average_range(std::span<const T> w, std::size_t offset, std::size_t count, std::uint64_t t);

  Options options_;
  TransformState<T> state_;
  AlignedVector<T> average_;

  // A row that nobody reads may have to move all the same. Two kinds of movement can be made up for later: steps with
  // g = 0 at known rates (replayed from a time stamp), and the pure shrinking that plain steps with l2 are (from the
  // logarithm of the product of all factors so far). The arrays are empty where there is nothing to make up for.
  std::vector<std::uint64_t> row_stamp_;
  std::vector<double> row_log_shrink_;
  double log_shrink_ = 0;
};

}  // namespace ignd
