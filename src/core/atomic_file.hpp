#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace ignd {

// Replaces the file at `path` by `content`, whole or not at all: written under a temporary name in the same folder,
// synced, renamed. Throws FileError and leaves no temporary file behind, also where `path` is no regular file.
void write_file_atomically(const std::filesystem::path& path, std::string_view content);

// The content of a regular file, or its first `most` bytes. Throws FileError.
std::string read_file(const std::filesystem::path& path, std::size_t most = std::string::npos);

}  // namespace ignd
