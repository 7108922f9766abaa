// How fast a file of comma-separated values is read, with one and with two threads that parse:
//   build/bench/bin/read_csv data.csv 5
// The best of so many runs, since the first may wait for the disk and others for other programs.
#include "data/table.hpp"
#include "ignd/error.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <string>

namespace {

double seconds_to_read(const std::string& path, unsigned threads) {
  const auto start = std::chrono::steady_clock::now();
  const ignd::Table table = ignd::Table::read_csv(path, {.dialect = {}, .threads = threads});
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  if (table.size() == 0) throw ignd::FileError("there are no rows");
  return took.count();
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc != 3) throw ignd::InvalidArgument("usage: read_csv FILE RUNS");
    const double megabytes = static_cast<double>(std::filesystem::file_size(argv[1])) / 1e6;
    for (const unsigned threads : {1U, 2U}) {
      double best = seconds_to_read(argv[1], threads);
      for (long run = 1; run < std::strtol(argv[2], nullptr, 10); ++run) {
        best = std::min(best, seconds_to_read(argv[1], threads));
      }
      std::printf("%u thread%s: %.0f MB/s\n", threads, threads == 1 ? "" : "s", megabytes / best);
    }
    return 0;
  } catch (const std::exception& fault) {
    std::fprintf(stderr, "%s\n", fault.what());
    return 1;
  }
}
