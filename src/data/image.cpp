#include "data/image.hpp"

#include "base/text.hpp"
#include "data/jpeg_image.hpp"
#include "data/png_image.hpp"
#include "ignd/error.hpp"

#include <fmt/format.h>

namespace ignd {
namespace {

Image decode(std::string_view bytes, std::uint64_t most, const std::atomic<bool>* stop) {
  if (is_jpeg(bytes)) return decode_jpeg(bytes, most, stop);
  if (is_png(bytes)) return decode_png(bytes, most);
  throw FileError("it is neither JPEG nor PNG");
}

}  // namespace

Image decode_image(std::string_view bytes, const std::string& name, std::uint64_t most, const std::atomic<bool>* stop) {
  try {
    return decode(bytes, most, stop);
  } catch (const FileError& fault) {
    throw FileError(fmt::format("cannot read the image {}: {}", quoted_path(name), printable(fault.what(), 200)));
  }
}

std::vector<std::uint8_t> as_planes(const Image& image) {
  const std::size_t count = image.size.height * image.size.width;
  std::vector<std::uint8_t> planes(count * image_channels);
  for (std::size_t c = 0; c < image_channels; ++c) {
    for (std::size_t i = 0; i < count; ++i) planes[c * count + i] = image.pixels[i * image_channels + c];
  }
  return planes;
}

}  // namespace ignd
