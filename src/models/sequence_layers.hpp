#pragma once

#include "models/layer.hpp"

#include <cstddef>
#include <memory>

namespace ignd {

// Maps every token to its own row of `width` weights, which start normal with this standard deviation.
struct Embedding {
  std::size_t width = 0;
  double deviation = 0.1;
};

// A long short-term memory layer whose state starts at zero: i, f, o = sigmoid and g = tanh of sums over the step's
// inputs, the state h before and a bias; c = f c + i g, h = o tanh(c). It outputs h at every step. Its weights are one
// matrix with a row for every input, then for every unit, then for the biases, and in each row those of the i, f, g and
// o of all units.
struct Lstm {
  std::size_t units = 0;
  double forget_bias = 1;  // of f: at 1 a state fades slowly to begin with
  bool orthogonal = true;  // the recurrent weights of each gate start as a rotation
};

template <class T>
std::unique_ptr<Layer<T>> make_embedding_layer(const Shape& tokens, const Embedding& options);
template <class T>
std::unique_ptr<Layer<T>> make_lstm_layer(const Shape& sequence, const Lstm& options);

// The last step of a sequence; zeros if it has none.
template <class T>
std::unique_ptr<Layer<T>> make_last_layer(const Shape& sequence);

}  // namespace ignd
