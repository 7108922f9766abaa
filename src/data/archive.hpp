#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

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

}  // namespace ignd
