#pragma once

#include "data/byte_source.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ignd {

// Some whole lines of a file. The memory is used again for the next ones.
struct LineBlock {
  std::vector<char> bytes;
  std::size_t size = 0;
  std::uint64_t first_line = 1;

  // Ends with a newline, also where the file does not.
  std::string_view text() const { return {bytes.data(), size}; }
};

// Cuts bytes into blocks of whole lines.
class LineBlocks {
 public:
  static constexpr std::size_t default_size = std::size_t{1} << 18;
  static constexpr std::size_t longest_line = std::size_t{4} << 20;

  explicit LineBlocks(std::unique_ptr<ByteSource> source, std::size_t block_size = default_size)
      : source_(as_text(std::move(source))), block_size_(block_size) {}

  // False at the end. A block is smaller where the bytes come slowly: what has arrived is not held back. Throws
  // FileError where the file cannot be read or a line is too long, after the lines before that were given.
  bool next(LineBlock& block);

  ByteSource& source() { return *source_; }

 private:
  std::unique_ptr<ByteSource> source_;
  std::size_t block_size_;
  std::string begun_;  // the line that the last block ended in
  std::uint64_t next_line_ = 1;
};

}  // namespace ignd
