#pragma once

#include "ignd/aligned.hpp"
#include "ignd/api.hpp"
#include "ignd/trainer.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace ignd {

// Dense samples packed for training in any order: features, target and weight of a sample lie together and start at a
// cache line, so that fetching one is one or two lines and not three.
template <class T>
class IGND_API Samples {
 public:
  explicit Samples(std::size_t features);

  void reserve(std::size_t samples) { bytes_.reserve(samples * stride_); }

  // Throws BadSample unless there are as many values as features.
  void add(std::span<const T> values, double y, double weight = 1);

  std::size_t size() const { return size_; }
  std::size_t features() const { return features_; }

  Sample<T> operator[](std::size_t i) const {
    const std::byte* record = bytes_.data() + i * stride_;
    const auto* numbers = reinterpret_cast<const double*>(record);
    return {.x = {{reinterpret_cast<const T*>(record + 2 * sizeof(double)), features_}},
            .y = numbers[0],
            .weight = numbers[1]};
  }

  // Prefetches sample i into the cache.
  void prefetch(std::size_t i) const {
    for (std::size_t line = 0; line < stride_; line += alignment)
      __builtin_prefetch(bytes_.data() + i * stride_ + line);
  }

 private:
  std::size_t features_;
  std::size_t stride_;
  std::size_t size_ = 0;
  AlignedVector<std::byte> bytes_;
};

}  // namespace ignd
