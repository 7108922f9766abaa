#pragma once

#include "ignd/aligned.hpp"
#include "ignd/batch.hpp"
#include "ignd/model.hpp"
#include "ignd/random.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace ignd {

// The shape of what passes between two layers for one sample.
struct Shape {
  enum class Kind {
    values,    // size[0] numbers
    image,     // channels x height x width, channel by channel and row by row
    sequence,  // up to size[0] steps of size[1] numbers each
    tokens     // up to size[0] steps, each a token below size[1]
  };

  Kind kind = Kind::values;
  std::array<std::size_t, 3> size{};

  static Shape values(std::size_t count) { return {Kind::values, {count, 1, 1}}; }
  static Shape image(std::size_t channels, std::size_t height, std::size_t width) {
    return {Kind::image, {channels, height, width}};
  }
  static Shape sequence(std::size_t steps, std::size_t width) { return {Kind::sequence, {steps, width, 1}}; }
  static Shape tokens(std::size_t steps, std::size_t vocabulary) { return {Kind::tokens, {steps, vocabulary, 1}}; }

  // The largest number of values; 0 for tokens.
  std::size_t count() const { return kind == Kind::tokens ? 0 : size[0] * size[1] * size[2]; }

  std::string text() const;  // "image 3 224 224"

  bool operator==(const Shape&) const = default;
};

// Lets a layer announce which rows of its tables it is about to read, each table by its number in row_tables().
struct RowAnnouncer {
  RowReader* reader = nullptr;  // may be null
  std::size_t first_table = 0;

  void operator()(std::size_t table, std::span<const std::uint32_t> rows) const {
    if (reader != nullptr) reader->about_to_read(first_table + table, rows);
  }
};

// What passes between two layers for the samples of a batch, sample by sample. On the way back: rows of J, the same
// number for each sample.
template <class T>
struct BatchValues {
  BatchValues(std::size_t numbers, std::size_t samples)
      : count(numbers), values(numbers * samples), steps(samples, 1) {}

  const T* value(std::size_t sample) const { return values.data() + sample * count; }
  T* value(std::size_t sample) { return values.data() + sample * count; }
  // Null where no derivatives are needed.
  const T* delta(std::size_t row) const { return deltas.empty() ? nullptr : deltas.data() + row * count; }
  T* delta(std::size_t row) { return deltas.empty() ? nullptr : deltas.data() + row * count; }

  std::size_t count;  // of a sample
  AlignedVector<T> values, deltas;
  std::vector<std::size_t> steps;  // of each sample's sequence; 1 for everything else
  std::span<const Input<T>> x;     // of the network's input: whose tokens are read
};

// A layer's place in a batch: its inputs, outputs and blocks.
template <class T>
struct BatchPlace {
  std::size_t samples;  // at the most
  std::size_t rows;     // of J, at the most
  std::size_t weights;  // where the layer's start
  BatchValues<T>& in;
  BatchValues<T>& out;
  std::vector<BatchBlock<T>>& blocks;  // to which the layer appends its own, once
};

// A batch's pass through a layer. Neither direction allocates once the largest sample has been seen.
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

// One sample's pass through a layer. The network sets the pointers when the trace is made and owns what they point to.
// Layers derive from it to keep what they need between forward and backward.
template <class T>
struct Pass {
  Pass() = default;
  Pass(const Pass&) = delete;
  Pass& operator=(const Pass&) = delete;
  Pass(Pass&&) = delete;
  Pass& operator=(Pass&&) = delete;
  virtual ~Pass() = default;

  const T* in = nullptr;
  T* out = nullptr;
  const T* out_delta = nullptr;           // the derivatives of f with respect to the layer's output
  T* in_delta = nullptr;                  // and to its input; null where they are not needed
  std::size_t in_steps = 1;               // of this sample's sequence; 1 for everything else
  std::size_t out_steps = 1;              // forward sets it
  std::span<const std::uint32_t> tokens;  // of a layer that takes tokens
  std::span<Block<T>> blocks;             // those of the sensitivity that are the layer's
};

// One layer of a network. Layers are immutable and shared by the copies of a network: the network owns the weights, a
// Pass the numbers of a sample.
template <class T>
class Layer {
 public:
  virtual ~Layer() = default;

  // As a network's text has it: "dense 128".
  virtual std::string text() const = 0;
  virtual Shape output() const = 0;

  virtual std::size_t weights() const { return 0; }
  virtual void fill_initial(std::span<T> /*w*/, RandomStream& /*stream*/) const {}

  // Offsets are from the layer's first weight.
  virtual std::vector<RowTable> row_tables() const { return {}; }

  virtual std::unique_ptr<Pass<T>> make_pass() const { return std::make_unique<Pass<T>>(); }

  // Appends the layer's blocks, whose weights start at `offset`, in the order of their offsets. Called once: forward
  // and backward update the blocks for each sample through pass.blocks.
  virtual void add_blocks(std::size_t /*offset*/, Pass<T>& /*pass*/, Sensitivity<T>& /*j*/) const {}

  // Neither allocates. Backward follows forward on the same sample, once or several times with other out_deltas, and
  // fills all of in_delta (its first in_steps steps) and the blocks. in_delta need not be initialised.
  virtual void forward(std::span<const T> w, Pass<T>& pass, const RowAnnouncer& about_to_read) const = 0;
  virtual void backward(std::span<const T> w, Pass<T>& pass) const = 0;

  // A pass for a batch that is faster than one sample at a time; null where the layer has no such pass.
  virtual std::unique_ptr<BatchPass<T>> make_batch_pass(const BatchPlace<T>& /*place*/) const { return nullptr; }
};

// A layer of a network, with the offsets of its weights and row tables.
template <class T>
struct PlacedLayer {
  std::shared_ptr<const Layer<T>> layer;
  std::size_t weights = 0;
  std::size_t tables = 0;
};

// A batch's pass through any layer, one sample after the other, each with its own Pass. The layer must outlive it.
template <class T>
class SampleBySample final : public BatchPass<T> {
 public:
  SampleBySample(const Layer<T>& layer, const BatchPlace<T>& place);

  void forward(std::span<const T> w, std::size_t samples, const RowAnnouncer& about_to_read) override;
  void backward(std::span<const T> w, std::size_t samples, std::size_t per_sample) override;

 private:
  std::span<const T> keep(std::span<const T> numbers, std::size_t block, std::size_t row, bool copy);

  const Layer<T>& layer_;
  BatchPlace<T> place_;
  std::size_t first_block_;
  std::vector<Sensitivity<T>> j_;  // of each sample
  std::vector<std::unique_ptr<Pass<T>>> passes_;
  std::vector<std::vector<AlignedVector<T>>> kept_;  // of each block, for each row of J
};

}  // namespace ignd
