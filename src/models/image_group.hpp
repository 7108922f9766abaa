#pragma once

#include "ignd/aligned.hpp"
#include "models/image_layers.hpp"

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace ignd {

// One of the layers, with the images it takes and gives.
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

// What image layers are, however they are computed: all but the two ways through them. make_pass gives an ImagePass.
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
