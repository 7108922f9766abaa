#include "models/image_layers.hpp"

#include "base/text.hpp"
#include "ignd/error.hpp"
#include "ignd/initial_weights.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
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

namespace {

// The places y of a row or column of the output for which input y * stride + tap - padding exists.
struct Reach {
  std::size_t first = 0;
  std::size_t end = 0;
};

Reach reach(const Convolution& layer, std::size_t tap, std::size_t in, std::size_t out) {
  if (in + layer.padding <= tap) return {};
  const std::size_t first = tap >= layer.padding ? 0 : (layer.padding - tap + layer.stride - 1) / layer.stride;
  const std::size_t end = std::min(out, (in + layer.padding - tap - 1) / layer.stride + 1);
  return {first, std::max(first, end)};
}

// Calls row(weight, in, out, step, count) with the index of the weight and of the first of count numbers that it
// multiplies, in[k * step] for out[k]: once per weight and row, so that the innermost loops are the callers'.
template <class Row>
void for_each_row(const ImageStage& stage, const Row& row) {
  const auto& layer = std::get<Convolution>(stage.layer);
  const auto [in_channels, in_height, in_width] = stage.in.size;
  const auto [out_channels, out_height, out_width] = stage.out.size;
  std::size_t weight = 0;
  for (std::size_t o = 0; o < out_channels; ++o) {
    for (std::size_t i = 0; i < in_channels; ++i) {
      for (std::size_t tap_y = 0; tap_y < layer.kernel; ++tap_y) {
        const Reach rows = reach(layer, tap_y, in_height, out_height);
        for (std::size_t tap_x = 0; tap_x < layer.kernel; ++tap_x, ++weight) {
          const Reach columns = reach(layer, tap_x, in_width, out_width);
          if (columns.first == columns.end) continue;
          for (std::size_t y = rows.first; y < rows.end; ++y) {
            const std::size_t in_y = y * layer.stride + tap_y - layer.padding;
            const std::size_t in_x = columns.first * layer.stride + tap_x - layer.padding;
            row(weight, (i * in_height + in_y) * in_width + in_x, (o * out_height + y) * out_width + columns.first,
                layer.stride, columns.end - columns.first);
          }
        }
      }
    }
  }
}

template <class T>
void convolve(const ImageStage& stage, const T* w, const T* in, T* out) {
  const std::size_t area = stage.out.size[1] * stage.out.size[2];
  const T* bias = w + stage.kernels;
  for (std::size_t o = 0; o < stage.out.size[0]; ++o) std::fill_n(out + o * area, area, bias[o]);
  for_each_row(stage, [&](std::size_t weight, std::size_t from, std::size_t to, std::size_t step, std::size_t count) {
    for (std::size_t k = 0; k < count; ++k) out[to + k] += w[weight] * in[from + k * step];
  });
}

template <class T>
void convolution_sensitivity(const ImageStage& stage, const T* in, const T* out_delta, T* j) {
  const std::size_t area = stage.out.size[1] * stage.out.size[2];
  T* bias = j + stage.kernels;
  for (std::size_t o = 0; o < stage.out.size[0]; ++o) {
    bias[o] = 0;
    for (std::size_t k = 0; k < area; ++k) bias[o] += out_delta[o * area + k];
  }
  std::fill_n(j, stage.kernels, T{0});
  for_each_row(stage, [&](std::size_t weight, std::size_t from, std::size_t to, std::size_t step, std::size_t count) {
    T sum = 0;
    for (std::size_t k = 0; k < count; ++k) sum += out_delta[to + k] * in[from + k * step];
    j[weight] += sum;
  });
}

template <class T>
void convolution_back(const ImageStage& stage, const T* w, const T* out_delta, T* in_delta) {
  std::fill_n(in_delta, stage.in.count(), T{0});
  for_each_row(stage, [&](std::size_t weight, std::size_t from, std::size_t to, std::size_t step, std::size_t count) {
    for (std::size_t k = 0; k < count; ++k) in_delta[from + k * step] += w[weight] * out_delta[to + k];
  });
}

// The index of the largest number of a window, the first of equals; a NaN is larger than every number.
template <class T>
std::size_t largest(const T* in, std::size_t first, std::size_t size, std::size_t width) {
  std::size_t best = first;
  for (std::size_t y = 0; y < size; ++y) {
    for (std::size_t x = 0; x < size; ++x) {
      const std::size_t k = first + y * width + x;
      if (std::isnan(in[best])) return best;
      if (in[k] > in[best] || std::isnan(in[k])) best = k;
    }
  }
  return best;
}

template <class T>
void pool(const ImageStage& stage, const T* in, T* out, std::uint32_t* picked) {
  const auto& [size, stride] = std::get<MaxPooling>(stage.layer);
  const auto [channels, in_height, in_width] = stage.in.size;
  for (std::size_t c = 0; c < channels; ++c) {
    for (std::size_t y = 0; y < stage.out.size[1]; ++y) {
      for (std::size_t x = 0; x < stage.out.size[2]; ++x) {
        const std::size_t from = largest(in, (c * in_height + y * stride) * in_width + x * stride, size, in_width);
        *picked++ = static_cast<std::uint32_t>(from);
        *out++ = in[from];
      }
    }
  }
}

template <class T>
void pool_back(const ImageStage& stage, const std::uint32_t* picked, const T* out_delta, T* in_delta) {
  std::fill_n(in_delta, stage.in.count(), T{0});
  for (std::size_t k = 0; k < stage.out.count(); ++k) in_delta[picked[k]] += out_delta[k];
}

template <class T>
struct PlainPass final : ImagePass<T> {
  std::vector<AlignedVector<T>> values;            // what each layer gives, but for the last one
  std::vector<std::vector<std::uint32_t>> picked;  // by each pooling, for each of its outputs
  std::vector<AlignedVector<T>> deltas;            // of what each layer gives, but for the last one

