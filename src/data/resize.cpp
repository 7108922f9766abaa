#include "data/image.hpp"
#include "ignd/error.hpp"

#include <algorithm>
#include <cmath>
#include <span>

namespace ignd {
namespace {

// What a row or column of the result is made of: neighbours from `first` on, with weights that add up to 1.
struct Blend {
  std::size_t first = 0;
  std::vector<float> weights;
};

std::vector<Blend> blends(std::size_t from, std::size_t to) {
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  const double reach = std::max(scale, 1.0);
  std::vector<Blend> all(to);
  for (std::size_t i = 0; i < to; ++i) {
    const double centre = (static_cast<double>(i) + 0.5) * scale;
    const double begin = std::max(0.0, std::floor(centre - reach + 0.5));
    const double end = std::min(static_cast<double>(from), std::floor(centre + reach + 0.5));
    std::vector<double> weights;
    double sum = 0;
    for (double at = begin; at < end; ++at) {
      weights.push_back(std::max(0.0, 1 - std::abs(at + 0.5 - centre) / reach));
      sum += weights.back();
    }
    all[i].first = static_cast<std::size_t>(begin);
    for (const double weight : weights) all[i].weights.push_back(static_cast<float>(weight / sum));
  }
  return all;
}

void blend_rows(const Image& image, const Blend& blend, std::span<float> row) {
  std::ranges::fill(row, 0.0F);
  const std::uint8_t* from = image.pixels.data() + blend.first * row.size();
  for (const float weight : blend.weights) {
    for (std::size_t i = 0; i < row.size(); ++i) row[i] += weight * static_cast<float>(from[i]);
    from += row.size();
  }
}

void blend_columns(std::span<const float> row, std::span<const Blend> columns, std::uint8_t* to) {
  for (const Blend& blend : columns) {
    const float* from = row.data() + blend.first * image_channels;
    float red = 0.5F, green = 0.5F, blue = 0.5F;  // the fraction is cut off at the end: this rounds
    for (const float weight : blend.weights) {
      red += weight * from[0];
      green += weight * from[1];
      blue += weight * from[2];
      from += image_channels;
    }
    for (const float value : {red, green, blue}) *to++ = static_cast<std::uint8_t>(value);
  }
}

}  // namespace

Image resize(const Image& image, ImageSize size) {
  if (size.height == 0 || size.width == 0) throw InvalidArgument("an image cannot be resized to nothing");
  if (image.size.height == 0 || image.size.width == 0) throw InvalidArgument("an image of no pixels cannot be resized");
  if (image.size == size) return image;
  const std::vector<Blend> rows = blends(image.size.height, size.height);
  const std::vector<Blend> columns = blends(image.size.width, size.width);
  Image resized{size, std::vector<std::uint8_t>(size.height * size.width * image_channels)};
  std::vector<float> row(image.size.width * image_channels);
  for (std::size_t y = 0; y < size.height; ++y) {
    blend_rows(image, rows[y], row);
    blend_columns(row, columns, resized.pixels.data() + y * size.width * image_channels);
  }
  return resized;
}

}  // namespace ignd
