#include "ignd/mlp.hpp"

#include "ignd/aligned.hpp"
#include "ignd/error.hpp"
#include "kernels/kernels.hpp"
#include "models/mlp_batch.hpp"
#include "models/model_specs.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ignd {
namespace {

// (inputs + 1) * outputs over all layers, refused before it can overflow.
std::size_t count_weights(const std::vector<std::size_t>& widths, std::size_t last) {
  if (widths.empty()) throw InvalidArgument("a network needs the number of its inputs");
  if (last == 0) throw InvalidArgument("a network needs an output");
  std::size_t sum = 0;
  for (std::size_t l = 0; l < widths.size(); ++l) {
    const std::size_t outputs = l + 1 < widths.size() ? widths[l + 1] : last;
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
    : Model<T>(count_weights(widths, options.outputs)), widths_(std::move(widths)), activation_(options.activation) {
  RandomStream stream(options.seed, "initial weights");
  std::size_t weights = 0;
  for (std::size_t l = 0; l < widths_.size(); ++l) {
    const std::size_t inputs = widths_[l];
    const std::size_t outputs = l + 1 < widths_.size() ? widths_[l + 1] : options.outputs;
    // From a whole cache line on, so that no vector of them lies in two.
    const std::size_t deltas = scratch_size_ + round_up_to_cache_line((inputs + 1) * sizeof(T)) / sizeof(T);
    layers_.push_back({inputs + 1, outputs, weights, scratch_size_, deltas, index_size_});
    fill_initial(options.initial, inputs, outputs, stream, this->parameters().subspan(weights, inputs * outputs));
    weights += (inputs + 1) * outputs;
    scratch_size_ = deltas + round_up_to_cache_line(outputs * sizeof(T)) / sizeof(T);
    index_size_ += inputs + 1;
  }
}

template <class T>
std::string Mlp<T>::spec() const {
  const std::string several = outputs() == 1 ? "" : fmt::format(",outputs={}", outputs());
  return fmt::format("mlp:widths={},activation={}{}", fmt::join(widths_, "x"), activation_name(activation_), several);
}

template <class T>
std::unique_ptr<Batch<T>> Mlp<T>::make_batch(std::size_t size) const {
  std::vector<typename MlpBatch<T>::Layer> layers;
  for (const Layer& layer : layers_) layers.push_back({layer.rows, layer.columns, layer.weights});
  return std::make_unique<MlpBatch<T>>(*this, std::move(layers), activation_, size);
}

template <class T>
void Mlp<T>::check(const Input<T>& x) const {
  this->check_dense(x, widths_[0]);
}

template <class T>
std::vector<RowTable> Mlp<T>::row_tables() const {
  std::vector<RowTable> tables;
  for (std::size_t l = 0; l + 1 < layers_.size(); ++l) {
    tables.push_back({layers_[l].weights, layers_[l].rows, layers_[l].columns});
  }
  return tables;
}

template <class T>
void Mlp<T>::prepare(Trace<T>& trace) const {
  if (outputs() != 1) {
    throw InvalidArgument(fmt::format("the network has {} outputs; only batches read and train it", outputs()));
  }
  trace.scratch.assign(scratch_size_, T{0});
  trace.index.assign(index_size_, 0);
  for (const Layer& layer : layers_) {
    std::iota(trace.index.begin() + static_cast<std::ptrdiff_t>(layer.active),
              trace.index.begin() + static_cast<std::ptrdiff_t>(layer.active + layer.rows), 0U);
  }
  trace.order.assign(layers_.size(), 0);
  trace.j.clear();
  const std::span<T> scratch = trace.scratch;
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    const Layer& layer = layers_[l];
    const auto inputs = scratch.subspan(layer.inputs, layer.rows);
    inputs.back() = 1;  // the bias's input
    if (l + 1 < layers_.size()) {
      const auto deltas = scratch.subspan(layer.deltas, layer.columns);
      trace.j.push_back(Outer<T>{.offset = layer.weights, .u = inputs, .v = deltas, .active = {}, .on_input = l == 0});
    } else {
      trace.j.push_back(Dense<T>{layer.weights, inputs, l == 0});  // a single unit, whose delta is 1
    }
  }
}

// Activates a layer's inputs and lists those that take part: all but the zeros, where a zero input stops what comes
// back as well. Units of other kinds pass a delta on whatever their value; prepare() has listed them all.
template <class T>
void Mlp<T>::activate(std::size_t l, Trace<T>& trace) const {
  const auto& kernel = kernels::table<T>();
  const Layer& layer = layers_[l];
  T* inputs = trace.scratch.data() + layer.inputs;
  std::uint32_t* active = trace.index.data() + layer.active;
  std::size_t count = layer.rows - 1;
  if (l == 0) {
    count = kernel.list_nonzero(inputs, count, active);
  } else if (activation_ == Activation::relu) {
    count = kernel.relu(inputs, count, active);
  } else if (activation_ == Activation::tanh) {
    kernel.tanh(inputs, count);
  }
  active[count] = static_cast<std::uint32_t>(layer.rows - 1);  // the bias
  trace.order[l] = count;
}

// The active inputs of a layer; its bias, which is always active, comes last and passes nothing back.
template <class T>
std::span<const std::uint32_t> Mlp<T>::active(std::size_t l, const Trace<T>& trace, bool with_bias) const {
  return {trace.index.data() + layers_[l].active, trace.order[l] + (with_bias ? 1 : 0)};
}

template <class T>
double Mlp<T>::forward(const Input<T>& x, Trace<T>& trace) const {
  const auto& kernel = kernels::table<T>();
  const T* w = this->parameters().data();
  T* scratch = trace.scratch.data();
  std::copy(x.values.begin(), x.values.end(), scratch);
  activate(0, trace);
  for (std::size_t l = 0; l + 1 < layers_.size(); ++l) {
    const Layer& layer = layers_[l];
    const auto rows = active(l, trace, true);
    std::get<Outer<T>>(trace.j[l]).active = rows;
    trace.about_to_read(l, rows);
    kernel.layer_forward(w + layer.weights, scratch + layer.inputs, rows, layer.columns,
                         scratch + layers_[l + 1].inputs);
    activate(l + 1, trace);
  }
  const Layer& last = layers_.back();
  return kernel.dot(w + last.weights, scratch + last.inputs, last.rows);
}

template <class T>
void Mlp<T>::sensitivity(const Input<T>& /*x*/, Trace<T>& trace) const {
  const auto& kernel = kernels::table<T>();
  const T* w = this->parameters().data();
  T* scratch = trace.scratch.data();
  for (std::size_t l = layers_.size() - 1; l > 0; --l) {
    const Layer& layer = layers_[l];
    T* below = scratch + layers_[l - 1].deltas;
    if (l + 1 == layers_.size()) {
      std::copy_n(w + layer.weights, layer.rows - 1, below);  // a single unit, whose delta is 1
      if (activation_ == Activation::relu) kernel.relu_backward(scratch + layer.inputs, below, layer.rows - 1);
    } else {
      std::fill_n(below, layer.rows - 1, T{0});
      kernel.layer_backward(w + layer.weights, scratch + layer.deltas, active(l, trace, false), layer.columns, below);
    }
    if (activation_ == Activation::tanh) kernel.tanh_backward(scratch + layer.inputs, below, layer.rows - 1);
  }
}

template class Mlp<float>;
template class Mlp<double>;

}  // namespace ignd
