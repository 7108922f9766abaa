#pragma once

#include "models/layer.hpp"

#include <cstddef>
#include <memory>

namespace ignd {

// `units` weighted sums of the inputs, stored by input with the biases as the last row. `zeros_stop`: an input of zero
// passes no derivative on, as behind a rectifier, so that its row is left alone altogether.
template <class T>
std::unique_ptr<Layer<T>> make_dense_layer(std::size_t inputs, std::size_t units, bool zeros_stop);

// Number by number, whatever the shape.
enum class Elementwise { relu, tanh };
template <class T>
std::unique_ptr<Layer<T>> make_elementwise_layer(const Shape& shape, Elementwise function);

// An image as values.
template <class T>
std::unique_ptr<Layer<T>> make_flatten_layer(const Shape& shape);

}  // namespace ignd
