#pragma once

#include "data/image.hpp"

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

// These need what <cstdio> declares.
#include <jpeglib.h>
#include <png.h>

// Small image files for tests. Where an encoder fails, the test program ends.
namespace ignd::testing {

struct JpegKind {
  J_COLOR_SPACE in = JCS_RGB;      // of the samples given
  J_COLOR_SPACE file = JCS_YCbCr;  // of the file
  bool progressive = false;
  bool adobe = false;  // with the marker of Adobe's programs
  int quality = 100;
  std::vector<jpeg_scan_info> scans = {};  // of a progressive file; none: those of libjpeg
};

inline int channels_of(J_COLOR_SPACE space) { return space == JCS_GRAYSCALE ? 1 : space == JCS_CMYK ? 4 : 3; }

// Colours are not sampled down, so that little is lost.
inline std::string encode_jpeg(const std::vector<std::uint8_t>& samples, ImageSize size, const JpegKind& kind = {}) {
  jpeg_error_mgr errors;
  jpeg_compress_struct info{};
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* bytes = nullptr;
  unsigned long count = 0;  // NOLINT(google-runtime-int): the type that libjpeg wants
  jpeg_mem_dest(&info, &bytes, &count);
  info.image_width = static_cast<JDIMENSION>(size.width);
  info.image_height = static_cast<JDIMENSION>(size.height);
  info.input_components = channels_of(kind.in);
  info.in_color_space = kind.in;
  jpeg_set_defaults(&info);
  jpeg_set_colorspace(&info, kind.file);
  info.write_Adobe_marker = kind.adobe ? TRUE : FALSE;
  jpeg_set_quality(&info, kind.quality, TRUE);
  for (int c = 0; c < info.num_components; ++c) info.comp_info[c].h_samp_factor = info.comp_info[c].v_samp_factor = 1;
  if (kind.progressive) jpeg_simple_progression(&info);
  if (!kind.scans.empty()) {
    info.scan_info = kind.scans.data();
    info.num_scans = static_cast<int>(kind.scans.size());
  }
  jpeg_start_compress(&info, TRUE);
  const std::size_t row = size.width * static_cast<std::size_t>(info.input_components);
  while (info.next_scanline < info.image_height) {
    auto* at = const_cast<JSAMPLE*>(samples.data() + info.next_scanline * row);
    jpeg_write_scanlines(&info, &at, 1);
  }
  jpeg_finish_compress(&info);
  std::string file(reinterpret_cast<const char*>(bytes), count);
  jpeg_destroy_compress(&info);
  std::free(bytes);
  return file;
}

inline std::string encode_jpeg(const Image& image, const JpegKind& kind = {}) {
  return encode_jpeg(image.pixels, image.size, kind);
}

// A progressive file of one colour whose last scan comes again and again.
inline std::string jpeg_of_scans(ImageSize size, std::size_t scans) {
  const JpegKind kind{.in = JCS_GRAYSCALE,
                      .file = JCS_GRAYSCALE,
                      .scans = {{1, {0, 0, 0, 0}, 0, 0, 0, 0}, {1, {0, 0, 0, 0}, 1, 63, 0, 0}}};
  const std::vector<std::uint8_t> grey(size.height * size.width, 100);
  const std::string file = encode_jpeg(grey, size, kind);
  const std::string end = "\xff\xd9";
  const std::string last = file.substr(file.rfind("\xff\xda"), file.size() - end.size() - file.rfind("\xff\xda"));
  std::string all = file.substr(0, file.size() - end.size());
  for (std::size_t scan = kind.scans.size(); scan < scans; ++scan) all += last;
  return all + end;
}

struct PngKind {
  int colours = PNG_COLOR_TYPE_RGB;
  int depth = 8;
  bool interlaced = false;
  std::vector<png_color> palette = {};
  std::vector<png_byte> transparency = {};  // of the entries of the palette
};

// From rows as they are in a PNG file: packed below 8 bits, the higher byte first above.
inline std::string encode_png(const std::vector<std::uint8_t>& rows, ImageSize size, const PngKind& kind = {}) {
  std::string file;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  const auto put = [](png_structp writer, png_bytep bytes, std::size_t count) {
    static_cast<std::string*>(png_get_io_ptr(writer))->append(reinterpret_cast<const char*>(bytes), count);
  };
  png_set_write_fn(png, &file, put, [](png_structp) {});
  png_set_IHDR(png, info, static_cast<png_uint_32>(size.width), static_cast<png_uint_32>(size.height), kind.depth,
               kind.colours, kind.interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
               PNG_FILTER_TYPE_DEFAULT);
  if (!kind.palette.empty()) png_set_PLTE(png, info, kind.palette.data(), static_cast<int>(kind.palette.size()));
  if (!kind.transparency.empty()) {
    png_set_tRNS(png, info, kind.transparency.data(), static_cast<int>(kind.transparency.size()), nullptr);
  }
  png_write_info(png, info);
  const std::size_t row = png_get_rowbytes(png, info);
  if (row * size.height != rows.size()) throw std::runtime_error("the rows of a PNG are not as long as they must be");
  const int passes = png_set_interlace_handling(png);
  for (int pass = 0; pass < passes; ++pass) {
    for (std::size_t y = 0; y < size.height; ++y) png_write_row(png, rows.data() + y * row);
  }
  png_write_end(png, info);
  png_destroy_write_struct(&png, &info);
  return file;
}

inline std::string encode_png(const Image& image) { return encode_png(image.pixels, image.size); }

inline Image noise_image(ImageSize size, unsigned seed) {
  std::mt19937 random(seed);
  Image image{size, std::vector<std::uint8_t>(size.height * size.width * image_channels)};
  for (std::uint8_t& value : image.pixels) value = static_cast<std::uint8_t>(random());
  return image;
}

// Smooth, so that a JPEG file of it is near to it; another one for each seed.
inline Image smooth_image(ImageSize size, unsigned seed) {
  Image image{size, {}};
  for (std::size_t y = 0; y < size.height; ++y) {
    for (std::size_t x = 0; x < size.width; ++x) {
      for (std::size_t c = 0; c < image_channels; ++c) {
        const double at = static_cast<double>(seed) + 0.07 * static_cast<double>(x * (c + 1)) +
                          0.05 * static_cast<double>(y * (3 - c));
        image.pixels.push_back(static_cast<std::uint8_t>(127.5 + 120 * std::sin(at)));
      }
    }
  }
  return image;
}

}  // namespace ignd::testing
