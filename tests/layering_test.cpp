#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

// Data flows one way through the folders, and the includes show it.
namespace ignd {
namespace {

namespace fs = std::filesystem;

struct File {
  std::string path;  // from the root of the project: "src/core/loss.cpp"
  std::string text;
};

using Words = std::set<std::string, std::less<>>;

// Whose headers a folder may include. Lower folders never include higher ones.
const std::map<std::string, Words, std::less<>>& allowed_folders() {
  static const std::map<std::string, Words, std::less<>> allowed = [] {
    const auto with = [](Words words, const Words& more) {
      words.insert(more.begin(), more.end());
      return words;
    };
    const Words base{"base", "ignd"};
    const Words core = with(base, {"core", "kernels"});
    const Words models = with(core, {"models"});
    const Words learn = with(models, {"data", "learn"});
    const Words lab = with(learn, {"rl", "lab"});
    const Words report = with(lab, {"report"});
    return std::map<std::string, Words, std::less<>>{
        {"include/ignd", {"ignd"}},
        {"src/base", base},
        {"src/kernels", {"kernels"}},
        {"src/core", core},
        {"src/models", models},
        {"src/rl", with(models, {"rl"})},
        {"src/data", with(models, {"data"})},
        {"src/learn", learn},
        {"src/lab", lab},
        {"src/report", report},
        {"src/cli", with(report, {"cli"})},
        {"src/mpi", {"base"}},
    };
  }();
  return allowed;
}

// Slow to compile: each in few .cpp files of a folder, so that little waits for it.
const std::map<std::string, std::size_t> heavy_headers{
    {"toml++/", 1}, {"base/toml.hpp", 3}, {"nlohmann/", 1}, {"CLI/", 2}};

// The headers that may include a heavy one: that of the TOML parser, and one for the chapters that read with it.
bool may_include(const std::string& path, const std::string& heavy) {
  return (path == "src/base/toml.hpp" && heavy == "toml++/") ||
         (path == "src/lab/experiment_tables.hpp" && heavy == "base/toml.hpp");
}

std::string first_part(const std::string& path) { return path.substr(0, path.find('/')); }

bool is_our_folder(const std::string& name) {
  return std::ranges::any_of(allowed_folders(), [&](const auto& entry) { return entry.first.ends_with("/" + name); });
}

bool is_standard(const std::string& header) { return header.find_first_of("./") == std::string::npos; }

// Included once per instruction set, by Highway's convention.
bool is_read_per_target(const std::string& path) {
  return path.starts_with("src/kernels/") && path.ends_with("-inl.hpp");
}

bool is_header(const std::string& path) { return path.ends_with(".hpp") || path.ends_with(".h"); }

// What is wrong with including `header` from a file in `folder`, or "".
std::string include_fault(const std::string& folder, const std::string& header, bool quoted) {
  const std::string owner = first_part(header);
  if (is_our_folder(owner)) {
    return allowed_folders().find(folder)->second.contains(owner) ? "" : "is not for " + folder;
  }
  if (folder == "src/kernels" && (owner == "hwy" || header == "xmmintrin.h")) return "";
  if (quoted) return "is not a path from src/ or include/";
  if (is_standard(header)) return "";
  if (folder == "include/ignd") return "would have to be installed by every user";
  if (folder == "src/kernels")
    return "is not for kernels, which know Highway and the control register, and nothing else";
  return "";
}

struct Include {
  std::string header;
  bool quoted = false;
};

// The header that a line includes, if it does.
std::optional<Include> parse_include(std::string_view line) {
  const auto skip = [&](std::string_view word) {
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    if (!line.starts_with(word)) return false;
    line.remove_prefix(word.size());
    return true;
  };
  if (!skip("#") || !skip("include")) return {};
  const bool quoted = skip("\"");
  if (!quoted && !skip("<")) return {};
  return Include{std::string(line.substr(0, line.find(quoted ? '"' : '>'))), quoted};
}

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// Everything that is wrong with a tree of sources, one line each.
std::vector<std::string> layering_faults(const std::vector<File>& files) {
  std::vector<std::string> faults;
  std::map<std::pair<std::string, std::string>, Words> users_of_heavy;
  for (const auto& [path, text] : files) {
    const std::string folder = fs::path(path).parent_path().string();
    if (!allowed_folders().contains(folder)) {
      faults.push_back(path + " is in no known folder");
      continue;
    }
    const auto lines = lines_of(text);
    if (is_header(path) && !is_read_per_target(path) && std::ranges::find(lines, "#pragma once") == lines.end()) {
      faults.push_back(path + " has no #pragma once");
    }
    for (const auto& line : lines) {
      const auto include = parse_include(line);
      if (!include) continue;
      const auto& [header, quoted] = *include;
      const std::string fault = include_fault(folder, header, quoted);
      if (!fault.empty()) faults.push_back(fmt::format("{} includes {}, which {}", path, header, fault));
      for (const auto& [heavy, most] : heavy_headers) {
        if (!header.starts_with(heavy)) continue;
        users_of_heavy[{heavy, folder}].insert(path);
        if (is_header(path) && !may_include(path, heavy))
          faults.push_back(fmt::format("{} includes {} in a header", path, header));
      }
    }
  }
  for (const auto& [heavy, users] : users_of_heavy) {
    if (users.size() <= heavy_headers.at(heavy.first)) continue;
    faults.push_back(fmt::format("{} in {} is included by {} files", heavy.first, heavy.second, users.size()));
  }
  return faults;
}

std::vector<File> files_of_the_project() {
  const fs::path root = IGND_SOURCE_DIR;
  std::vector<File> files;
  for (const auto* top : {"include", "src"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root / top)) {
      if (!entry.is_regular_file()) continue;
      std::ostringstream text;
      text << std::ifstream(entry.path(), std::ios::binary).rdbuf();
      files.push_back({fs::relative(entry.path(), root).generic_string(), text.str()});
    }
  }
  return files;
}

using Faults = std::vector<std::string>;

TEST(Layering, TheProjectKeepsItsFoldersApart) { EXPECT_EQ(layering_faults(files_of_the_project()), Faults{}); }

TEST(Layering, TheFilesAreFoundAndRead) {
  const auto files = files_of_the_project();
  const auto has = [&](std::string_view path, std::string_view part) {
    return std::ranges::any_of(
        files, [&](const File& file) { return file.path == path && file.text.find(part) != std::string::npos; });
  };
  EXPECT_TRUE(has("include/ignd/model.hpp", "#include \"ignd/sensitivity.hpp\""));
  EXPECT_TRUE(has("src/core/trainer.cpp", "#include \"core/updater.hpp\""));
  EXPECT_TRUE(has("src/cli/main.cpp", "#include <CLI/CLI.hpp>"));
}

TEST(Layering, AnIncludeOfAHigherFolderIsFound) {
  const auto fault = [](const std::string& path, const std::string& include) {
    return layering_faults({{path, "#pragma once\n#include " + include + "\n"}});
  };
  EXPECT_EQ(fault("src/core/a.cpp", "\"models/mlp.hpp\""),
            Faults{"src/core/a.cpp includes models/mlp.hpp, which is not for src/core"});
  EXPECT_EQ(fault("src/core/a.cpp", "<models/mlp.hpp>").size(), 1U) << "the other brackets change nothing";
  EXPECT_EQ(fault("src/kernels/a.cpp", "\"base/spec.hpp\"").size(), 1U);
  EXPECT_EQ(fault("src/kernels/a.cpp", "\"ignd/error.hpp\"").size(), 1U);
  EXPECT_EQ(fault("src/models/a.hpp", "\"data/csv.hpp\"").size(), 1U);
  EXPECT_EQ(fault("src/models/a.hpp", "\"rl/lqr.hpp\"").size(), 1U);
  EXPECT_EQ(fault("src/rl/a.cpp", "\"data/csv.hpp\"").size(), 1U);
  EXPECT_EQ(fault("src/data/a.cpp", "\"lab/run.hpp\"").size(), 1U);
  EXPECT_EQ(fault("src/lab/a.cpp", "\"report/table.hpp\"").size(), 1U);
  EXPECT_EQ(fault("src/report/a.cpp", "\"cli/main.hpp\"").size(), 1U);
  EXPECT_EQ(fault("include/ignd/a.hpp", "\"base/spec.hpp\"").size(), 1U);

  EXPECT_EQ(fault("src/cli/a.cpp", "\"report/table.hpp\""), Faults{});
  EXPECT_EQ(fault("src/report/a.cpp", "\"lab/run.hpp\""), Faults{});
  EXPECT_EQ(fault("src/lab/a.cpp", "\"rl/lqr.hpp\""), Faults{});
  EXPECT_EQ(fault("src/data/a.cpp", "\"base/spec.hpp\""), Faults{});
  EXPECT_EQ(fault("src/models/a.cpp", "\"kernels/kernels.hpp\""), Faults{});
  EXPECT_EQ(fault("include/ignd/a.hpp", "\"ignd/model.hpp\""), Faults{});
}

TEST(Layering, AnIncludeIsFoundHoweverItIsWritten) {
  EXPECT_EQ(layering_faults({{"src/core/a.cpp", "  #  include\t\"cli/x.hpp\" // why\n"}}).size(), 1U);
  EXPECT_EQ(layering_faults({{"src/core/a.cpp", "#include \"../cli/x.hpp\"\n"}}).size(), 1U);
  EXPECT_EQ(layering_faults({{"src/core/a.cpp", "#include \"spec.hpp\"\n"}}).size(), 1U);
  EXPECT_EQ(layering_faults({{"src/core/a.cpp", "int x;\n#include <vector>\n#include \"cli/x.hpp\"\n"}}).size(), 1U);
}

TEST(Layering, PublicHeadersNeedNothingButTheStandardLibrary) {
  for (const auto* header : {"fmt/format.h", "Eigen/Dense", "xxhash.h", "unistd.h", "hwy/highway.h"}) {
    EXPECT_EQ(layering_faults({{"include/ignd/a.hpp", fmt::format("#pragma once\n#include <{}>\n", header)}}).size(),
              1U)
        << header;
  }
  EXPECT_EQ(layering_faults({{"include/ignd/a.hpp", "#pragma once\n#include <vector>\n#include <cmath>\n"}}), Faults{});
}

TEST(Layering, KernelsKnowHighwayAndNothingElse) {
  EXPECT_EQ(layering_faults({{"src/kernels/a.cpp", "#include <fmt/format.h>\n"}}).size(), 1U);
  EXPECT_EQ(layering_faults({{"src/kernels/a.cpp", "#include <hwy/highway.h>\n#include \"hwy/foreach_target.h\"\n"}}),
            Faults{});
  EXPECT_EQ(layering_faults({{"src/core/a.cpp", "#include <fmt/format.h>\n"}}), Faults{});
}

TEST(Layering, AFileOutsideTheKnownFoldersIsFound) {
  EXPECT_EQ(layering_faults({{"src/util/a.cpp", ""}}), Faults{"src/util/a.cpp is in no known folder"});
  EXPECT_EQ(layering_faults({{"src/a.cpp", ""}}).size(), 1U);
  EXPECT_EQ(layering_faults({{"include/a.hpp", ""}}).size(), 1U);
  EXPECT_EQ(layering_faults({{"src/core/deeper/a.cpp", ""}}).size(), 1U);
}

TEST(Layering, AHeaderWithoutPragmaOnceIsFound) {
  EXPECT_EQ(layering_faults({{"src/core/a.hpp", "#include <vector>\n"}}), Faults{"src/core/a.hpp has no #pragma once"});
  EXPECT_EQ(layering_faults({{"src/core/a.hpp", "// #pragma once\n"}}).size(), 1U);
  EXPECT_EQ(layering_faults({{"src/core/a.cpp", "#include <vector>\n"}}), Faults{});
  EXPECT_EQ(layering_faults({{"src/kernels/a-inl.hpp", "#include <vector>\n"}}), Faults{});
  EXPECT_EQ(layering_faults({{"src/kernels/a.hpp", "#include <vector>\n"}}).size(), 1U);
  EXPECT_EQ(layering_faults({{"src/core/a-inl.hpp", "#include <vector>\n"}}).size(), 1U);
}

TEST(Layering, AHeavyHeaderBelongsToFewSourcesOfAFolder) {
  for (const auto* header : {"toml++/toml.h", "nlohmann/json.hpp"}) {
    const std::string line = fmt::format("#include <{}>\n", header);
    EXPECT_EQ(layering_faults({{"src/cli/a.cpp", line}}), Faults{}) << header;
    EXPECT_EQ(layering_faults({{"src/cli/a.cpp", line}, {"src/report/b.cpp", line}}), Faults{}) << header;
    EXPECT_EQ(layering_faults({{"src/cli/a.cpp", line}, {"src/cli/b.cpp", line}}).size(), 1U) << header;
    EXPECT_EQ(layering_faults({{"src/cli/a.hpp", "#pragma once\n" + line}}).size(), 1U) << header;
  }
  EXPECT_EQ(layering_faults({{"src/base/toml.hpp", "#pragma once\n#include <toml++/toml.h>\n"}}), Faults{});
  EXPECT_EQ(layering_faults({{"src/lab/a.hpp", "#pragma once\n#include \"base/toml.hpp\"\n"}}).size(), 1U);
  std::vector<File> users;
  for (const auto* path : {"src/cli/a.cpp", "src/cli/b.cpp"}) users.push_back({path, "#include <CLI/CLI.hpp>\n"});
  EXPECT_EQ(layering_faults(users), Faults{});
  users.push_back({"src/cli/c.cpp", users[0].text});
  EXPECT_EQ(layering_faults(users).size(), 1U);
}

}  // namespace
}  // namespace ignd
