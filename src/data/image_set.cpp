#include "data/image_set.hpp"

#include "base/text.hpp"
#include "data/catalogue.hpp"
#include "data/worker_thread.hpp"
#include "ignd/error.hpp"

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <sys/stat.h>
#include <xxhash.h>

namespace ignd {
namespace {

namespace fs = std::filesystem;

void check_size(ImageSize size) {
  const auto is_good = [](std::size_t side) { return side >= 1 && side <= largest_image_side; };
  if (is_good(size.height) && is_good(size.width)) return;
  throw InvalidArgument(fmt::format("images cannot be {} x {} pixels; each side must be from 1 to {}", size.height,
                                    size.width, largest_image_side));
}

fs::path resolved(const fs::path& source) {
  std::error_code fault;
  fs::path path = fs::canonical(source, fault);
  if (fault) throw FileError(fmt::format("cannot read {}: {}", quoted_path(source), fault.message()));
  return path;
}

std::uint64_t hash_of(std::string_view text) { return XXH3_64bits(text.data(), text.size()); }

std::string stamp_text(const fs::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    throw FileError(fmt::format("cannot read {}: {}", quoted_path(path), std::generic_category().message(errno)));
  }
  return fmt::format("{} {}.{:09}\n", status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
}

// Tells whether a source has changed since it was read.
std::uint64_t stamp_of(const fs::path& source) {
  std::error_code fault;
  if (!fs::is_directory(source, fault)) return hash_of(stamp_text(source));
  std::string text;
  for (const ClassFile& file : list_class_files(source).files) {
    text += file.name + '\0' + stamp_text(source / file.name);
  }
  return hash_of(text);
}

// A file on its way into the cache.
struct Item {
  std::size_t file = 0;  // index in the list
  std::string content;
  std::vector<std::uint8_t> planes = {};
  std::string fault = {};  // why there are no planes
};

// Decodes the files of a source into a cache, in their order: a batch at a time, on two threads.
class Decoder {
 public:
  Decoder(const ClassFiles& listed, ImageSize size, const ImageSetOptions& options, ImageCacheWriter& writer)
      : listed_(listed), size_(size), options_(options), writer_(writer) {}

  void add(std::size_t file, std::string_view content) {
    if (stopped()) throw Stopped();
    waiting_.push_back({file, std::string(content)});
    waiting_bytes_ += content.size() + size_.height * size_.width * image_channels;
    if (waiting_.size() == most_waiting || waiting_bytes_ > most_waiting_bytes) flush();
  }

  void flush() {
    decode_waiting();
    if (stopped()) throw Stopped();
    for (const Item& item : waiting_) {
      const ClassFile& file = listed_.files[item.file];
      if (item.fault.empty()) {
        images_.push_back(writer_.append(file, item.planes));
      } else {
        skipped_.push_back({file.name, item.fault});
      }
      if (options_.progress) options_.progress(images_.size() + skipped_.size(), listed_.files.size());
    }
    waiting_.clear();
    waiting_bytes_ = 0;
  }

  std::vector<CachedImage> images() {
    std::ranges::sort(images_, {}, [](const CachedImage& image) -> const std::string& { return image.file.name; });
    return std::move(images_);
  }

  std::vector<SkippedFile> skipped() {
    std::ranges::sort(skipped_, {}, &SkippedFile::name);
    return std::move(skipped_);
  }

 private:
  static constexpr std::size_t most_waiting = 64;
  static constexpr std::size_t most_waiting_bytes = std::size_t{64} << 20;

  bool stopped() const { return options_.stop != nullptr && *options_.stop; }

  void decode(Item& item) const {
    try {
      const std::string& name = listed_.files[item.file].name;
      item.planes = as_planes(resize(decode_image(item.content, name, most_image_pixels, options_.stop), size_));
    } catch (const FileError& fault) {
      item.fault = fault.what();
    } catch (const Stopped&) {
      // flush() ends the reading.
    }
  }

  void decode_waiting() {
    std::atomic<std::size_t> next = 0;
    const auto work = [&] {
      for (std::size_t i = next++; i < waiting_.size() && !stopped(); i = next++) decode(waiting_[i]);
    };
    WorkerThread helper;
    helper.start(work);
    work();
    helper.finish();
  }

  const ClassFiles& listed_;
  ImageSize size_;
  const ImageSetOptions& options_;
  ImageCacheWriter& writer_;
  std::vector<Item> waiting_;
  std::size_t waiting_bytes_ = 0;
  std::vector<CachedImage> images_;
  std::vector<SkippedFile> skipped_;
};

// What the cache must have been made from.
struct Wanted {
  fs::path source;
  std::uint64_t stamp = 0;
  ImageSize size;

