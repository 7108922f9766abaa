#pragma once

#include <cstddef>
#include <filesystem>
#include <string_view>

namespace ignd {

// The bytes of an open file, read from the disk where they are looked at. It stays when the file is closed.
class MappedFile {
 public:
  // Both throw FileError.
  static MappedFile open(const std::filesystem::path& path);
  explicit MappedFile(int descriptor);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  MappedFile& operator=(MappedFile&&) = delete;

  std::string_view bytes() const { return {data_, size_}; }

 private:
  const char* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace ignd
