#pragma once

#include "core/preconditioner.hpp"
#include "core/updater.hpp"
#include "ignd/trainer.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace ignd {

class Checkpoint;

// Whether a file starts like a checkpoint, damaged or not. Throws FileError if it cannot be read.
bool is_checkpoint_file(const std::filesystem::path& path);

// What Trainer and BatchTrainer share: advice when they are made, and how a run is saved and resumed.

// Passes advice to the handler (ignd/loss_check.hpp), each text once. Ignores an empty text.
void give_advice(const std::string& advice);

std::optional<PreconditionerKind> parse_preconditioner(std::string_view name);  // the inverse of to_string

struct RunDescription {
  std::string model, loss, rule, transform;
  const Schedule& schedule;
  double l2;
  PreconditionerKind preconditioner;
  std::uint64_t average_from;
};

template <class T>
void describe_run(const RunDescription& run, Checkpoint& checkpoint);

// Throws FileError, listing every difference, unless the checkpoint has every text of `own` unchanged.
void check_same_run(const Checkpoint& own, const Checkpoint& checkpoint);

// What changes with every step. Restoring reads everything before it changes anything, and throws FileError.
template <class T>
void save_state(const Model<T>& model, const Updater<T>& updater, const Preconditioner<T>* preconditioner,
                std::uint64_t steps, StepStatus status, Checkpoint& checkpoint);
template <class T>
void restore_state(const Checkpoint& checkpoint, Model<T>& model, std::unique_ptr<Updater<T>>& updater,
                   std::unique_ptr<Preconditioner<T>>& preconditioner, std::uint64_t& steps, StepStatus& status);

// A copy of the model with all rows up to date, or with the averaged iterate. Throws InvalidArgument where nothing was
// averaged.
template <class T>
std::unique_ptr<Model<T>> current_model(const Model<T>& model, const Updater<T>& updater, std::uint64_t steps,
                                        std::uint64_t average_from, Iterate which);

}  // namespace ignd
