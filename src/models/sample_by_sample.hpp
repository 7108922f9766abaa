#pragma once

#include "models/batch_pass.hpp"
#include "models/layer.hpp"

#include <memory>
#include <vector>

namespace ignd {

// The way of a batch through any layer: its samples go one after the other, each with a pass of its own. The layer must
// outlive it.
template <class T>
class SampleBySample final : public BatchPass<T> {
 public:
  SampleBySample(const Layer<T>& layer, const BatchPlace<T>& place);

  void forward(std::span<const T> w, std::size_t samples, const RowAnnouncer& about_to_read) override;
  void backward(std::span<const T> w, std::size_t samples, std::size_t per_sample) override;

 private:
  std::span<const T> keep(std::span<const T> numbers, std::size_t block, std::size_t row, bool copy);

  const Layer<T>& layer_;
  BatchPlace<T> place_;
  std::size_t first_block_;
  std::vector<Sensitivity<T>> j_;  // of each sample
  std::vector<std::unique_ptr<Pass<T>>> passes_;
  std::vector<std::vector<AlignedVector<T>>> kept_;  // of each block, for each row of J
};

}  // namespace ignd
