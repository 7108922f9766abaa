#pragma once

#include "base/stopped.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ignd {

struct ImageSize {
  std::size_t height = 0, width = 0;

  bool operator==(const ImageSize&) const = default;
};

// Red, green and blue of each pixel, row by row from the top.
struct Image {
  ImageSize size;
  std::vector<std::uint8_t> pixels;
};
inline constexpr std::size_t image_channels = 3;
inline constexpr std::uint64_t most_image_pixels = 100'000'000;
// The most scans of a progressive JPEG; programs write about ten. A scan of a few bytes may take as long as a pass over
// all pixels.
inline constexpr int most_jpeg_scans = 500;

// Whether the first bytes are those of a JPEG or PNG file.
bool is_image(std::string_view bytes);

// Decodes a JPEG or PNG file, told apart by the first bytes. Grey becomes three equal channels, CMYK is converted, 16
// bits are rounded to 8, transparent pixels are blended with black. Ignores colour profiles and EXIF rotation. Throws
// FileError, with `name` in the message, if the file is truncated, damaged in any way that costs pixels, neither JPEG
// nor PNG, or claims more than `most` pixels (before allocating them). Throws Stopped soon after `stop` is set.
Image decode_image(std::string_view bytes, const std::string& name, std::uint64_t most = most_image_pixels,
                   const std::atomic<bool>* stop = nullptr);

// Bilinear, with pixel centres at halves. Shrinking stretches the filter to cover every pixel (as Pillow does, and
// `antialias` in other libraries). Throws InvalidArgument for a size of 0.
Image resize(const Image& image, ImageSize size);

// All of red, then all of green, then all of blue: the layout that networks read.
std::vector<std::uint8_t> as_planes(const Image& image);

}  // namespace ignd
