#pragma once

#include "models/batch_pass.hpp"

namespace ignd {

// The way of a batch through a dense layer: one matrix product for all samples in each direction, so that the weights
// are read once for each batch.
template <class T>
class DenseBatchPass final : public BatchPass<T> {
 public:
  explicit DenseBatchPass(const BatchPlace<T>& place);

  void forward(std::span<const T> w, std::size_t samples, const RowAnnouncer& about_to_read) override;
  void backward(std::span<const T> w, std::size_t samples, std::size_t per_sample) override;

 private:
  BatchPlace<T> place_;
  std::size_t inputs_, units_;
  AlignedVector<T> u_;      // (inputs + 1) x samples; the last row is the biases' 1
  AlignedVector<T> v_;      // units x rows of J
  AlignedVector<T> below_;  // inputs x rows of J
};

}  // namespace ignd
