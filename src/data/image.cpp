#include "data/image.hpp"

#include "base/pinned.hpp"
#include "base/text.hpp"
#include "ignd/error.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <new>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <png.h>
// These need what <cstdio> declares.
#include <jerror.h>
#include <jpeglib.h>

namespace ignd {
namespace {

constexpr std::size_t cmyk_channels = 4;
// More than the coefficients of the largest progressive image take.
constexpr long most_memory = 1L << 30;

// Warnings about files whose pixels are all there.
bool is_harmless(int warning) {
  return warning == JWRN_EXTRANEOUS_DATA || warning == JWRN_JFIF_MAJOR || warning == JWRN_ADOBE_XFORM ||
         warning == JWRN_BOGUS_ICC;
}

// libjpeg reports errors by longjmp. Calls to it go through guarded(), in functions that own nothing the jump would
// leak: memory is allocated between these calls.
class JpegReader : Pinned {
 public:
  explicit JpegReader(const std::atomic<bool>* stop) : stop_(stop) {
    progress_.base.progress_monitor = look_around;
    progress_.reader = this;
    info_.err = jpeg_std_error(&errors_.base);
    errors_.base.error_exit = leave;
    errors_.base.emit_message = warn;
    errors_.base.output_message = [](j_common_ptr) {};
  }
  ~JpegReader() { jpeg_destroy_decompress(&info_); }

  void read_header(std::string_view bytes) {
    guarded([this, bytes] {
      jpeg_create_decompress(&info_);
      info_.progress = &progress_.base;
      info_.mem->max_memory_to_use = most_memory;
      jpeg_mem_src(&info_, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
      jpeg_read_header(&info_, TRUE);
    });
  }

  ImageSize size() const { return {info_.image_height, info_.image_width}; }

  // libjpeg turns YCCK into CMYK, and all others into RGB.
  bool is_cmyk() const { return info_.jpeg_color_space == JCS_CMYK || info_.jpeg_color_space == JCS_YCCK; }
  // Adobe's programs, which write almost all CMYK files, store light instead of ink.
  bool is_inverted() const { return info_.saw_Adobe_marker != 0; }

  void read(std::span<std::uint8_t> pixels) {
    guarded([this, pixels] {
      info_.out_color_space = is_cmyk() ? JCS_CMYK : JCS_RGB;
      jpeg_start_decompress(&info_);
      const std::size_t row = std::size_t{info_.output_width} * static_cast<std::size_t>(info_.output_components);
      while (info_.output_scanline < info_.output_height) {
        JSAMPROW at = pixels.data() + info_.output_scanline * row;
        jpeg_read_scanlines(&info_, &at, 1);
      }
      jpeg_finish_decompress(&info_);
    });
  }

 private:
  struct Errors {
    jpeg_error_mgr base{};  // first: libjpeg passes its address, which is also that of the struct
    std::jmp_buf jump{};
    std::array<char, JMSG_LENGTH_MAX> message{};
  };

  struct Progress {
    jpeg_progress_mgr base{};  // first, as above
    JpegReader* reader = nullptr;
  };

  template <class Work>
  void guarded(const Work& work) {
    if (setjmp(errors_.jump) != 0) {
      if (is_stopped()) throw Stopped();
      throw FileError(errors_.message.data());
    }
    work();
  }

  bool is_stopped() const { return stop_ != nullptr && *stop_; }

  // libjpeg calls this for every row of blocks in each scan.
  static void look_around(j_common_ptr info) {
    JpegReader& reader = *reinterpret_cast<Progress*>(info->progress)->reader;
    const bool too_many = reader.info_.input_scan_number > most_jpeg_scans;
    if (!too_many && !reader.is_stopped()) return;
    const auto text = fmt::format_to_n(reader.errors_.message.begin(), JMSG_LENGTH_MAX - 1, "it has more than {} scans",
                                       most_jpeg_scans);
    *text.out = '\0';
    std::longjmp(reader.errors_.jump, 1);
  }

  [[noreturn]] static void leave(j_common_ptr info) {
    auto* errors = reinterpret_cast<Errors*>(info->err);
    errors->base.format_message(info, errors->message.data());
    std::longjmp(errors->jump, 1);
  }

  static void warn(j_common_ptr info, int level) {
    const bool is_warning = level < 0;
    if (is_warning && !is_harmless(info->err->msg_code)) leave(info);
  }

  const std::atomic<bool>* stop_;
  Errors errors_;
  Progress progress_;
  jpeg_decompress_struct info_{};
};

std::vector<std::uint8_t> rgb_of_cmyk(std::span<const std::uint8_t> cmyk, bool inverted) {
  std::vector<std::uint8_t> rgb;
  rgb.reserve(cmyk.size() / cmyk_channels * image_channels);
  const auto light = [inverted](unsigned value) { return inverted ? value : 255 - value; };
  for (std::size_t at = 0; at < cmyk.size(); at += cmyk_channels) {
    for (std::size_t c = 0; c < image_channels; ++c) {
      rgb.push_back(static_cast<std::uint8_t>((light(cmyk[at + c]) * light(cmyk[at + 3]) + 127) / 255));
    }
  }
  return rgb;
}

bool is_jpeg(std::string_view bytes) { return bytes.starts_with("\xff\xd8\xff"); }

Image decode_jpeg(std::string_view bytes, std::uint64_t most, const std::atomic<bool>* stop) {
  JpegReader reader(stop);
  reader.read_header(bytes);
  const ImageSize size = reader.size();
  const std::uint64_t count = std::uint64_t{size.height} * size.width;
  if (count > most) throw FileError(fmt::format("it claims {} x {} pixels", size.width, size.height));
  std::vector<std::uint8_t> pixels(count * (reader.is_cmyk() ? cmyk_channels : image_channels));
  reader.read(pixels);
  if (reader.is_cmyk()) pixels = rgb_of_cmyk(pixels, reader.is_inverted());
  return {size, std::move(pixels)};
}

constexpr std::string_view png_signature{"\x89PNG\r\n\x1a\n", 8};
constexpr std::size_t rgba_channels = 4;

// libpng reports errors by longjmp. Calls to it go through guarded(), in functions that own nothing the jump would
// leak: memory is allocated between these calls.
class PngReader : Pinned {
 public:
  explicit PngReader(std::string_view bytes)
      : left_(bytes), png_(png_create_read_struct(PNG_LIBPNG_VER_STRING, this, leave, [](png_structp, auto) {})) {
    if (png_ == nullptr) throw std::bad_alloc();
  }
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

