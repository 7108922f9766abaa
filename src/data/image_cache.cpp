#include "data/image_cache.hpp"

#include "ignd/error.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

namespace ignd {
namespace {

static_assert(std::endian::native == std::endian::little, "the format is little-endian");

constexpr std::string_view magic{"\x89IGNDimg", 8};
constexpr std::uint32_t format_version = 1;
constexpr std::size_t header_size = 64;   // magic, version, zeros
constexpr std::size_t trailer_size = 16;  // start of the index, checksum

[[noreturn]] void refuse_cache(std::string_view what) { throw FileError(std::string(what)); }

std::string header() {
  std::string bytes(magic);
  bytes.append(reinterpret_cast<const char*>(&format_version), sizeof format_version);
  bytes.resize(header_size, '\0');
  return bytes;
}

// Covers the header, the index and its start; the index holds a checksum for the pixels of each image.
std::uint64_t checksum_of(std::string_view head, std::string_view index_and_begin) {
  return XXH3_64bits_withSeed(index_and_begin.data(), index_and_begin.size(), XXH3_64bits(head.data(), head.size()));
}

void put(std::string& out, std::uint64_t number) { out.append(reinterpret_cast<const char*>(&number), sizeof number); }

void put(std::string& out, const std::string& text) {
  put(out, std::uint64_t{text.size()});
  out += text;
}

std::string serialize(const ImageIndex& index) {
  std::string out;
  put(out, index.source);
  put(out, index.stamp);
  put(out, std::uint64_t{index.size.height});
  put(out, std::uint64_t{index.size.width});
  put(out, std::uint64_t{index.classes.size()});
  for (const std::string& name : index.classes) put(out, name);
  put(out, std::uint64_t{index.images.size()});
  for (const CachedImage& image : index.images) {
    put(out, image.file.name);
    put(out, std::uint64_t{image.file.label});
    put(out, static_cast<std::uint64_t>(image.file.part));
    put(out, image.slot);
    put(out, image.hash);
  }
  put(out, std::uint64_t{index.skipped.size()});
  for (const SkippedFile& file : index.skipped) {
    put(out, file.name);
    put(out, file.fault);
  }
  return out;
}

// Takes numbers and texts off the front, never beyond the end.
class IndexReader {
 public:
  explicit IndexReader(std::string_view bytes) : left_(bytes) {}

