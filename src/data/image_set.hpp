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
  std::filesystem::path cache;                                        // a folder; empty: `images` in the cache folder
  std::function<void(std::size_t done, std::size_t total)> progress;  // after each image that is decoded
  const std::atomic<bool>* stop = nullptr;                            // looked at while an image is decoded
};

// Images in folders named after their class (class_files.hpp), all of one size. They are decoded once and kept in a
// file, which is read from and made anew when the source has changed.
class ImageSet {
 public:
  static constexpr ImageSize default_size{224, 224};

  // Throws FileError where no image can be read, the source changes meanwhile or the disk is full; Stopped.
  static ImageSet open(const std::filesystem::path& source, ImageSize size = default_size,
                       const ImageSetOptions& options = {});

  std::size_t size() const { return index().images.size(); }
  std::size_t height() const { return index().size.height; }
  std::size_t width() const { return index().size.width; }
  const std::vector<std::string>& classes() const { return index().classes; }

  // Of the images, in the order of the bytes of their names.
  const std::string& name(std::size_t i) const { return index().images[i].file.name; }
  std::size_t label(std::size_t i) const { return index().images[i].file.label; }
  FilePart part(std::size_t i) const { return index().images[i].file.part; }
  // All of red, then all of green, then all of blue, each row by row, into room for just that. Throws FileError where
  // somebody has changed the cache meanwhile.
  void read_pixels(std::size_t i, std::span<std::uint8_t> pixels) const;
  std::size_t image_bytes() const { return index().image_bytes(); }

  // Files that are no images, or damaged ones.
  const std::vector<SkippedFile>& skipped() const { return index().skipped; }

  // Of size, classes, names, labels, parts and pixels: the same wherever the images are from and however they were
  // packed.
  std::uint64_t checksum() const { return checksum_; }

  // What the user should know of the cache; mostly empty.
  const std::string& note() const { return note_; }

 private:
  ImageSet(ImageCache cache, std::string note);
  const ImageIndex& index() const { return cache_.index(); }

  ImageCache cache_;
  std::uint64_t checksum_ = 0;
  std::string note_;
};

}  // namespace ignd
