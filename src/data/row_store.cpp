#include "data/row_store.hpp"

#include "base/atomic_file.hpp"
#include "base/text.hpp"
#include "ignd/error.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

namespace ignd {
namespace {

constexpr std::size_t chunk_bytes = std::size_t{4} << 20;

// A file without a name, which exists only while it is open.
Descriptor open_nameless() {
  const std::string folder = temporary_folder().string();
  Descriptor file(open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (!file.is_open()) {  // not supported by every file system
    std::string path = folder + "/ignd-XXXXXX";
    file = Descriptor(mkostemp(path.data(), O_CLOEXEC));
    if (file.is_open()) unlink(path.c_str());
  }
  if (!file.is_open()) {
    throw FileError(fmt::format("cannot create a file for the data in {}: {}; set TMPDIR to a folder with space",
                                quoted_path(folder), std::strerror(errno)));
  }
  return file;
}

}  // namespace

RowStore::RowStore(std::size_t width, std::size_t memory)
    : width_(width),
      memory_(memory),
      rows_per_chunk_(std::max<std::size_t>(1, chunk_bytes / std::max<std::size_t>(1, width * sizeof(double)))) {}

RowStore::RowStore(RowStore&& other) noexcept
    : width_(other.width_),
      memory_(other.memory_),
      rows_per_chunk_(other.rows_per_chunk_),
      size_(std::exchange(other.size_, 0)),
      chunks_(std::exchange(other.chunks_, {})),
      file_(std::move(other.file_)),
      file_bytes_(other.file_bytes_) {}

RowStore::~RowStore() {
  for (double* chunk : chunks_) munmap(chunk, rows_per_chunk_ * width_ * sizeof(double));
}

double* RowStore::new_chunk() {
  const std::size_t bytes = rows_per_chunk_ * width_ * sizeof(double);
  void* at = MAP_FAILED;
  if ((chunks_.size() + 1) * bytes <= memory_) {
    at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at != MAP_FAILED) madvise(at, bytes, MADV_HUGEPAGE);  // most of the cost is touching pages for the first time
  } else {
    if (!file_.is_open()) file_ = open_nameless();
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t offset = file_bytes_;
    // Allocate the space before writing to it: a full disk is then an error and not a fatal signal.
    int fault = EINTR;
    while (fault == EINTR) fault = posix_fallocate(*file_, static_cast<off_t>(offset), static_cast<off_t>(bytes));
    if (fault != 0) {
      throw FileError(fmt::format("cannot keep the data in {}: {}; set TMPDIR to a folder with more space",
                                  quoted_path(temporary_folder()), std::strerror(fault)));
    }
    file_bytes_ += (bytes + page - 1) / page * page;
    at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, *file_, static_cast<off_t>(offset));
  }
  if (at == MAP_FAILED) throw FileError(fmt::format("cannot map memory for the data: {}", std::strerror(errno)));
  chunks_.push_back(static_cast<double*>(at));
  return chunks_.back();
}

void RowStore::append(std::span<const double> rows) {
  std::size_t count = rows.size() / width_;
  const double* from = rows.data();
  while (count > 0) {
    const std::size_t in_chunk = size_ % rows_per_chunk_;
    double* chunk = in_chunk == 0 ? new_chunk() : chunks_.back();
    const std::size_t fits = std::min(count, rows_per_chunk_ - in_chunk);
    std::copy_n(from, fits * width_, chunk + in_chunk * width_);
    from += fits * width_;
    size_ += fits;
    count -= fits;
  }
}

}  // namespace ignd
