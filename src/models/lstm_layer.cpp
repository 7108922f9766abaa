#include "base/text.hpp"
#include "ignd/initial_weights.hpp"
#include "kernels/kernels.hpp"
#include "models/lstm_batch_pass.hpp"
#include "models/matrix_product.hpp"
#include "models/sequence_layers.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include <fmt/format.h>

namespace ignd {
namespace {

// A rotation, each equally likely, column by column: a normal matrix whose columns are made orthogonal to those before
// them, twice since once leaves some of what rounding adds. Plain sums, which are the same on every processor.
std::vector<double> random_rotation(std::size_t size, RandomStream& stream) {
  std::vector<double> columns(size * size);
  for (std::size_t r = 0; r < size; ++r) {
    for (std::size_t c = 0; c < size; ++c) columns[c * size + r] = stream.normal();
  }
  const auto product = [size](const double* a, const double* b) { return std::inner_product(a, a + size, b, 0.0); };
  for (std::size_t c = 0; c < size; ++c) {
    double* column = columns.data() + c * size;
    for (int pass = 0; pass < 2; ++pass) {
      for (const double* before = columns.data(); before < column; before += size) {
        const double share = product(before, column);
        for (std::size_t r = 0; r < size; ++r) column[r] -= share * before[r];
      }
    }
    const double length = std::sqrt(product(column, column));
    for (std::size_t r = 0; r < size; ++r) column[r] /= length;
  }
  return columns;
}

constexpr std::size_t gates = 4;

template <class T>
class LstmLayer final : public Layer<T> {
 public:
  LstmLayer(const Shape& sequence, const Lstm& options)
      : steps_(sequence.size[0]),
        inputs_(sequence.size[1]),
        units_(options.units),
        options_(options),
        rows_(inputs_ + units_ + 1),
        columns_(gates * units_),
        all_units_(units_) {
    std::iota(all_units_.begin(), all_units_.end(), 0U);
  }

  std::string text() const override {
    return fmt::format("lstm {} forget-bias={} recurrent={}", units_, format_number(options_.forget_bias),
                       options_.orthogonal ? "orthogonal" : "lecun");
  }
  Shape output() const override { return Shape::sequence(steps_, units_); }
  std::size_t weights() const override { return rows_ * columns_; }

  void fill_initial(std::span<T> w, RandomStream& stream) const override {
    ignd::fill_initial(InitialWeights::lecun, inputs_, columns_, stream, w.first(inputs_ * columns_));
    const auto recurrent = w.subspan(inputs_ * columns_, units_ * columns_);
    if (options_.orthogonal) {
      for (std::size_t gate = 0; gate < gates; ++gate) {
        const std::vector<double> rotation = random_rotation(units_, stream);
        for (std::size_t r = 0; r < units_; ++r) {
          for (std::size_t c = 0; c < units_; ++c) {
            recurrent[r * columns_ + gate * units_ + c] = static_cast<T>(rotation[c * units_ + r]);
          }
        }
      }
    } else {
      ignd::fill_initial(InitialWeights::lecun, units_, columns_, stream, recurrent);
    }
    std::ranges::fill(w.last(columns_).subspan(units_, units_), static_cast<T>(options_.forget_bias));
  }

  std::unique_ptr<Pass<T>> make_pass() const override {
    auto pass = std::make_unique<LstmPass>();
    pass->read.assign((steps_ + 1) * rows_, T{0});
    for (std::size_t step = 0; step < steps_; ++step) pass->read[step * rows_ + rows_ - 1] = 1;
    pass->gates.resize(steps_ * columns_);
    pass->gate_deltas.resize(steps_ * columns_);
    pass->c.assign((steps_ + 1) * units_, T{0});
    pass->tanh_c.resize(steps_ * units_);
    pass->sums.resize(columns_);
    pass->dh.resize(units_);
    pass->dc.resize(units_);
    pass->j.assign(weights(), T{0});
    return pass;
  }

  void add_blocks(std::size_t offset, Pass<T>& any, Sensitivity<T>& j) const override {
    j.push_back(Dense<T>{.offset = offset, .j = static_cast<LstmPass&>(any).j});
  }

  void forward(std::span<const T> w, Pass<T>& any, const RowAnnouncer& /*about_to_read*/) const override {
    auto& pass = static_cast<LstmPass&>(any);
    const auto& kernel = kernels::table<T>();
    const std::size_t steps = pass.in_steps;
    pass.out_steps = steps;
    const T* biases = w.data() + (rows_ - 1) * columns_;
    for (std::size_t step = 0; step < steps; ++step) {
      std::copy_n(pass.in + step * inputs_, inputs_, pass.read.data() + step * rows_);
      std::copy_n(biases, columns_, pass.gates.data() + step * columns_);
    }
    // What the inputs add to the gates of all steps, at once.
    multiply<T>(steps, columns_, inputs_, {pass.read.data(), rows_}, {w.data(), columns_},
                {pass.gates.data(), columns_}, true);
    const T* recurrent = w.data() + inputs_ * columns_;
    for (std::size_t step = 0; step < steps; ++step) {
      T* sums = pass.gates.data() + step * columns_;
      if (step > 0) {
        kernel.layer_forward(recurrent, pass.out + (step - 1) * units_, all_units_, columns_, pass.sums.data());
        kernel.add(sums, pass.sums.data(), columns_, T{1});
      }
      T* h = pass.out + step * units_;
      T* c = pass.c.data() + step * units_;
      kernel.lstm_forward(sums, c, units_, c + units_, pass.tanh_c.data() + step * units_, h);
      std::copy_n(h, units_, pass.read.data() + (step + 1) * rows_ + inputs_);
    }
  }

