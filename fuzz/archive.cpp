// Archives, and the class folders in them.
#include "data/archive.hpp"

#include "data/class_files.hpp"
#include "folder.hpp"
#include "ignd/error.hpp"
#include "require.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using namespace ignd;
using fuzz::Folder;
using fuzz::require;
using Members = std::vector<std::pair<std::string, std::string>>;

const ArchiveLimits limits{.member = 1 << 16, .total = 1 << 20, .count = 50};

std::optional<Members> read(const std::filesystem::path& path) {
  Members members;
  try {
    visit_members(
        path, path.filename().string(), [](std::string_view) { return true; },
        [&](const std::string& name, std::string_view content) { members.emplace_back(name, content); }, limits);
  } catch (const FileError&) {
    return {};
  }
  return members;
}

void check_members(const Members& members) {
  require(members.size() <= limits.count, "there are no more members than allowed");
  for (const auto& [name, content] : members) {
    require(content.size() <= limits.member, "no member is larger than allowed");
    require(!name.empty() && !name.starts_with('/'), "every name is one within the archive");
    require(("/" + name + "/").find("/../") == std::string::npos, "no name leads out");
  }
}

void check_class_files(const std::filesystem::path& path) {
  try {
    const ClassFiles found = list_class_files(path);
    require(std::ranges::is_sorted(found.files, {}, &ClassFile::name), "files are in the order of their names");
    for (const ClassFile& file : found.files) {
      require(file.label < std::max<std::size_t>(1, found.classes.size()), "every label is that of a class");
    }
  } catch (const FileError&) {
    return;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Folder folder;
  const auto path = folder.file("a.zip");  // any other name of an archive is read in the same way
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  const auto members = read(path);
  require(members == read(path), "an archive is read the same way twice");
  if (members) check_members(*members);
  check_class_files(path);
  return 0;
}
