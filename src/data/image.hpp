#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
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

// Thrown where reading was asked to stop: it leaves nothing behind.
struct ReadingStopped : std::runtime_error {
  ReadingStopped() : std::runtime_error("the reading was stopped") {}
};

inline constexpr std::size_t image_channels = 3;
inline constexpr std::uint64_t most_image_pixels = 100'000'000;
// Of a JPEG. Programs write about ten; each takes as long as it takes to look at all pixels, though it may be a few
// bytes long.
inline constexpr int most_jpeg_scans = 500;

// Whether the first bytes are those of a JPEG or PNG file.
bool is_image(std::string_view bytes);

// Reads a JPEG or PNG file; which of them, its first bytes say. Grey becomes equal channels, CMYK is converted, 16 bits
// are rounded to 8, what is transparent is blended with black. Colour profiles and the rotation that EXIF may ask for
// are ignored. Throws FileError, with `name` in the message, where the file is damaged in any way that costs pixels, is
// cut off, is something else, or claims more than `most` pixels: before memory is taken for them. Throws ReadingStopped
// soon after `stop` is set.
Image decode_image(std::string_view bytes, const std::string& name, std::uint64_t most = most_image_pixels,
                   const std::atomic<bool>* stop = nullptr);

// Bilinear, with the centres of the pixels at halves. Where an image is made smaller, the filter is stretched so that
// it covers every pixel (as in Pillow, and `antialias` in other libraries). Throws InvalidArgument for a size of 0.
Image resize(const Image& image, ImageSize size);

// All of red, then all of green, then all of blue: as networks read images.
std::vector<std::uint8_t> as_planes(const Image& image);

}  // namespace ignd
