#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace ignd {

// What an archive may ask for before it is taken for one that was made to fill the memory.
struct ArchiveLimits {
  std::uint64_t member = std::uint64_t{1} << 28;  // bytes of one member
  std::uint64_t total = std::uint64_t{1} << 32;   // bytes of all of them
  std::uint64_t count = 1'000'000;
};

// By its name: .tgz, .tar.gz or .zip.
bool is_archive(std::string_view name);

using MemberWanted = std::function<bool(std::string_view name)>;
using MemberVisitor = std::function<void(const std::string& name, std::string_view content)>;

// Reads a .tgz, .tar.gz or .zip in place, in its own order, and visits the regular files in it that are wanted; nothing
// is written to disk. A file that `name` does not make an archive is one member of that name. Throws FileError where
// the archive is broken, cut off or beyond the limits, or where a name in it leads out of it; that a .tgz is broken may
// show only after the last visit.
void visit_members(const std::filesystem::path& path, const std::string& name, const MemberWanted& wanted,
                   const MemberVisitor& visit, const ArchiveLimits& limits = {});

// SHA-256, in 64 hexadecimal digits.
std::string sha256(std::string_view content);
std::string sha256_of_file(const std::filesystem::path& path);  // throws FileError

// Whether a name matches a pattern, in which * stands for any letters but '/'.
bool matches(std::string_view name, const std::string& pattern);

// A checksum of some members of an archive that does not depend on how they were packed: the SHA-256 of what
// `sha256sum` prints for them, sorted by name.
struct MemberChecksum {
  std::string checksum;
  std::uint64_t count = 0;
};

// Of the members that match a pattern; `name` is that of the archive (see visit_members). Throws FileError, also where
// more than `most` members match or two have one name.
MemberChecksum member_checksum(const std::filesystem::path& path, const std::string& name,
                               const std::vector<std::string>& patterns, std::uint64_t most);

}  // namespace ignd