  std::string file_name() const {
    return fmt::format("{:016x}.images", hash_of(fmt::format("{} {} {}", size.height, size.width, source.string())));
  }
  bool is_met_by(const ImageIndex& index) const {
    return index.source == source.string() && index.stamp == stamp && index.size == size;
  }
};

// Creates the folder for the cache. Throws FileError.
fs::path prepared_folder(const ImageSetOptions& options) {
  fs::path folder = options.cache.empty() ? cache_folder() / "images" : options.cache;
  std::error_code fault;
  fs::create_directories(folder, fault);
  if (fault) throw FileError(fmt::format("cannot create {}: {}", quoted_path(folder), fault.message()));
  return folder;
}

std::optional<ImageCache> find_cache(const fs::path& folder, const Wanted& wanted, std::string& note) {
  const fs::path path = folder / wanted.file_name();
  std::error_code fault;
  if (!fs::exists(path, fault)) return {};
  try {
    ImageCache cache = ImageCache::open(path);
    if (!wanted.is_met_by(cache.index())) return {};
    cache.check_pixels();
    return cache;
  } catch (const FileError& error) {
    note = fmt::format("the image cache {} could not be used and was rebuilt: {}", quoted_path(path), error.what());
  }
  return {};
}

void write_cache(const Wanted& wanted, const ImageSetOptions& options, ImageCacheWriter& writer) {
  const ClassFiles listed = list_class_files(wanted.source);
  if (options.needs_classes) check_classes(listed.classes);
  Decoder decoder(listed, wanted.size, options, writer);
  visit_class_files(wanted.source, listed,
                    [&](std::size_t file, std::string_view content) { decoder.add(file, content); });
  decoder.flush();
  std::vector<SkippedFile> skipped = decoder.skipped();
  skipped.insert(skipped.end(), listed.elsewhere.begin(), listed.elsewhere.end());
  const ImageIndex index{.source = wanted.source.string(),
                         .stamp = wanted.stamp,
                         .size = wanted.size,
                         .classes = listed.classes,
                         .images = decoder.images(),
                         .skipped = std::move(skipped)};
  if (index.images.empty()) {
    throw FileError(
        fmt::format("{} holds no image that can be read: {}", quoted_path(wanted.source), index.skipped.front().fault));
  }
  if (stamp_of(wanted.source) != wanted.stamp) {
    throw FileError(fmt::format("{} changed while it was read; start again", quoted_path(wanted.source)));
  }
  writer.finish(index);
}

std::uint64_t checksum_of(const ImageIndex& index) {
  std::string text = fmt::format("{} {} {}\n", index.size.height, index.size.width, index.classes.size());
  for (const std::string& name : index.classes) text += name + '\0';
  for (const CachedImage& image : index.images) {
    const auto part = static_cast<int>(image.file.part);
    text += image.file.name + '\0' + fmt::format("{} {} {}\n", image.file.label, part, image.hash);
  }
  return hash_of(text);
}

}  // namespace

ImageSet::ImageSet(ImageCache cache, std::string note)
    : cache_(std::move(cache)), checksum_(checksum_of(cache_.index())), note_(std::move(note)) {}

void ImageSet::read_pixels(std::size_t i, std::span<std::uint8_t> pixels) const {
  try {
    cache_.read_pixels(i, pixels);
  } catch (const FileError& fault) {
    throw FileError(fmt::format("the image cache of {} was changed while it was in use: {}; start again",
                                quoted_path(index().source), fault.what()));
  }
}

ImageSet ImageSet::open(const fs::path& source, ImageSize size, const ImageSetOptions& options) {
  check_size(size);
  const fs::path path = resolved(source);
  const Wanted wanted{path, stamp_of(path), size};
  std::string note;
  std::unique_ptr<ImageCacheWriter> writer;
  bool is_kept = true;
  try {
    const fs::path folder = prepared_folder(options);
    if (auto cache = find_cache(folder, wanted, note)) return {std::move(*cache), note};
    writer = std::make_unique<ImageCacheWriter>(folder);
  } catch (const FileError& fault) {
    is_kept = false;
    note = fmt::format("the decoded images are not cached: {}", fault.what());
    writer = std::make_unique<ImageCacheWriter>(temporary_folder());
  }
  write_cache(wanted, options, *writer);
  ImageCache cache(*writer);
  if (is_kept) writer->keep_as(wanted.file_name());
  return {std::move(cache), note};
}

}  // namespace ignd
