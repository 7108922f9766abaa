#include "models/mlp_batch.hpp"

#include "kernels/kernels.hpp"

#include <algorithm>
#include <utility>

namespace ignd {

template <class T>
MlpBatch<T>::MlpBatch(const Model<T>& model, std::vector<Layer> layers, Activation activation, std::size_t size)
    : model_(model),
      layers_(std::move(layers)),
      activation_(activation),
      size_(size),
      by_unit_(outputs() * size),
      outputs_(outputs() * size) {
  for (const Layer& layer : layers_) {
    inputs_.emplace_back(layer.rows * size);
    std::fill_n(inputs_.back().data() + (layer.rows - 1) * size, size, T{1});
    deltas_.emplace_back();
    j_.blocks.push_back(OuterBatch<T>{.offset = layer.weights,
                                      .inputs = layer.rows,
                                      .units = layer.columns,
                                      .u = inputs_.back().data(),
                                      .u_stride = size,
                                      .on_input = inputs_.size() == 1});
  }
}

template <class T>
void MlpBatch<T>::activate(T* units, std::size_t count) const {
  if (activation_ == Activation::relu) {
    std::transform(units, units + count, units, [](T x) { return x < 0 ? T{0} : x; });
  } else if (activation_ == Activation::tanh) {
    kernels::table<T>().tanh(units, count);
  }
}

template <class T>
std::span<const T> MlpBatch<T>::forward(std::span<const Input<T>> x, RowReader* /*reader*/) {
  samples_ = x.size();
  for (std::size_t s = 0; s < x.size(); ++s) {
    for (std::size_t r = 0; r < x[s].values.size(); ++r) inputs_[0][r * size_ + s] = x[s].values[r];
  }
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    const Layer& layer = layers_[l];
    const bool last = l + 1 == layers_.size();
    T* out = last ? by_unit_.data() : inputs_[l + 1].data();
    kernels::table<T>().product({.rows = layer.columns,
                                 .depth = layer.rows,
                                 .columns = samples_,
                                 .a = weights(layer),
                                 .a_row_stride = 1,
                                 .a_column_stride = layer.columns,
                                 .b = inputs_[l].data(),
                                 .b_stride = size_,
                                 .out = out,
                                 .out_stride = size_});
    for (std::size_t c = 0; !last && c < layer.columns; ++c) activate(out + c * size_, samples_);
  }
  for (std::size_t s = 0; s < samples_; ++s) {
    for (std::size_t c = 0; c < outputs(); ++c) outputs_[s * outputs() + c] = by_unit_[c * size_ + s];
  }
  return std::span(outputs_).first(samples_ * outputs());
}

// Allocates rows of J on demand: those never asked for, as with gradients of many outputs, take no memory.
template <class T>
void MlpBatch<T>::reserve_rows(std::size_t per_sample) {
  if (size_ * per_sample <= stride_) return;
  stride_ = size_ * per_sample;
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    deltas_[l].resize(layers_[l].columns * stride_);
    auto& block = std::get<OuterBatch<T>>(j_.blocks[l]);
    block.v = deltas_[l].data();
    block.v_stride = stride_;
  }
}

// From the deltas of layer l to those of the layer below it.
template <class T>
void MlpBatch<T>::pass_back(std::size_t l, std::size_t per_sample) {
  const Layer& layer = layers_[l];
  const std::size_t stride = stride_, rows_of_j = samples_ * per_sample;
  T* below = deltas_[l - 1].data();
  kernels::table<T>().product({.rows = layer.rows - 1,
                               .depth = layer.columns,
                               .columns = rows_of_j,
                               .a = weights(layer),
                               .a_row_stride = layer.columns,
                               .a_column_stride = 1,
                               .b = deltas_[l].data(),
                               .b_stride = stride,
                               .out = below,
                               .out_stride = stride});
  if (activation_ == Activation::identity) return;
  for (std::size_t r = 0; r + 1 < layer.rows; ++r) {
    const T* unit = inputs_[l].data() + r * size_;
    T* delta = below + r * stride;
    if (per_sample == 1 && activation_ == Activation::tanh) {
      kernels::table<T>().tanh_backward(unit, delta, samples_);
    } else if (per_sample == 1) {
      kernels::table<T>().relu_backward(unit, delta, samples_);
    } else {
      for (std::size_t k = 0; k < rows_of_j; ++k) {
        const T value = unit[k / per_sample];
        const T slope = activation_ == Activation::tanh ? 1 - value * value : T{1};
        delta[k] = activation_ == Activation::relu && value == 0 ? T{0} : slope * delta[k];
      }
    }
  }
}

template <class T>
const BatchSensitivity<T>& MlpBatch<T>::backward(std::size_t per_sample) {
  for (std::size_t l = layers_.size() - 1; l > 0; --l) pass_back(l, per_sample);
  j_.samples = samples_;
  j_.per_sample = per_sample;
  return j_;
}

template <class T>
const BatchSensitivity<T>& MlpBatch<T>::sensitivities() {
  const std::size_t count = outputs();
  reserve_rows(count);
  for (std::size_t c = 0; c < count; ++c) {
    for (std::size_t k = 0; k < samples_ * count; ++k) deltas_.back()[c * stride_ + k] = k % count == c ? T{1} : T{0};
  }
  return backward(count);
}

template <class T>
const BatchSensitivity<T>& MlpBatch<T>::combined(std::span<const T> factors) {
  const std::size_t count = outputs();
  reserve_rows(1);
  for (std::size_t c = 0; c < count; ++c) {
    for (std::size_t s = 0; s < samples_; ++s) deltas_.back()[c * stride_ + s] = factors[s * count + c];
  }
  return backward(1);
}

template class MlpBatch<float>;
template class MlpBatch<double>;

}  // namespace ignd
