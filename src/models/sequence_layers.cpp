#include "models/sequence_layers.hpp"

#include "base/text.hpp"
#include "ignd/initial_weights.hpp"
#include "kernels/kernels.hpp"
#include "models/matrix_product.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace ignd {
namespace {

template <class T>
class EmbeddingLayer final : public Layer<T> {
 public:
  EmbeddingLayer(const Shape& tokens, const Embedding& options)
      : steps_(tokens.size[0]), vocabulary_(tokens.size[1]), options_(options) {}

  std::string text() const override {
    return fmt::format("embedding {} deviation={}", options_.width, format_number(options_.deviation));
  }
  Shape output() const override { return Shape::sequence(steps_, options_.width); }
  std::size_t weights() const override { return vocabulary_ * options_.width; }

  void fill_initial(std::span<T> w, RandomStream& stream) const override {
    for (T& weight : w) weight = static_cast<T>(options_.deviation * stream.normal());
  }

  std::vector<RowTable> row_tables() const override {
    return {{.offset = 0, .rows = vocabulary_, .width = options_.width, .sparse = true}};
  }

  std::unique_ptr<Pass<T>> make_pass() const override {
    auto pass = std::make_unique<EmbeddingPass>();
    pass->order.reserve(steps_);
    pass->index.reserve(steps_);
    pass->rows.reserve(steps_ * options_.width);
    return pass;
  }

  void add_blocks(std::size_t offset, Pass<T>& /*pass*/, Sensitivity<T>& j) const override {
    j.push_back(SparseRows<T>{.offset = offset, .width = options_.width, .index = {}, .rows = {}});
  }

  void forward(std::span<const T> w, Pass<T>& any, const RowAnnouncer& about_to_read) const override {
    auto& pass = static_cast<EmbeddingPass&>(any);
    sort_tokens(pass);
    auto& block = std::get<SparseRows<T>>(pass.blocks[0]);
    block.index = pass.index;
    about_to_read(0, pass.index);
    pass.out_steps = pass.tokens.size();
    T* out = pass.out;
    for (const std::uint32_t token : pass.tokens) {
      out = std::copy_n(w.data() + token * options_.width, options_.width, out);
    }
  }

  // A token's row gets the sum over the steps that it stands at.
  void backward(std::span<const T> /*w*/, Pass<T>& any) const override {
    auto& pass = static_cast<EmbeddingPass&>(any);
    const auto& kernel = kernels::table<T>();
    pass.rows.assign(pass.index.size() * options_.width, T{0});
    T* row = pass.rows.data() - options_.width;
    std::uint64_t before = UINT64_MAX;
    for (const std::uint64_t entry : pass.order) {
      if (entry >> 32 != before) row += options_.width;
      before = entry >> 32;
      kernel.add(row, pass.out_delta + (entry & UINT32_MAX) * options_.width, options_.width, T{1});
    }
    std::get<SparseRows<T>>(pass.blocks[0]).rows = pass.rows;
  }

 private:
  struct EmbeddingPass final : Pass<T> {
    std::vector<std::uint64_t> order;  // token and step of each, by token
    std::vector<std::uint32_t> index;  // the tokens, each once
    AlignedVector<T> rows;
  };

  static void sort_tokens(EmbeddingPass& pass) {
    pass.order.clear();
    pass.index.clear();
    for (std::size_t step = 0; step < pass.tokens.size(); ++step) {
      pass.order.push_back(std::uint64_t{pass.tokens[step]} << 32 | step);
    }
    std::ranges::sort(pass.order);
    for (const std::uint64_t entry : pass.order) {
      const auto token = static_cast<std::uint32_t>(entry >> 32);
      if (pass.index.empty() || pass.index.back() != token) pass.index.push_back(token);
    }
  }

  std::size_t steps_, vocabulary_;
  Embedding options_;
};

// Padding between samples: without it, the same step of all samples would fall into the same cache set.
constexpr std::size_t gap = 16;

// A batch's pass through an LSTM: at each step, one product with the recurrent weights for all samples that have not
// ended, in each direction.
template <class T>
class LstmBatchPass final : public BatchPass<T> {
 public:
  LstmBatchPass(std::size_t inputs, std::size_t units, const BatchPlace<T>& place);

  void forward(std::span<const T> w, std::size_t samples, const RowAnnouncer& about_to_read) override;
  void backward(std::span<const T> w, std::size_t samples, std::size_t per_sample) override;

 private:
  // The longest sample has rank 0, so that those which have not ended are the first.
  void rank(std::size_t samples);
  std::size_t steps_of(std::size_t rank) const { return place_.in.steps[order_[rank]]; }
  std::size_t lasting(std::size_t step) const;
  void read_inputs(std::span<const T> w, std::size_t rank);
  void step_back(std::size_t step, std::size_t per_sample);
  void write_sensitivity(std::span<const T> w, std::size_t rank, std::size_t output, std::size_t per_sample);

