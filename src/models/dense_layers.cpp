#include "models/dense_layers.hpp"

#include "ignd/initial_weights.hpp"
#include "kernels/kernels.hpp"
#include "models/matrix_product.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

namespace ignd {
namespace {

// A batch's pass through a dense layer: one matrix product for all samples in each direction, so that the weights are
// read once per batch.
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

template <class T>
DenseBatchPass<T>::DenseBatchPass(const BatchPlace<T>& place)
    : place_(place),
      inputs_(place.in.count),
      units_(place.out.count),
      u_((inputs_ + 1) * place.samples),
      v_(units_ * place.rows),
      below_(place.in.deltas.size()) {
  std::fill_n(u_.end() - static_cast<std::ptrdiff_t>(place.samples), place.samples, T{1});
  place.blocks.push_back(OuterBatch<T>{.offset = place.weights,
                                       .inputs = inputs_ + 1,
                                       .units = units_,
                                       .u = u_.data(),
                                       .u_stride = place.samples,
                                       .v = v_.data(),
                                       .v_stride = place.rows});
}

// All rows of the weights are read at every step, so that there is nothing to announce.
template <class T>
void DenseBatchPass<T>::forward(std::span<const T> w, std::size_t samples, const RowAnnouncer& /*about_to_read*/) {
  transpose(place_.in.value(0), samples, inputs_, inputs_, u_.data(), place_.samples);
  const T* biases = w.data() + inputs_ * units_;
  for (std::size_t s = 0; s < samples; ++s) std::copy_n(biases, units_, place_.out.value(s));
  multiply<T>(samples, units_, inputs_, {place_.in.value(0), inputs_}, {w.data(), units_},
              {place_.out.value(0), units_}, true);
}

template <class T>
void DenseBatchPass<T>::backward(std::span<const T> w, std::size_t samples, std::size_t per_sample) {
  const std::size_t rows = samples * per_sample;
  transpose(place_.out.delta(0), rows, units_, units_, v_.data(), place_.rows);
  if (below_.empty()) return;
  // Large layers are faster this way than with the rows of J in front.
  multiply<T>(inputs_, rows, units_, {w.data(), units_}, {v_.data(), place_.rows}, {below_.data(), place_.rows});
  transpose(below_.data(), inputs_, rows, place_.rows, place_.in.delta(0), inputs_);
}

template <class T>
class DenseLayer final : public Layer<T> {
 public:
  DenseLayer(std::size_t inputs, std::size_t units, bool zeros_stop)
      : inputs_(inputs), units_(units), zeros_stop_(zeros_stop) {}

  std::string text() const override { return fmt::format("dense {}", units_); }
  Shape output() const override { return Shape::values(units_); }
  std::size_t weights() const override { return (inputs_ + 1) * units_; }

  void fill_initial(std::span<T> w, RandomStream& stream) const override {
    ignd::fill_initial(InitialWeights::lecun, inputs_, units_, stream, w.first(inputs_ * units_));
  }

  std::vector<RowTable> row_tables() const override { return {{.offset = 0, .rows = inputs_ + 1, .width = units_}}; }

  std::unique_ptr<Pass<T>> make_pass() const override {
    auto pass = std::make_unique<DensePass>();
    pass->inputs.assign(inputs_ + 1, T{1});  // the last is the biases'
    pass->active.resize(inputs_ + 1);
    std::iota(pass->active.begin(), pass->active.end(), 0U);
    pass->count = inputs_;
    return pass;
  }

  void add_blocks(std::size_t offset, Pass<T>& any, Sensitivity<T>& j) const override {
    auto& pass = static_cast<DensePass&>(any);
    j.push_back(Outer<T>{.offset = offset, .u = pass.inputs, .v = {pass.out_delta, units_}, .active = {}});
  }

  void forward(std::span<const T> w, Pass<T>& any, const RowAnnouncer& about_to_read) const override {
    auto& pass = static_cast<DensePass&>(any);
    const auto& kernel = kernels::table<T>();
    std::copy_n(pass.in, inputs_, pass.inputs.begin());
    if (zeros_stop_ || pass.in_delta == nullptr) {
      pass.count = kernel.list_nonzero(pass.inputs.data(), inputs_, pass.active.data());
      pass.active[pass.count] = static_cast<std::uint32_t>(inputs_);
    }
    const auto rows = std::span<const std::uint32_t>(pass.active).first(pass.count + 1);
    std::get<Outer<T>>(pass.blocks[0]).active = rows;
    about_to_read(0, rows);
    kernel.layer_forward(w.data(), pass.inputs.data(), rows, units_, pass.out);
  }