  std::uint64_t number() {
    std::uint64_t value = 0;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  std::uint64_t number_below(std::uint64_t end) {
    const std::uint64_t value = number();
    if (value >= end) refuse_cache("its index is damaged");
    return value;
  }
  std::string text() { return std::string(take(number())); }
  bool at_end() const { return left_.empty(); }

 private:
  std::string_view take(std::uint64_t size) {
    if (size > left_.size()) refuse_cache("its index is truncated");
    const std::string_view taken = left_.substr(0, size);
    left_.remove_prefix(size);
    return taken;
  }

  std::string_view left_;
};

ImageIndex parse_index(std::string_view bytes, std::uint64_t pixel_bytes) {
  IndexReader reader(bytes);
  ImageIndex index;
  index.source = reader.text();
  index.stamp = reader.number();
  index.size.height = reader.number_below(largest_image_side + 1);
  index.size.width = reader.number_below(largest_image_side + 1);
  for (std::uint64_t count = reader.number(); count > 0; --count) index.classes.push_back(reader.text());
  const std::uint64_t images = reader.number();
  const std::uint64_t labels = std::max<std::uint64_t>(1, index.classes.size());
  for (std::uint64_t i = 0; i < images; ++i) {
    CachedImage& image = index.images.emplace_back();
    image.file.name = reader.text();
    image.file.label = reader.number_below(labels);
    image.file.part = static_cast<FilePart>(reader.number_below(3));
    image.slot = reader.number_below(images);
    image.hash = reader.number();
  }
  for (std::uint64_t count = reader.number(); count > 0; --count) {
    SkippedFile& file = index.skipped.emplace_back();
    file.name = reader.text();
    file.fault = reader.text();
  }
  if (!reader.at_end()) refuse_cache("its index is too long");
  if (images * index.image_bytes() != pixel_bytes) refuse_cache("it does not hold the pixels of its images");
  return index;
}

// False if the file is truncated or cannot be read.
bool read_at(int file, std::uint64_t at, std::span<char> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::pread(file, bytes.data(), bytes.size(), static_cast<off_t>(at));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(count));
    at += static_cast<std::uint64_t>(count);
  }
  return true;
}

std::string bytes_at(int file, std::uint64_t at, std::uint64_t size) {
  std::string bytes(size, '\0');
  if (!read_at(file, at, bytes)) refuse_cache("it cannot be read to its end");
  return bytes;
}

ImageIndex read_index(int file) {
  struct stat status {};
  if (::fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) refuse_cache("it is not a regular file");
  const auto size = static_cast<std::uint64_t>(status.st_size);
  if (size < header_size + trailer_size) refuse_cache("it is too short");
  const std::string head = bytes_at(file, 0, header_size);
  if (head != header()) refuse_cache("it is not an image cache of this version");
  const std::string trailer = bytes_at(file, size - trailer_size, trailer_size);
  std::uint64_t begin = 0;
  std::uint64_t checksum = 0;
  std::memcpy(&begin, trailer.data(), sizeof begin);
  std::memcpy(&checksum, trailer.data() + sizeof begin, sizeof checksum);
  if (begin < header_size || begin > size - trailer_size) refuse_cache("it is truncated or damaged");
  const std::string covered = bytes_at(file, begin, size - begin - sizeof checksum);
  if (checksum_of(head, covered) != checksum) refuse_cache("its index is damaged");
  return parse_index(std::string_view(covered).substr(0, covered.size() - sizeof begin), begin - header_size);
}

std::uint64_t pixel_hash(std::span<const std::uint8_t> pixels) { return XXH3_64bits(pixels.data(), pixels.size()); }

}  // namespace

ImageCacheWriter::ImageCacheWriter(const std::filesystem::path& folder) : file_(folder) {
  file_.append(header());
  bytes_ = header_size;
}

CachedImage ImageCacheWriter::append(const ClassFile& file, std::span<const std::uint8_t> pixels) {
  file_.append({reinterpret_cast<const char*>(pixels.data()), pixels.size()});
  bytes_ += pixels.size();
  return {file, images_++, pixel_hash(pixels)};
}

void ImageCacheWriter::finish(const ImageIndex& index) {
  std::string bytes = serialize(index);
  put(bytes, bytes_);
  put(bytes, checksum_of(header(), bytes));
  file_.append(bytes);
}

ImageCache ImageCache::open(const std::filesystem::path& path) {
  // Non-blocking: opening a pipe would wait for a writer.
  return ImageCache(Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)));
}

ImageCache::ImageCache(const ImageCacheWriter& writer)
    : ImageCache(Descriptor(::fcntl(writer.descriptor(), F_DUPFD_CLOEXEC, 0))) {}

ImageCache::ImageCache(Descriptor file) : file_(std::move(file)) {
  if (!file_.is_open()) refuse_cache(std::generic_category().message(errno));
  index_ = read_index(*file_);
}

void ImageCache::check_pixels() const {
  std::vector<std::uint8_t> pixels(index_.image_bytes());
  for (std::size_t i = 0; i < index_.images.size(); ++i) read_pixels(i, pixels);
}

void ImageCache::read_pixels(std::size_t image, std::span<std::uint8_t> pixels) const {
  const std::uint64_t at = header_size + index_.images[image].slot * std::uint64_t{pixels.size()};
  const std::span bytes(reinterpret_cast<char*>(pixels.data()), pixels.size());
  if (!read_at(*file_, at, bytes) || pixel_hash(pixels) != index_.images[image].hash) {
    refuse_cache("its pixels are damaged");
  }
}

}  // namespace ignd
