#pragma once

#include "base/pinned.hpp"

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include <sys/types.h>
#include <unistd.h>

namespace ignd {

// Owns a file descriptor and closes it. Negative numbers, which failed system calls return, mean none.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (is_open()) ::close(number_);
  }

  bool is_open() const { return number_ >= 0; }
  int operator*() const { return number_; }

  // Whether the open file is the one that has this name now: another process may have renamed or removed it.
  bool is_at(const std::filesystem::path& path) const;

  // Writes all bytes and returns 0, or errno; `bytes` loses what has been written.
  int write(std::string_view& bytes) const;

 private:
  int number_;
};

// Replaces the file at `path` by `content`, completely or not at all: writes a nameless file in the same folder, or one
// with an unpredictable name, syncs and renames it. The new file is not readable by more users than the old one.
// Removes temporary files of writers that were killed. Throws FileError, also if `path` is not a regular file, and
// leaves no temporary file behind.
void write_file_atomically(const std::filesystem::path& path, std::string_view content);

// Writes a file of any size piece by piece. It has no name before commit(), so that nothing is left behind, however the
// program ends. If the file system cannot do that, it has a temporary name.
class FileWriter : Pinned {
 public:
  // In an existing folder, to replace the file `target`, if that is known. Throws FileError.
  explicit FileWriter(const std::filesystem::path& folder, const std::filesystem::path& target = {});
  ~FileWriter();

  // Throws FileError, also if the disk is full.
  void append(std::string_view bytes);

  // Syncs the file and gives it this name in the folder, replacing an existing file. Throws FileError.
  void commit(const std::string& name);

  // Open for reading and writing while this object lives.
  int descriptor() const { return *file_; }

 private:
  [[noreturn]] void fail(std::string_view what, int error) const;
  std::string open_file() const;

  std::filesystem::path folder_;
  std::filesystem::path temporary_ = {};  // empty: it has no name
  std::string name_;                      // for messages
  Descriptor file_;
};

// The folder for large temporary files: $TMPDIR, or /var/tmp.
std::filesystem::path temporary_folder();

// The content of a regular file, or its first `most` bytes. Throws FileError.
std::string read_file(const std::filesystem::path& path, std::size_t most = std::string::npos);

}  // namespace ignd
