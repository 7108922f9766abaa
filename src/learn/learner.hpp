#pragma once

#include "base/pinned.hpp"
#include "ignd/batch_trainer.hpp"
#include "ignd/trainer.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace ignd {

class Checkpoint;

// What trains a model in a run: one sample at a time, or in batches. A model of several outputs is trained in batches,
// of one sample if nothing else is asked for.
class Learner : Pinned {
 public:
  virtual ~Learner() = default;

  struct Learned {
    std::size_t samples = 0;  // fewer than were given where the run ended
    double loss = 0;          // their sum, by weight, each before it was learned from
  };
  // Learns from the samples, at most as many as a batch has.
  virtual Learned learn(std::span<const Sample<float>> samples) = 0;

  virtual StepStatus status() const = 0;
  virtual std::unique_ptr<Model<float>> snapshot() const = 0;
  virtual void save(Checkpoint& checkpoint) const = 0;
  virtual void restore(const Checkpoint& checkpoint) = 0;
};

struct LearnerOptions {
  std::string loss;
  Optimizer optimizer;
  Schedule schedule;
  double l2 = 0;
  std::optional<BatchOptions> batch;
};

// The model must outlive it. Throws InvalidArgument.
std::unique_ptr<Learner> make_learner(Model<float>& model, const LearnerOptions& options);

std::string describe(const BatchOptions& batch);  // "32 exact lambda 1"

// Samples of a step of such a learner; none if it takes one sample after the other, however many it is given.
std::optional<BatchOptions> batch_of(const Model<float>& model, const std::optional<BatchOptions>& asked);

}  // namespace ignd
