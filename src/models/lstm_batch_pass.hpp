#pragma once

#include "models/batch_pass.hpp"

#include <vector>

namespace ignd {

// The way of a batch through an LSTM (see sequence_layers.hpp): at each step one product with the recurrent weights for
// all samples that have not ended, in each direction.
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

}  // namespace ignd
