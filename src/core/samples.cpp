#include "ignd/samples.hpp"

#include "ignd/error.hpp"

#include <cstring>

#include <fmt/format.h>

namespace ignd {

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

template class Samples<float>;
template class Samples<double>;

}  // namespace ignd
