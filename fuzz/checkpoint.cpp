#include "ignd/checkpoint.hpp"

#include "folder.hpp"
#include "ignd/error.hpp"
#include "require.hpp"

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>

#include <xxhash.h>

using ignd::Checkpoint;
using ignd::fuzz::Folder;
using ignd::fuzz::require;

namespace {

const Folder& folder() {
  static const Folder made;
  return made;
}

std::string bytes_of(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::optional<Checkpoint> read_bytes(const std::string& bytes) {
  const auto path = folder().file("read");
  std::ofstream(path, std::ios::binary) << bytes;
  try {
    return Checkpoint::read(path);
  } catch (const ignd::FileError&) {
    return {};
  }
}

std::string written(const Checkpoint& checkpoint) {
  const auto path = folder().file("written");
  checkpoint.write(path);
  return bytes_of(path);
}

// With the size and the checksum that the rest asks for: a fuzzer does not guess these.
std::string repaired(std::string bytes) {
  constexpr std::size_t size_at = 16;
  const std::uint64_t size = bytes.size() + sizeof size;
  if (bytes.size() < size_at + sizeof size) return bytes;
  std::memcpy(bytes.data() + size_at, &size, sizeof size);
  const std::uint64_t checksum = XXH3_64bits(bytes.data(), bytes.size());
  bytes.append(reinterpret_cast<const char*>(&checksum), sizeof checksum);
  return bytes;
}

void check(const std::string& bytes) {
  const auto checkpoint = read_bytes(bytes);
  if (!checkpoint) return;
  const std::string once = written(*checkpoint);
  require(once.size() == bytes.size(), "nothing is lost and nothing is added");
  const auto again = read_bytes(once);
  require(again.has_value(), "what is written can be read");
  require(written(*again) == once, "and it is the same");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  check(bytes);
  check(repaired(bytes));
  return 0;
}
