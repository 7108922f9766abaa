#include "models/mlp_batch.hpp"

#include "kernels/kernels.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace ignd {

template <class T>
MlpBatch<T>::MlpBatch(const Model<T>& model, std::vector<Layer> layers, Activation activation, std::size_t size)
    : model_(model),
      layers_(std::move(layers)),
      activation_(activation),
      size_(size),
      read_weights_(layers_.front().rows * layers_.front().columns),
      seen_(layers_.front().rows),
      by_unit_(outputs() * size),
      outputs_(outputs() * size) {
  rows_.reserve(layers_.front().rows);
  for (const Layer& layer : layers_) {
    inputs_.emplace_back(layer.rows * size);
    if (inputs_.size() > 1) std::fill_n(inputs_.back().data() + (layer.rows - 1) * size, size, T{1});
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

// Texts are encoded as many features of which a sample has one. Those that are zero in all samples are left out where
// they are many; the sums keep their bits.
template <class T>
void MlpBatch<T>::find_rows(std::span<const Input<T>> x) {
  using Bits = SameSize<T>;
  const std::size_t features = layers_.front().rows - 1;
  std::ranges::fill(seen_, Bits{0});
  for (const Input<T>& sample : x) {
    const T* values = sample.values.data();
    for (std::size_t r = 0; r < features; ++r) seen_[r] |= std::bit_cast<Bits>(values[r]) << 1;
  }
  rows_.clear();
  for (std::size_t r = 0; r < features; ++r) {
    if (seen_[r] != 0) rows_.push_back(static_cast<std::uint32_t>(r));
  }
  rows_.push_back(static_cast<std::uint32_t>(features));
  const bool pays = rows_.size() * 4 < layers_.front().rows * 3;
  if (!pays) rows_.clear();
}

// A few features of all samples at a time, so that the lines that are written stay in the nearest cache.
template <class T>
void MlpBatch<T>::place_side_by_side(std::span<const Input<T>> x) {
  auto& block = std::get<OuterBatch<T>>(j_.blocks.front());
  block.rows = rows_;
  constexpr std::size_t at_once = 16;
  const std::size_t features = block.u_rows() - 1;
  for (std::size_t first = 0; first < features; first += at_once) {
    const std::size_t count = std::min(at_once, features - first);
    T* to = inputs_[0].data() + first * size_;
    for (std::size_t s = 0; s < x.size(); ++s) {
      const T* from = x[s].values.data();
      if (rows_.empty()) {
        for (std::size_t r = 0; r < count; ++r) to[r * size_ + s] = from[first + r];
      } else {
        for (std::size_t r = 0; r < count; ++r) to[r * size_ + s] = from[rows_[first + r]];
      }
    }
  }
  std::fill_n(inputs_[0].data() + features * size_, samples_, T{1});
}

// Of the rows that are read.
template <class T>
const T* MlpBatch<T>::first_weights() {
  const Layer& layer = layers_.front();
  if (rows_.empty()) return weights(layer);
  T* to = read_weights_.data();
  for (const std::uint32_t row : rows_) {
    to = std::copy_n(weights(layer) + row * layer.columns, layer.columns, to);
  }
  return read_weights_.data();
}

template <class T>
std::span<const T> MlpBatch<T>::forward(std::span<const Input<T>> x, RowReader* /*reader*/) {
  samples_ = x.size();
  find_rows(x);
  place_side_by_side(x);
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    const Layer& layer = layers_[l];
    const bool last = l + 1 == layers_.size();
    T* out = last ? by_unit_.data() : inputs_[l + 1].data();
    kernels::table<T>().product({.rows = layer.columns,
                                 .depth = l == 0 ? std::get<OuterBatch<T>>(j_.blocks[0]).u_rows() : layer.rows,
                                 .columns = samples_,
                                 .a = l == 0 ? first_weights() : weights(layer),
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
