#include "data/mapped_file.hpp"

#include "ignd/error.hpp"

#include <cerrno>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace ignd {
namespace {

[[noreturn]] void fail(int error) {
  throw FileError(fmt::format("cannot map a file into memory: {}", std::generic_category().message(error)));
}

}  // namespace

MappedFile MappedFile::open(const std::filesystem::path& path) {
  // Without waiting: opening a pipe would, for somebody to write to it.
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) fail(errno);
  try {
    MappedFile mapped(file);
    ::close(file);
    return mapped;
  } catch (...) {
    ::close(file);
    throw;
  }
}

MappedFile::MappedFile(int descriptor) {
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) fail(errno);
  if (!S_ISREG(status.st_mode)) fail(EINVAL);
  size_ = static_cast<std::size_t>(status.st_size);
  if (size_ == 0) return;  // which cannot be mapped
  void* at = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, descriptor, 0);
  if (at == MAP_FAILED) fail(errno);
  data_ = static_cast<const char*>(at);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<char*>(data_), size_);
}

}  // namespace ignd
