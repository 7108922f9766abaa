#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

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

}  // namespace ignd
