// How fast text is encoded, on one core:
//   IGND_DATA=data build/bench/bin/tokenize data/aclImdb_v1.tar.gz 5
// A file, an archive of files or a folder of them; the best of so many runs, in processor time, which depends less on
// what else runs.
#include "base/atomic_file.hpp"
#include "data/archive.hpp"
#include "data/catalogue.hpp"
#include "data/tokenizer.hpp"
#include "ignd/error.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <filesystem>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace {

namespace fs = std::filesystem;

std::vector<std::string> read_texts(const fs::path& path) {
  std::vector<std::string> texts;
  if (fs::is_directory(path)) {
    for (const auto& entry : fs::recursive_directory_iterator(path)) {
      if (entry.is_regular_file()) texts.push_back(ignd::read_file(entry.path()));
    }
  } else {
    ignd::visit_members(
        path, path.filename().string(), [](std::string_view) { return true; },
        [&](const std::string&, std::string_view content) { texts.emplace_back(content); });
  }
  return texts;
}

double seconds_since(std::clock_t start) { return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC; }

void measure(const fs::path& path, long runs) {
  const std::clock_t start = std::clock();
  const ignd::Tokenizer tokenizer = ignd::read_cl100k(ignd::find_data("cl100k-base"));
  std::printf("ranks read in %.3f s\n", seconds_since(start));

  const std::vector<std::string> texts = read_texts(path);
  std::size_t bytes = 0;
  for (const std::string& text : texts) bytes += text.size();
  std::uint64_t tokens = 0;
  double best = std::numeric_limits<double>::infinity();
  ignd::Tokenizer::Scratch scratch;
  std::vector<std::uint32_t> ids;
  for (long run = 0; run < runs; ++run) {
    tokens = 0;
    const std::clock_t begin = std::clock();
    for (const std::string& text : texts) {
      ids.clear();
      tokenizer.encode(text, ids, scratch);
      tokens += ids.size();
    }
    best = std::min(best, seconds_since(begin));
  }
  std::printf("%zu texts, %.1f MB, %llu tokens in %.3f s: %.2f million tokens/s, %.1f MB/s\n", texts.size(),
              static_cast<double>(bytes) / 1e6, static_cast<unsigned long long>(tokens), best,
              static_cast<double>(tokens) / best / 1e6, static_cast<double>(bytes) / best / 1e6);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const long runs = argc == 3 ? std::strtol(argv[2], nullptr, 10) : 0;
    if (runs < 1) throw ignd::InvalidArgument("usage: tokenize PATH RUNS");
    measure(argv[1], runs);
    return 0;
  } catch (const std::exception& fault) {
    std::fprintf(stderr, "%s\n", fault.what());
    return 1;
  }
}
