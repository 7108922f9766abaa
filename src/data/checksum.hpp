#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace ignd {

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
