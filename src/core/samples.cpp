#include "ignd/samples.hpp"

#include "ignd/error.hpp"
#include "kernels/flush_to_zero.hpp"

#include <cstring>

#include <fmt/format.h>

namespace ignd {
namespace {

// How many samples ahead a fetch is asked for: a step takes longer than a line takes to arrive from memory.
constexpr std::size_t fetch_ahead = 2;

}  // namespace

template <class T>
Samples<T>::Samples(std::size_t features)
    : features_(features), stride_(round_up_to_cache_line(2 * sizeof(double) + features * sizeof(T))) {}

template <class T>
void Samples<T>::add(std::span<const T> values, double y, double weight) {
  if (values.size() != features_) {
    throw BadSample(fmt::format("the sample has {} features instead of {}", values.size(), features_));
  }
  bytes_.resize(bytes_.size() + stride_);
  std::byte* record = bytes_.data() + size_ * stride_;
  std::memcpy(record, &y, sizeof y);
  std::memcpy(record + sizeof y, &weight, sizeof weight);
  if (features_ > 0) std::memcpy(record + 2 * sizeof(double), values.data(), values.size_bytes());
  ++size_;
}

template <class T>
StepInfo learn(Trainer<T>& trainer, const Samples<T>& samples, std::span<const std::uint32_t> order) {
  [[maybe_unused]] const kernels::FlushToZero flush;
  StepInfo last;
  for (std::size_t k = 0; k < order.size(); ++k) {
    if (order[k] >= samples.size()) {
      throw InvalidArgument(fmt::format("the order names sample {}, but there are {}", order[k], samples.size()));
    }
    if (k + fetch_ahead < order.size()) samples.prefetch(order[k + fetch_ahead]);
    trainer.step_without_denormals(samples[order[k]], last);
    if (trainer.status() != StepStatus::learned) break;
  }
  return last;
}

template <class T>
StepInfo learn(Trainer<T>& trainer, std::span<const Sample<T>> samples, std::span<StepInfo> steps) {
  [[maybe_unused]] const kernels::FlushToZero flush;
  StepInfo last;
  for (std::size_t k = 0; k < samples.size(); ++k) {
    trainer.step_without_denormals(samples[k], last);
    if (!steps.empty()) steps[k] = last;
    if (trainer.status() != StepStatus::learned) break;
  }
  return last;
}

template class Samples<float>;
template class Samples<double>;
template StepInfo learn(Trainer<float>&, std::span<const Sample<float>>, std::span<StepInfo>);
template StepInfo learn(Trainer<double>&, std::span<const Sample<double>>, std::span<StepInfo>);
template StepInfo learn(Trainer<float>&, const Samples<float>&, std::span<const std::uint32_t>);
template StepInfo learn(Trainer<double>&, const Samples<double>&, std::span<const std::uint32_t>);

}  // namespace ignd
