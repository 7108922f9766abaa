#pragma once

#include "ignd/api.hpp"
#include "ignd/sensitivity.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>
#include <vector>

namespace ignd {

template <class T>
struct Input;
class RowReader;

// The sensitivities of a batch are the rows of a matrix J, as many for each sample: row k belongs to sample
// k / per_sample. As for one sample they are a list of blocks in the cheapest form a layer has, and views: the arrays
// belong to a Batch. Where there is a matrix it is stored unit by unit, the samples side by side, so that all products
// run along the samples.

// A dense layer: j_k[row(i)][c] = u[i][k / per_sample] * v[c][k].
template <class T>
struct OuterBatch {
  std::size_t offset = 0;
  std::size_t inputs = 0;
  std::size_t units = 0;
  const T* u = nullptr;  // u_rows() x samples
  std::size_t u_stride = 0;
  const T* v = nullptr;  // units x rows of J
  std::size_t v_stride = 0;
  bool on_input = false;  // as in Outer
  // The inputs that u has, in increasing order; the others are zero in all samples. Empty: all.
  std::span<const std::uint32_t> rows = {};

  std::size_t u_rows() const { return rows.empty() ? inputs : rows.size(); }
  std::size_t row(std::size_t i) const { return rows.empty() ? i : rows[i]; }
};

// Weights shared within a sample, as in a convolution: every row of J is written out.
template <class T>
struct DenseBatch {
  std::size_t offset = 0;
  std::vector<std::span<const T>> rows;
};

// Some rows of a table for each row of J.
template <class T>
struct RowsBatch {
  std::size_t offset = 0;
  std::size_t width = 1;
  std::vector<SparseRows<T>> rows;
  bool on_input = false;
};

template <class T>
using BatchBlock = std::variant<OuterBatch<T>, DenseBatch<T>, RowsBatch<T>>;

template <class T>
struct BatchSensitivity {
  std::size_t samples = 0;
  std::size_t per_sample = 1;
  std::vector<BatchBlock<T>> blocks;

  std::size_t rows() const { return samples * per_sample; }
};

// A batch of samples on its way through a model, with the memory for it. Made by Model::make_batch; uses the weights as
// they are at each call, from one thread at a time. The calls allocate nothing once the largest sample has been seen.
template <class T>
class IGND_API Batch {
 public:
  Batch() = default;
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;
  Batch(Batch&&) = delete;
  Batch& operator=(Batch&&) = delete;
  virtual ~Batch() = default;

  // Returns the outputs, sample by sample. The model must have checked the samples, at most as many as the batch was
  // made for. Rows of sparse tables are announced to the reader, if there is one, before they are read.
  virtual std::span<const T> forward(std::span<const Input<T>> x, RowReader* reader) = 0;

  // After forward on the same samples. One row of J for each output of each sample: its sensitivity.
  virtual const BatchSensitivity<T>& sensitivities() = 0;

  // For models with several outputs: one row of J per sample, the sum of its outputs' sensitivities, each times its
  // factor (one factor per output, in order).
  virtual const BatchSensitivity<T>& combined(std::span<const T> factors) = 0;
};

}  // namespace ignd
