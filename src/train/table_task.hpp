#pragma once

#include "data/encoder.hpp"
#include "ignd/trainer.hpp"
#include "train/metrics.hpp"
#include "train/split.hpp"
#include "train/target.hpp"

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace ignd {

// What is to be learned from which rows and columns of a table.
struct TaskOptions {
  std::string target;
  std::string loss = {};                   // empty: by the target's kind
  std::optional<std::string> weight = {};  // a column of importance weights
  bool balanced = false;                   // both classes weigh the same
  std::optional<std::string> split_by = {};
  std::optional<std::string> split_time = {};
  double validation = 0.1;
  double test = 0.1;
  std::uint64_t seed = 1;
};

// A table made ready for a model: split, encoded, with its target and its weights. The table must outlive it.
class TableTask {
 public:
  // Throws InvalidArgument for options that cannot be used, and BadSample, with the row, for values that cannot.
  TableTask(const Table& table, const TaskOptions& options);
  // All rows of a table as test rows for a model that was trained on another.
  TableTask(const Table& table, Encoder encoder, Target target, std::string loss,
            const std::optional<std::string>& weight = {});

  const Table& table() const { return table_; }
  const TaskOptions& options() const { return options_; }
  const Encoder& encoder() const { return encoder_; }
  const Target& target() const { return target_; }
  const std::string& loss() const { return loss_; }
  const Split& split() const { return split_; }
  // The same task with other rows to train on and to judge by.
  TableTask with_split(Split split) const;

  // Features go to `x`, which has room for encoder().features(); the sample is a view of it.
  Sample<float> sample(std::uint32_t row, std::span<float> x) const;

  // In the units of the column; for classes 0 or 1.
  double target_in_units(std::uint32_t row) const;
  double row_weight(std::uint32_t row) const;  // of the weight column; 1 without one

 private:
  double sample_weight(std::uint32_t row, double y) const;  // with that of its class
  void fit_encoder();
  void balance_classes();
  void check_samples() const;

  const Table& table_;
  TaskOptions options_;
  Encoder encoder_;
  std::vector<ColumnPlace> at_;  // where the encoder's columns are
  Target target_;
  std::size_t target_column_;
  std::optional<std::size_t> weight_column_;
  std::array<double, 2> class_weight_{1, 1};
  std::string loss_;
  Split split_;
};

// How good predictions are, in the units of the target.
struct Quality {
  double loss = 0;  // mean loss as the model learns it, with the weights it learns with; infinite if an output is
  std::optional<RegressionMetrics> regression;
  std::optional<ClassificationMetrics> classification;
  double deviation = 0;  // of the predictions; of logits for classes
};

// Judges a function that gives the model's output for encoded features. An output that means no finite number leaves
// nothing but an infinite loss.
using OutputOf = std::function<double(std::span<const float> x)>;
Quality judge(const TableTask& task, std::span<const std::uint32_t> rows, const OutputOf& output);

}  // namespace ignd
