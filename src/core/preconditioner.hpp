#pragma once

#include "ignd/aligned.hpp"
#include "ignd/batch.hpp"
#include "ignd/model.hpp"
#include "ignd/sensitivity.hpp"
#include "ignd/trainer.hpp"

#include <cstdint>
#include <vector>

namespace ignd {

class Checkpoint;

// The diagonal preconditioner P_i = 1 / (mean square of input i), over the samples in which the input was not zero, on
// the weights that multiply input i; 1 on all others. Multiplying an input by a constant then changes no prediction.
// The fading kind divides by the root of the number of those samples too: with a damping of the size of s, often seen
// inputs make small steps and new ones large steps, whenever they turn up.
template <class T>
class Preconditioner {
 public:
  // For the model whose trace this is: the blocks marked on_input say which weights it covers.
  Preconditioner(PreconditionerKind kind, const Sensitivity<T>& j, std::span<const RowTable> tables);

  // For batches.
  explicit Preconditioner(std::size_t inputs) : fades_(false), inputs_(inputs) {}

  // For the fading kind: an input whose square exceeds the sum of all its earlier squares shows that its scale was not
  // known. Its weights shrink with the preconditioner before they predict: a weight learned from a first value near
  // zero could throw the prediction anywhere. True if weights have changed; rollback(w) restores them. With several
  // outputs, `outputs` weights lie side by side for each one that j names.
  bool rescale_for(const Sensitivity<T>& j, std::span<T> w, std::size_t outputs = 1);
  void rollback(std::span<T> w);

  // P j with this sample's inputs counted in, valid until the next call. Once the step is certain, observe() the
  // sample.
  const Sensitivity<T>& direction(const Sensitivity<T>& j);
  void observe(const Sensitivity<T>& j);

  // The same for a batch: observe() its samples first, then ask for J P. rollback() undoes the last observation,
  // commit() makes it final. Not for the fading kind.
  void observe(const BatchSensitivity<T>& j);
  const BatchSensitivity<T>& direction(const BatchSensitivity<T>& j);
  void rollback();
  void commit() { saved_statistics_.clear(); }

  void save(Checkpoint& checkpoint) const;
  void restore(const Checkpoint& checkpoint);

 private:
  // Side by side, so that looking an input up reads one cache line.
  struct InputStatistics {
    double mean_square = 0;  // over the samples in which it was not zero
    std::uint64_t seen = 0;  // how many those were
  };

  static double mean_square_with(const InputStatistics& input, double x);
  void rescale_for(std::span<const T> inputs, std::span<const std::uint32_t> index, std::span<T> w, std::size_t offset,
                   std::size_t width);
  void scale(std::span<const T> inputs, std::span<const std::uint32_t> index);
  void count(std::span<const T> inputs, std::span<const std::uint32_t> index);

  void observe_input(std::size_t i, T x);
  T scaled(std::size_t i, T x) const;

  bool fades_;
  std::vector<InputStatistics> inputs_;
  struct SavedWeight {
    std::size_t place;
    T weight;
  };
  std::vector<SavedWeight> saved_weights_;  // before rescale_for()
  AlignedVector<T> scaled_;                 // P u of the current sample
  Sensitivity<T> direction_;

  // Of a batch.
  struct SavedStatistics {
    std::size_t input;
    InputStatistics statistics;
  };
  std::vector<SavedStatistics> saved_statistics_;  // before the last batch, in the order of its observations
  AlignedVector<T> scaled_batch_;
  BatchSensitivity<T> batch_direction_;
};

}  // namespace ignd
