#pragma once

#include "core/updater.hpp"
#include "ignd/trainer.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace ignd {

class Checkpoint;

// What a trainer of single samples and one of batches have in common when a run is saved and gone on with.

struct RunDescription {
  std::string model, loss, rule, transform;
  const Schedule& schedule;
  double l2;
  MetricKind metric;
  std::uint64_t average_from;
};

template <class T>
void describe_run(const RunDescription& run, Checkpoint& checkpoint);

// Throws FileError, with every difference, unless the checkpoint has all texts of `own` as they are there.
void check_same_run(const Checkpoint& own, const Checkpoint& checkpoint);

// Throws FileError if there is none that a run can have.
StepStatus saved_status(const Checkpoint& checkpoint);

// A copy of the model with all rows up to date, or with the averaged iterate. Throws InvalidArgument if there is none.
template <class T>
std::unique_ptr<Model<T>> current_model(const Model<T>& model, const Updater<T>& updater, std::uint64_t steps,
                                        std::uint64_t average_from, Iterate which);

}  // namespace ignd
