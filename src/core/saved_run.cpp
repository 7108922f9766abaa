#include "core/saved_run.hpp"

#include "base/text.hpp"
#include "ignd/checkpoint.hpp"
#include "ignd/error.hpp"
#include "kernels/flush_to_zero.hpp"

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

namespace ignd {

template <class T>
void describe_run(const RunDescription& run, Checkpoint& checkpoint) {
  checkpoint.set("precision", sizeof(T) == sizeof(float) ? std::string("float") : std::string("double"));
  checkpoint.set("model", run.model);
  checkpoint.set("loss", run.loss);
  checkpoint.set("rule", run.rule);
  checkpoint.set("transform", run.transform);
  checkpoint.set("schedule", run.schedule.spec());
  checkpoint.set("l2", format_number(run.l2));
  checkpoint.set("metric", std::string(to_string(run.preconditioner)));
  checkpoint.set("average-from", std::to_string(run.average_from));
}

void check_same_run(const Checkpoint& own, const Checkpoint& checkpoint) {
  std::vector<std::string> differences;
  for (const auto& [name, entry] : own.entries()) {
    const std::string& here = std::get<std::string>(entry);
    const std::string& there = checkpoint.text(name);
    if (here != there)
      differences.push_back(fmt::format("its {} is '{}', not '{}'", name, printable(there, there.size()), here));
  }
  if (!differences.empty()) throw FileError("the checkpoint belongs to another run: " + list_faults(differences));
}

namespace {

StepStatus saved_status(const Checkpoint& checkpoint) {
  const std::uint64_t status = checkpoint.number("status");
  const bool passing = status == static_cast<std::uint64_t>(StepStatus::zero_weight);
  if (passing || status > static_cast<std::uint64_t>(StepStatus::coefficient_not_finite)) {
    throw FileError(fmt::format("the checkpoint has an unknown status {}", status));
  }
  return static_cast<StepStatus>(status);
}

}  // namespace

template <class T>
void save_state(const Model<T>& model, const Updater<T>& updater, const Preconditioner<T>* preconditioner,
                std::uint64_t steps, StepStatus status, Checkpoint& checkpoint) {
  checkpoint.set("steps", steps);
  checkpoint.set("status", static_cast<std::uint64_t>(status));
  checkpoint.set("weights", std::span<const T>(model.parameters()));
  updater.save(checkpoint);
  if (preconditioner != nullptr) preconditioner->save(checkpoint);
}

template <class T>
void restore_state(const Checkpoint& checkpoint, Model<T>& model, std::unique_ptr<Updater<T>>& updater,
                   std::unique_ptr<Preconditioner<T>>& preconditioner, std::uint64_t& steps, StepStatus& status) {
  const auto& weights = checkpoint.array<T>("weights", model.parameters().size());
  const StepStatus saved = saved_status(checkpoint);
  const std::uint64_t taken = checkpoint.number("steps");
  auto new_updater = std::make_unique<Updater<T>>(*updater);
  new_updater->restore(checkpoint);
  std::unique_ptr<Preconditioner<T>> new_preconditioner;
  if (preconditioner) {
    new_preconditioner = std::make_unique<Preconditioner<T>>(*preconditioner);
    new_preconditioner->restore(checkpoint);
  }
  std::ranges::copy(weights, model.parameters().begin());
  updater = std::move(new_updater);
  preconditioner = std::move(new_preconditioner);
  steps = taken;
  status = saved;
}

template <class T>
std::unique_ptr<Model<T>> current_model(const Model<T>& model, const Updater<T>& updater, std::uint64_t steps,
                                        std::uint64_t average_from, Iterate which) {
  if (which == Iterate::averaged && (average_from == 0 || steps < average_from)) {
    throw InvalidArgument("there is no averaged iterate: set average_from to a step that has been taken");
  }
  [[maybe_unused]] const kernels::FlushToZero flush;  // as in a step
  auto copy = model.clone();
  Updater<T> own = updater;
  own.catch_up_all(copy->parameters(), steps);
  if (which == Iterate::averaged) std::ranges::copy(own.average(), copy->parameters().begin());
  return copy;
}

template void save_state(const Model<float>&, const Updater<float>&, const Preconditioner<float>*, std::uint64_t,
                         StepStatus, Checkpoint&);
template void save_state(const Model<double>&, const Updater<double>&, const Preconditioner<double>*, std::uint64_t,
                         StepStatus, Checkpoint&);
template void restore_state(const Checkpoint&, Model<float>&, std::unique_ptr<Updater<float>>&,
                            std::unique_ptr<Preconditioner<float>>&, std::uint64_t&, StepStatus&);
template void restore_state(const Checkpoint&, Model<double>&, std::unique_ptr<Updater<double>>&,
                            std::unique_ptr<Preconditioner<double>>&, std::uint64_t&, StepStatus&);
template void describe_run<float>(const RunDescription&, Checkpoint&);
template void describe_run<double>(const RunDescription&, Checkpoint&);
template std::unique_ptr<Model<float>> current_model(const Model<float>&, const Updater<float>&, std::uint64_t,
                                                     std::uint64_t, Iterate);
template std::unique_ptr<Model<double>> current_model(const Model<double>&, const Updater<double>&, std::uint64_t,
                                                      std::uint64_t, Iterate);

}  // namespace ignd
