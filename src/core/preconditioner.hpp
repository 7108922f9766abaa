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

  // For batches, with so many inputs.
  explicit Preconditioner(std::size_t inputs) : fades_(false), inputs_(inputs) {}

  // For the fading kind: an input larger than all it was before taken together shows that its size was not known. What
  // was learned with it is scaled down with the preconditioner, before it makes a prediction: a weight learned from a
  // first value near zero would throw it anywhere. True if weights have changed; undo() gives them back.
  bool meet(const Sensitivity<T>& j, std::span<T> w);
  void undo(std::span<T> w);

  // P j, this sample's inputs taken into account, valid until the next call. Nothing is kept of the sample until the
  // step is certain: then observe() it.
  const Sensitivity<T>& direction(const Sensitivity<T>& j);
  void observe(const Sensitivity<T>& j);

  // The same for a batch, all of whose samples are taken into account: observe() them first, then ask for J P; forget()
  // undoes the last observation. Not for the fading kind.
  void observe(const BatchSensitivity<T>& j);
  const BatchSensitivity<T>& direction(const BatchSensitivity<T>& j);
  void forget();
  void keep() { before_.clear(); }  // what was observed: there is nothing to undo any more

  void save(Checkpoint& checkpoint) const;
  void restore(const Checkpoint& checkpoint);

 private:
  // What is known of an input. Side by side, so that looking it up is one cache line.
  struct Known {
    double mean_square = 0;  // where it was not zero
    std::uint64_t seen = 0;  // how often that was
  };

  static double mean_square_with(const Known& input, double x);
  void meet(std::span<const T> inputs, std::span<const std::uint32_t> index, std::span<T> w, std::size_t offset,
            std::size_t width);
  void scale(std::span<const T> inputs, std::span<const std::uint32_t> index);
  void count(std::span<const T> inputs, std::span<const std::uint32_t> index);

  void observe_input(std::size_t i, T x);
  T scaled(std::size_t i, T x) const;

  bool fades_;
  std::vector<Known> inputs_;
  struct Kept {
    std::size_t place;
    T weight;
  };
  std::vector<Kept> kept_;   // weights before meet()
  AlignedVector<T> scaled_;  // P u of the current sample
  Sensitivity<T> direction_;

  // Of a batch.
  struct Before {
    std::size_t input;
    Known known;
  };
  std::vector<Before> before_;  // what was known of the inputs it has, in the order of the observations
  AlignedVector<T> scaled_batch_;
  BatchSensitivity<T> batch_direction_;
};

}  // namespace ignd
