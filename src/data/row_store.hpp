#pragma once

#include "base/descriptor.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace ignd {

// A growing table of doubles. Beyond a limit, rows go to a nameless file that is mapped into memory: the system keeps
// in memory what is used, and nothing is left behind, however the program ends.
class RowStore {
 public:
  static constexpr std::size_t default_memory = std::size_t{64} << 20;

  // For rows of `width` numbers, at least one. What exceeds `memory` bytes goes to a file in $TMPDIR or /var/tmp.
  explicit RowStore(std::size_t width, std::size_t memory = default_memory);
  ~RowStore();
  RowStore(RowStore&& other) noexcept;
  RowStore(const RowStore&) = delete;
  RowStore& operator=(const RowStore&) = delete;
  RowStore& operator=(RowStore&&) = delete;

  std::size_t width() const { return width_; }
  std::size_t size() const { return size_; }

  // Takes complete rows, one after the other. Throws FileError if the disk is full.
  void append(std::span<const double> rows);

  std::span<const double> operator[](std::size_t row) const {
    return {chunks_[row / rows_per_chunk_] + (row % rows_per_chunk_) * width_, width_};
  }

 private:
  double* new_chunk();

  std::size_t width_;
  std::size_t memory_;
  std::size_t rows_per_chunk_;
  std::size_t size_ = 0;
  std::vector<double*> chunks_;
  Descriptor file_;
  std::size_t file_bytes_ = 0;
};

}  // namespace ignd
