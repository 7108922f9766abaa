#pragma once

#include "base/atomic_file.hpp"
#include "base/descriptor.hpp"
#include "data/class_files.hpp"
#include "data/image.hpp"

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

// The file that decoded images are kept in. docs/images.md describes the format.
namespace ignd {

inline constexpr std::size_t largest_image_side = 4096;

struct CachedImage {
  ClassFile file;
  std::uint64_t slot = 0;  // where its pixels are, counted in images: those of an archive come in its own order
  std::uint64_t hash = 0;  // of the pixels
};

struct ImageIndex {
  std::string source;       // the path that the images were read from
  std::uint64_t stamp = 0;  // what was there at the time
  ImageSize size;
  std::vector<std::string> classes;
  std::vector<CachedImage> images;   // by name
  std::vector<SkippedFile> skipped;  // by name

  std::size_t image_bytes() const { return size.height * size.width * image_channels; }
};

// Writes such a file: first the pixels, image by image, then the index.
class ImageCacheWriter {
 public:
  // Throws FileError where the folder cannot be written to; so do the others.
  explicit ImageCacheWriter(const std::filesystem::path& folder);

  // The channels one after the other. Gives slot and hash.
  CachedImage append(const ClassFile& file, std::span<const std::uint8_t> pixels);

  void finish(const ImageIndex& index);

  // Without it the file is gone when this is.
  void keep_as(const std::string& name) { file_.commit(name); }

  int descriptor() const { return file_.descriptor(); }

 private:
  FileWriter file_;
  std::uint64_t images_ = 0;
  std::uint64_t bytes_ = 0;
};

// Such a file, open to be read from. It stays when it is removed. It is read and not mapped into memory: a file that
// is cut off meanwhile is then an error to report, and not the end of the program.
class ImageCache {
 public:
  // These read the index. They throw FileError where anything but the pixels is damaged.
  static ImageCache open(const std::filesystem::path& path);
  explicit ImageCache(const ImageCacheWriter& writer);

  // Reads all pixels. Throws FileError where they are not those that were written.
  void check_pixels() const;

  const ImageIndex& index() const { return index_; }

  // Into room for index().image_bytes(). Throws FileError where they are no longer those that were written.
  void read_pixels(std::size_t image, std::span<std::uint8_t> pixels) const;

 private:
  explicit ImageCache(Descriptor file);

  Descriptor file_;
  ImageIndex index_;
};

}  // namespace ignd
