#pragma once

#include "ignd/model.hpp"
#include "ignd/random.hpp"
#include "models/batch_pass.hpp"
#include "models/row_announcer.hpp"
#include "models/shape.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace ignd {

// One sample's way through a layer. The network sets the pointers when the trace is made and owns what they point to;
// what else a layer needs between forward and backward it keeps in a class derived from this one.
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
  const T* out_delta = nullptr;           // the derivatives of f with respect to what the layer gives
  T* in_delta = nullptr;                  // and to what it takes: null where nobody asks
  std::size_t in_steps = 1;               // of this sample's sequence; 1 for everything else
  std::size_t out_steps = 1;              // forward sets it
  std::span<const std::uint32_t> tokens;  // of a layer that takes tokens
  std::span<Block<T>> blocks;             // those of the sensitivity that are the layer's
};

// A step of a network's computation with its weights. Layers are immutable and shared by the copies of a network; the
// weights are the network's, the numbers of a sample those of its pass.
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

  // Appends the layer's blocks, whose weights start at `offset`, in the order of their offsets. Once: what of them
  // depends on the sample, forward and backward set through pass.blocks.
  virtual void add_blocks(std::size_t /*offset*/, Pass<T>& /*pass*/, Sensitivity<T>& /*j*/) const {}

  // Neither allocates. Backward follows forward on the same sample, once or several times with other out_deltas, and
  // fills all of in_delta (its first in_steps steps) and the blocks. in_delta holds anything before.
  virtual void forward(std::span<const T> w, Pass<T>& pass, const RowAnnouncer& about_to_read) const = 0;
  virtual void backward(std::span<const T> w, Pass<T>& pass) const = 0;

  // A way for a batch of samples that is better than one after the other; null if there is none.
  virtual std::unique_ptr<BatchPass<T>> make_batch_pass(const BatchPlace<T>& /*place*/) const { return nullptr; }
};

// A layer of a network, and where its weights and its row tables are among all of them.
template <class T>
struct PlacedLayer {
  std::shared_ptr<const Layer<T>> layer;
  std::size_t weights = 0;
  std::size_t tables = 0;
};

}  // namespace ignd
