#pragma once

#include "models/layer.hpp"

#include <cstddef>
#include <memory>

namespace ignd {

// `units` weighted sums of the inputs, stored by input with the biases as the last row. `zeros_stop`: an input of zero
// passes no derivative on, as behind a rectifier, so that its row can be skipped.
template <class T>
std::unique_ptr<Layer<T>> make_dense_layer(std::size_t inputs, std::size_t units, bool zeros_stop);

// Elementwise, for any shape.
enum class Elementwise { relu, tanh };
template <class T>
std::unique_ptr<Layer<T>> make_elementwise_layer(const Shape& shape, Elementwise function);

// Turns an image into values.
template <class T>
std::unique_ptr<Layer<T>> make_flatten_layer(const Shape& shape);

}  // namespace ignd