  void backward(std::span<const T> w, Pass<T>& any) const override {
    auto& pass = static_cast<DensePass&>(any);
    if (pass.in_delta == nullptr) return;
    const auto rows = std::span<const std::uint32_t>(pass.active).first(pass.count);
    if (rows.size() < inputs_) std::fill_n(pass.in_delta, inputs_, T{0});
    kernels::table<T>().layer_backward(w.data(), pass.out_delta, rows, units_, pass.in_delta);
  }

  std::unique_ptr<BatchPass<T>> make_batch_pass(const BatchPlace<T>& place) const override {
    return std::make_unique<DenseBatchPass<T>>(place);
  }

 private:
  struct DensePass final : Pass<T> {
    AlignedVector<T> inputs;
    std::vector<std::uint32_t> active;  // the inputs that take part, and behind them the biases' row
    std::size_t count = 0;              // how many inputs that is
  };

  std::size_t inputs_, units_;
  bool zeros_stop_;
};

template <class T>
class ElementwiseLayer final : public Layer<T> {
 public:
  ElementwiseLayer(const Shape& shape, Elementwise function) : shape_(shape), function_(function) {}

  std::string text() const override { return function_ == Elementwise::relu ? "relu" : "tanh"; }
  Shape output() const override { return shape_; }

  void forward(std::span<const T> /*w*/, Pass<T>& pass, const RowAnnouncer& /*about_to_read*/) const override {
    const std::size_t n = count(pass);
    pass.out_steps = pass.in_steps;
    if (function_ == Elementwise::relu) {
      std::transform(pass.in, pass.in + n, pass.out, [](T x) { return x < 0 ? T{0} : x; });
    } else {
      std::copy_n(pass.in, n, pass.out);
      kernels::table<T>().tanh(pass.out, n);
    }
  }

  void backward(std::span<const T> /*w*/, Pass<T>& pass) const override {
    if (pass.in_delta == nullptr) return;
    const std::size_t n = count(pass);
    std::copy_n(pass.out_delta, n, pass.in_delta);
    const auto& kernel = kernels::table<T>();
    (function_ == Elementwise::relu ? kernel.relu_backward : kernel.tanh_backward)(pass.out, pass.in_delta, n);
  }

 private:
  std::size_t count(const Pass<T>& pass) const {
    return shape_.kind == Shape::Kind::sequence ? pass.in_steps * shape_.size[1] : shape_.count();
  }

  Shape shape_;
  Elementwise function_;
};

template <class T>
class FlattenLayer final : public Layer<T> {
 public:
  explicit FlattenLayer(std::size_t count) : count_(count) {}

  std::string text() const override { return "flatten"; }
  Shape output() const override { return Shape::values(count_); }

  void forward(std::span<const T> /*w*/, Pass<T>& pass, const RowAnnouncer& /*about_to_read*/) const override {
    std::copy_n(pass.in, count_, pass.out);
  }
  void backward(std::span<const T> /*w*/, Pass<T>& pass) const override {
    if (pass.in_delta != nullptr) std::copy_n(pass.out_delta, count_, pass.in_delta);
  }

 private:
  std::size_t count_;
};

}  // namespace

template <class T>
std::unique_ptr<Layer<T>> make_dense_layer(std::size_t inputs, std::size_t units, bool zeros_stop) {
  return std::make_unique<DenseLayer<T>>(inputs, units, zeros_stop);
}

template <class T>
std::unique_ptr<Layer<T>> make_elementwise_layer(const Shape& shape, Elementwise function) {
  return std::make_unique<ElementwiseLayer<T>>(shape, function);
}

template <class T>
std::unique_ptr<Layer<T>> make_flatten_layer(const Shape& shape) {
  return std::make_unique<FlattenLayer<T>>(shape.count());
}

template std::unique_ptr<Layer<float>> make_dense_layer(std::size_t, std::size_t, bool);
template std::unique_ptr<Layer<double>> make_dense_layer(std::size_t, std::size_t, bool);
template std::unique_ptr<Layer<float>> make_elementwise_layer(const Shape&, Elementwise);
template std::unique_ptr<Layer<double>> make_elementwise_layer(const Shape&, Elementwise);
template std::unique_ptr<Layer<float>> make_flatten_layer(const Shape&);
template std::unique_ptr<Layer<double>> make_flatten_layer(const Shape&);

}  // namespace ignd
