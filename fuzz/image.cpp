// JPEG and PNG files, and resizing what is in them.
#include "data/image.hpp"

#include "ignd/error.hpp"
#include "require.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <zlib.h>

namespace {

using namespace ignd;
using fuzz::require;

constexpr std::uint64_t most_pixels = 1 << 16;

std::uint32_t number_at(std::string_view bytes, std::size_t at) {
  std::uint32_t number = 0;
  for (std::size_t i = 0; i < 4; ++i) number = number << 8 | static_cast<std::uint8_t>(bytes[at + i]);
  return number;
}

// A PNG with the checksums that its chunks ask for: a fuzzer does not guess these.
std::string repaired(std::string bytes) {
  constexpr std::size_t signature = 8, around = 12;  // length, type, checksum
  for (std::size_t at = signature; at + around <= bytes.size();) {
    const std::size_t length = number_at(bytes, at);
    if (length > bytes.size() - at - around) break;
    const auto* covered = reinterpret_cast<const Bytef*>(bytes.data() + at + 4);
    const auto sum = static_cast<std::uint32_t>(crc32(0, covered, static_cast<uInt>(length + 4)));
    for (std::size_t i = 0; i < 4; ++i) bytes[at + 8 + length + i] = static_cast<char>(sum >> (24 - 8 * i));
    at += length + around;
  }
  return bytes;
}

void check(std::string_view bytes, ImageSize size) {
  try {
    const Image image = decode_image(bytes, "image", most_pixels);
    require(image.size.height > 0 && image.size.width > 0, "an image has pixels");
    require(image.size.height * image.size.width <= most_pixels, "there are no more pixels than allowed");
    require(image.pixels.size() == image.size.height * image.size.width * image_channels, "all pixels are there");
    const Image resized = resize(image, size);
    require(resized.pixels.size() == size.height * size.width * image_channels, "all pixels are there when resized");
    const auto [lowest, highest] = std::ranges::minmax(image.pixels);
    const auto [low, high] = std::ranges::minmax(resized.pixels);
    require(low >= lowest && high <= highest, "resizing adds no light and takes none away");
  } catch (const FileError&) {
    return;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  const ImageSize to{1 + size % 13, 1 + size % 17};
  check(bytes, to);
  if (bytes.starts_with("\x89PNG")) check(repaired(bytes), to);
  return 0;
}
