#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace ignd {

// Limits against archives that are built to exhaust memory (zip bombs).
struct ArchiveLimits {
  std::uint64_t member = std::uint64_t{1} << 28;  // bytes of one member
  std::uint64_t total = std::uint64_t{1} << 32;   // bytes of all of them
  std::uint64_t count = 1'000'000;
};

// By its name: .tgz, .tar.gz or .zip.
bool is_archive(std::string_view name);

using MemberWanted = std::function<bool(std::string_view name)>;
using MemberVisitor = std::function<void(const std::string& name, std::string_view content)>;

// Visits the wanted regular files of a .tgz, .tar.gz or .zip, in the archive's order, without unpacking to disk. If
// `name` is not that of an archive, the file itself is the only member. Throws FileError if the archive is damaged,
// truncated or beyond the limits, or if a member's name leads outside ("../"). Damage to a .tgz may show only after the
// last visit.
void visit_members(const std::filesystem::path& path, const std::string& name, const MemberWanted& wanted,
                   const MemberVisitor& visit, const ArchiveLimits& limits = {});

// SHA-256, in 64 hexadecimal digits.
std::string sha256(std::string_view content);
std::string sha256_of_file(const std::filesystem::path& path);  // throws FileError

// Whether a name matches a pattern; * stands for any characters except '/'.
bool matches(std::string_view name, const std::string& pattern);

// A checksum of members of an archive, however they are packed: the SHA-256 of the lines that `sha256sum` prints for
// them, sorted by name.
struct MemberChecksum {
  std::string checksum;
  std::uint64_t count = 0;
};

// Covers the members that match a pattern; `name` is the archive's (see visit_members). Throws FileError, also if more
// than `most` members match or two have the same name.
MemberChecksum member_checksum(const std::filesystem::path& path, const std::string& name,
                               const std::vector<std::string>& patterns, std::uint64_t most);

}  // namespace ignd
