#pragma once

#include "ignd/aligned.hpp"
#include "models/layer.hpp"

#include <cstddef>
#include <memory>
#include <span>
#include <string>
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

// A sequence of image layers as one layer. Float uses oneDNN on that many threads, which keeps its own memory layouts
// between the layers; double uses plain loops. Throws InvalidArgument where an image is too small for a layer and, in a
// build without oneDNN, for convolutions in float.
template <class T>
std::unique_ptr<Layer<T>> make_image_layers(const Shape& input, const std::vector<ImageLayer>& layers,
                                            unsigned threads = 1);
template <>
std::unique_ptr<Layer<float>> make_image_layers(const Shape& input, const std::vector<ImageLayer>& layers,
                                                unsigned threads);
template <>
std::unique_ptr<Layer<double>> make_image_layers(const Shape& input, const std::vector<ImageLayer>& layers,
                                                 unsigned threads);

// The plain loops for either type.
template <class T>
std::unique_ptr<Layer<T>> make_plain_image_layers(const Shape& input, const std::vector<ImageLayer>& layers);

// One layer of the sequence, with the shapes of its input and output.
struct ImageStage {
  ImageLayer layer;
  Shape in;
  Shape out;
  std::size_t weights = 0;  // where its kernels start among the group's weights, with its biases behind them
  std::size_t kernels = 0;  // how many numbers they are: 0 unless it is a convolution
};

// Throws InvalidArgument where an image is too small for a layer, or anything is too large.
std::vector<ImageStage> plan_image_layers(const Shape& input, const std::vector<ImageLayer>& layers);

template <class T>
struct ImagePass : Pass<T> {
  AlignedVector<T> j;  // the sensitivity to the group's weights
};

// The base of both implementations: everything but forward and backward. make_pass must return an ImagePass.
template <class T>
class ImageGroup : public Layer<T> {
 public:
  std::string text() const final;
  Shape output() const final { return stages_.back().out; }
  std::size_t weights() const final;
  void fill_initial(std::span<T> w, RandomStream& stream) const final;
  void add_blocks(std::size_t offset, Pass<T>& pass, Sensitivity<T>& j) const final;

 protected:
  ImageGroup(const Shape& input, const std::vector<ImageLayer>& layers) : stages_(plan_image_layers(input, layers)) {}

  const std::vector<ImageStage>& stages() const { return stages_; }

 private:
  std::vector<ImageStage> stages_;
};

}  // namespace ignd