  const T* in_of(std::size_t k) const { return k == 0 ? this->in : values[k - 1].data(); }
  T* out_of(std::size_t k) { return k == values.size() ? this->out : values[k].data(); }
  T* in_delta_of(std::size_t k) { return k == 0 ? this->in_delta : deltas[k - 1].data(); }
  const T* out_delta_of(std::size_t k) const { return k == deltas.size() ? this->out_delta : deltas[k].data(); }
};

template <class T>
class PlainImageLayers final : public ImageGroup<T> {
 public:
  PlainImageLayers(const Shape& input, const std::vector<ImageLayer>& layers) : ImageGroup<T>(input, layers) {}

  std::unique_ptr<Pass<T>> make_pass() const override {
    auto pass = std::make_unique<PlainPass<T>>();
    pass->j.resize(this->weights());
    for (const ImageStage& stage : this->stages()) {
      const std::size_t count = stage.out.count();
      pass->values.emplace_back(count);
      pass->deltas.emplace_back(count);
      pass->picked.emplace_back(std::holds_alternative<MaxPooling>(stage.layer) ? count : 0);
    }
    pass->values.pop_back();
    pass->deltas.pop_back();
    return pass;
  }

  void forward(std::span<const T> w, Pass<T>& pass, const RowAnnouncer& /*about_to_read*/) const override {
    auto& own = static_cast<PlainPass<T>&>(pass);
    for (std::size_t k = 0; k < this->stages().size(); ++k) forward_stage(k, w, own);
  }

  void backward(std::span<const T> w, Pass<T>& pass) const override {
    auto& own = static_cast<PlainPass<T>&>(pass);
    for (std::size_t k = this->stages().size(); k-- > 0;) backward_stage(k, w, own);
  }

 private:
  void forward_stage(std::size_t k, std::span<const T> w, PlainPass<T>& pass) const {
    const ImageStage& stage = this->stages()[k];
    const T* in = pass.in_of(k);
    T* out = pass.out_of(k);
    if (stage.kernels > 0) {
      convolve(stage, w.data() + stage.weights, in, out);
    } else if (std::holds_alternative<MaxPooling>(stage.layer)) {
      pool(stage, in, out, pass.picked[k].data());
    } else if (std::holds_alternative<Rectifier>(stage.layer)) {
      std::transform(in, in + stage.in.count(), out, [](T x) { return x < 0 ? T{0} : x; });
    } else {
      std::transform(in, in + stage.in.count(), out, [](T x) { return std::tanh(x); });
    }
  }

  void backward_stage(std::size_t k, std::span<const T> w, PlainPass<T>& pass) const {
    const ImageStage& stage = this->stages()[k];
    const T* out = pass.out_of(k);
    const T* out_delta = pass.out_delta_of(k);
    T* in_delta = pass.in_delta_of(k);
    if (stage.kernels > 0) convolution_sensitivity(stage, pass.in_of(k), out_delta, pass.j.data() + stage.weights);
    if (in_delta == nullptr) return;
    if (stage.kernels > 0) {
      convolution_back(stage, w.data() + stage.weights, out_delta, in_delta);
    } else if (std::holds_alternative<MaxPooling>(stage.layer)) {
      pool_back(stage, pass.picked[k].data(), out_delta, in_delta);
    } else if (std::holds_alternative<Rectifier>(stage.layer)) {
      std::transform(out, out + stage.out.count(), out_delta, in_delta, [](T y, T d) { return y > 0 ? d : T{0}; });
    } else {
      std::transform(out, out + stage.out.count(), out_delta, in_delta, [](T y, T d) { return d * (1 - y * y); });
    }
  }
};

}  // namespace

template <class T>
std::unique_ptr<Layer<T>> make_plain_image_layers(const Shape& input, const std::vector<ImageLayer>& layers) {
  return std::make_unique<PlainImageLayers<T>>(input, layers);
}

template std::unique_ptr<Layer<float>> make_plain_image_layers(const Shape&, const std::vector<ImageLayer>&);
template std::unique_ptr<Layer<double>> make_plain_image_layers(const Shape&, const std::vector<ImageLayer>&);

template <>
std::unique_ptr<Layer<double>> make_image_layers(const Shape& input, const std::vector<ImageLayer>& layers,
                                                 unsigned /*threads*/) {
  return make_plain_image_layers<double>(input, layers);
}

#ifndef IGND_HAS_ONEDNN
// The plain loops could do it, but far too slowly to train with.
template <>
std::unique_ptr<Layer<float>> make_image_layers(const Shape& input, const std::vector<ImageLayer>& layers,
                                                unsigned threads) {
  if (threads == 0) throw InvalidArgument("image layers need at least one thread");
  auto made = make_plain_image_layers<float>(input, layers);
  for (const ImageLayer& layer : layers) {
    if (!std::holds_alternative<Convolution>(layer)) continue;
    throw InvalidArgument(
        "this build of ignd has no convolutions; to get them, install oneDNN (Debian: libdnnl-dev) and build again "
        "with -DIGND_ONEDNN=ON");
  }
  return made;
}
#endif

}  // namespace ignd
