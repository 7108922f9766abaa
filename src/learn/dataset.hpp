#pragma once

#include "ignd/trainer.hpp"
#include "learn/metrics.hpp"
#include "learn/multiclass_metrics.hpp"
#include "learn/split.hpp"
#include "learn/target.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace ignd {

class Checkpoint;

// Samples, by number, and which of them are to learn from, to choose by and to be measured on.
class Dataset {
 public:
  virtual ~Dataset() = default;

  const Target& target() const { return target_; }
  const std::string& loss() const { return loss_; }
  const Split& split() const { return split_; }

  // The same with other samples to learn from and to judge by.
  virtual std::unique_ptr<Dataset> with_split(Split split) const = 0;

  // A model for these samples as users write it, as make_model wants it. Throws InvalidArgument.
  virtual std::string model_spec(const std::string& text) const = 0;

  // A sample, which may be a view of `room`, with space for so many numbers.
  virtual std::size_t room() const = 0;
  virtual Sample<float> sample(std::uint32_t row, std::span<float> room) const = 0;

  virtual double target_in_units(std::uint32_t row) const = 0;  // for classes their number
  virtual double row_weight(std::uint32_t row) const = 0;       // what it counts in metrics

  // What a run depends on besides its own options: those of the task as users write them, and a number that other data
  // would not have.
  virtual std::vector<std::pair<std::string, std::string>> options_used() const = 0;
  virtual std::uint64_t fingerprint() const = 0;

  // What is needed besides the model to predict from new data, as part of a model file.
  virtual void save_reader(Checkpoint& checkpoint) const = 0;

 protected:
  Dataset() = default;
  Dataset(const Dataset&) = default;
  Dataset& operator=(const Dataset&) = default;
  Dataset(Dataset&&) noexcept = default;
  Dataset& operator=(Dataset&&) noexcept = default;

  Target target_;
  std::string loss_;
  Split split_;
};

// How good predictions are, in the units of the target.
struct Scores {
  double loss = 0;  // mean loss as the model learns it, with the weights it learns with; infinite if an output is
  std::optional<RegressionMetrics> regression;
  std::optional<ClassificationMetrics> classification;
  std::optional<MulticlassMetrics> multiclass = {};
  double deviation = 0;  // of the predictions; of logits for classes, of more than two the largest

  bool is_measured() const { return regression || classification || multiclass; }
};

// Throws InvalidArgument unless a target may be learned by this loss, as users write it.
void check_loss(const std::string& loss);

// Judges a function that gives the model's output for a sample. An output that means no finite number leaves nothing
// but an infinite loss.
using OutputOf = std::function<double(const Input<float>& x)>;
Scores evaluate(const Dataset& task, std::span<const std::uint32_t> rows, const OutputOf& output);

// The same for a function that writes as many outputs as a model for the target has: a logit for each of more than two
// classes.
using OutputsOf = std::function<void(const Input<float>& x, std::span<double> outputs)>;
Scores evaluate(const Dataset& task, std::span<const std::uint32_t> rows, const OutputsOf& outputs);

}  // namespace ignd
