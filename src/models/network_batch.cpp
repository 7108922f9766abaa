#include "models/network_batch.hpp"

#include "models/sample_by_sample.hpp"

#include <algorithm>
#include <utility>

namespace ignd {

template <class T>
NetworkBatch<T>::NetworkBatch(const Model<T>& model, const Shape& input, std::vector<PlacedLayer<T>> layers,
                              std::size_t size)
    : model_(model), layers_(std::move(layers)) {
  const std::size_t rows = size * model.outputs();
  values_.emplace_back(input.count(), size);
  for (const auto& place : layers_) {
    values_.emplace_back(place.layer->output().count(), size);
    values_.back().deltas.resize(values_.back().count * rows);
  }
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const BatchPlace<T> place{.samples = size,
                              .rows = rows,
                              .weights = layers_[i].weights,
                              .in = values_[i],
                              .out = values_[i + 1],
                              .blocks = j_.blocks};
    auto pass = layers_[i].layer->make_batch_pass(place);
    if (pass == nullptr) pass = std::make_unique<SampleBySample<T>>(*layers_[i].layer, place);
    passes_.push_back(std::move(pass));
  }
}

template <class T>
std::span<const T> NetworkBatch<T>::forward(std::span<const Input<T>> x, RowReader* reader) {
  samples_ = x.size();
  values_.front().x = x;
  for (std::size_t s = 0; s < x.size(); ++s) std::ranges::copy(x[s].values, values_.front().value(s));
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    passes_[i]->forward(weights_of(layers_[i]), samples_, {reader, layers_[i].tables});
  }
  return std::span<const T>(values_.back().values).first(samples_ * outputs());
}

template <class T>
const BatchSensitivity<T>& NetworkBatch<T>::backward(std::size_t per_sample) {
  for (std::size_t i = layers_.size(); i-- > 0;) passes_[i]->backward(weights_of(layers_[i]), samples_, per_sample);
  j_.samples = samples_;
  j_.per_sample = per_sample;
  return j_;
}

template <class T>
const BatchSensitivity<T>& NetworkBatch<T>::sensitivities() {
  const std::size_t count = outputs();
  for (std::size_t k = 0; k < samples_ * count; ++k) {
    T* delta = values_.back().delta(k);
    std::fill_n(delta, count, T{0});
    delta[k % count] = 1;  // of an output with respect to itself
  }
  return backward(count);
}

template <class T>
const BatchSensitivity<T>& NetworkBatch<T>::combined(std::span<const T> factors) {
  std::ranges::copy(factors, values_.back().deltas.begin());
  return backward(1);
}

template class NetworkBatch<float>;
template class NetworkBatch<double>;

}  // namespace ignd
