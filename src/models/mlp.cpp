#include "ignd/mlp.hpp"

#include "ignd/error.hpp"
#include "kernels/kernels.hpp"
#include "models/activation.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ignd {
namespace {

kernels::Unit unit(Activation activation) {
  switch (activation) {
    case Activation::relu:
      return kernels::Unit::relu;
    case Activation::tanh:
      return kernels::Unit::tanh;
    case Activation::identity:
      return kernels::Unit::identity;
  }
  throw InvalidArgument("unknown activation");
}

// (inputs + 1) * outputs over all layers, refused before it can overflow.
std::size_t count_weights(const std::vector<std::size_t>& widths) {
  if (widths.empty()) throw InvalidArgument("a network needs the number of its inputs");
  std::size_t sum = 0;
  for (std::size_t l = 0; l < widths.size(); ++l) {
    const std::size_t outputs = l + 1 < widths.size() ? widths[l + 1] : 1;
    if (widths[l] == 0) throw InvalidArgument(fmt::format("width {} of the network is 0", l));
    if (widths[l] >= most_parameters || outputs >= most_parameters) return most_parameters + 1;
    sum += (widths[l] + 1) * outputs;
    if (sum > most_parameters) return sum;
  }
  return sum;
}

}  // namespace

template <class T>
Mlp<T>::Mlp(std::vector<std::size_t> widths, MlpOptions options)
    : Model<T>(count_weights(widths)), widths_(std::move(widths)), activation_(options.activation) {
  Stream stream(options.seed, "initial weights");
  std::size_t weights = 0;
  for (std::size_t l = 0; l < widths_.size(); ++l) {
    const std::size_t inputs = widths_[l];
    const std::size_t outputs = l + 1 < widths_.size() ? widths_[l + 1] : 1;
    layers_.push_back({inputs + 1, outputs, weights, scratch_size_, scratch_size_ + inputs + 1});
    fill_initial(options.initial, inputs, outputs, stream, this->parameters().subspan(weights, inputs * outputs));
    weights += (inputs + 1) * outputs;
    scratch_size_ += inputs + 1 + outputs;
  }
}

template <class T>
std::string Mlp<T>::spec() const {
  return fmt::format("mlp:widths={},activation={}", fmt::join(widths_, "x"), activation_name(activation_));
}

template <class T>
void Mlp<T>::check(const Input<T>& x) const {
  this->check_dense(x, widths_[0]);
}

template <class T>
void Mlp<T>::prepare(Trace<T>& trace) const {
  trace.index.clear();
  trace.scratch.assign(scratch_size_, T{0});
  trace.j.clear();
  const std::span<T> scratch = trace.scratch;
  for (const Layer& layer : layers_) {
    scratch[layer.inputs + layer.rows - 1] = 1;  // the bias's input
    trace.j.push_back(Outer<T>{layer.weights, scratch.subspan(layer.inputs, layer.rows),
                               scratch.subspan(layer.deltas, layer.columns), &layer == &layers_.front()});
  }
  scratch[layers_.back().deltas] = 1;  // df/df
}

template <class T>
double Mlp<T>::forward(const Input<T>& x, Trace<T>& trace) const {
  const T* w = this->parameters().data();
  T* scratch = trace.scratch.data();
  std::copy(x.values.begin(), x.values.end(), scratch);
  for (std::size_t l = 0; l + 1 < layers_.size(); ++l) {
    const Layer& layer = layers_[l];
    T* out = scratch + layers_[l + 1].inputs;
    kernels::layer_forward(w + layer.weights, scratch + layer.inputs, layer.rows, layer.columns, out);
    kernels::activate(unit(activation_), out, layer.columns);
  }
  const Layer& last = layers_.back();
  return kernels::dot(w + last.weights, scratch + last.inputs, last.rows);
}

template <class T>
void Mlp<T>::sensitivity(const Input<T>& /*x*/, Trace<T>& trace) const {
  const T* w = this->parameters().data();
  T* scratch = trace.scratch.data();
  for (std::size_t l = layers_.size() - 1; l > 0; --l) {
    const Layer& layer = layers_[l];
    T* below = scratch + layers_[l - 1].deltas;
    const std::size_t units = layer.rows - 1;  // the bias passes nothing on
    kernels::layer_backward(w + layer.weights, scratch + layer.deltas, units, layer.columns, below);
    kernels::activate_backward(unit(activation_), scratch + layer.inputs, below, units);
  }
}

template class Mlp<float>;
template class Mlp<double>;

}  // namespace ignd
