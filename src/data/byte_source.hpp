#pragma once

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

// Bytes from a file, a pipe or standard input, decompressed if they are gzip.
class ByteSource {
 public:
  virtual ~ByteSource() = default;

  // Reads into the front of `into` and returns the number of bytes; 0 only at the end. Throws FileError, also for gzip
  // that is truncated or has a wrong checksum.
  virtual std::size_t read(std::span<char> into) = 0;

  // May be called from another thread: reads that wait for bytes return as if at the end, now and later.
  virtual void stop_waiting() = 0;

  // For messages: the path in quotes, or "the standard input".
  virtual const std::string& name() const = 0;
};

// "-" is standard input. Gzip is recognised by its first bytes. Once the descriptor `interruption` becomes readable,
// reads no longer wait, as after stop_waiting. Throws FileError.
std::unique_ptr<ByteSource> open_bytes(const std::string& path, int interruption = -1);

// The bytes of a text in memory, which must outlive the source. `name` is for messages.
std::unique_ptr<ByteSource> bytes_of(std::string_view text, std::string name);

// The same bytes as lines of text: drops the UTF-8 byte-order mark, and turns carriage returns into newlines if a lone
// one ends the first line (old Macs). Reading UTF-16, or a binary format such as Parquet, throws FileError.
std::unique_ptr<ByteSource> as_text(std::unique_ptr<ByteSource> bytes);

// A sliding window over a text: drops bytes at the front and reads more at the end.
class TextWindow {
 public:
  explicit TextWindow(std::unique_ptr<ByteSource> source) : source_(as_text(std::move(source))) {}

  // Reads until the window holds `bytes` bytes, or the text ends. Invalidates earlier views of the text.
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
  bool ended() const { return ended_; }  // nothing follows the window
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

// Complete lines of a file. The memory is reused for the next ones.
struct LineBlock {
  std::vector<char> bytes;
  std::size_t size = 0;
  std::uint64_t first_line = 1;

  // Ends with a newline, even if the file does not.
  std::string_view text() const { return {bytes.data(), size}; }
};

// Cuts bytes into blocks of complete lines.
class LineBlocks {
 public:
  static constexpr std::size_t default_size = std::size_t{1} << 18;
  static constexpr std::size_t longest_line = std::size_t{4} << 20;

  explicit LineBlocks(std::unique_ptr<ByteSource> source, std::size_t block_size = default_size)
      : source_(as_text(std::move(source))), block_size_(block_size) {}

  // False at the end. Delivers what has arrived, so blocks of a slow stream are smaller. Throws FileError if the file
  // cannot be read or a line is too long, after delivering the lines before it.
  bool next(LineBlock& block);

  ByteSource& source() { return *source_; }

 private:
  std::unique_ptr<ByteSource> source_;
  std::size_t block_size_;
  std::string begun_;  // the incomplete line at the end of the last block
  std::uint64_t next_line_ = 1;
};

}  // namespace ignd
