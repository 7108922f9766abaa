#include "data/png_image.hpp"

#include "ignd/error.hpp"

#include <algorithm>
#include <array>
#include <csetjmp>
#include <cstring>
#include <new>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <png.h>

namespace ignd {
namespace {

constexpr std::string_view signature{"\x89PNG\r\n\x1a\n", 8};
constexpr std::size_t rgba_channels = 4;

// libpng leaves by a jump where it fails. Whatever calls it is passed to guarded(), and owns nothing that a jump would
// leak: memory is taken between these calls.
class PngReader {
 public:
  explicit PngReader(std::string_view bytes)
      : left_(bytes), png_(png_create_read_struct(PNG_LIBPNG_VER_STRING, this, leave, [](png_structp, auto) {})) {
    if (png_ == nullptr) throw std::bad_alloc();
  }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;
  PngReader(PngReader&&) = delete;
  PngReader& operator=(PngReader&&) = delete;
  ~PngReader() { png_destroy_read_struct(&png_, &info_, nullptr); }

  void read_header() {
    info_ = png_create_info_struct(png_);
    if (info_ == nullptr) throw std::bad_alloc();
    guarded([this] {
      png_set_read_fn(png_, this, take);
      png_read_info(png_, info_);
    });
  }

  ImageSize size() const { return {png_get_image_height(png_, info_), png_get_image_width(png_, info_)}; }

  // Whether there is a fourth channel that says how opaque a pixel is.
  bool has_alpha() const {
    return (png_get_color_type(png_, info_) & PNG_COLOR_MASK_ALPHA) != 0 ||
           png_get_valid(png_, info_, PNG_INFO_tRNS) != 0;
  }

  void read(std::span<std::uint8_t> pixels) {
    guarded([this, pixels] {
      png_set_expand(png_);
      png_set_scale_16(png_);
      png_set_gray_to_rgb(png_);
      const int passes = png_set_interlace_handling(png_);
      png_read_update_info(png_, info_);
      const ImageSize all = size();
      const std::size_t row = png_get_rowbytes(png_, info_);
      if (row * all.height != pixels.size()) png_error(png_, "its channels are not those it claims");
      for (int pass = 0; pass < passes; ++pass) {
        for (std::size_t y = 0; y < all.height; ++y) png_read_row(png_, pixels.data() + y * row, nullptr);
      }
      png_read_end(png_, nullptr);
    });
  }

 private:
  template <class Work>
  void guarded(const Work& work) {
    if (setjmp(jump_) != 0) throw FileError(message_.data());
    work();
  }

  [[noreturn]] static void leave(png_structp png, png_const_charp reason) {
    auto* reader = static_cast<PngReader*>(png_get_error_ptr(png));
    std::strncpy(reader->message_.data(), reason, reader->message_.size() - 1);
    std::longjmp(reader->jump_, 1);
  }

  static void take(png_structp png, png_bytep to, std::size_t size) {
    auto* reader = static_cast<PngReader*>(png_get_io_ptr(png));
    if (size > reader->left_.size()) png_error(png, "it is cut off");
    std::memcpy(to, reader->left_.data(), size);
    reader->left_.remove_prefix(size);
  }

  std::string_view left_;
  std::jmp_buf jump_{};
  std::array<char, 200> message_{};
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
};

// What cannot be seen must not be learned from.
std::vector<std::uint8_t> blended_with_black(std::span<const std::uint8_t> rgba) {
  std::vector<std::uint8_t> rgb;
  rgb.reserve(rgba.size() / rgba_channels * image_channels);
  for (std::size_t at = 0; at < rgba.size(); at += rgba_channels) {
    for (std::size_t c = 0; c < image_channels; ++c) {
      rgb.push_back(static_cast<std::uint8_t>((rgba[at + c] * rgba[at + 3] + 127) / 255));
    }
  }
  return rgb;
}

}  // namespace

bool is_png(std::string_view bytes) { return bytes.starts_with(signature); }

Image decode_png(std::string_view bytes, std::uint64_t most) {
  PngReader reader(bytes);
  reader.read_header();
  const ImageSize size = reader.size();
  const std::uint64_t count = std::uint64_t{size.height} * size.width;
  if (count > most) throw FileError(fmt::format("it claims {} x {} pixels", size.width, size.height));
  const bool alpha = reader.has_alpha();
  std::vector<std::uint8_t> pixels(count * (alpha ? rgba_channels : image_channels));
  reader.read(pixels);
  if (alpha) pixels = blended_with_black(pixels);
  return {size, std::move(pixels)};
}

}  // namespace ignd
