#include "models/image_group.hpp"

#include "base/text.hpp"
#include "ignd/error.hpp"
#include "ignd/initial_weights.hpp"

#include <algorithm>
#include <initializer_list>
#include <string_view>
#include <variant>
#include <vector>

#include <fmt/format.h>

namespace ignd {
namespace {

constexpr std::size_t most_numbers = 0x7fff'ffff;  // oneDNN counts in int

// The product of some numbers, refused before it can overflow.
std::size_t count_numbers(std::initializer_list<std::size_t> factors, std::string_view what) {
  std::size_t product = 1;
  for (const std::size_t factor : factors) {
    if (factor > most_numbers || product * factor > most_numbers) {
      throw InvalidArgument(fmt::format("{} has more than {} numbers", what, most_numbers));
    }
    product *= factor;
  }
  return product;
}

void check_image(const Shape& image) {
  if (image.kind != Shape::Kind::image) throw InvalidArgument("layers of images need an image to begin with");
  const auto [channels, height, width] = image.size;
  if (count_numbers({channels, height, width}, "an image") == 0) {
    throw InvalidArgument(fmt::format("an image of {} x {} x {} has no numbers", channels, height, width));
  }
}

std::string name_of(const ImageLayer& layer) {
  if (const auto* convolution = std::get_if<Convolution>(&layer)) {
    const auto& [channels, kernel, stride, padding] = *convolution;
    return fmt::format("convolution {} {} {} {}", channels, kernel, stride, padding);
  }
  if (const auto* pooling = std::get_if<MaxPooling>(&layer)) {
    return fmt::format("max-pool {} {}", pooling->size, pooling->stride);
  }
  return std::holds_alternative<Rectifier>(layer) ? "relu" : "tanh";
}

Shape output_of(const Convolution& layer, const Shape& in) {
  const auto& [channels, kernel, stride, padding] = layer;
  if (channels == 0 || kernel == 0 || stride == 0) {
    throw InvalidArgument(fmt::format("'{}': channels, kernel and stride must be at least 1", name_of(layer)));
  }
  const auto [in_channels, height, width] = in.size;
  // Bounds the sums below as well.
  count_numbers({channels, in_channels, kernel, kernel}, "a convolution");
  count_numbers({padding, 4}, "the padding of a convolution");
  const std::size_t high = height + 2 * padding;
  const std::size_t wide = width + 2 * padding;
  if (kernel > high || kernel > wide) {
    throw InvalidArgument(fmt::format("a convolution of {} x {} does not fit an image of {} x {} with padding {}",
                                      kernel, kernel, height, width, padding));
  }
  return Shape::image(channels, (high - kernel) / stride + 1, (wide - kernel) / stride + 1);
}

Shape output_of(const MaxPooling& layer, const Shape& in) {
  const auto& [size, stride] = layer;
  if (size == 0 || stride == 0) {
    throw InvalidArgument(fmt::format("'{}': size and stride must be at least 1", name_of(layer)));
  }
  const auto [channels, height, width] = in.size;
  if (size > height || size > width) {
    throw InvalidArgument(
        fmt::format("a max-pool of {} x {} does not fit an image of {} x {}", size, size, height, width));
  }
  return Shape::image(channels, (height - size) / stride + 1, (width - size) / stride + 1);
}

Shape output_of(const Rectifier& /*layer*/, const Shape& in) { return in; }
Shape output_of(const HyperbolicTangent& /*layer*/, const Shape& in) { return in; }

std::size_t kernels_of(const ImageLayer& layer, const Shape& in) {
  const auto* convolution = std::get_if<Convolution>(&layer);
  if (convolution == nullptr) return 0;
  return convolution->channels * in.size[0] * convolution->kernel * convolution->kernel;
}

// The biases too.
std::size_t weights_of(const ImageStage& stage) { return stage.kernels == 0 ? 0 : stage.kernels + stage.out.size[0]; }

}  // namespace

std::vector<ImageStage> plan_image_layers(const Shape& input, const std::vector<ImageLayer>& layers) {
  if (layers.empty()) throw InvalidArgument("a group of image layers needs at least one");
  check_image(input);
  std::vector<ImageStage> stages;
  Shape image = input;
  std::size_t weights = 0;
  for (const ImageLayer& layer : layers) {
    const Shape out = std::visit([&](const auto& kind) { return output_of(kind, image); }, layer);
    check_image(out);
    stages.push_back({layer, image, out, weights, kernels_of(layer, image)});
    weights += weights_of(stages.back());
    image = out;
  }
  return stages;
}

template <class T>
std::string ImageGroup<T>::text() const {
  std::vector<std::string> names;
  for (const ImageStage& stage : stages_) names.push_back(name_of(stage.layer));
  return join(names, "; ");
}

template <class T>
std::size_t ImageGroup<T>::weights() const {
  return stages_.back().weights + weights_of(stages_.back());
}

template <class T>
void ImageGroup<T>::fill_initial(std::span<T> w, RandomStream& stream) const {
  std::fill(w.begin(), w.end(), T{0});
  for (const ImageStage& stage : stages_) {
    if (stage.kernels == 0) continue;
    const std::size_t outputs = stage.out.size[0];
    ignd::fill_initial(InitialWeights::lecun, stage.kernels / outputs, outputs, stream,
                       w.subspan(stage.weights, stage.kernels));
  }
}

template <class T>
void ImageGroup<T>::add_blocks(std::size_t offset, Pass<T>& pass, Sensitivity<T>& j) const {
  const std::span<const T> all = static_cast<ImagePass<T>&>(pass).j;
  for (const ImageStage& stage : stages_) {
    if (stage.kernels == 0) continue;
    j.push_back(Dense<T>{.offset = offset + stage.weights, .j = all.subspan(stage.weights, weights_of(stage))});
  }
}

template class ImageGroup<float>;
template class ImageGroup<double>;

}  // namespace ignd