  void backward(std::span<const T> w, Pass<T>& any) const override {
    auto& pass = static_cast<LstmPass&>(any);
    const auto& kernel = kernels::table<T>();
    const std::size_t steps = pass.in_steps;
    const T* recurrent = w.data() + inputs_ * columns_;
    std::ranges::fill(pass.dc, T{0});
    for (std::size_t step = steps; step-- > 0;) {
      T* deltas = pass.gate_deltas.data() + step * columns_;
      std::copy_n(pass.gates.data() + step * columns_, columns_, deltas);
      const T* from_out = pass.out_delta + step * units_;
      if (step + 1 == steps) {
        std::copy_n(from_out, units_, pass.dh.data());
      } else {
        kernel.layer_backward(recurrent, deltas + columns_, all_units_, columns_, pass.dh.data());
        kernel.add(pass.dh.data(), from_out, units_, T{1});
      }
      kernel.lstm_backward(deltas, pass.c.data() + step * units_, pass.tanh_c.data() + step * units_, pass.dh.data(),
                           units_, pass.dc.data());
    }
    multiply<T>(rows_, columns_, steps, {pass.read.data(), rows_, true}, {pass.gate_deltas.data(), columns_},
                {pass.j.data(), columns_});
    if (pass.in_delta == nullptr) return;
    multiply<T>(steps, inputs_, columns_, {pass.gate_deltas.data(), columns_}, {w.data(), columns_, true},
                {pass.in_delta, inputs_});
  }

  std::unique_ptr<BatchPass<T>> make_batch_pass(const BatchPlace<T>& place) const override {
    if (place.samples == 1) return nullptr;  // alone a sample takes less time the other way
    return std::make_unique<LstmBatchPass<T>>(inputs_, units_, place);
  }

 private:
  struct LstmPass final : Pass<T> {
    AlignedVector<T> read;         // what each step reads: its inputs, the state before it and a 1
    AlignedVector<T> gates;        // of each step
    AlignedVector<T> gate_deltas;  // the derivatives with respect to their sums
    AlignedVector<T> c;            // before the first step, and after each
    AlignedVector<T> tanh_c;
    AlignedVector<T> sums;  // what the state before adds to the gates of one step
    AlignedVector<T> dh, dc;
    AlignedVector<T> j;
  };

  std::size_t steps_, inputs_, units_;
  Lstm options_;
  std::size_t rows_, columns_;
  std::vector<std::uint32_t> all_units_;
};

template <class T>
class LastLayer final : public Layer<T> {
 public:
  explicit LastLayer(std::size_t width) : width_(width) {}

  std::string text() const override { return "last"; }
  Shape output() const override { return Shape::values(width_); }

  void forward(std::span<const T> /*w*/, Pass<T>& pass, const RowAnnouncer& /*about_to_read*/) const override {
    if (pass.in_steps == 0) {
      std::fill_n(pass.out, width_, T{0});
    } else {
      std::copy_n(pass.in + (pass.in_steps - 1) * width_, width_, pass.out);
    }
  }

  void backward(std::span<const T> /*w*/, Pass<T>& pass) const override {
    if (pass.in_delta == nullptr || pass.in_steps == 0) return;
    T* last = std::fill_n(pass.in_delta, (pass.in_steps - 1) * width_, T{0});
    std::copy_n(pass.out_delta, width_, last);
  }

 private:
  std::size_t width_;
};

}  // namespace

template <class T>
std::unique_ptr<Layer<T>> make_lstm_layer(const Shape& sequence, const Lstm& options) {
  return std::make_unique<LstmLayer<T>>(sequence, options);
}

template <class T>
std::unique_ptr<Layer<T>> make_last_layer(const Shape& sequence) {
  return std::make_unique<LastLayer<T>>(sequence.size[1]);
}

template std::unique_ptr<Layer<float>> make_lstm_layer(const Shape&, const Lstm&);
template std::unique_ptr<Layer<double>> make_lstm_layer(const Shape&, const Lstm&);
template std::unique_ptr<Layer<float>> make_last_layer(const Shape&);
template std::unique_ptr<Layer<double>> make_last_layer(const Shape&);

}  // namespace ignd
