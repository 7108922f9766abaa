#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/console.hpp"
#include "data/byte_source.hpp"
#include "data/catalogue.hpp"
#include "data/tokenizer.hpp"
#include "ignd/error.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <span>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

namespace ignd::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t block = std::size_t{1} << 16;

std::string read_text(const std::string& path) {
  const auto source = open_bytes(path);
  std::string text;
  for (std::size_t size = 0;;) {
    text.resize(std::max(size + block, 2 * size));
    const std::size_t count = source->read(std::span(text).subspan(size));
    size += count;
    if (count > 0) continue;
    text.resize(size);
    return text;
  }
}

// The regular files in a folder and below. Does not follow links to folders, which may form circles.
std::vector<std::string> files_of(const std::string& folder) {
  std::vector<std::string> files;
  try {
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      if (entry.is_regular_file()) files.push_back(entry.path().string());
    }
  } catch (const fs::filesystem_error& fault) {
    throw FileError(fmt::format("cannot list {}: {}", quoted_path(fault.path1()), fault.code().message()));
  }
  if (files.empty()) throw FileError(fmt::format("there are no files in the folder {}", quoted_path(folder)));
  std::ranges::sort(files);
  return files;
}

class Lines {
 public:
  explicit Lines(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}

  void print(std::string_view text) {
    ids_.clear();
    tokenizer_.encode(text, ids_, scratch_);
    for (std::size_t i = 0; i < ids_.size(); ++i) {
      if (i > 0) line_ += ' ';
      line_ += std::string_view(fmt::format_int(ids_[i]).c_str());
      if (line_.size() >= block) write();
    }
    line_ += '\n';
    write();
  }

 private:
  void write() {
    std::fwrite(line_.data(), 1, line_.size(), stdout);
    line_.clear();
  }

  const Tokenizer& tokenizer_;
  Tokenizer::Scratch scratch_;
  std::vector<std::uint32_t> ids_;
  std::string line_;
};

}  // namespace

int tokenize(const TokenizeOptions& options) {
  const Tokenizer tokenizer = read_cl100k(find_data("cl100k-base"));
  Lines lines(tokenizer);
  for (const std::string& path : options.paths) {
    std::error_code fault;
    const bool is_folder = path != "-" && fs::is_directory(path, fault);
    for (const std::string& file : is_folder ? files_of(path) : std::vector{path}) lines.print(read_text(file));
  }
  return 0;
}

}  // namespace ignd::cli
