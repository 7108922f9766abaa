#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace ignd {

// Bytes from a file, a pipe or the standard input, unpacked if they are gzip.
class ByteSource {
 public:
  virtual ~ByteSource() = default;

  // Fills the front of `into` and returns how many bytes that is; 0 only at the end. Throws FileError, also for a gzip
  // file that ends too early or whose checksum is wrong.
  virtual std::size_t read(std::span<char> into) = 0;

  // For another thread: a read that waits for bytes returns now, and so do later ones, as if the bytes ended here.
  virtual void stop_waiting() = 0;

  // For messages: the path in quotes, or "the standard input".
  virtual const std::string& name() const = 0;
};

// "-" is the standard input. Whether it is gzip is seen from the first bytes. Once the descriptor `interruption` can be
// read from, nothing waits for bytes any more, as after stop_waiting. Throws FileError.
std::unique_ptr<ByteSource> open_bytes(const std::string& path, int interruption = -1);

// The bytes of a text in memory, which must outlive the source. The name is for messages.
std::unique_ptr<ByteSource> bytes_of(std::string_view text, std::string name);

// The same bytes as a text with lines: without UTF-8's byte-order mark, and with newlines where a lone carriage return
// ends the first line (old Macs). Reading UTF-16, or a format that is not text, such as Parquet, throws FileError.
std::unique_ptr<ByteSource> as_text(std::unique_ptr<ByteSource> bytes);

}  // namespace ignd
