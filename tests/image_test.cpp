#include "data/image.hpp"

#include "ignd/error.hpp"
#include "make_image.hpp"
#include "run_tool.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <random>

#include <gtest/gtest.h>

namespace ignd {
namespace {

using testing::contains;
using testing::encode_jpeg;
using testing::encode_png;
using testing::jpeg_of_scans;
using testing::JpegKind;
using testing::noise_image;
using testing::PngKind;
using testing::smooth_image;
using Bytes = std::vector<std::uint8_t>;

constexpr std::uint64_t few_pixels = 1 << 20;

// Both libraries like to talk.
class ImageFile : public ::testing::Test {
 protected:
  void SetUp() override { ::testing::internal::CaptureStderr(); }
  void TearDown() override { EXPECT_EQ(::testing::internal::GetCapturedStderr(), ""); }
};

// The message with which a file is refused; "" if it is not.
std::string refusal(const std::string& file, std::uint64_t most = few_pixels) {
  std::string message;
  try {
    decode_image(file, "a.jpg", most);
  } catch (const FileError& fault) {
    message = fault.what();
  }
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  EXPECT_TRUE(message.empty() || contains(message, "cannot read the image 'a.jpg': ")) << message;
  return message;
}

int largest_difference(const Bytes& a, const Bytes& b) {
  EXPECT_EQ(a.size(), b.size());
  int largest = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

const std::vector<ImageSize> sizes{{1, 1}, {1, 2}, {2, 1}, {7, 8}, {8, 8}, {9, 17}, {64, 33}, {100, 100}};

TEST_F(ImageFile, AJpegIsReadAsItWasWritten) {
  for (const ImageSize size : sizes) {
    const Image image = smooth_image(size, 1);
    for (const bool progressive : {false, true}) {
      const Image read = decode_image(encode_jpeg(image, {.progressive = progressive}), "x");
      EXPECT_EQ(read.size, size);
      EXPECT_LE(largest_difference(read.pixels, image.pixels), 4);
    }
    const Image plain = decode_image(encode_jpeg(image, {.file = JCS_RGB, .adobe = true}), "x");
    EXPECT_LE(largest_difference(plain.pixels, image.pixels), 3);
  }
}

TEST_F(ImageFile, AGreyJpegHasEqualChannels) {
  const Bytes grey{0, 50, 100, 150, 200, 255};
  const Image read = decode_image(encode_jpeg(grey, {2, 3}, {.in = JCS_GRAYSCALE, .file = JCS_GRAYSCALE}), "x");
  ASSERT_EQ(read.size, (ImageSize{2, 3}));
  for (std::size_t i = 0; i < grey.size(); ++i) {
    EXPECT_NEAR(read.pixels[3 * i], grey[i], 4);
    EXPECT_EQ(read.pixels[3 * i], read.pixels[3 * i + 1]);
    EXPECT_EQ(read.pixels[3 * i], read.pixels[3 * i + 2]);
  }
}

TEST_F(ImageFile, InkIsConvertedToLight) {
  // One colour per file, of which a JPEG loses next to nothing: cyan, magenta, yellow, black.
  for (const Bytes& ink : {Bytes{0, 0, 0, 0}, Bytes{255, 0, 0, 0}, Bytes{0, 255, 0, 0}, Bytes{0, 0, 255, 0},
                           Bytes{0, 0, 0, 255}, Bytes{10, 100, 200, 50}, Bytes{255, 255, 255, 255}}) {
    Bytes samples, inverted;
    for (int pixel = 0; pixel < 64; ++pixel) {
      for (const std::uint8_t value : ink) {
        samples.push_back(value);
        inverted.push_back(static_cast<std::uint8_t>(255 - value));
      }
    }
    const ImageSize size{8, 8};
    for (const std::string& file : {encode_jpeg(samples, size, {.in = JCS_CMYK, .file = JCS_CMYK}),
                                    encode_jpeg(inverted, size, {.in = JCS_CMYK, .file = JCS_CMYK, .adobe = true}),
                                    encode_jpeg(inverted, size, {.in = JCS_CMYK, .file = JCS_YCCK, .adobe = true})}) {
      const Image read = decode_image(file, "x");
      ASSERT_EQ(read.size, size);
      ASSERT_EQ(read.pixels.size(), 192U);
      for (std::size_t c = 0; c < 3; ++c) {
        EXPECT_NEAR(read.pixels[c], (255.0 - ink[c]) * (255.0 - ink[3]) / 255, 3);
      }
    }
  }
}

TEST_F(ImageFile, APngIsReadBitByBit) {
  for (const ImageSize size : sizes) {
    const Image image = noise_image(size, 2);
    for (const bool interlaced : {false, true}) {
      const Image read = decode_image(encode_png(image.pixels, size, {.interlaced = interlaced}), "x");
      EXPECT_EQ(read.size, size);
      EXPECT_EQ(read.pixels, image.pixels);
    }
  }
}

TEST_F(ImageFile, APngOfAnyKindBecomesEightBitsOfColour) {
  const auto read = [](const Bytes& row, ImageSize size, const PngKind& kind) {
    return decode_image(encode_png(row, size, kind), "x").pixels;
  };
  EXPECT_EQ(read({0b0100'0000}, {1, 2}, {.colours = PNG_COLOR_TYPE_GRAY, .depth = 1}), (Bytes{0, 0, 0, 255, 255, 255}));
  EXPECT_EQ(read({0b0110'0000}, {1, 2}, {.colours = PNG_COLOR_TYPE_GRAY, .depth = 2}),
            (Bytes{85, 85, 85, 170, 170, 170}));
  EXPECT_EQ(read({0x3f}, {1, 2}, {.colours = PNG_COLOR_TYPE_GRAY, .depth = 4}), (Bytes{51, 51, 51, 255, 255, 255}));
  EXPECT_EQ(read({7}, {1, 1}, {.colours = PNG_COLOR_TYPE_GRAY}), (Bytes{7, 7, 7}));
  EXPECT_EQ(read({0xff, 0xff, 0x80, 0x00}, {2, 1}, {.colours = PNG_COLOR_TYPE_GRAY, .depth = 16}),
            (Bytes{255, 255, 255, 128, 128, 128}));
  // 0x01ff is nearer to 2 of 255 than to 1.
  EXPECT_EQ(read({0x01, 0xff, 0x00, 0x00, 0x10, 0x10}, {1, 1}, {.depth = 16}), (Bytes{2, 0, 16}));

  const std::vector<png_color> palette{{1, 2, 3}, {200, 100, 50}};
  EXPECT_EQ(read({1, 0}, {1, 2}, {.colours = PNG_COLOR_TYPE_PALETTE, .palette = palette}),
            (Bytes{200, 100, 50, 1, 2, 3}));
  EXPECT_EQ(read({0b1000'0000}, {1, 2}, {.colours = PNG_COLOR_TYPE_PALETTE, .depth = 1, .palette = palette}),
            (Bytes{200, 100, 50, 1, 2, 3}));
}

TEST_F(ImageFile, WhatIsTransparentIsBlendedWithBlack) {
  const auto read = [](const Bytes& row, ImageSize size, const PngKind& kind) {
    return decode_image(encode_png(row, size, kind), "x").pixels;
  };
  EXPECT_EQ(read({10, 20, 30, 255, 10, 20, 30, 0, 10, 20, 31, 128}, {1, 3}, {.colours = PNG_COLOR_TYPE_RGBA}),
            (Bytes{10, 20, 30, 0, 0, 0, 5, 10, 16}));
  EXPECT_EQ(read({100, 51}, {1, 1}, {.colours = PNG_COLOR_TYPE_GRAY_ALPHA}), (Bytes{20, 20, 20}));
  EXPECT_EQ(read({0xff, 0xff, 0, 0, 0xff, 0xff, 0x80, 0}, {1, 1}, {.colours = PNG_COLOR_TYPE_RGBA, .depth = 16}),
            (Bytes{128, 0, 128}));
  EXPECT_EQ(read({0, 1}, {1, 2},
                 {.colours = PNG_COLOR_TYPE_PALETTE, .palette = {{200, 100, 50}, {1, 2, 3}}, .transparency = {51}}),
            (Bytes{40, 20, 10, 1, 2, 3}));
}

TEST_F(ImageFile, WhatIsNoImageIsRefused) {
  for (const std::string& file : {std::string(), std::string("GIF89a"), std::string("\xff\xd8"), std::string("\x89PNG"),
                                  std::string("<html>Not found</html>"), std::string(1000, '\0')}) {
    EXPECT_TRUE(contains(refusal(file), "it is neither JPEG nor PNG"));
  }
  EXPECT_NE(refusal("\xff\xd8\xff"), "");
  EXPECT_NE(refusal("\x89PNG\r\n\x1a\n"), "");
}

std::vector<std::string> files_of_every_kind() {
  const Image image = smooth_image({21, 19}, 3);
  const Bytes grey(std::size_t{21} * 19, 77);
  const Bytes cmyk(grey.size() * 4, 99);
  return {encode_jpeg(image),
          encode_jpeg(image, {.progressive = true}),
          encode_jpeg(grey, image.size, {.in = JCS_GRAYSCALE, .file = JCS_GRAYSCALE}),
          encode_jpeg(cmyk, image.size, {.in = JCS_CMYK, .file = JCS_YCCK, .adobe = true}),
          encode_png(image),
          encode_png(image.pixels, image.size, {.interlaced = true}),
          encode_png(cmyk, image.size, {.colours = PNG_COLOR_TYPE_RGBA}),
          encode_png(grey, image.size, {.colours = PNG_COLOR_TYPE_PALETTE, .palette = std::vector<png_color>(100)})};
}

TEST_F(ImageFile, AFileThatIsCutOffIsRefused) {
  for (const std::string& file : files_of_every_kind()) {
    ASSERT_EQ(refusal(file), "");
    for (std::size_t size = 0; size < file.size(); ++size) {
      EXPECT_NE(refusal(file.substr(0, size)), "") << size << " of " << file.size();
    }
  }
}

TEST_F(ImageFile, GarbageIsRefusedOrReadAndNothingElse) {
  std::mt19937 random(4);
  for (const std::string& file : files_of_every_kind()) {
    std::size_t refused = 0;
    for (int round = 0; round < 2000; ++round) {
      std::string broken = file;
      for (int change = 0; change < 3; ++change) broken[random() % broken.size()] = static_cast<char>(random());
      if (!refusal(broken).empty()) ++refused;
    }
    EXPECT_GT(refused, 300U);
  }
  for (int round = 0; round < 1000; ++round) {
    std::string noise(random() % 500, '\0');
    for (char& byte : noise) byte = static_cast<char>(random());
    EXPECT_NE(refusal("\xff\xd8\xff" + noise), "");
    EXPECT_NE(refusal("\x89PNG\r\n\x1a\n" + noise), "");
  }
}

TEST_F(ImageFile, AnythingMayFollowTheEnd) {
  for (const std::string& file : files_of_every_kind()) EXPECT_EQ(refusal(file + "more\xff\xd8\xff"), "");
}

TEST_F(ImageFile, BytesBetweenTheSegmentsOfAJpegAreNoHarm) {
  const Image image = smooth_image({16, 16}, 5);
  std::string file = encode_jpeg(image);
  file.insert(file.size() - 2, 100, '\x11');
  EXPECT_LE(largest_difference(decode_image(file, "x").pixels, image.pixels), 4);
}

// The bytes of an IHDR, with their checksum as PNG computes it.
std::string png_claiming(std::uint32_t width, std::uint32_t height) {
  std::string chunk = "IHDR";
  for (const std::uint32_t value : {width, height}) {
    for (const int shift : {24, 16, 8, 0}) chunk += static_cast<char>(value >> shift);
  }
  chunk += std::string("\x08\x02\x00\x00\x00", 5);
  std::uint32_t sum = 0xffffffff;
  for (const char byte : chunk) {
    sum ^= static_cast<std::uint8_t>(byte);
    for (int bit = 0; bit < 8; ++bit) sum = (sum >> 1) ^ ((sum & 1) != 0 ? 0xedb88320 : 0);
  }
  for (const int shift : {24, 16, 8, 0}) chunk += static_cast<char>(~sum >> shift);
  return std::string("\x89PNG\r\n\x1a\n\0\0\0\x0d", 12) + chunk + encode_png(noise_image({1, 1}, 6)).substr(33);
}

TEST_F(ImageFile, AHugeClaimedSizeTakesNoMemory) {
  EXPECT_TRUE(contains(refusal(png_claiming(100'000, 100'000), most_image_pixels), "it claims 100000 x 100000 pixels"));
  EXPECT_NE(refusal(png_claiming(0x7fffffff, 0x7fffffff), most_image_pixels), "");
  EXPECT_NE(refusal(png_claiming(0xffffffff, 0xffffffff), most_image_pixels), "");
  EXPECT_NE(refusal(png_claiming(0, 5), most_image_pixels), "");

  std::string jpeg = encode_jpeg(smooth_image({8, 8}, 7));
  const std::size_t frame = jpeg.find("\xff\xc0");
  ASSERT_NE(frame, std::string::npos);
  jpeg.replace(frame + 5, 4, "\xfd\xe8\xfd\xe8");
  EXPECT_TRUE(contains(refusal(jpeg, most_image_pixels), "it claims 65000 x 65000 pixels"));
  jpeg.replace(frame + 5, 4, std::string(4, '\0'));
  EXPECT_NE(refusal(jpeg, most_image_pixels), "");
}

TEST_F(ImageFile, AJpegMayNotHaveAnyNumberOfScans) {
  const auto most = static_cast<std::size_t>(most_jpeg_scans);
  for (const std::size_t scans : {std::size_t{2}, most}) EXPECT_EQ(refusal(jpeg_of_scans({16, 16}, scans)), "");
  for (const std::size_t scans : {most + 1, 20 * most}) {
    EXPECT_TRUE(contains(refusal(jpeg_of_scans({16, 16}, scans)), "it has more than 500 scans"));
  }
}

TEST_F(ImageFile, DecodingOfAJpegCanBeStopped) {
  std::atomic<bool> stop = false;
  for (const std::string& file : {jpeg_of_scans({16, 16}, 3), encode_jpeg(smooth_image({64, 33}, 1))}) {
    stop = false;
    decode_image(file, "x", few_pixels, &stop);
    stop = true;
    EXPECT_THROW(decode_image(file, "x", few_pixels, &stop), Stopped);
  }
}

TEST_F(ImageFile, TheLimitIsTheNumberOfPixels) {
  const Image image = smooth_image({10, 11}, 8);
  for (const std::string& file : {encode_jpeg(image), encode_png(image)}) {
    EXPECT_EQ(refusal(file, 110), "");
    EXPECT_TRUE(contains(refusal(file, 109), "it claims 11 x 10 pixels"));
  }
}

// The triangle over all pixels in two dimensions at once, in double precision.
std::vector<double> slowly_resized(const Image& image, ImageSize size) {
  const auto weight = [](std::size_t at, std::size_t to, std::size_t from, std::size_t out) {
    const double scale = static_cast<double>(from) / static_cast<double>(out);
    const double centre = (static_cast<double>(to) + 0.5) * scale;
    return std::max(0.0, 1 - std::abs(static_cast<double>(at) + 0.5 - centre) / std::max(1.0, scale));
  };
  std::vector<double> result;
  for (std::size_t y = 0; y < size.height; ++y) {
    for (std::size_t x = 0; x < size.width; ++x) {
      double sum = 0;
      std::vector<double> colour(3);
      for (std::size_t v = 0; v < image.size.height; ++v) {
        for (std::size_t u = 0; u < image.size.width; ++u) {
          const double w = weight(v, y, image.size.height, size.height) * weight(u, x, image.size.width, size.width);
          sum += w;
          for (std::size_t c = 0; c < 3; ++c) colour[c] += w * image.pixels[(v * image.size.width + u) * 3 + c];
        }
      }
      for (const double value : colour) result.push_back(value / sum);
    }
  }
  return result;
}

TEST(Resize, IsTheTriangleFilter) {
  std::mt19937 random(9);
  std::vector<std::pair<ImageSize, ImageSize>> cases{{{1, 1}, {5, 3}}, {{5, 3}, {1, 1}},   {{40, 1}, {1, 40}},
                                                     {{8, 8}, {4, 4}}, {{4, 4}, {8, 8}},   {{9, 30}, {9, 7}},
                                                     {{3, 3}, {2, 4}}, {{60, 50}, {7, 11}}};
  for (int i = 0; i < 30; ++i) {
    const auto side = [&] { return 1 + random() % 24; };
    cases.push_back({{side(), side()}, {side(), side()}});
  }
  for (const auto& [from, to] : cases) {
    const Image image = noise_image(from, static_cast<unsigned>(random()));
    const Image resized = resize(image, to);
    ASSERT_EQ(resized.size, to);
    const std::vector<double> expected = slowly_resized(image, to);
    ASSERT_EQ(resized.pixels.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(resized.pixels[i], expected[i], 0.5001);
  }
}

TEST(Resize, ToTheSameSizeChangesNothing) {
  for (const ImageSize size : sizes) {
    const Image image = noise_image(size, 10);
    EXPECT_EQ(resize(image, size).pixels, image.pixels);
  }
}

TEST(Resize, OneColourStaysThatColour) {
  for (const int colour : {0, 1, 127, 254, 255}) {
    const Image image{{37, 501}, Bytes(std::size_t{37} * 501 * 3, static_cast<std::uint8_t>(colour))};
    for (const ImageSize size : {ImageSize{1, 1}, ImageSize{16, 300}, ImageSize{50, 1000}}) {
      const Bytes pixels = resize(image, size).pixels;
      EXPECT_TRUE(std::ranges::all_of(pixels, [&](std::uint8_t value) { return value == colour; })) << colour;
    }
  }
}

TEST(Resize, AVeryLongRowHasItsMean) {
  Image image{{1, 3'000'000}, Bytes(9'000'000)};
  for (std::size_t i = 0; i < image.pixels.size(); ++i) image.pixels[i] = (i / 3) % 2 == 0 ? 100 : 200;
  for (const std::uint8_t value : resize(image, {1, 1}).pixels) EXPECT_NEAR(value, 150, 1);
}

TEST(Resize, NothingIsRefused) {
  EXPECT_THROW(resize(noise_image({2, 2}, 1), {0, 1}), InvalidArgument);
  EXPECT_THROW(resize(noise_image({2, 2}, 1), {1, 0}), InvalidArgument);
  EXPECT_THROW(resize(Image{}, {1, 1}), InvalidArgument);
}

}  // namespace
}  // namespace ignd
