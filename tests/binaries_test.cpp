#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

// What the build's own programs and libraries ask of the dynamic loader, as binutils' readelf shows it.
namespace ignd {
namespace {

namespace fs = std::filesystem;

std::string output_of(const std::string& command) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(::popen(command.c_str(), "r"), &::pclose);
  if (!pipe) throw std::runtime_error("cannot run " + command);
  std::string text;
  std::array<char, 4096> buffer{};
  while (const std::size_t got = std::fread(buffer.data(), 1, buffer.size(), pipe.get())) {
    text.append(buffer.data(), got);
  }
  return text;
}

std::string readelf(const std::string& options, const fs::path& file) {
  return output_of("readelf --wide " + options + " '" + file.string() + "' 2>&1");
}

bool is_elf(const fs::path& file) {
  std::string magic(4, '\0');
  std::ifstream(file, std::ios::binary).read(magic.data(), 4);
  return magic ==
         "\x7f"
         "ELF";
}

std::vector<fs::path> built_files() {
  const fs::path programs = fs::path(IGND_PROGRAM).parent_path();
  std::vector<fs::path> files;
  for (const fs::path& folder : {programs, fs::path(IGND_LIBRARY).parent_path()}) {
    for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
      if (entry.is_regular_file() && !entry.is_symlink() && is_elf(entry.path())) files.push_back(entry.path());
    }
  }
  return files;
}

// The elements of RPATH and RUNPATH in what `readelf -d` prints, empty ones included.
std::vector<std::string> search_paths(const std::string& dynamic_section) {
  std::vector<std::string> paths;
  std::istringstream lines(dynamic_section);
  for (std::string line; std::getline(lines, line);) {
    if (line.find("(RUNPATH)") == std::string::npos && line.find("(RPATH)") == std::string::npos) continue;
    const std::size_t first = line.find('[') + 1;
    std::istringstream elements(line.substr(first, line.rfind(']') - first) + ":.");
    for (std::string element; std::getline(elements, element, ':');) paths.push_back(element);
    paths.pop_back();  // the guard that keeps a last empty element
  }
  return paths;
}

bool is_anchored(const std::string& path) { return path.starts_with("$ORIGIN") || path.starts_with("/"); }

TEST(Binaries, ASearchPathIsTakenApartWithItsEmptyElements) {
  const std::string line = " 0x1d (RUNPATH)            Library runpath: [$ORIGIN/../lib::lib:]\n";
  EXPECT_EQ(search_paths(line), (std::vector<std::string>{"$ORIGIN/../lib", "", "lib", ""}));
  EXPECT_TRUE(search_paths(" 0x1 (NEEDED)     Shared library: [libm.so.6]\n").empty());
}

TEST(Binaries, NoLibraryIsLookedForInTheCurrentFolder) {
  const std::vector<fs::path> files = built_files();
  ASSERT_GE(files.size(), 2U);
  for (const fs::path& file : files) {
    for (const std::string& path : search_paths(readelf("-d", file))) {
      EXPECT_TRUE(is_anchored(path)) << file << " looks for libraries in '" << path << "'";
    }
  }
}

TEST(Binaries, TheToolFindsTheLibraryBesideIt) {
  const auto paths = search_paths(readelf("-d", IGND_PROGRAM));
  ASSERT_EQ(paths.size(), 1U);
  EXPECT_TRUE(paths[0].starts_with("$ORIGIN/"));
}

TEST(Binaries, AreHardened) {
  for (const fs::path& file : {fs::path(IGND_PROGRAM), fs::path(IGND_LIBRARY)}) {
    EXPECT_NE(readelf("-l", file).find("GNU_RELRO"), std::string::npos) << file;
    EXPECT_NE(readelf("-d", file).find("NOW"), std::string::npos) << file;
    EXPECT_NE(readelf("-h", file).find("DYN"), std::string::npos) << file << " is not position-independent";
    const std::string symbols = readelf("--dyn-syms", file);
    EXPECT_NE(symbols.find("__stack_chk_fail"), std::string::npos) << file;
    EXPECT_NE(symbols.find("__glibcxx_assert_fail"), std::string::npos) << file;
    if (IGND_IS_FORTIFIED) {
      EXPECT_NE(symbols.find("_chk@"), std::string::npos) << file;
    }
  }
}

}  // namespace
}  // namespace ignd
