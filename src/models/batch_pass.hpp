#pragma once

#include "ignd/aligned.hpp"
#include "ignd/batch.hpp"
#include "ignd/model.hpp"
#include "models/row_announcer.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace ignd {

// What passes between two layers for the samples of a batch, one sample after the other. On the way back it is rows of
// J, as many for each sample.
template <class T>
struct BatchValues {
  BatchValues(std::size_t numbers, std::size_t samples)
      : count(numbers), values(numbers * samples), steps(samples, 1) {}

  const T* value(std::size_t sample) const { return values.data() + sample * count; }
  T* value(std::size_t sample) { return values.data() + sample * count; }
  // Null where nobody asks.
  const T* delta(std::size_t row) const { return deltas.empty() ? nullptr : deltas.data() + row * count; }
  T* delta(std::size_t row) { return deltas.empty() ? nullptr : deltas.data() + row * count; }

  std::size_t count;  // of a sample
  AlignedVector<T> values, deltas;
  std::vector<std::size_t> steps;  // of each sample's sequence; 1 for everything else
  std::span<const Input<T>> x;     // of the network's input: whose tokens are read
};

// Where a layer stands in a batch, and the room it is given.
template <class T>
struct BatchPlace {
  std::size_t samples;  // at the most
  std::size_t rows;     // of J, at the most
  std::size_t weights;  // where the layer's start
  BatchValues<T>& in;
  BatchValues<T>& out;
  std::vector<BatchBlock<T>>& blocks;  // to which the layer appends its own, once
};

// The way of a batch through a layer. Neither direction allocates once the largest sample has been seen.
template <class T>
class BatchPass {
 public:
  BatchPass() = default;
  BatchPass(const BatchPass&) = delete;
  BatchPass& operator=(const BatchPass&) = delete;
  BatchPass(BatchPass&&) = delete;
  BatchPass& operator=(BatchPass&&) = delete;
  virtual ~BatchPass() = default;

  virtual void forward(std::span<const T> w, std::size_t samples, const RowAnnouncer& about_to_read) = 0;
  // Any number of times after forward on the same samples. Fills the deltas of what the layer takes, and its blocks.
  virtual void backward(std::span<const T> w, std::size_t samples, std::size_t per_sample) = 0;
};

}  // namespace ignd
