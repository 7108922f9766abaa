#include "models/lstm_batch_pass.hpp"

#include "kernels/kernels.hpp"
#include "models/matrix_product.hpp"
#include "models/transpose.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace ignd {
namespace {

// Between the numbers of two samples: without it the same step of all of them would fall on one place of a cache.
constexpr std::size_t gap = 16;

}  // namespace

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

// How many samples have such a step.
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

template class LstmBatchPass<float>;
template class LstmBatchPass<double>;

}  // namespace ignd
