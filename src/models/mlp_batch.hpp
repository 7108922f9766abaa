#pragma once

#include "ignd/aligned.hpp"
#include "ignd/batch.hpp"
#include "ignd/mlp.hpp"

#include <cstdint>
#include <type_traits>
#include <vector>

namespace ignd {

// An integer of as many bits.
template <class T>
using SameSize = std::conditional_t<sizeof(T) == sizeof(std::uint32_t), std::uint32_t, std::uint64_t>;

// Samples of a feedforward network side by side: each layer is one matrix product for all of them, in both directions.
template <class T>
class MlpBatch final : public Batch<T> {
 public:
  // A layer's weights, stored by input unit with the biases as the last row.
  struct Layer {
    std::size_t rows;  // inputs + 1
    std::size_t columns;
    std::size_t weights;  // where they start
  };

  MlpBatch(const Model<T>& model, std::vector<Layer> layers, Activation activation, std::size_t size);

  std::span<const T> forward(std::span<const Input<T>> x, RowReader* reader) override;
  const BatchSensitivity<T>& sensitivities() override;
  const BatchSensitivity<T>& combined(std::span<const T> factors) override;

 private:
  std::size_t outputs() const { return layers_.back().columns; }
  const T* weights(const Layer& layer) const { return model_.parameters().data() + layer.weights; }
  void find_rows(std::span<const Input<T>> x);
  void place_side_by_side(std::span<const Input<T>> x);
  const T* first_weights();
  void activate(T* units, std::size_t count) const;
  void reserve_rows(std::size_t per_sample);
  void pass_back(std::size_t l, std::size_t per_sample);
  const BatchSensitivity<T>& backward(std::size_t per_sample);

  const Model<T>& model_;
  std::vector<Layer> layers_;
  Activation activation_;
  std::size_t size_;
  std::size_t samples_ = 0;
  std::size_t stride_ = 0;  // rows of J that there is room for
  // The rows of the first layer's weights that the samples read, with that of the biases, and a copy of them; empty:
  // all rows, or nearly all.
  std::vector<std::uint32_t> rows_;
  AlignedVector<T> read_weights_;
  std::vector<SameSize<T>> seen_;         // by feature: the bits of all samples, but for their signs
  std::vector<AlignedVector<T>> inputs_;  // of each layer, rows x size; the last row is 1
  std::vector<AlignedVector<T>> deltas_;  // columns x stride
  AlignedVector<T> by_unit_, outputs_;    // what the network gives, outputs x size, and sample by sample
  BatchSensitivity<T> j_;
};

}  // namespace ignd
