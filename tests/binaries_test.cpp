// g++ 12 warns of the standard library's own regular expressions where the sanitizers are on.
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <regex>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

// What the build's own programs and libraries ask of the dynamic loader and what they offer, as binutils' readelf and
// nm show it.
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

bool needs_the_library(const fs::path& file) {
  return readelf("-d", file).find("Shared library: [libignd.so") != std::string::npos;
}

TEST(Binaries, WhatNeedsTheLibraryFindsItBesideItself) {
  EXPECT_FALSE(needs_the_library(IGND_PROGRAM)) << "the tool uses internals, which the library does not export";
  for (const fs::path& file : built_files()) {
    if (!needs_the_library(file)) continue;
    const auto paths = search_paths(readelf("-d", file));
    ASSERT_EQ(paths.size(), 1U) << file;
    EXPECT_TRUE(paths[0].starts_with("$ORIGIN/")) << file;
  }
}

// The names that the public headers mark: those of functions and classes.
std::set<std::string> promised_names(const std::string& header) {
  static const std::regex mark(R"(\bIGND_API\s+((?:[^({;:]|::)+))"), word(R"(\w+)");
  std::set<std::string> names;
  for (std::sregex_iterator found(header.begin(), header.end(), mark), end; found != end; ++found) {
    const std::string declaration = (*found)[1];
    std::string last;
    for (std::sregex_iterator it(declaration.begin(), declaration.end(), word); it != end; ++it) {
      if (it->str() != "final") last = it->str();
    }
    names.insert(last);
  }
  return names;
}

std::set<std::string> promised_names() {
  std::set<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(fs::path(IGND_SOURCE_DIR) / "include" / "ignd")) {
    if (entry.path().filename() == "api.hpp") continue;
    std::ostringstream header;
    header << std::ifstream(entry.path()).rdbuf();
    names.merge(promised_names(header.str()));
  }
  return names;
}

// What follows ignd:: in a mangled name, be it that of a function, of a virtual table or of a type's description; empty
// if the symbol is not one of that namespace.
std::string name_in_ignd(const std::string& symbol) {
  static const std::regex nested(R"(_Z(?:T[VTIS]|GV)?NV?K?[RO]?4ignd(\d+)(.*))");
  std::smatch parts;
  if (!std::regex_match(symbol, parts, nested)) return "";
  return parts[2].str().substr(0, std::stoul(parts[1]));
}

std::vector<std::string> exported_symbols() {
  std::istringstream lines(output_of("nm -D --defined-only '" + std::string(IGND_LIBRARY) + "'"));
  std::vector<std::string> symbols;
  for (std::string line; std::getline(lines, line);) symbols.push_back(line.substr(line.rfind(' ') + 1));
  return symbols;
}

TEST(Binaries, MarksAndSymbolsAreReadAsTheyAreWritten) {
  EXPECT_EQ(promised_names("template <class T>\nclass IGND_API Linear final : public Model<T> {\n int rows();\n};\n"
                           "IGND_API std::vector<std::string> loss_names();\nIGND_API const char* version();  // x\n"
                           "struct IGND_API Optimizer {};\nstruct Step {};\nstd::string secret();\n"),
            (std::set<std::string>{"Linear", "Optimizer", "loss_names", "version"}));
  EXPECT_EQ(name_in_ignd("_ZN4ignd10make_modelIfEESt10unique_ptr"), "make_model");
  EXPECT_EQ(name_in_ignd("_ZNKR4ignd10Checkpoint4textE"), "Checkpoint");
  EXPECT_EQ(name_in_ignd("_ZTIN4ignd5ErrorE"), "Error");
  EXPECT_EQ(name_in_ignd("_ZN4ignd7kernels5tableIfEE"), "kernels");
  EXPECT_EQ(name_in_ignd("_ZNSt6vectorIN4ignd5ErrorEE"), "");
  EXPECT_EQ(name_in_ignd("XXH64"), "");
}

TEST(Binaries, TheLibraryExportsOnlyWhatItsHeadersPromise) {
  if (!fs::path(IGND_LIBRARY).extension().string().starts_with(".so") &&
      fs::path(IGND_LIBRARY).string().find(".so.") == std::string::npos) {
    GTEST_SKIP() << "the library is a static one";
  }
  std::set<std::string> missing = promised_names();
  const std::set<std::string> promised = missing;
  ASSERT_GT(promised.size(), 40U);
  const auto symbols = exported_symbols();
  for (const std::string& symbol : symbols) {
    const std::string name = name_in_ignd(symbol);
    EXPECT_TRUE(promised.contains(name)) << symbol << " is exported, but no public header marks it";
    missing.erase(name);
  }
  for (const std::string& name : missing) ADD_FAILURE() << name << " is marked, but the library does not export it";
  // Marked classes bring their members and what describes them; internals by the thousand are not among those.
  EXPECT_GT(symbols.size(), promised.size());
  EXPECT_LT(symbols.size(), 700U);
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
