#include "data/jpeg_image.hpp"

#include "ignd/error.hpp"

#include <algorithm>
#include <array>
#include <csetjmp>
#include <cstdio>
#include <new>
#include <span>

#include <fmt/format.h>
// These need what <cstdio> declares.
#include <jerror.h>
#include <jpeglib.h>

namespace ignd {
namespace {

constexpr std::size_t cmyk_channels = 4;
// What the coefficients of the largest progressive image take, and more.
constexpr long most_memory = 1L << 30;

// What is said of files whose pixels are all there.
bool is_harmless(int warning) {
  return warning == JWRN_EXTRANEOUS_DATA || warning == JWRN_JFIF_MAJOR || warning == JWRN_ADOBE_XFORM ||
         warning == JWRN_BOGUS_ICC;
}

// libjpeg leaves by a jump where it fails. Whatever calls it is passed to guarded(), and owns nothing that a jump would
// leak: memory is taken between these calls.
class JpegReader {
 public:
  explicit JpegReader(const std::atomic<bool>* stop) : stop_(stop) {
    progress_.base.progress_monitor = look_around;
    progress_.reader = this;
    info_.err = jpeg_std_error(&errors_.base);
    errors_.base.error_exit = leave;
    errors_.base.emit_message = warn;
    errors_.base.output_message = [](j_common_ptr) {};
  }
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;
  JpegReader(JpegReader&&) = delete;
  JpegReader& operator=(JpegReader&&) = delete;
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

  // libjpeg makes CMYK of YCCK, and RGB of all others.
  bool is_cmyk() const { return info_.jpeg_color_space == JCS_CMYK || info_.jpeg_color_space == JCS_YCCK; }
  // Those of Adobe's programs, that is almost all, say how much light is left and not how much ink there is.
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
    jpeg_error_mgr base{};  // first: libjpeg hands out its address, which is then that of the whole
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

  // libjpeg calls this for every row of blocks that it reads, in each scan.
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

}  // namespace

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

}  // namespace ignd
