#pragma once

#include "ignd/batch.hpp"
#include "models/batch_pass.hpp"
#include "models/layer.hpp"

#include <memory>
#include <vector>

namespace ignd {

// Samples on their way through the layers of a network together, layer by layer.
template <class T>
class NetworkBatch final : public Batch<T> {
 public:
  NetworkBatch(const Model<T>& model, const Shape& input, std::vector<PlacedLayer<T>> layers, std::size_t size);

  std::span<const T> forward(std::span<const Input<T>> x, RowReader* reader) override;
  const BatchSensitivity<T>& sensitivities() override;
  const BatchSensitivity<T>& combined(std::span<const T> factors) override;

 private:
  std::size_t outputs() const { return values_.back().count; }
  std::span<const T> weights_of(const PlacedLayer<T>& place) const {
    return model_.parameters().subspan(place.weights, place.layer->weights());
  }
  const BatchSensitivity<T>& backward(std::size_t per_sample);

  const Model<T>& model_;
  std::vector<PlacedLayer<T>> layers_;
  std::vector<BatchValues<T>> values_;  // the samples, and what each layer gives
  std::vector<std::unique_ptr<BatchPass<T>>> passes_;
  std::size_t samples_ = 0;
  BatchSensitivity<T> j_;
};

}  // namespace ignd
