#pragma once

#include "base/descriptor.hpp"
#include "base/pinned.hpp"

#include <filesystem>
#include <string>
#include <string_view>

#include <sys/types.h>

namespace ignd {

// Replaces the file at `path` by `content`, whole or not at all: it is written without a name in the same folder, or
// under one that nobody can foresee, synced and renamed. Nobody may read the new file who could not read the old one.
// Throws FileError and leaves no temporary file behind, also where `path` is no regular file; those of writers that
// were killed are removed.
void write_file_atomically(const std::filesystem::path& path, std::string_view content);

// A file that is written piece by piece, however large. It has no name before commit(), so that nothing is left behind,
// however the program ends; where the file system cannot do that, it has a temporary one.
class FileWriter : Pinned {
 public:
  // In this folder, which must be there. Throws FileError.
  explicit FileWriter(const std::filesystem::path& folder);
  ~FileWriter();

  // Throws FileError, also where the disk is full.
  void append(std::string_view bytes);

  // Syncs the file and puts it in the place of what has this name in the folder. Throws FileError.
  void commit(const std::string& name);

  // Open for reading and writing as long as this lives.
  int descriptor() const { return *file_; }

 private:
  friend void write_file_atomically(const std::filesystem::path& path, std::string_view content);
  // With what it will replace, if that is known.
  FileWriter(const std::filesystem::path& folder, const std::filesystem::path& target, mode_t mode);

  [[noreturn]] void fail(std::string_view what, int error) const;
  std::string open_file() const;

  std::filesystem::path folder_;
  std::filesystem::path temporary_ = {};  // empty: it has no name
  std::string name_;                      // for messages
  Descriptor file_;
};

// Where large files are put that nobody wants to keep: $TMPDIR, or /var/tmp.
std::filesystem::path temporary_folder();

// The content of a regular file, or its first `most` bytes. Throws FileError.
std::string read_file(const std::filesystem::path& path, std::size_t most = std::string::npos);

}  // namespace ignd
