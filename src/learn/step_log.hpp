#pragma once

#include "ignd/trainer.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace ignd {

class Checkpoint;

// Sees every step of a run that learns from one sample at a time.
class StepObserver {
 public:
  virtual ~StepObserver() = default;

  // A step that was taken, and the length ||dw|| of the way that the weights went.
  virtual void step(const StepInfo& info, double length) = 0;
};

// What the steps of a run were like: quantiles of a few quantities over intervals of equally many steps.
class StepLog final : public StepObserver {
 public:
  // xi = c / l_f, which steps with l_f = 0 do not have; s = ||j||^2; the size of h = j^T dw; ||dw||.
  static constexpr std::array<const char*, 4> quantities{"xi", "s", "h", "length"};
  static constexpr std::array<double, 5> levels{0.05, 0.25, 0.5, 0.75, 0.95};
  static constexpr std::size_t most_intervals = 200;

  struct Row {
    std::uint64_t steps = 0;                                              // of the run, to the end of the interval
    std::array<std::array<double, levels.size()>, quantities.size()> at;  // NaN: no step of the interval had it
  };

  // For a run of so many steps.
  explicit StepLog(std::uint64_t steps);

  void step(const StepInfo& info, double length) override;

  // Ends the last interval early where the run has ended.
  void finish();

  const std::vector<Row>& rows() const { return rows_; }
  std::string csv() const;

  // The rows as numbers one after the other, and the inverse. A partial row at the end is left out.
  std::vector<double> numbers() const;
  static std::vector<Row> rows_of(std::span<const double> numbers);

  // With what the interval that is under way has seen. Throws FileError, and changes nothing.
  void save(Checkpoint& checkpoint) const;
  void restore(const Checkpoint& checkpoint);

 private:
  std::uint64_t interval_;                                     // steps of one
  std::uint64_t steps_ = 0;                                    // so far
  std::array<std::vector<double>, quantities.size()> values_;  // of this interval
  std::vector<Row> rows_;
};

// Of values in any order, which it sorts: between two of them along a line. NaN where there are none.
double quantile(std::vector<double>& values, double level);

}  // namespace ignd
