#pragma once

#include "data/byte_source.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ignd {

// The part of a text that is being looked at: bytes are dropped at its front and read at its end.
class TextWindow {
 public:
  explicit TextWindow(std::unique_ptr<ByteSource> source) : source_(as_text(std::move(source))) {}

  // Reads until there are `bytes` of text, or all there is. Earlier views of the text are no longer valid.
  void fill(std::size_t bytes) {
    if (ended_ || size_ >= bytes) return;
    move_to_front(bytes);
    while (!ended_ && size_ < bytes) {
      const std::size_t count = source_->read(std::span(buffer_.get() + size_, bytes - size_));
      size_ += count;
      ended_ = count == 0;
    }
  }

  std::string_view text() const { return {buffer_.get() + begin_, size_}; }
  bool ended() const { return ended_; }  // nothing comes after the text
  void drop(std::size_t bytes) {
    begin_ += bytes;
    size_ -= bytes;
  }
  const std::string& name() const { return source_->name(); }

 private:
  void move_to_front(std::size_t room) {
    if (room <= room_) {
      std::copy_n(buffer_.get() + begin_, size_, buffer_.get());
    } else {
      auto larger = std::make_unique_for_overwrite<char[]>(room);
      std::copy_n(buffer_.get() + begin_, size_, larger.get());
      buffer_ = std::move(larger);
      room_ = room;
    }
    begin_ = 0;
  }

  std::unique_ptr<ByteSource> source_;
  std::unique_ptr<char[]> buffer_;
  std::size_t room_ = 0;
  std::size_t begin_ = 0;
  std::size_t size_ = 0;
  bool ended_ = false;
};

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
