#pragma once

#include "base/atomic_file.hpp"
#include "data/class_files.hpp"
#include "data/image.hpp"

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

// The file that caches decoded images. docs/images.md describes the format.
namespace ignd {

inline constexpr std::size_t largest_image_side = 4096;

struct CachedImage {
  ClassFile file;
  std::uint64_t slot = 0;  // index of its pixels in the file: images come in the order of the archive
  std::uint64_t hash = 0;  // of the pixels
};

struct ImageIndex {
  std::string source;       // path of the folder or archive
  std::uint64_t stamp = 0;  // of the source at that time
  ImageSize size;
  std::vector<std::string> classes;
  std::vector<CachedImage> images;   // by name
  std::vector<SkippedFile> skipped;  // by name

  std::size_t image_bytes() const { return size.height * size.width * image_channels; }
};

// Writes a cache file: first the pixels, image by image, then the index.
class ImageCacheWriter {
 public:
  // Throws FileError if the folder is not writable; so do the other members.
  explicit ImageCacheWriter(const std::filesystem::path& folder);

  // Takes the pixels channel by channel. Returns the file with slot and hash.
  CachedImage append(const ClassFile& file, std::span<const std::uint8_t> pixels);

  void finish(const ImageIndex& index);

  // Gives the file its name; otherwise it vanishes with this object.
  void keep_as(const std::string& name) { file_.commit(name); }

  int descriptor() const { return file_.descriptor(); }

 private:
  FileWriter file_;
  std::uint64_t images_ = 0;
  std::uint64_t bytes_ = 0;
};

// A cache file, open for reading; removing it does no harm. It is read, not mapped into memory: a file truncated
// meanwhile is then an error and not a fatal signal.
class ImageCache {
 public:
  // These read and verify the index, not the pixels. They throw FileError.
  static ImageCache open(const std::filesystem::path& path);
  explicit ImageCache(const ImageCacheWriter& writer);

  // Verifies all pixels. Throws FileError if they are not those that were written.
  void check_pixels() const;

  const ImageIndex& index() const { return index_; }

  // Reads index().image_bytes() bytes. Throws FileError if they are no longer those that were written.
  void read_pixels(std::size_t image, std::span<std::uint8_t> pixels) const;

 private:
  explicit ImageCache(Descriptor file);

  Descriptor file_;
  ImageIndex index_;
};

}  // namespace ignd