  T* read(std::size_t rank, std::size_t step) { return read_.data() + rank * read_stride_ + step * rows_; }
  T* gates(std::size_t rank, std::size_t step) { return gates_.data() + rank * gate_stride_ + step * columns_; }
  T* deltas(std::size_t row, std::size_t step) { return deltas_.data() + row * gate_stride_ + step * columns_; }
  T* c(std::size_t rank, std::size_t step) { return c_.data() + rank * (steps_ + 1) * units_ + step * units_; }
  T* tanh_c(std::size_t rank, std::size_t step) { return tanh_c_.data() + (rank * steps_ + step) * units_; }

  BatchPlace<T> place_;
  std::size_t inputs_, units_, steps_;
  std::size_t rows_, columns_;  // of the weights
  std::size_t read_stride_, gate_stride_;
  std::vector<std::size_t> order_;  // the samples by rank

  // Of each sample by rank, step by step: what it reads (its inputs, the state before it and a 1), its gates, and its
  // cells before the first step and after each.
  AlignedVector<T> read_, gates_, c_, tanh_c_;

  // Of each row of J, the samples by rank.
  AlignedVector<T> deltas_;  // the derivatives with respect to the sums of the gates
  AlignedVector<T> dh_, dc_;
  AlignedVector<T> j_;
  AlignedVector<T> recurrent_;  // transposed
};

template <class T>
LstmBatchPass<T>::LstmBatchPass(std::size_t inputs, std::size_t units, const BatchPlace<T>& place)
    : place_(place),
      inputs_(inputs),
      units_(units),
      steps_(place.in.count / inputs),
      rows_(inputs + units + 1),
      columns_(4 * units),
      read_stride_((steps_ + 1) * rows_ + gap),
      gate_stride_(steps_ * columns_ + gap),
      order_(place.samples),
      read_(place.samples * read_stride_),
      gates_(place.samples * gate_stride_),
      c_(place.samples * (steps_ + 1) * units),
      tanh_c_(place.samples * steps_ * units),
      deltas_(place.rows * gate_stride_),
      dh_(place.rows * units),
      dc_(place.rows * units),
      j_(place.rows * rows_ * columns_),
      recurrent_(units * columns_) {
  for (std::size_t s = 0; s < place.samples; ++s) {
    for (std::size_t step = 0; step < steps_; ++step) read(s, step)[rows_ - 1] = 1;
  }
  DenseBatch<T> block{place.weights, {}};
  for (std::size_t k = 0; k < place.rows; ++k) {
    block.rows.push_back(std::span<const T>(j_).subspan(k * rows_ * columns_, rows_ * columns_));
  }
  place.blocks.push_back(std::move(block));
}

template <class T>
void LstmBatchPass<T>::rank(std::size_t samples) {
  order_.resize(samples);
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  const auto& steps = place_.in.steps;
  std::ranges::sort(order_,
                    [&](std::size_t a, std::size_t b) { return steps[a] != steps[b] ? steps[a] > steps[b] : a < b; });
}

// How many samples reach this step.
template <class T>
std::size_t LstmBatchPass<T>::lasting(std::size_t step) const {
  const auto ended = std::ranges::partition_point(order_, [&](std::size_t s) { return place_.in.steps[s] > step; });
  return static_cast<std::size_t>(ended - order_.begin());
}

// What the inputs of all steps of a sample add to its gates, at once.
template <class T>
void LstmBatchPass<T>::read_inputs(std::span<const T> w, std::size_t rank) {
  const T* biases = w.data() + (rows_ - 1) * columns_;
  const T* in = place_.in.value(order_[rank]);
  const std::size_t steps = steps_of(rank);
  for (std::size_t step = 0; step < steps; ++step) {
    std::copy_n(in + step * inputs_, inputs_, read(rank, step));
    std::copy_n(biases, columns_, gates(rank, step));
  }
  multiply<T>(steps, columns_, inputs_, {in, inputs_}, {w.data(), columns_}, {gates(rank, 0), columns_}, true);
  place_.out.steps[order_[rank]] = steps;
}

template <class T>
void LstmBatchPass<T>::forward(std::span<const T> w, std::size_t samples, const RowAnnouncer& /*about_to_read*/) {
  const auto& kernel = kernels::table<T>();
  rank(samples);
  for (std::size_t r = 0; r < samples; ++r) read_inputs(w, r);
  std::size_t count = 0;
  for (std::size_t step = 0; (count = lasting(step)) > 0; ++step) {
    if (step > 0) {
      kernel.product({.rows = count,
                      .depth = units_,
                      .columns = columns_,
                      .a = read(0, step) + inputs_,
                      .a_row_stride = read_stride_,
                      .a_column_stride = 1,
                      .b = w.data() + inputs_ * columns_,
                      .b_stride = columns_,
                      .out = gates(0, step),
                      .out_stride = gate_stride_,
                      .add = true});
    }
    for (std::size_t r = 0; r < count; ++r) {
      T* h = place_.out.value(order_[r]) + step * units_;
      kernel.lstm_forward(gates(r, step), c(r, step), units_, c(r, step + 1), tanh_c(r, step), h);
      std::copy_n(h, units_, read(r, step + 1) + inputs_);
    }
  }
}

// From the derivatives at the step after this one, of the samples that have one, to those at this one.
template <class T>
void LstmBatchPass<T>::step_back(std::size_t step, std::size_t per_sample) {
  const auto& kernel = kernels::table<T>();
  const std::size_t rows = lasting(step) * per_sample, from_later = lasting(step + 1) * per_sample;
  if (from_later > 0) {
    kernel.product({.rows = from_later,
                    .depth = columns_,
                    .columns = units_,
                    .a = deltas(0, step + 1),
                    .a_row_stride = gate_stride_,
                    .a_column_stride = 1,
                    .b = recurrent_.data(),
                    .b_stride = units_,
                    .out = dh_.data(),
                    .out_stride = units_});
  }
  std::fill_n(dh_.data() + from_later * units_, (rows - from_later) * units_, T{0});
  for (std::size_t row = 0; row < rows; ++row) {
    const std::size_t r = row / per_sample, k = order_[r] * per_sample + row % per_sample;
    T* dh = dh_.data() + row * units_;
    kernel.add(dh, place_.out.delta(k) + step * units_, units_, T{1});
    std::copy_n(gates(r, step), columns_, deltas(row, step));
    kernel.lstm_backward(deltas(row, step), c(r, step), tanh_c(r, step), dh, units_, dc_.data() + row * units_);
  }
}

template <class T>
void LstmBatchPass<T>::write_sensitivity(std::span<const T> w, std::size_t rank, std::size_t output,
                                         std::size_t per_sample) {
  const std::size_t steps = steps_of(rank), row = rank * per_sample + output, k = order_[rank] * per_sample + output;
  multiply<T>(rows_, columns_, steps, {read(rank, 0), rows_, true}, {deltas(row, 0), columns_},
              {j_.data() + k * rows_ * columns_, columns_});
  if (T* in_delta = place_.in.delta(k); in_delta != nullptr) {
    multiply<T>(steps, inputs_, columns_, {deltas(row, 0), columns_}, {w.data(), columns_, true}, {in_delta, inputs_});
  }
}

template <class T>
void LstmBatchPass<T>::backward(std::span<const T> w, std::size_t samples, std::size_t per_sample) {
  if (samples == 0) return;
  transpose(w.data() + inputs_ * columns_, units_, columns_, columns_, recurrent_.data(), units_);
  std::fill_n(dc_.data(), samples * per_sample * units_, T{0});
  for (std::size_t step = steps_of(0); step-- > 0;) step_back(step, per_sample);
  for (std::size_t r = 0; r < samples; ++r) {
    for (std::size_t output = 0; output < per_sample; ++output) write_sensitivity(w, r, output, per_sample);
  }
}

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
    if (place.samples == 1) return nullptr;  // a single sample is faster in its own pass
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
std::unique_ptr<Layer<T>> make_embedding_layer(const Shape& tokens, const Embedding& options) {
  return std::make_unique<EmbeddingLayer<T>>(tokens, options);
}

template <class T>
std::unique_ptr<Layer<T>> make_lstm_layer(const Shape& sequence, const Lstm& options) {
  return std::make_unique<LstmLayer<T>>(sequence, options);
}

template <class T>
std::unique_ptr<Layer<T>> make_last_layer(const Shape& sequence) {
  return std::make_unique<LastLayer<T>>(sequence.size[1]);
}

template std::unique_ptr<Layer<float>> make_embedding_layer(const Shape&, const Embedding&);
template std::unique_ptr<Layer<double>> make_embedding_layer(const Shape&, const Embedding&);
template std::unique_ptr<Layer<float>> make_lstm_layer(const Shape&, const Lstm&);
template std::unique_ptr<Layer<double>> make_lstm_layer(const Shape&, const Lstm&);
template std::unique_ptr<Layer<float>> make_last_layer(const Shape&);
template std::unique_ptr<Layer<double>> make_last_layer(const Shape&);

}  // namespace ignd
