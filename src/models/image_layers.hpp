#pragma once

#include "models/layer.hpp"

#include <cstddef>
#include <memory>
#include <variant>
#include <vector>

namespace ignd {

// out[c][y][x] = bias[c] + sum over channels and kernel of w * in, with `padding` zeros on every side. Its weights are
// stored by output channel, input channel, row and column, with the biases of all output channels behind them.
struct Convolution {
  std::size_t channels = 0;
  std::size_t kernel = 3;  // kernel x kernel
  std::size_t stride = 1;
  std::size_t padding = 1;
};

// The largest of every size x size window.
struct MaxPooling {
  std::size_t size = 2;
  std::size_t stride = 2;
};

struct Rectifier {};
struct HyperbolicTangent {};

using ImageLayer = std::variant<Convolution, MaxPooling, Rectifier, HyperbolicTangent>;

// Layers that take and give images, one after the other, as one: in float through oneDNN, which keeps layouts of its
// own between them, on so many threads, and in double through plain loops. Throws InvalidArgument where an image is too
// small for a layer.
template <class T>
std::unique_ptr<Layer<T>> make_image_layers(const Shape& input, const std::vector<ImageLayer>& layers,
                                            unsigned threads = 1);

// The plain loops for either type.
template <class T>
std::unique_ptr<Layer<T>> make_plain_image_layers(const Shape& input, const std::vector<ImageLayer>& layers);

}  // namespace ignd
