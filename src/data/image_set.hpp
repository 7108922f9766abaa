#pragma once

#include "data/image_cache.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace ignd {

struct ImageSetOptions {
  std::filesystem::path cache;                                        // folder; default: `images` in the cache folder
  std::function<void(std::size_t done, std::size_t total)> progress;  // called after each decoded image
  const std::atomic<bool>* stop = nullptr;                            // checked while images are decoded
  bool needs_classes = false;  // refuse a source without two classes or more, before any image is decoded
};

// Images in folders named after their class (class_files.hpp), resized to one size. They are decoded once into a cache
// file, which is rebuilt when the source changes.
class ImageSet {
 public:
  static constexpr ImageSize default_size{224, 224};

  // Throws FileError if no image can be read, the source changes meanwhile or the disk is full; Stopped if told to
  // stop.
  static ImageSet open(const std::filesystem::path& source, ImageSize size = default_size,
                       const ImageSetOptions& options = {});

  std::size_t size() const { return index().images.size(); }
  std::size_t height() const { return index().size.height; }
  std::size_t width() const { return index().size.width; }
  const std::vector<std::string>& classes() const { return index().classes; }

  // About image i; images are sorted by the bytes of their names.
  const std::string& name(std::size_t i) const { return index().images[i].file.name; }
  std::size_t label(std::size_t i) const { return index().images[i].file.label; }
  FilePart part(std::size_t i) const { return index().images[i].file.part; }
  // Reads image_bytes() bytes: all of red, then all of green, then all of blue, each row by row. Throws FileError if
  // the cache file was changed meanwhile.
  void read_pixels(std::size_t i, std::span<std::uint8_t> pixels) const;
  std::size_t image_bytes() const { return index().image_bytes(); }

  // Files that are not images, or damaged.
  const std::vector<SkippedFile>& skipped() const { return index().skipped; }

  // Covers size, classes, names, labels, parts and pixels. Does not depend on where the images are or how they are
  // packed.
  std::uint64_t checksum() const { return checksum_; }

  // What the user should know about the cache; usually empty.
  const std::string& note() const { return note_; }

 private:
  ImageSet(ImageCache cache, std::string note);
  const ImageIndex& index() const { return cache_.index(); }

  ImageCache cache_;
  std::uint64_t checksum_ = 0;
  std::string note_;
};

}  // namespace ignd