  // Whether there is an alpha channel.
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
      if (row * all.height != pixels.size()) png_error(png_, "its channels are not those that it declares");
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
    if (size > reader->left_.size()) png_error(png, "it is truncated");
    std::memcpy(to, reader->left_.data(), size);
    reader->left_.remove_prefix(size);
  }

  std::string_view left_;
  std::jmp_buf jump_{};
  std::array<char, 200> message_{};
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
};

// Models must not learn from what nobody can see.
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

bool is_png(std::string_view bytes) { return bytes.starts_with(png_signature); }

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

Image decode(std::string_view bytes, std::uint64_t most, const std::atomic<bool>* stop) {
  if (is_jpeg(bytes)) return decode_jpeg(bytes, most, stop);
  if (is_png(bytes)) return decode_png(bytes, most);
  throw FileError("it is neither JPEG nor PNG");
}

}  // namespace

bool is_image(std::string_view bytes) { return is_jpeg(bytes) || is_png(bytes); }

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

namespace {

// How to compute a row or column of the result: neighbours from `first` on, with weights that add up to 1.
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
    float red = 0.5F, green = 0.5F, blue = 0.5F;  // rounds, since the conversion below truncates
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
  if (size.height == 0 || size.width == 0) throw InvalidArgument("an image cannot be resized to a size of 0");
  if (image.size.height == 0 || image.size.width == 0) {
    throw InvalidArgument("an image without pixels cannot be resized");
  }
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
